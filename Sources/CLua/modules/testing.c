/* testing.c - the C part of nightjar.testing: the virtual clock, and the number of a test's tasks that have not ended.
 * Parts of the module's Lua text are separate chunks (njl_add_part). */
#include <lua5.4/lua.h>

#include "core/clock.h"
#include "core/host.h"
#include "json/json.h"
#include "modules/modules.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
static const char values_source[] = {
#embed "lua/testing_values.lua"
};
static const char assertions_source[] = {
#embed "lua/testing_assertions.lua"
};
static const char replay_source[] = {
#embed "lua/testing_replay.lua"
};
static const char reports_source[] = {
#embed "lua/testing_reports.lua"
};
#pragma clang diagnostic pop

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
  njl_json_push_null(L);
  lua_setfield(L, 1, "null");
  njl_add_part(L, 1, "values", "=nightjar.testing.values", values_source, sizeof values_source);
  njl_add_part(L, 1, "assertions", "=nightjar.testing.assertions", assertions_source, sizeof assertions_source);
  njl_add_part(L, 1, "replayed", "=nightjar.testing.replay", replay_source, sizeof replay_source);
  njl_add_part(L, 1, "reports", "=nightjar.testing.reports", reports_source, sizeof reports_source);
  return 0;
}
