/* stream_request.c - the request of a response that is read while it arrives: lines, JSON values, event streams,
 * WebSockets and downloads. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>
#include <strings.h>

#include "core/task.h"
#include "json/json.h"
#include "bindings/bindings.h"

void njl_push_stream_request(lua_State *L, int options, const char *function) {
  enum { PATH = 2 };
  int request = options + 1;
  njl_check_client(L);
  if (lua_type(L, PATH) != LUA_TSTRING) {
    luaL_error(L, "%s: path must be a string, got %s", function, luaL_typename(L, PATH));
  }
  if (!lua_isnoneornil(L, options) && !lua_istable(L, options)) {
    luaL_error(L, "%s: options must be a table, got %s", function, luaL_typename(L, options));
  }
  lua_settop(L, options);
  njl_push_request(L, options);
  static const char *const given[] = {"path", "stream"};
  for (int index = 0; index < 2; index++) {
    if (lua_getfield(L, request, given[index]) != LUA_TNIL) {
      luaL_error(L, "%s: %s is not allowed in the options", function, given[index]);
    }
    lua_pop(L, 1);
  }
  lua_pushvalue(L, PATH);
  lua_setfield(L, request, "path");
}

void njl_take_function(lua_State *L, int options, const char *name, const char *function) {
  lua_getfield(L, options, name);
  if (!lua_isnil(L, -1) && !njl_is_callable(L, -1)) {
    luaL_error(L, "%s: %s must be a function, got %s", function, name, luaL_typename(L, -1));
  }
  lua_pushnil(L);
  lua_setfield(L, options, name);
}

void njl_take_options(lua_State *L, int options, const char *const *known, const char *limit, const char *function) {
  lua_newtable(L);
  for (int index = 0; known[index] != NULL; index++) {
    lua_getfield(L, options, known[index]);
    bool is_limit = strcmp(known[index], limit) == 0;
    if (is_limit && lua_isboolean(L, -1) && !lua_toboolean(L, -1)) {
      lua_pop(L, 1);
      lua_pushinteger(L, 0);
    }
    lua_setfield(L, -2, known[index]);
    lua_pushnil(L);
    lua_setfield(L, options, known[index]);
  }
  njl_json_encode(L, -1, function);
  lua_remove(L, -2);
}

/* Returns whether the headers have a field. A list has pairs of a name and a value. */
static bool has_field(lua_State *L, int headers, bool is_list, const char *name) {
  bool found = false;
  for (lua_pushnil(L); lua_next(L, headers) != 0; lua_pop(L, 1)) {
    if (is_list && lua_istable(L, -1)) lua_rawgeti(L, -1, 1);
    else lua_pushvalue(L, -2);
    found = found || (lua_type(L, -1) == LUA_TSTRING && strcasecmp(lua_tostring(L, -1), name) == 0);
    lua_pop(L, 1);
  }
  return found;
}

void njl_set_default_header(lua_State *L, int request, const char *name, njl_bytes value) {
  lua_getfield(L, request, "headers");
  int headers = lua_gettop(L);
  /* njl_read_options rejects headers that are not a table. */
  bool is_table = lua_istable(L, headers), is_list = is_table && lua_rawlen(L, headers) > 0;
  if (!is_table || has_field(L, headers, is_list, name)) {
    lua_settop(L, headers - 1);
    return;
  }
  if (is_list) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, name);
    lua_rawseti(L, -2, 1);
    lua_pushlstring(L, value.data, value.length);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, headers, (lua_Integer)lua_rawlen(L, headers) + 1);
  } else {
    lua_pushlstring(L, value.data, value.length);
    lua_setfield(L, headers, name);
  }
  lua_settop(L, headers - 1);
}
