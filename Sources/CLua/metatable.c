/* metatable.c - the metatables of our userdata. */
#include "njl.h"

/* As luaL_newmetatable, but scripts cannot get it: its finalizers take for granted what they are called with, and what a
 * script changed in it would be changed for everybody. */
bool njl_new_metatable(lua_State *L, const char *name) {
  if (!luaL_newmetatable(L, name)) return false;
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "__metatable");
  return true;
}

void njl_add_type(lua_State *L, const char *name, const luaL_Reg *meta, const luaL_Reg *methods, lua_CFunction unknown) {
  if (njl_new_metatable(L, name)) {
    luaL_setfuncs(L, meta, 0);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    if (unknown != NULL) {
      lua_createtable(L, 0, 1);
      lua_pushcfunction(L, unknown);
      lua_setfield(L, -2, "__index");
      lua_setmetatable(L, -2);
    }
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
}

void njl_add_functions(lua_State *L, int table, const luaL_Reg *functions) {
  lua_pushvalue(L, table);
  lua_pushlightuserdata(L, njl_host_open(L));
  luaL_setfuncs(L, functions, 1);
  lua_pop(L, 1);
}
