/* Encodes Lua values as JSON text.
 *
 * No collectable object is created before the text is complete. So no finalizer runs, and neither the tables nor
 * their strings can change meanwhile. Memory comes from the state's allocator, so its limit applies. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CSimdjson.h>

#include "json/json.h"
#include "core/core.h"

/* A growing array, one per state: reused, and freed by the finalizer of its owner. */
typedef struct array {
  char *items;
  size_t count, capacity; /* in bytes */
} array;

typedef struct name {
  const char *bytes;
  size_t length;
  int slot; /* stack slot of the key */
} name;

/* A table being written. It is at `slot` of the Lua stack, followed by its keys. */
typedef struct frame {
  const void *table;
  int slot;
  bool is_array;
  lua_Integer done, count; /* members written, and in total; the total is unknown for an unsorted object */
  size_t first_name;       /* for a sorted object: offset of its names in bytes */
} frame;

typedef struct scratch {
  array text, names, frames;
} scratch;

typedef struct writer {
  lua_State *L;
  scratch *s;
  njl_json_style style;
  const char *what;
  int mark; /* stack slot of nightjar.array's metatable */
  int null; /* stack slot of nightjar.null */
  uint64_t values; /* number of values written */
} writer;

static const char scratch_key = 0;

/* The text buffer kept for the next call, in bytes. */
static const size_t kept = 1 << 20;

static void resize(lua_State *L, array *a, size_t capacity) {
  void *context;
  lua_Alloc allocate = lua_getallocf(L, &context);
  char *items = allocate(context, a->items, a->capacity, capacity);
  if (items == NULL && capacity > 0) luaL_error(L, "not enough memory");
  a->items = items;
  a->capacity = capacity;
}

/* Returns room for `count` more bytes after the existing ones. */
static char *reserve(lua_State *L, array *a, size_t count) {
  if (a->capacity - a->count < count) {
    if (count > SIZE_MAX / 4 || a->count > SIZE_MAX / 4) luaL_error(L, "not enough memory");
    size_t capacity = a->capacity * 2;
    if (capacity < a->count + count) capacity = a->count + count;
    resize(L, a, capacity < 256 ? 256 : capacity);
  }
  return a->items + a->count;
}

static int free_scratch(lua_State *L) {
  scratch *s = lua_touserdata(L, 1);
  resize(L, &s->text, 0);
  resize(L, &s->names, 0);
  resize(L, &s->frames, 0);
  *s = (scratch){0};
  return 0;
}

void njl_json_open_encode(lua_State *L) {
  scratch *s = lua_newuserdatauv(L, sizeof *s, 0);
  *s = (scratch){0};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, free_scratch);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &scratch_key);
}

/* --- Errors --- */

static frame *frames(writer *w) { return (frame *)w->s->frames.items; }
static size_t depth(writer *w) { return w->s->frames.count / sizeof(frame); }

static bool is_identifier(const char *text, size_t length) {
  if (length == 0 || length > 40) return false;
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (i > 0 && c >= '0' && c <= '9'))) return false;
  }
  return true;
}

/* A text built without the collector, whose finalizers could encode and take the scratch buffers. */
typedef struct sentence {
  char bytes[4096];
  size_t length; /* without the NUL */
} sentence;

static void add_bytes(sentence *s, const char *bytes, size_t length) {
  size_t room = sizeof s->bytes - 1 - s->length;
  if (length > room) length = room;
  memcpy(s->bytes + s->length, bytes, length);
  s->length += length;
  s->bytes[s->length] = 0;
}

static void add_text(sentence *s, const char *text) { add_bytes(s, text, strlen(text)); }

/* Appends the path of the value being written, as a Lua expression. A long path is shortened in the middle. */
static void add_path(writer *w, sentence *path) {
  enum { END = 12 };
  lua_State *L = w->L;
  size_t levels = depth(w);
  add_text(path, w->what);
  for (size_t i = 0; i < levels; i++) {
    if (i == END && levels > 2 * END) {
      add_text(path, " ... ");
      i = levels - END;
    }
    const frame *f = &frames(w)[i];
    char number[32];
    if (f->is_array) {
      snprintf(number, sizeof number, "[%lld]", (long long)f->done);
      add_text(path, number);
      continue;
    }
    int slot = f->slot + 1;
    if (w->style.is_sorted) slot = ((name *)(w->s->names.items + f->first_name))[f->done - 1].slot;
    size_t length;
    const char *text = lua_tolstring(L, slot, &length); /* a string: no conversion occurs */
    if (is_identifier(text, length)) {
      add_text(path, ".");
      add_bytes(path, text, length);
    } else {
      add_text(path, "[\"");
      add_bytes(path, text, length < 40 ? length : 40);
      add_text(path, length > 40 ? "...\"]" : "\"]");
    }
  }
}

__attribute__((format(printf, 2, 3))) static void refuse(writer *w, const char *format, ...) {
  sentence reported = {.length = 0};
  char why[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  add_path(w, &reported);
  njl_raise(w->L, NJL_KIND_INVALID_ARGUMENT, 0, "%s: %s", reported.bytes, why);
}

/* --- Scalars --- */

static void put(writer *w, const char *bytes, size_t count) {
  memcpy(reserve(w->L, &w->s->text, count), bytes, count);
  w->s->text.count += count;
}

static void put_char(writer *w, char c) {
  *reserve(w->L, &w->s->text, 1) = c;
  w->s->text.count++;
}

/* The character after the backslash; 'u': followed by four digits; 0: no escape. RFC 8259 section 7. */
static const char escapes[256] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b', 't', 'n', 'u', 'f', 'r', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', ['"'] = '"', ['\\'] = '\\'};

static void put_string(writer *w, const char *bytes, size_t length) {
  if (!njs_is_utf8(bytes, length)) refuse(w, "the string is not valid UTF-8; encode bytes, for example as base64");
  put_char(w, '"');
  size_t from = 0;
  for (size_t i = 0; i < length; i++) {
    char escape = escapes[(unsigned char)bytes[i]];
    if (escape == 0) continue;
    put(w, bytes + from, i - from);
    from = i + 1;
    char text[8];
    if (escape == 'u') put(w, text, (size_t)snprintf(text, sizeof text, "\\u%04x", (unsigned char)bytes[i]));
    else {
      put_char(w, '\\');
      put_char(w, escape);
    }
  }
  put(w, bytes + from, length - from);
  put_char(w, '"');
}

static void put_integer(writer *w, lua_Integer value) {
  char digits[24], *at = digits + sizeof digits;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do *--at = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (value < 0) *--at = '-';
  put(w, at, (size_t)(digits + sizeof digits - at));
}

static void put_float(writer *w, double value) {
  if (isnan(value)) refuse(w, "NaN cannot be represented in JSON");
  if (isinf(value)) refuse(w, "an infinite number cannot be represented in JSON");
  if (value == 0 && signbit(value)) return put(w, "-0.0", 4);
  if (value == floor(value) && fabs(value) < 9007199254740992.0) return put_integer(w, (lua_Integer)value);
  char text[NJS_DOUBLE_LENGTH];
  put(w, text, njs_format_double(value, text));
}

static void put_line(writer *w, size_t level) {
  if (!w->style.is_pretty) return;
  size_t spaces = (size_t)w->style.indent * level;
  put_char(w, '\n');
  memset(reserve(w->L, &w->s->text, spaces), ' ', spaces);
  w->s->text.count += spaces;
}

/* --- Tables --- */

static int compare_names(const void *a, const void *b) {
  const name *x = a, *y = b;
  int order = memcmp(x->bytes, y->bytes, x->length < y->length ? x->length : y->length);
  return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/* Most tables are small, and insertion sort is faster than qsort for them. */
static void sort(name *names, size_t count) {
  if (count > 16) return qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 1; i < count; i++) {
    name moved = names[i];
    size_t j = i;
    for (; j > 0 && compare_names(&names[j - 1], &moved) > 0; j--) names[j] = names[j - 1];
    names[j] = moved;
  }
}

static void refuse_key(writer *w) {
  refuse(w, "a table key is a %s; member names in JSON must be strings", luaL_typename(w->L, -1));
}

static void refuse_mixed(writer *w) {
  refuse(w, "the table has both names and indices; use either names (an object) or indices (an array)");
}

/* Counts the elements of the table on top, which has integer keys. */
static lua_Integer check_array(writer *w, int slot) {
  lua_State *L = w->L;
  lua_Integer count = 0, highest = 0;
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    lua_pop(L, 1);
    if (!lua_isinteger(L, -1)) {
      if (lua_type(L, -1) == LUA_TSTRING) refuse_mixed(w);
      refuse_key(w);
    }
    lua_Integer key = lua_tointeger(L, -1);
    if (key < 1) {
      refuse(w, "the table has the index %lld; arrays must start at 1", (long long)key);
    }
    if (key > highest) highest = key;
    count++;
  }
  if (highest != count) {
    lua_Integer hole = 1;
    while (lua_rawgeti(L, slot, hole) != LUA_TNIL) {
      lua_pop(L, 1);
      hole++;
    }
    refuse(w, "the array has no value at [%lld]; use nightjar.null for missing elements", (long long)hole);
  }
  return count;
}

/* Pushes the names of the table on top, sorted. */
static lua_Integer collect_names(writer *w, int slot) {
  lua_State *L = w->L;
  size_t first = w->s->names.count;
  lua_Integer count = 0;
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING) {
      if (lua_isinteger(L, -1)) refuse_mixed(w);
      refuse_key(w);
    }
    name *new = (name *)reserve(L, &w->s->names, sizeof *new);
    new->bytes = lua_tolstring(L, -1, &new->length);
    new->slot = lua_gettop(L);
    w->s->names.count += sizeof *new;
    count++;
    if (!lua_checkstack(L, 8)) refuse(w, "the object has too many names to sort; set sorted = false");
    lua_pushvalue(L, -1);
  }
  sort((name *)(w->s->names.items + first), (size_t)count);
  return count;
}

/* Makes the table on top the innermost one. */
static void begin_table(writer *w) {
  lua_State *L = w->L;
  frame new = {.table = lua_topointer(L, -1), .slot = lua_gettop(L), .first_name = w->s->names.count};
  for (size_t i = depth(w); i-- > 0;) {
    if (frames(w)[i].table == new.table) refuse(w, "the table contains itself");
  }
  if (depth(w) == NJS_MAX_DEPTH) refuse(w, "tables are nested more than 1024 levels deep");
  luaL_checkstack(L, 8, "nested JSON");
  bool is_marked = false;
  if (lua_getmetatable(L, -1)) {
    is_marked = lua_rawequal(L, -1, w->mark);
    lua_pop(L, 1);
  }
  lua_pushnil(L);
  if (!lua_next(L, new.slot)) {
    new.is_array = is_marked;
  } else {
    new.is_array = lua_isinteger(L, -2) || is_marked;
    lua_pop(L, 2);
    if (new.is_array) new.count = check_array(w, new.slot);
    else if (w->style.is_sorted) new.count = collect_names(w, new.slot);
  }
  if (!new.is_array && !w->style.is_sorted) lua_pushnil(L); /* the start of lua_next */
  put_char(w, new.is_array ? '[' : '{');
  *(frame *)reserve(L, &w->s->frames, sizeof new) = new;
  w->s->frames.count += sizeof new;
}

/* Pushes the innermost table's next value, after writing the separator and the name. Returns false if there is none. */
static bool next_value(writer *w, frame *f) {
  lua_State *L = w->L;
  const char *bytes = NULL;
  size_t length = 0;
  if (f->is_array || w->style.is_sorted) {
    if (f->done == f->count) return false;
    if (!f->is_array) {
      const name *n = &((name *)(w->s->names.items + f->first_name))[f->done];
      bytes = n->bytes;
      length = n->length;
      lua_pushvalue(L, n->slot);
      lua_rawget(L, f->slot);
    } else lua_rawgeti(L, f->slot, f->done + 1);
  } else {
    if (!lua_next(L, f->slot)) return false;
    if (lua_type(L, -2) != LUA_TSTRING) {
      bool is_index = lua_isinteger(L, -2);
      lua_pop(L, 1);
      w->s->frames.count -= sizeof *f; /* the path in the message ends at the table */
      if (is_index) refuse_mixed(w);
      refuse_key(w);
    }
    bytes = lua_tolstring(L, -2, &length);
  }
  if (f->done++ > 0) put_char(w, ',');
  put_line(w, depth(w));
  if (!f->is_array) {
    put_string(w, bytes, length);
    put_char(w, ':');
    if (w->style.is_pretty) put_char(w, ' ');
  }
  return true;
}

static void end_table(writer *w, frame *f) {
  w->s->frames.count -= sizeof *f;
  w->s->names.count = f->first_name;
  if (f->done > 0) put_line(w, depth(w));
  put_char(w, f->is_array ? ']' : '}');
  lua_settop(w->L, f->slot - 1);
}

/* Writes the value on top and pops it. A table is only opened. */
static void put_value(writer *w) {
  lua_State *L = w->L;
  size_t length;
  const char *text;
  switch (lua_type(L, -1)) {
    case LUA_TNIL: put(w, "null", 4); break;
    case LUA_TBOOLEAN: lua_toboolean(L, -1) ? put(w, "true", 4) : put(w, "false", 5); break;
    case LUA_TNUMBER:
      if (lua_isinteger(L, -1)) put_integer(w, lua_tointeger(L, -1));
      else put_float(w, lua_tonumber(L, -1));
      break;
    case LUA_TSTRING:
      text = lua_tolstring(L, -1, &length);
      put_string(w, text, length);
      break;
    case LUA_TTABLE: return begin_table(w);
    default:
      if (lua_rawequal(L, -1, w->null)) {
        put(w, "null", 4);
        break;
      }
      refuse(w, "a %s cannot be represented in JSON", luaL_typename(L, -1));
  }
  lua_pop(L, 1);
}

const char *njl_json_write(lua_State *L, int index, const char *what, njl_json_style style, size_t *length) {
  index = lua_absindex(L, index);
  luaL_checkstack(L, 12, "JSON");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &scratch_key);
  writer w = {.L = L, .s = lua_touserdata(L, -1), .style = style, .what = what};
  int top = lua_gettop(L);
  if (w.s->text.capacity > kept) resize(L, &w.s->text, kept);
  if (w.s->names.capacity > kept) resize(L, &w.s->names, kept);
  w.s->text.count = w.s->names.count = w.s->frames.count = 0;
  njl_json_push_array_mark(L);
  w.mark = lua_gettop(L);
  njl_json_push_null(L);
  w.null = lua_gettop(L);

  /* The same table may occur many times at every level, so the text of a few tables can have exponential length. */
  enum { OFTEN = 256 };
  njl_host *host = njl_host_open(L);
  lua_pushvalue(L, index);
  put_value(&w);
  while (depth(&w) > 0) {
    if (++w.values % OFTEN == 0) njl_spend(L, host, OFTEN);
    frame *innermost = &frames(&w)[depth(&w) - 1];
    if (next_value(&w, innermost)) put_value(&w);
    else end_table(&w, innermost);
  }
  lua_settop(L, top - 1);
  *length = w.s->text.count;
  return w.s->text.items;
}

void njl_json_encode(lua_State *L, int index, const char *what) {
  size_t length;
  const char *text = njl_json_write(L, index, what, (njl_json_style){.is_sorted = true}, &length);
  lua_pushlstring(L, text, length);
}
