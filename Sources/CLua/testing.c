/* testing.c - nightjar.testing: what scripts are tested with. */
#include "njl.h"

int njl_open_testing(lua_State *L) {
  lua_newtable(L);
  njl_add_clock(L);
  return 1;
}
