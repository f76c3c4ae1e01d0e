/* reading.c - reads texts and pairs of an option table. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bindings.h"
#include "bindings/reading.h"

void njl_reading_keep(njl_reading *r) { lua_rawseti(r->L, r->anchors, (lua_Integer)lua_rawlen(r->L, r->anchors) + 1); }

static void add(njl_reading *r, njl_pairs *list, njl_bytes name, njl_bytes value) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
    njl_pair *items = lua_newuserdatauv(r->L, capacity * sizeof *items, 0);
    if (list->count > 0) memcpy(items, list->items, list->count * sizeof *items);
    njl_reading_keep(r);
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = (njl_pair){name, value};
}

/* Replaces the table at `index` by a copy, which the anchors keep alive and scripts cannot change. */
void njl_reading_copy(njl_reading *r, int index) {
  njl_push_copy(r->L, index);
  lua_pushvalue(r->L, -1);
  njl_reading_keep(r);
  lua_replace(r->L, index);
}

int njl_reading_mismatch(njl_reading *r, const char *wanted, int value) {
  return luaL_error(r->L, "%s: %s must be %s, got %s", r->function, r->option, wanted, luaL_typename(r->L, value));
}

/* Pops the value on top of the stack and returns it as text, which is valid as long as the anchors. */
njl_bytes njl_reading_take_text(njl_reading *r, const char *name) {
  lua_State *L = r->L;
  njl_bytes text;
  switch (lua_type(L, -1)) {
  case LUA_TBOOLEAN: lua_pushstring(L, lua_toboolean(L, -1) ? "true" : "false"); break;
  case LUA_TNUMBER:
  case LUA_TSTRING: lua_pushvalue(L, -1); break;
  default:
    luaL_error(L, "%s: %s '%s' must be a string, a number or a boolean, got %s", r->function, r->option, name,
               luaL_typename(L, -1));
  }
  text.data = lua_tolstring(L, -1, &text.length);
  njl_reading_keep(r);
  lua_pop(L, 1);
  return text;
}

/* Reads { {"name", "value"}, ... }. */
static void read_list(njl_reading *r, int table, njl_pairs *list) {
  lua_State *L = r->L;
  lua_Integer count = (lua_Integer)lua_rawlen(L, table);
  for (lua_Integer index = 1; index <= count; index++) {
    if (lua_rawgeti(L, table, index) != LUA_TTABLE) njl_reading_mismatch(r, "a list of {name, value} pairs", -1);
    if (lua_rawgeti(L, -1, 1) != LUA_TSTRING) {
      njl_reading_mismatch(r, "a list of {name, value} pairs whose names are strings", -1);
    }
    njl_bytes name = njl_reading_take_text(r, "");
    lua_rawgeti(L, -1, 2);
    njl_bytes value = njl_reading_take_text(r, name.data);
    add(r, list, name, value);
    lua_pop(L, 1);
  }
}

static int by_bytes(const void *left, const void *right) {
  const njl_bytes *a = &((const njl_pair *)left)->name, *b = &((const njl_pair *)right)->name;
  int order = memcmp(a->data, b->data, a->length < b->length ? a->length : b->length);
  return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* Reads the names of a table made by njl_reading_copy and sorts them, so that equal tables produce equal requests. */
void njl_reading_names(njl_reading *r, int table, njl_pairs *keys) {
  lua_State *L = r->L;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) njl_reading_mismatch(r, "a table whose names are strings", -2);
    njl_bytes name;
    name.data = lua_tolstring(L, -2, &name.length);
    add(r, keys, name, (njl_bytes){0});
  }
  if (keys->count > 1) qsort(keys->items, keys->count, sizeof *keys->items, by_bytes);
}

/* Reads { name = value, other = {value, value} } in the order of the names. */
static void read_table(njl_reading *r, int table, njl_pairs *list) {
  lua_State *L = r->L;
  njl_pairs keys = {0};
  njl_reading_copy(r, table);
  njl_reading_names(r, table, &keys);
  for (size_t index = 0; index < keys.count; index++) {
    njl_bytes name = keys.items[index].name;
    lua_pushlstring(L, name.data, name.length);
    if (lua_rawget(L, table) != LUA_TTABLE) {
      njl_bytes value = njl_reading_take_text(r, name.data);
      add(r, list, name, value);
      continue;
    }
    lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
    for (lua_Integer item = 1; item <= count; item++) {
      lua_rawgeti(L, -1, item);
      njl_bytes value = njl_reading_take_text(r, name.data);
      add(r, list, name, value);
    }
    lua_pop(L, 1);
  }
}

void njl_reading_pairs(njl_reading *r, int table, njl_pairs *list) {
  if (!lua_istable(r->L, table)) njl_reading_mismatch(r, "a table", table);
  if (lua_rawlen(r->L, table) > 0) read_list(r, table, list);
  else read_table(r, table, list);
}
