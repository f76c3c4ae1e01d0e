/* testing.c - the C part of nightjar.testing: the virtual clock, and the number of tasks that a test has not ended. */
#include <lua5.4/lua.h>

#include "core/clock.h"
#include "core/host.h"
#include "modules/modules.h"

/* unended() -> the number of children of the current task that have not ended */
static int unended(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)njl_host_open(L)->current->unended);
  return 1;
}

int njl_open_testing(lua_State *L) {
  lua_settop(L, 1);
  njl_add_clock(L);
  lua_pushcfunction(L, unended);
  lua_setfield(L, 1, "unended");
  return 0;
}
