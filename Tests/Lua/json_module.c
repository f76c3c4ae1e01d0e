/* The JSON functions of CLua as a module for stock lua5.4, so that json.lua runs without the rest of the library. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "njl_json.h"

int luaopen_njl_json(lua_State *L);

int luaopen_njl_json(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"decode", njl_json_decode}, {"encode", njl_json_encode}, {"array", njl_json_array}, {NULL, NULL}};
  luaL_newlib(L, functions);
  njl_push_null(L);
  lua_setfield(L, -2, "null");
  return 1;
}
