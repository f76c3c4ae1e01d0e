/* guard.c - the end of a state of an object while a function of the script runs. */
#include "core/guard.h"

#include <lua5.4/lauxlib.h>

#include "core/metatable.h"

static int close_guard(lua_State *L) {
  const njl_guard *self = lua_touserdata(L, 1);
  if (self->end != NULL) self->end(self->object);
  return 0;
}

njl_guard *njl_guard_push(lua_State *L, int owner) {
  static const char type[] = "nightjar.guard";
  static const luaL_Reg meta[] = {{"__close", close_guard}, {NULL, NULL}};
  njl_guard *self = lua_newuserdatauv(L, sizeof *self, 1);
  *self = (njl_guard){.object = lua_touserdata(L, owner)};
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
  njl_push_metatable(L, type, meta);
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  return self;
}
