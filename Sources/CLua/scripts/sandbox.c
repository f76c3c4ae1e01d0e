/* sandbox.c - the libraries of sandboxed scripts, without access to files, processes or Lua's internals. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>

#include "modules/modules.h"
#include "scripts/scripts.h"

/* Rejects __gc: hooks are off in finalizers, so a loop in a finalizer could not be stopped. */
static int set_metatable(lua_State *L) {
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, 2) != LUA_TNIL) {
      return luaL_error(L, "setmetatable: finalizers (__gc) are not available in a sandbox");
    }
    lua_settop(L, 2);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* Supports require "nightjar" and require "nightjar.NAME", so that a script works both in a sandbox and outside of a
 * sandbox. */
static int require(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, name) != LUA_TNIL || njl_push_module(L, name)) return 1;
  return luaL_error(L, "module '%s' is not available in a sandbox", name);
}

static void wrap(lua_State *L, const char *name, lua_CFunction function) {
  lua_getglobal(L, name);
  lua_pushcclosure(L, function, 1);
  lua_setglobal(L, name);
}

void njl_open_sandbox(lua_State *L, njl_host *host) {
  static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},          {LUA_COLIBNAME, luaopen_coroutine},
                                       {LUA_TABLIBNAME, luaopen_table},    {LUA_STRLIBNAME, luaopen_string},
                                       {LUA_MATHLIBNAME, luaopen_math},    {LUA_UTF8LIBNAME, luaopen_utf8},
                                       {NULL, NULL}};
  static const char *const absent[] = {"dofile", "loadfile", "print", "warn", "collectgarbage", NULL};
  for (const luaL_Reg *library = libraries; library->name != NULL; library++) {
    luaL_requiref(L, library->name, library->func, 1);
    lua_pop(L, 1);
  }
  for (const char *const *name = absent; *name != NULL; name++) {
    lua_pushnil(L);
    lua_setglobal(L, *name);
  }
  wrap(L, "setmetatable", set_metatable);
  lua_pushcfunction(L, require);
  lua_setglobal(L, "require");
  lua_getglobal(L, LUA_STRLIBNAME);
  lua_pushnil(L);
  lua_setfield(L, -2, "dump");
  lua_pop(L, 1);
  njl_bound_base(L, host);
  njl_bound_strings(L, host);
  njl_bound_tables(L, host);
}
