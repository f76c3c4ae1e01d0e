/* Lua values to JSON text: a loop over the open tables, with its text and its bookkeeping in blocks that Lua owns.
 *
 * A table is read raw and may still change under us: any allocation may run a finalizer, which is Lua code. So keys are
 * anchored while their bytes are used, and a value is fetched when it is its turn. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CSimdjson.h"
#include "njl_json.h"

/* --- Growing memory: on the C stack first, then in a userdata --- */

typedef struct block {
  char *bytes;
  size_t length, capacity;
  int slot; /* stack index that holds the userdata */
} block;

static void block_grow(lua_State *L, block *b, size_t more) {
  if (more > SIZE_MAX / 4 - b->length) luaL_error(L, "not enough memory");
  size_t capacity = b->capacity * 2;
  if (capacity < b->length + more) capacity = b->length + more;
  char *bytes = lua_newuserdatauv(L, capacity, 0);
  memcpy(bytes, b->bytes, b->length);
  lua_replace(L, b->slot);
  b->bytes = bytes;
  b->capacity = capacity;
}

/* Room for `more` bytes behind the length. */
static inline char *block_reserve(lua_State *L, block *b, size_t more) {
  if (b->capacity - b->length < more) block_grow(L, b, more);
  return b->bytes + b->length;
}

static inline void block_add(lua_State *L, block *b, const char *bytes, size_t length) {
  memcpy(block_reserve(L, b, length), bytes, length);
  b->length += length;
}

/* --- What is being encoded --- */

/* Levels that are not empty. What is in the last counts as one for decode. */
static const size_t depth_max = NJS_DEPTH_MAX - 1;

typedef struct member {
  const char *key; /* anchored on the stack, or in the table of keys */
  size_t length;
  int slot;           /* stack index of the value, above its key; 0: fetch it */
  lua_Integer anchor; /* with slot 0: the key's place in the table of keys */
} member;

/* Members of one object that lie on the stack, where they are quick to reach. All of a large one would overflow it. */
static const size_t stacked_members = 32;

typedef enum kind { LIST, SORTED_OBJECT, OBJECT } kind;

/* A table that has begun and is not empty. */
typedef struct level {
  kind kind;
  int slot;          /* stack index of the table; above that of an OBJECT lies the key of the member whose turn it is */
  const void *table; /* to see cycles */
  size_t count;      /* elements or members; of an OBJECT not known */
  size_t next;       /* how many of them have begun; 0: a fault is that of the table itself */
  size_t first;      /* SORTED_OBJECT: its first member */
} level;

typedef struct encoder {
  lua_State *L;
  unsigned style;
  int keys; /* stack index of the table of keys, nil before the first */
  int mark; /* stack index of the metatable of arrays */
  block text, members, levels;
  size_t depth;
} encoder;

static level *level_at(encoder *e, size_t index) { return (level *)(void *)e->levels.bytes + index; }
static level *top_level(encoder *e) { return level_at(e, e->depth - 1); }
static member *member_at(encoder *e, size_t index) { return (member *)(void *)e->members.bytes + index; }
static size_t member_count(const encoder *e) { return e->members.length / sizeof(member); }

/* --- Faults: what cannot be encoded, and the path to it --- */

/* Written from its end, which says most; what does not fit is cut at the front. */
typedef struct path {
  char bytes[240];
  size_t start;
} path;

static bool path_prepend(path *p, const char *step, size_t length) {
  static const char cut[] = "...";
  if (p->start < length + sizeof cut) {
    p->start -= sizeof cut - 1;
    memcpy(p->bytes + p->start, cut, sizeof cut - 1);
    return false;
  }
  p->start -= length;
  memcpy(p->bytes + p->start, step, length);
  return true;
}

static bool is_name(const char *key, size_t length) {
  if (length == 0 || length > 64 || (key[0] >= '0' && key[0] <= '9')) return false;
  for (size_t i = 0; i < length; i++) {
    char c = key[i];
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!is_letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

/* ".name", or ["what else"] with what would spoil a message as \xHH and the length bounded. */
static size_t write_key(char step[96], const char *key, size_t length) {
  if (is_name(key, length)) return (size_t)snprintf(step, 96, ".%.*s", (int)length, key);
  size_t at = (size_t)snprintf(step, 96, "[\"");
  size_t i = 0;
  for (; i < length && at < 80; i++) {
    unsigned char c = (unsigned char)key[i];
    bool is_plain = c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
    at += (size_t)snprintf(step + at, 96 - at, is_plain ? "%c" : "\\x%02x", c);
  }
  return at + (size_t)snprintf(step + at, 96 - at, "%s\"]", i < length ? "..." : "");
}

static size_t write_step(encoder *e, const level *l, char step[96]) {
  if (l->next == 0) return 0;
  if (l->kind == LIST) return (size_t)snprintf(step, 96, "[%zu]", l->next);
  if (l->kind == SORTED_OBJECT) {
    const member *m = member_at(e, l->first + l->next - 1);
    return write_key(step, m->key, m->length);
  }
  if (lua_type(e->L, l->slot + 1) != LUA_TSTRING) return 0;
  size_t length;
  const char *key = lua_tolstring(e->L, l->slot + 1, &length);
  return write_key(step, key, length);
}

/* Pushes "cannot encode function at .items[3].f". */
static bool refuse(encoder *e, const char *what) {
  path p = {.start = sizeof p.bytes - 1};
  p.bytes[p.start] = '\0';
  for (size_t index = e->depth; index > 0; index--) {
    char step[96];
    size_t length = write_step(e, level_at(e, index - 1), step);
    if (!path_prepend(&p, step, length)) break;
  }
  const char *where = p.bytes + p.start;
  lua_pushfstring(e->L, "cannot encode %s%s%s", what, *where ? " at " : "", where);
  return false;
}

/* --- Text --- */

static void put(encoder *e, char byte) {
  *block_reserve(e->L, &e->text, 1) = byte;
  e->text.length++;
}

static void put_literal(encoder *e, const char *word) { block_add(e->L, &e->text, word, strlen(word)); }

static void put_line(encoder *e) {
  if (!(e->style & NJL_JSON_PRETTY)) return;
  size_t spaces = 2 * e->depth;
  char *out = block_reserve(e->L, &e->text, spaces + 1);
  *out = '\n';
  memset(out + 1, ' ', spaces);
  e->text.length += spaces + 1;
}

static void put_integer(encoder *e, lua_Integer value) {
  char digits[24];
  char *at = digits + sizeof digits;
  lua_Unsigned rest = value < 0 ? 0 - (lua_Unsigned)value : (lua_Unsigned)value;
  do {
    *--at = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) *--at = '-';
  block_add(e->L, &e->text, at, (size_t)(digits + sizeof digits - at));
}

static void put_double(encoder *e, double value) {
  char *out = block_reserve(e->L, &e->text, NJS_DOUBLE_MAX);
  e->text.length += njs_write_double(value, out);
}

static void put_escape(encoder *e, unsigned char byte) {
  static const char names[] = "btn\0fr"; /* of 8 to 13; 11 has none */
  char escape[6] = {'\\', 'u', '0', '0', (char)('0' + (byte >> 4)), "0123456789abcdef"[byte & 15]};
  if (byte == '"' || byte == '\\') {
    escape[1] = (char)byte;
    block_add(e->L, &e->text, escape, 2);
  } else if (byte >= 8 && byte <= 13 && names[byte - 8]) {
    escape[1] = names[byte - 8];
    block_add(e->L, &e->text, escape, 2);
  } else {
    block_add(e->L, &e->text, escape, sizeof escape);
  }
}

/* The high bit of each byte that must be escaped (RFC 8259 section 7), among eight. A byte above such a one may be marked
 * too; the lowest is right, and only that is asked for. */
static uint64_t escapes_among(uint64_t word) {
  const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
  uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
  return (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & highs;
}

/* Bytes until the first that must be escaped. `*high` gathers their high bits. */
static size_t plain_run(const char *bytes, size_t length, uint64_t *high) {
  size_t run = 0;
  for (; length - run >= 8; run += 8) {
    uint64_t word;
    memcpy(&word, bytes + run, 8);
    if (escapes_among(word)) break;
    *high |= word;
  }
  for (; run < length; run++) {
    unsigned char byte = (unsigned char)bytes[run];
    if (byte < 0x20 || byte == '"' || byte == '\\') break;
    *high |= byte;
  }
  return run;
}

static bool put_string(encoder *e, const char *bytes, size_t length) {
  uint64_t high = 0;
  size_t run = plain_run(bytes, length, &high);
  char *out = block_reserve(e->L, &e->text, run + 2);
  *out = '"';
  memcpy(out + 1, bytes, run);
  e->text.length += run + 1;
  for (size_t at = run; at < length; at += run) {
    put_escape(e, (unsigned char)bytes[at++]);
    run = plain_run(bytes + at, length - at, &high);
    block_add(e->L, &e->text, bytes + at, run);
  }
  put(e, '"');
  return !(high & 0x8080808080808080u) || njs_is_utf8(bytes, length);
}

/* --- Tables --- */

/* Begins the table at the top. */
static bool push_level(encoder *e, kind kind, size_t count) {
  if (e->depth >= depth_max) return refuse(e, "table nested too deep");
  const void *table = lua_topointer(e->L, -1);
  for (size_t index = 0; index < e->depth; index++) {
    if (level_at(e, index)->table == table) return refuse(e, "cycle");
  }
  level l = {.kind = kind, .slot = lua_gettop(e->L), .table = table, .count = count, .first = member_count(e)};
  block_add(e->L, &e->levels, (const char *)&l, sizeof l);
  e->depth++;
  put(e, kind == LIST ? '[' : '{');
  return true;
}

static void pop_level(encoder *e) {
  level l = *top_level(e);
  e->depth--;
  e->levels.length -= sizeof l;
  if (l.kind == SORTED_OBJECT) e->members.length = l.first * sizeof(member);
  if (l.next > 0) put_line(e);
  put(e, l.kind == LIST ? ']' : '}');
  lua_settop(e->L, l.slot - 1);
}

static int compare(const void *a, const void *b) {
  const member *left = a, *right = b;
  size_t common = left->length < right->length ? left->length : right->length;
  int order = memcmp(left->key, right->key, common);
  if (order != 0) return order;
  return (left->length > right->length) - (left->length < right->length);
}

static void sort(member *members, size_t count) {
  if (count > 16) {
    qsort(members, count, sizeof *members, compare);
    return;
  }
  for (size_t i = 1; i < count; i++) {
    member moving = members[i];
    size_t j = i;
    for (; j > 0 && compare(&members[j - 1], &moving) > 0; j--) members[j] = members[j - 1];
    members[j] = moving;
  }
}

/* The key at the top, which is no string. */
static bool refuse_key(encoder *e) {
  if (lua_type(e->L, -1) == LUA_TNUMBER) return refuse(e, "table with holes or mixed keys");
  char what[64];
  snprintf(what, sizeof what, "key of type %s", lua_typename(e->L, lua_type(e->L, -1)));
  return refuse(e, what);
}

/* Leaves key and value on the stack, or only the key in the table of keys; keeps the key at the top for lua_next. */
static member note_member(encoder *e, size_t index) {
  lua_State *L = e->L;
  member m = {.slot = 0};
  if (index < stacked_members) {
    m.slot = lua_gettop(L);
    lua_pushvalue(L, -2);
  } else {
    lua_pop(L, 1);
    if (lua_isnil(L, e->keys)) {
      lua_newtable(L);
      lua_replace(L, e->keys);
    }
    m.anchor = (lua_Integer)member_count(e) + 1;
    lua_pushvalue(L, -1);
    lua_rawseti(L, e->keys, m.anchor);
  }
  m.key = lua_tolstring(L, -1, &m.length);
  return m;
}

/* The table at the top, its members noted in order. */
static bool begin_sorted_object(encoder *e) {
  lua_State *L = e->L;
  if (!push_level(e, SORTED_OBJECT, 0)) return false;
  luaL_checkstack(L, 2 * (int)stacked_members + 8, NULL);
  int table = lua_gettop(L);
  size_t first = top_level(e)->first, count = 0;
  lua_pushnil(L);
  for (; lua_next(L, table); count++) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      lua_pop(L, 1);
      return refuse_key(e);
    }
    member m = note_member(e, count);
    block_add(L, &e->members, (const char *)&m, sizeof m);
  }
  sort(member_at(e, first), count);
  top_level(e)->count = count;
  return true;
}

static bool begin_object(encoder *e) {
  if (e->style & NJL_JSON_SORTED) return begin_sorted_object(e);
  if (!push_level(e, OBJECT, 0)) return false;
  lua_pushnil(e->L);
  return true;
}

static bool is_empty(lua_State *L) {
  lua_pushnil(L);
  if (!lua_next(L, -2)) return true;
  lua_pop(L, 2);
  return false;
}

/* Whether the keys of the table at the top are 1 to `count` and no others; a hole shows itself later, as a nil. */
static bool is_list(lua_State *L, lua_Unsigned count) {
  int table = lua_gettop(L);
  lua_pushinteger(L, (lua_Integer)count);
  if (!lua_next(L, table)) return true; /* nothing behind the last element: the usual case */
  lua_settop(L, table);
  lua_Unsigned keys = 0;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    keys++;
    if (!lua_isinteger(L, -1) || keys > count) {
      lua_settop(L, table);
      return false;
    }
  }
  return keys == count;
}

static bool begin_table(encoder *e) {
  lua_State *L = e->L;
  luaL_checkstack(L, 8, NULL);
  bool is_marked = false;
  if (lua_getmetatable(L, -1)) {
    is_marked = lua_rawequal(L, -1, e->mark);
    lua_pop(L, 1);
  }
  lua_Unsigned count = lua_rawlen(L, -1);
  if (count > 0) {
    if (!is_list(L, count)) return refuse(e, "table with holes or mixed keys");
    return push_level(e, LIST, (size_t)count);
  }
  if (!is_marked && e->depth < depth_max) return begin_object(e);
  if (!is_empty(L)) return refuse(e, is_marked ? "array with other keys than 1 to n" : "table nested too deep");
  put_literal(e, is_marked ? "[]" : "{}");
  lua_pop(L, 1);
  return true;
}

/* --- Values --- */

static bool refuse_value(encoder *e) {
  char what[80];
  const char *type = luaL_typename(e->L, -1);
  if (luaL_getmetafield(e->L, -1, "__name") == LUA_TSTRING) type = lua_tostring(e->L, -1);
  snprintf(what, sizeof what, "%s", type);
  return refuse(e, what);
}

/* Writes the value at the top and pops it, or begins it as a level. */
static bool begin_value(encoder *e) {
  lua_State *L = e->L;
  switch (lua_type(L, -1)) {
    case LUA_TTABLE: return begin_table(e);
    case LUA_TSTRING: {
      size_t length;
      const char *bytes = lua_tolstring(L, -1, &length);
      if (!put_string(e, bytes, length)) return refuse(e, "string that is not UTF-8");
      break;
    }
    case LUA_TNUMBER:
      if (lua_isinteger(L, -1)) {
        put_integer(e, lua_tointeger(L, -1));
      } else {
        double value = lua_tonumber(L, -1);
        if (!isfinite(value)) return refuse(e, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        put_double(e, value);
      }
      break;
    case LUA_TBOOLEAN: put_literal(e, lua_toboolean(L, -1) ? "true" : "false"); break;
    case LUA_TLIGHTUSERDATA:
      if (!njl_is_null(L, -1)) return refuse_value(e);
      put_literal(e, "null");
      break;
    default: return refuse_value(e);
  }
  lua_pop(L, 1);
  return true;
}

static bool put_key(encoder *e, const char *key, size_t length) {
  if (!put_string(e, key, length)) return refuse(e, "key that is not UTF-8");
  put(e, ':');
  if (e->style & NJL_JSON_PRETTY) put(e, ' ');
  return true;
}

static void separate(encoder *e, bool is_first) {
  if (!is_first) put(e, ',');
  put_line(e);
}

/* The next element or member of the open table, or its end. */
static bool advance(encoder *e) {
  lua_State *L = e->L;
  level *l = top_level(e);
  if (l->kind == OBJECT) {
    if (!lua_next(L, l->slot)) {
      pop_level(e);
      return true;
    }
    bool is_first = l->next++ == 0;
    if (lua_type(L, -2) != LUA_TSTRING) {
      lua_pop(L, 1);
      return refuse_key(e);
    }
    separate(e, is_first);
    size_t length;
    const char *key = lua_tolstring(L, -2, &length);
    return put_key(e, key, length) && begin_value(e);
  }
  if (l->next == l->count) {
    pop_level(e);
    return true;
  }
  separate(e, l->next == 0);
  l->next++;
  if (l->kind == LIST) {
    lua_rawgeti(L, l->slot, (lua_Integer)l->next);
    return begin_value(e);
  }
  const member *m = member_at(e, l->first + l->next - 1);
  if (!put_key(e, m->key, m->length)) return false;
  if (m->slot != 0) {
    lua_pushvalue(L, m->slot);
  } else {
    lua_rawgeti(L, e->keys, m->anchor);
    lua_rawget(L, l->slot);
  }
  return begin_value(e);
}

bool njl_json_push_text(lua_State *L, int index, unsigned style) {
  char text[1024];
  level levels[8];
  member members[16];
  index = lua_absindex(L, index);
  luaL_checkstack(L, 16, NULL);
  int base = lua_gettop(L);
  encoder e = {
      .L = L,
      .style = style,
      .text = {.bytes = text, .capacity = sizeof text, .slot = base + 1},
      .members = {.bytes = (char *)members, .capacity = sizeof members, .slot = base + 2},
      .levels = {.bytes = (char *)levels, .capacity = sizeof levels, .slot = base + 3},
      .keys = base + 4,
      .mark = base + 5,
  };
  lua_settop(L, base + 4);
  njl_push_array_mark(L);

  lua_pushvalue(L, index);
  bool encoded = begin_value(&e);
  while (encoded && e.depth > 0) encoded = advance(&e);
  if (encoded) lua_pushlstring(L, e.text.bytes, e.text.length);
  lua_replace(L, base + 1);
  lua_settop(L, base + 1);
  return encoded;
}

/* --- json.encode --- */

static bool flag(lua_State *L, const char *name, bool standard) {
  int type = lua_getfield(L, 2, name);
  if (type != LUA_TNIL && type != LUA_TBOOLEAN) {
    luaL_error(L, "encode: option \"%s\" must be true or false, found a %s", name, lua_typename(L, type));
  }
  bool value = type == LUA_TNIL ? standard : lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static void check_option_names(lua_State *L) {
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    lua_pop(L, 1);
    const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
    if (strcmp(name, "pretty") != 0 && strcmp(name, "sort_keys") != 0) {
      luaL_error(L, "encode: unknown option \"%s\"; known are pretty, sort_keys", name);
    }
  }
}

int njl_json_encode(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 2);
  unsigned style = NJL_JSON_SORTED;
  if (!lua_isnil(L, 2)) {
    luaL_checktype(L, 2, LUA_TTABLE);
    check_option_names(L);
    style = (flag(L, "sort_keys", true) ? NJL_JSON_SORTED : 0u) | (flag(L, "pretty", false) ? NJL_JSON_PRETTY : 0u);
  }
  if (njl_json_push_text(L, 1, style)) return 1;
  luaL_where(L, 1);
  lua_insert(L, -2);
  lua_concat(L, 2);
  return lua_error(L);
}
