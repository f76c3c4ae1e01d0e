/* testing.c - what nightjar.testing has of C: the clock for tests, and how many tasks a test has left. */
#include "modules/modules.h"

/* unended(): how many tasks that the current one has begun have not ended */
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
