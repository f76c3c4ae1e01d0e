/* metatable.c - the metatables of our userdata. */
#include "njl.h"

/* Scripts cannot get it: its finalizers take for granted what they are called with, and what a script changed in it would be
 * changed for everybody. It is known by its name when it is whole: where memory runs out before, the next call makes it. */
void njl_push_metatable(lua_State *L, const char *name, const luaL_Reg *meta) {
  if (luaL_getmetatable(L, name) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "__metatable");
  luaL_setfuncs(L, meta, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, name);
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
