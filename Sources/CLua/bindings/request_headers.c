/* request_headers.c - sets a field in the headers of a request table, in either of their forms. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <strings.h>

#include "bindings/bindings.h"

/* Pushes the key and the value that represent the field: an index and a pair in a list, or a name and a text. */
static void push_field(lua_State *L, bool is_list, lua_Integer index, const char *name, njl_bytes value) {
  if (is_list) {
    lua_pushinteger(L, index);
    lua_createtable(L, 2, 0);
    lua_pushstring(L, name);
    lua_rawseti(L, -2, 1);
    lua_pushlstring(L, value.data, value.length);
    lua_rawseti(L, -2, 2);
  } else {
    lua_pushstring(L, name);
    lua_pushlstring(L, value.data, value.length);
  }
}

/* Removes the fields with this name. Returns whether there was one. If `replaces` is false, only searches. */
static bool remove_fields(lua_State *L, int headers, bool is_list, const char *name, bool replaces) {
  bool found = false;
  for (lua_pushnil(L); lua_next(L, headers) != 0; lua_pop(L, 1)) {
    if (is_list && lua_istable(L, -1)) lua_rawgeti(L, -1, 1);
    else lua_pushvalue(L, -2);
    bool is_same = lua_type(L, -1) == LUA_TSTRING && strcasecmp(lua_tostring(L, -1), name) == 0;
    lua_pop(L, 1);
    if (!is_same) continue;
    found = true;
    if (!replaces || is_list) continue;
    lua_pushvalue(L, -2);
    lua_pushnil(L); /* A field may be removed during the traversal. */
    lua_rawset(L, headers);
  }
  return found;
}

void njl_set_header(lua_State *L, int request, const char *name, njl_bytes value, bool replaces) {
  lua_getfield(L, request, "headers");
  int headers = lua_gettop(L);
  if (lua_istable(L, headers)) { /* njl_read_options rejects other types. */
    bool is_list = lua_rawlen(L, headers) > 0;
    bool found = remove_fields(L, headers, is_list, name, replaces);
    if (!found || (replaces && !is_list)) {
      push_field(L, is_list, (lua_Integer)lua_rawlen(L, headers) + 1, name, value);
      lua_rawset(L, headers);
    }
  }
  lua_settop(L, headers - 1);
}
