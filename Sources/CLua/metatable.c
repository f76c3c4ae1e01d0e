/* metatable.c - the metatables of our userdata. */
#include "njl.h"

/* Pushes the metatable `name`; true: it is new, and known only when `keep` is told, so that none is met half made where memory
 * ran out. Scripts cannot get it: its finalizers take for granted what they are called with, and what a script changed in it
 * would be changed for everybody. */
static bool begin(lua_State *L, const char *name, const luaL_Reg *meta) {
  if (luaL_getmetatable(L, name) == LUA_TTABLE) return false;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "__metatable");
  luaL_setfuncs(L, meta, 0);
  return true;
}

static void keep(lua_State *L, const char *name) {
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, name);
}

void njl_push_metatable(lua_State *L, const char *name, const luaL_Reg *meta) {
  if (begin(L, name, meta)) keep(L, name);
}

void njl_add_type(lua_State *L, const char *name, const luaL_Reg *meta, const luaL_Reg *methods, lua_CFunction unknown) {
  if (begin(L, name, meta)) {
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    if (unknown != NULL) {
      lua_createtable(L, 0, 1);
      lua_pushcfunction(L, unknown);
      lua_setfield(L, -2, "__index");
      lua_setmetatable(L, -2);
    }
    lua_setfield(L, -2, "__index");
    keep(L, name);
  }
  lua_pop(L, 1);
}

void njl_add_functions(lua_State *L, int table, const luaL_Reg *functions) {
  lua_pushvalue(L, table);
  lua_pushlightuserdata(L, njl_host_open(L));
  luaL_setfuncs(L, functions, 1);
  lua_pop(L, 1);
}
