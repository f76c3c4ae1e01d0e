/* testing_tasks.c - what nightjar.testing sees of tasks. */
#include "njl.h"

/* unended(): how many tasks that the current one has begun have not ended */
static int unended(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)njl_host_open(L)->current->unended);
  return 1;
}

int njl_open_testing_tasks(lua_State *L) {
  lua_pushcfunction(L, unended);
  lua_setfield(L, 1, "unended");
  return 0;
}
