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
