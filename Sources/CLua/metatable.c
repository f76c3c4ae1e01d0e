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

/* Gives the metatable on the top its methods. A name that is none of them is asked of `unknown`, which says so. */
void njl_set_methods(lua_State *L, const luaL_Reg *methods, lua_CFunction unknown) {
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, unknown);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, "__index");
}
