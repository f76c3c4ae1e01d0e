/* client_options.c - encodes the options of nightjar.client{...} as JSON. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <math.h>

#include "core/names.h"
#include "json/json.h"
#include "bindings/bindings.h"

/* Pushes a copy of the options at `index` without those that may have functions. Raises an error for a function in another
 * option. */
static void push_without_functions(lua_State *L, int index) {
  static const char *const functions[] = {"log",        "before",   "after",    "mock",     "on_challenge",
                                          "on_request", "on_store", "observer", "resolver", "on_addresses",
                                          "token_store", NULL};
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, index) != 0;) {
    if (njl_find_name(L, -2, functions) >= 0) {
      lua_pop(L, 1);
      continue;
    }
    if (lua_isfunction(L, -1)) {
      luaL_error(L, "client: the option '%s' is unknown, or cannot be a function", luaL_tolstring(L, -2, NULL));
    }
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
}

/* Replaces infinite timeouts by 0 (no limit), because JSON has no infinity. Does not change the options at index 1 but
 * replaces them by a copy. */
static void bound_timeouts(lua_State *L) {
  static const char *const limits[] = {"connect", "idle", "total"};
  lua_pushliteral(L, "timeout");
  int type = lua_rawget(L, 1);
  bool changes = type == LUA_TNUMBER && lua_tonumber(L, -1) == HUGE_VAL;
  if (changes) {
    lua_pop(L, 1);
    lua_pushinteger(L, 0);
  } else if (type == LUA_TTABLE) {
    njl_push_copy(L, lua_gettop(L));
    for (size_t index = 0; index < sizeof limits / sizeof *limits; index++) {
      lua_pushstring(L, limits[index]);
      bool is_infinite = lua_rawget(L, -2) == LUA_TNUMBER && lua_tonumber(L, -1) == HUGE_VAL;
      lua_pop(L, 1);
      if (!is_infinite) continue;
      lua_pushstring(L, limits[index]);
      lua_pushinteger(L, 0);
      lua_rawset(L, -3);
      changes = true;
    }
    lua_remove(L, -2);
  }
  if (changes) {
    njl_push_copy(L, 1);
    lua_pushliteral(L, "timeout");
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_replace(L, 1);
  }
  lua_pop(L, 1);
}

void njl_encode_client_options(lua_State *L) {
  if (lua_isnil(L, 1)) {
    lua_pushliteral(L, "{}");
    return;
  }
  push_without_functions(L, 1);
  lua_replace(L, 1);
  bound_timeouts(L);
  njl_json_encode(L, 1, "options");
}
