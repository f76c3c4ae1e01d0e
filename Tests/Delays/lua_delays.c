/*
 * Delays Lua programs at random lines. The program calls require "lua_delays" in the main thread, and its coroutines
 * inherit the hook.
 * DELAYS_LUA_RATE=5 delays 5 of 1,000 lines by up to DELAYS_LONGEST milliseconds. See scripts/with-delays.
 */
#include <lauxlib.h>
#include <lua.h>

#include "random_delay.h"

static struct random_delay settings;

static void delay_line(lua_State *L, lua_Debug *line) {
  (void)L;
  (void)line;
  random_delay(&settings);
}

int luaopen_lua_delays(lua_State *L) {
  settings = random_delay_settings("DELAYS_LUA_RATE");
  if (settings.rate > 0) lua_sethook(L, delay_line, LUA_MASKLINE, 0);
  return 0;
}
