/* exit.c - os.exit of our own states. Lua's ends the process where it stands and finalizes nothing unless it is asked to: what
 * is temporary would stay, and processes would run on. Here both end before, as they do where a script ends. Nothing else of
 * the script runs: neither finalizers nor what closes variables. */
#include <stdlib.h>

#include "modules/modules.h"

/* os.exit(code, close), by the upvalues: the host, and Lua's own */
static int leave(lua_State *L) {
  if (!lua_isboolean(L, 1)) luaL_optinteger(L, 1, EXIT_SUCCESS); /* Or it would go on without what is ended here. */
  njl_end_processes(L);
  njl_engine_leave(njl_host_of(L)->engine);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 0);
  return 0;
}

void njl_open_exit(lua_State *L) {
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_pushlightuserdata(L, njl_host_open(L));
  lua_getfield(L, -2, "exit");
  lua_pushcclosure(L, leave, 2);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
}
