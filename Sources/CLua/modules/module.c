/* module.c - the table that require "nightjar" returns. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/coroutine.h"
#include "core/debounce.h"
#include "core/failure.h"
#include "core/group.h"
#include "core/host.h"
#include "core/task.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "modules/modules.h"
#include "njl_engine.h"

static int called(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return lua_gettop(L);
}

/* Calls a function of a module, which is loaded on the first call. The upvalues are the module and the function's
 * name in it. */
static int call_module(lua_State *L) {
  int arguments = lua_gettop(L);
  luaL_checkstack(L, 8, NULL);
  const char *module = lua_tostring(L, lua_upvalueindex(1));
  if (!njl_push_module(L, module)) return luaL_error(L, "module '%s' is not available to this script", module);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_rawget(L, -2);
  lua_replace(L, -2);
  lua_insert(L, 1);
  lua_callk(L, arguments, LUA_MULTRET, 0, called);
  return called(L, LUA_OK, 0);
}

static void set_module_functions(lua_State *L) {
  static const char *const functions[][2] = {{"nightjar.channels", "channel"}, {"nightjar.channels", "select"},
                                             {"nightjar.timers", "after"},     {"nightjar.timers", "every"}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    lua_pushstring(L, functions[i][0]);
    lua_pushstring(L, functions[i][1]);
    lua_pushcclosure(L, call_module, 2);
    lua_setfield(L, -2, functions[i][1]);
  }
}

int luaopen_nightjar(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"client", njl_client_open}, {"spawn", njl_spawn}, {"sleep", njl_sleep},
      {"all", njl_all},            {"race", njl_race},   {"map", njl_map},
      {"timeout", njl_timeout},    {"try", njl_try},     {"array", njl_json_array},
      {"debounce", njl_debounce},  {"throttle", njl_throttle}, {"idempotency_key", njl_new_idempotency_key},
      {"mock", njl_mock_open},
      {NULL, NULL},
  };
  luaL_checkversion(L);
  /* A stock interpreter loads the library, which must not change the disposition of SIGPIPE. */
  if (!njl_host_is_open(L)) njl_keep_signals();
  njl_host *host = njl_host_open(L);
  njl_open_coroutine(L);
  njl_open_error(L);
  njl_open_response(L);
  njl_open_task(L);
  njl_open_client(L);
  njl_open_loan(L);
  njl_open_cookies(L);
  njl_open_mock(L);
  njl_open_token_store(L);
  njl_open_cache(L);
  njl_open_list(L);
  njl_open_records(L);
  njl_open_events(L);
  njl_open_resource(L);
  njl_open_websocket(L);
  njl_open_download(L);
  njl_open_upload(L);
  njl_open_endpoints(L);
  njl_open_explain(L);
  njl_open_debounce(L);
  luaL_newlibtable(L, functions);
  lua_pushlightuserdata(L, host); /* The registry keeps the host alive. */
  luaL_setfuncs(L, functions, 1);
  set_module_functions(L);
  njl_json_open(L);
  lua_setfield(L, -2, "json");
  njl_json_push_null(L);
  lua_setfield(L, -2, "null");
  lua_pushliteral(L, NJL_VERSION);
  lua_setfield(L, -2, "version");
  njl_open_modules(L);
  if (!host->is_sandboxed) njl_preload_modules(L);
  return 1;
}
