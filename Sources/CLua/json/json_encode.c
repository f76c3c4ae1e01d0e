/* json_encode.c - encodes Lua values as JSON text. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdlib.h>
#include <string.h>

#include <CSimdjson.h>

#include "core/host.h"
#include "core/stopping.h"
#include "json/json.h"
#include "json/writer.h"

/* Registry key of the scratch buffers. */
static const char scratch_key = 0;

/* In bytes. Each call first reduces larger buffers of earlier calls to this size. */
static const size_t kept = 1 << 20;

static void resize(lua_State *L, njl_json_buffer *buffer, size_t capacity) {
  void *context;
  lua_Alloc allocate = lua_getallocf(L, &context);
  char *items = allocate(context, buffer->items, buffer->capacity, capacity);
  if (items == NULL && capacity > 0) luaL_error(L, "not enough memory");
  buffer->items = items;
  buffer->capacity = capacity;
}

char *njl_json_grow(lua_State *L, njl_json_buffer *buffer, size_t count) {
  if (count > SIZE_MAX / 4 || buffer->count > SIZE_MAX / 4) luaL_error(L, "not enough memory");
  size_t capacity = buffer->capacity * 2;
  if (capacity < buffer->count + count) capacity = buffer->count + count;
  resize(L, buffer, capacity < 256 ? 256 : capacity);
  return buffer->items + buffer->count;
}

static int free_scratch(lua_State *L) {
  njl_json_scratch *s = lua_touserdata(L, 1);
  resize(L, &s->text, 0);
  resize(L, &s->names, 0);
  resize(L, &s->frames, 0);
  *s = (njl_json_scratch){0};
  return 0;
}

void njl_json_open_encode(lua_State *L) {
  njl_json_scratch *s = lua_newuserdatauv(L, sizeof *s, 0);
  *s = (njl_json_scratch){0};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, free_scratch);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &scratch_key);
}

/* --- Tables --- */

static void put_line(njl_json_writer *w, size_t level) {
  if (!w->style.is_pretty) return;
  size_t spaces = (size_t)w->style.indent * level;
  njl_json_put_char(w, '\n');
  memset(njl_json_reserve(w->L, &w->s->text, spaces), ' ', spaces);
  w->s->text.count += spaces;
}

static int compare_names(const void *a, const void *b) {
  const njl_json_name *x = a, *y = b;
  int order = memcmp(x->bytes, y->bytes, x->length < y->length ? x->length : y->length);
  return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/* Sorts the names. Most tables are small, and for small tables insertion sort is faster than qsort. */
static void sort(njl_json_name *names, size_t count) {
  if (count > 16) return qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 1; i < count; i++) {
    njl_json_name moved = names[i];
    size_t j = i;
    for (; j > 0 && compare_names(&names[j - 1], &moved) > 0; j--) names[j] = names[j - 1];
    names[j] = moved;
  }
}

static void refuse_key(njl_json_writer *w) {
  njl_json_refuse(w, "a table key is a %s; member names in JSON must be strings", luaL_typename(w->L, -1));
}

static void refuse_mixed(njl_json_writer *w) {
  njl_json_refuse(w, "the table has both names and indices; use either names (an object) or indices (an array)");
}

/* Checks that the keys of the table at `slot` are 1 to n, and returns n. Raises an error otherwise. */
static lua_Integer check_array(njl_json_writer *w, int slot) {
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
      njl_json_refuse(w, "the table has the index %lld; arrays must start at 1", (long long)key);
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
    njl_json_refuse(w, "the array has no value at [%lld]; use nightjar.null for missing elements", (long long)hole);
  }
  return count;
}

/* Pushes the names of the table at `slot`, and appends them to the buffer of names in byte order. Returns their
 * number. */
static lua_Integer collect_names(njl_json_writer *w, int slot) {
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
    njl_json_name *new = (njl_json_name *)njl_json_reserve(L, &w->s->names, sizeof *new);
    new->bytes = lua_tolstring(L, -1, &new->length);
    new->slot = lua_gettop(L);
    w->s->names.count += sizeof *new;
    count++;
    if (!lua_checkstack(L, 8)) njl_json_refuse(w, "the object has too many names to sort; set sorted = false");
    lua_pushvalue(L, -1);
  }
  sort((njl_json_name *)(w->s->names.items + first), (size_t)count);
  return count;
}

/* Makes the table on top of the stack the innermost table and writes its opening bracket. */
static void begin_table(njl_json_writer *w) {
  lua_State *L = w->L;
  njl_json_frame new = {.table = lua_topointer(L, -1), .slot = lua_gettop(L), .first_name = w->s->names.count};
  for (size_t i = njl_json_depth(w); i-- > 0;) {
    if (njl_json_frames(w)[i].table == new.table) njl_json_refuse(w, "the table contains itself");
  }
  if (njl_json_depth(w) == NJS_MAX_DEPTH) njl_json_refuse(w, "tables are nested more than 1024 levels deep");
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
  njl_json_put_char(w, new.is_array ? '[' : '{');
  *(njl_json_frame *)njl_json_reserve(L, &w->s->frames, sizeof new) = new;
  w->s->frames.count += sizeof new;
}

/* Pushes the innermost table's next value, after writing the separator and the name. Returns false if there is none. */
static bool next_value(njl_json_writer *w, njl_json_frame *f) {
  lua_State *L = w->L;
  const char *bytes = NULL;
  size_t length = 0;
  if (f->is_array || w->style.is_sorted) {
    if (f->done == f->count) return false;
    if (!f->is_array) {
      const njl_json_name *n = &njl_json_names(w, f)[f->done];
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
  if (f->done++ > 0) njl_json_put_char(w, ',');
  put_line(w, njl_json_depth(w));
  if (!f->is_array) {
    njl_json_put_string(w, bytes, length);
    njl_json_put_char(w, ':');
    if (w->style.is_pretty) njl_json_put_char(w, ' ');
  }
  return true;
}

static void end_table(njl_json_writer *w, njl_json_frame *f) {
  w->s->frames.count -= sizeof *f;
  w->s->names.count = f->first_name;
  if (f->done > 0) put_line(w, njl_json_depth(w));
  njl_json_put_char(w, f->is_array ? ']' : '}');
  lua_settop(w->L, f->slot - 1);
}

/* Writes the value on top and pops it. If the value is a table, writes only the opening bracket and keeps the table on
 * the stack. */
static void put_value(njl_json_writer *w) {
  lua_State *L = w->L;
  size_t length;
  const char *text;
  switch (lua_type(L, -1)) {
    case LUA_TNIL: njl_json_put(w, "null", 4); break;
    case LUA_TBOOLEAN: lua_toboolean(L, -1) ? njl_json_put(w, "true", 4) : njl_json_put(w, "false", 5); break;
    case LUA_TNUMBER:
      if (lua_isinteger(L, -1)) njl_json_put_integer(w, lua_tointeger(L, -1));
      else njl_json_put_float(w, lua_tonumber(L, -1));
      break;
    case LUA_TSTRING:
      text = lua_tolstring(L, -1, &length);
      njl_json_put_string(w, text, length);
      break;
    case LUA_TTABLE: return begin_table(w);
    default:
      if (lua_rawequal(L, -1, w->null)) {
        njl_json_put(w, "null", 4);
        break;
      }
      njl_json_refuse(w, "a %s cannot be represented in JSON", luaL_typename(L, -1));
  }
  lua_pop(L, 1);
}

const char *njl_json_write(lua_State *L, int index, const char *what, njl_json_style style, size_t *length) {
  index = lua_absindex(L, index);
  luaL_checkstack(L, 12, "JSON");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &scratch_key);
  njl_json_writer w = {.L = L, .s = lua_touserdata(L, -1), .style = style, .what = what};
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
  while (njl_json_depth(&w) > 0) {
    if (++w.values % OFTEN == 0) njl_spend(L, host, OFTEN);
    njl_json_frame *innermost = &njl_json_frames(&w)[njl_json_depth(&w) - 1];
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
