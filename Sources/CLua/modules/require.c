/* require.c - the require of the host's own states. A module may wait while it is loaded, for example for a call,
 * and other tasks run meanwhile. Lua's require calls modules from C without a continuation, so all tasks would wait. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>

#include "core/gate.h"
#include "core/host.h"
#include "core/metatable.h"
#include "modules/modules.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
static const char source[] = {
#embed "lua/require.lua"
};
#pragma clang diagnostic pop

/* task(level) -> an identifier and the number of the running task (level 0), of its parent (level 1) and so on; nil if
 * there are fewer ancestors */
static int task(lua_State *L) {
  lua_Integer level = luaL_checkinteger(L, 1);
  njl_task *task = njl_host_of(L)->current;
  while (level-- > 0 && task != NULL) task = task->parent;
  if (task == NULL) return 0;
  lua_pushlightuserdata(L, task);
  lua_pushinteger(L, task->number);
  return 2;
}

/* spawned() -> the highest task number */
static int spawned(lua_State *L) {
  lua_pushinteger(L, njl_host_of(L)->spawned);
  return 1;
}

void njl_open_require(lua_State *L) {
  static const luaL_Reg functions[] = {{"task", task}, {"spawned", spawned}, {NULL, NULL}};
  if (luaL_loadbufferx(L, source, sizeof source, "=nightjar.require", "t") != LUA_OK) lua_error(L);
  lua_createtable(L, 0, 8);
  njl_add_gates(L, -1);
  njl_add_functions(L, -1, functions);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, LUA_LOADLIBNAME);
  lua_setfield(L, -3, "package");
  lua_setfield(L, -2, "loaded");
  lua_call(L, 1, 1);
  lua_setglobal(L, "require");
}
