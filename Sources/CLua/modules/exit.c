/* exit.c - os.exit of the host's own states. Without `close`, Lua's os.exit ends the process without finalizers, so
 * temporary files would remain and child processes would continue to run. This os.exit first removes temporary files
 * and ends child processes, as the end of a script does. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdlib.h>

#include "core/host.h"
#include "modules/modules.h"
#include "njl_engine.h"

/* os.exit(code, close). The upvalues are the host and Lua's own os.exit. */
static int leave(lua_State *L) {
  /* Raises an error for an invalid argument before it ends any process. */
  if (!lua_isboolean(L, 1)) luaL_optinteger(L, 1, EXIT_SUCCESS);
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
