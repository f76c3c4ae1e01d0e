/* names.c - looks up names of fields and options, and suggests similar names for unknown ones. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/names.h"

enum { LONGEST = 32 };

size_t njl_edits(const char *a, size_t a_length, const char *b) {
  size_t b_length = strlen(b);
  if (a_length > LONGEST || b_length > LONGEST) return LONGEST;
  size_t rows[3][LONGEST + 1];
  for (size_t j = 0; j <= b_length; j++) rows[1][j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    /* Row i is at index (i + 1) % 3. */
    size_t *two_ago = rows[(i + 2) % 3], *last = rows[i % 3], *row = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
      if (last[j] + 1 < best) best = last[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two_ago[j - 2] + 1 < best) {
        best = two_ago[j - 2] + 1;
      }
      row[j] = best;
    }
  }
  return rows[(a_length + 1) % 3][b_length];
}

/* Returns the name that is most similar to `name`, or NULL if no name is similar. */
static const char *nearest_of(const char *name, size_t length, const char *const names[]) {
  const char *nearest = NULL;
  size_t least = length / 3 + 2;
  for (; *names != NULL; names++) {
    size_t edits = njl_edits(name, length, *names);
    if (edits < least) {
      least = edits;
      nearest = *names;
    }
  }
  return nearest;
}

int njl_find_name(lua_State *L, int index, const char *const names[]) {
  if (lua_type(L, index) != LUA_TSTRING) return -1;
  size_t length;
  const char *name = lua_tolstring(L, index, &length);
  for (int place = 0; names[place] != NULL; place++) {
    if (strlen(names[place]) == length && memcmp(names[place], name, length) == 0) return place;
  }
  return -1;
}

int njl_unknown_field(lua_State *L, const char *noun, const char *name, const char *const names[]) {
  const char *article = strchr("aeiou", noun[0]) != NULL ? "an" : "a";
  const char *nearest = nearest_of(name, strlen(name), names);
  if (nearest == NULL) return luaL_error(L, "%s %s has no field '%s'", article, noun, name);
  return luaL_error(L, "%s %s has no field '%s'; did you mean '%s'?", article, noun, name, nearest);
}

int njl_unknown_option(lua_State *L, const char *function, const char *prefix, const char *name,
                       const char *const known[]) {
  const char *nearest = nearest_of(name, strlen(name), known);
  if (nearest == NULL) return luaL_error(L, "%s: unknown option '%s%s'", function, prefix, name);
  return luaL_error(L, "%s: unknown option '%s%s'; did you mean '%s%s'?", function, prefix, name, prefix, nearest);
}

int njl_check_option(lua_State *L, int index, const char *function, const char *prefix, const char *const known[]) {
  int option = njl_find_name(L, index, known);
  if (option >= 0) return option;
  const char *name = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : luaL_typename(L, index);
  return njl_unknown_option(L, function, prefix, name, known);
}

void njl_check_options(lua_State *L, int table, const char *function, const char *prefix, const char *const known[]) {
  table = lua_absindex(L, table);
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) njl_check_option(L, -2, function, prefix, known);
}

void njl_push_field_numbers(lua_State *L, const char *const names[]) {
  lua_newtable(L);
  for (int index = 0; names[index] != NULL; index++) {
    lua_pushinteger(L, index);
    lua_setfield(L, -2, names[index]);
  }
}

unsigned njl_read_flags(lua_State *L, int index, const char *function, const char *const names[], bool *const flags[]) {
  unsigned given = 0;
  if (lua_isnoneornil(L, index)) return given;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    int option = njl_check_option(L, -2, function, "", names);
    if (!lua_isboolean(L, -1)) {
      luaL_error(L, "%s: option '%s' must be of type boolean, got %s", function, names[option], luaL_typename(L, -1));
    }
    *flags[option] = lua_toboolean(L, -1);
    given |= 1u << option;
  }
  return given;
}
