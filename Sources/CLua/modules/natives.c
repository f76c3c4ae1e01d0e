/* natives.c - the C functions that all modules written in Lua share: errors and option tables in the same form as in
 * the C modules. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdint.h>
#include <string.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/names.h"
#include "modules/modules.h"
#include "njl_future.h"

/* Raises the message on top of the stack with the position of the module's caller: the innermost function outside of
 * the modules that has a position. */
static int raise_misuse(lua_State *L) {
  lua_Debug frame;
  luaL_checkstack(L, 4, NULL);
  lua_pushliteral(L, "");
  for (int level = 1; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline < 0 || strncmp(frame.source, "=nightjar.", 10) == 0) continue;
    lua_pop(L, 1);
    lua_pushfstring(L, "%s:%d: ", frame.short_src, frame.currentline);
    break;
  }
  lua_insert(L, -2);
  lua_concat(L, 2);
  return lua_error(L);
}

/* misuse(message) raises the message as a string, as C functions do for argument errors. */
static int misuse(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  return raise_misuse(L);
}

/* got(value) -> the type name of an argument for messages */
static int got(lua_State *L) {
  lua_pushstring(L, lua_isnoneornil(L, 1) ? "no value" : luaL_typename(L, 1));
  return 1;
}

/* fail(kind, message) raises an error object. */
static int fail(lua_State *L) {
  static const char *const names[] = {"invalid_argument", "decoding", NULL};
  static const njl_kind kinds[] = {NJL_KIND_INVALID_ARGUMENT, NJL_KIND_DECODING};
  int kind = luaL_checkoption(L, 1, NULL, names);
  return njl_raise(L, kinds[kind], 0, "%s", luaL_checkstring(L, 2));
}

/* Replaces the name at `best` by the name at `index` if `name` is similar to it and differs from it by fewer than
 * `*least` edits. A name that begins with `name` counts as similar if `name` has at least 3 bytes. */
static void keep_nearest(lua_State *L, int index, const char *name, size_t length, size_t *least, int best) {
  if (lua_type(L, index) != LUA_TSTRING) return;
  const char *known = lua_tostring(L, index);
  size_t edits = length > 2 && strncmp(known, name, length) == 0 ? 1 : njl_edits(name, length, known);
  if (edits >= *least || edits >= length / 3 + 2) return;
  *least = edits;
  lua_pushvalue(L, index);
  lua_replace(L, best);
}

/* nearest(name, names) -> the most similar name in the list; nil if no name is similar */
static int nearest(lua_State *L) {
  size_t length, least = SIZE_MAX;
  const char *name = luaL_checklstring(L, 1, &length);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  for (lua_Integer place = 1; lua_rawgeti(L, 2, place) != LUA_TNIL; place++) {
    keep_nearest(L, -1, name, length, &least, 3);
    lua_pop(L, 1);
  }
  lua_settop(L, 3);
  return 1;
}

static int unknown_option(lua_State *L, const char *function, const char *name, int known) {
  size_t least = SIZE_MAX;
  lua_pushnil(L);
  int best = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, known); lua_pop(L, 1)) keep_nearest(L, -2, name, strlen(name), &least, best);
  const char *near = lua_tostring(L, best);
  if (near == NULL) lua_pushfstring(L, "%s: unknown option '%s'", function, name);
  else lua_pushfstring(L, "%s: unknown option '%s'; did you mean '%s'?", function, name, near);
  return raise_misuse(L);
}

/* options(function, given, known) -> given, or an empty table if it is nil. Raises an error if an option is invalid.
 * `known` maps each option to its types: {limit = "integer", names = "boolean or table"}. */
static int options(lua_State *L) {
  const char *function = luaL_checkstring(L, 1);
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_settop(L, 3);
  if (lua_isnil(L, 2)) {
    lua_newtable(L);
    return 1;
  }
  if (!lua_istable(L, 2)) {
    lua_pushfstring(L, "%s: the options must be a table, got %s", function, luaL_typename(L, 2));
    return raise_misuse(L);
  }
  for (lua_pushnil(L); lua_next(L, 2); lua_settop(L, 4)) {
    if (lua_type(L, 4) != LUA_TSTRING) return unknown_option(L, function, luaL_typename(L, 4), 3);
    const char *name = lua_tostring(L, 4);
    lua_pushvalue(L, 4);
    if (lua_rawget(L, 3) != LUA_TSTRING) return unknown_option(L, function, name, 3);
    const char *types = lua_tostring(L, -1), *type = luaL_typename(L, 5);
    if (strstr(types, type) != NULL || (lua_isinteger(L, 5) && strstr(types, "integer") != NULL)) continue;
    if (lua_isnumber(L, 5)) type = "a number with a fraction";
    lua_pushfstring(L, "%s: option '%s' must be of type %s, got %s", function, name, types, type);
    return raise_misuse(L);
  }
  lua_settop(L, 2);
  return 1;
}

/* is_websocket(value) -> whether the value is a WebSocket */
static int is_websocket(lua_State *L) {
  lua_pushboolean(L, njl_test(L, 1, NJL_WEBSOCKET) != NULL);
  return 1;
}

void njl_add_part(lua_State *L, int table, const char *field, const char *name, const char *text, size_t length) {
  table = lua_absindex(L, table);
  if (luaL_loadbufferx(L, text, length, name, "t") != LUA_OK) lua_error(L);
  lua_pushvalue(L, table);
  lua_call(L, 1, 1);
  lua_setfield(L, table, field);
}

void njl_push_natives(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"misuse", misuse}, {"fail", fail}, {"got", got}, {"nearest", nearest}, {"options", options},
      {"is_websocket", is_websocket}, {NULL, NULL}};
  luaL_newlib(L, functions);
}
