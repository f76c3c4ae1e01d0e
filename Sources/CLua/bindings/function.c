/* function.c - functions of the host program as globals of a script. */
#include <limits.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_functions.h"
#include "njl_future.h"
#include "njl_types.h"

/* The results of a call. The userdata is created before the call, so that the results are released if pushing them
 * raises. */
typedef struct results {
  njl_results *handle;
} results;

static const char NJL_RESULTS[] = "nightjar.results";

static int results_gc(lua_State *L) {
  results *self = lua_touserdata(L, 1);
  njl_results_release(self->handle);
  self->handle = NULL;
  return 0;
}

/* The wait for the result of a deferred call. */
typedef struct call_wait {
  njl_wait wait;
  const results *made; /* on the stack of the waiting function */
} call_wait;

/* Pushes the results of the call, or raises its error. */
static int finish(lua_State *L, const results *made) {
  njl_value failure;
  size_t returned = njl_results_count(made->handle, &failure);
  if (failure.kind == NJL_STRING) {
    luaL_where(L, 1);
    njl_push_value(L, &failure);
    lua_concat(L, 2);
    return lua_error(L);
  }
  if (returned > INT_MAX / 2) return luaL_error(L, "too many results");
  luaL_checkstack(L, (int)returned + LUA_MINSTACK, "too many results");
  for (size_t index = 0; index < returned; index++) {
    njl_value value = njl_results_value(made->handle, index);
    njl_push_value(L, &value);
  }
  return (int)returned;
}

static int settled(lua_State *L, int status, lua_KContext context) {
  (void)status;
  call_wait *self = (call_wait *)context;
  njl_check_work(L, &self->wait);
  return finish(L, self->made);
}

static int await(lua_State *L, const results *made) {
  njl_host *host = njl_host_open(L);
  njl_open_values(L);
  call_wait *self = (call_wait *)njl_wait_push_sized(L, host, sizeof *self);
  self->made = made;
  njl_reply *error = njl_error_push(L);
  self->wait.call = njl_results_await(host->engine, made->handle, &self->wait, &error->wait.call);
  if (self->wait.call == NULL) return lua_error(L);
  host->calls++;
  lua_pop(L, 1);
  return njl_await(L, &self->wait, settled);
}

/* Calls the function in the upvalue. */
static int call(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", results_gc}, {NULL, NULL}};
  int count = lua_gettop(L);
  njl_value *arguments = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *arguments, 0);
  for (int index = 0; index < count; index++) arguments[index] = njl_value_at(L, index + 1);
  results *made = lua_newuserdatauv(L, sizeof *made, 0);
  made->handle = NULL;
  njl_push_metatable(L, NJL_RESULTS, meta);
  lua_setmetatable(L, -2);
  njl_own(L);

  njl_function *function = lua_touserdata(L, lua_upvalueindex(1));
  made->handle = njl_function_call(function, (njl_arguments *)L, arguments, (size_t)count);
  return njl_results_are_deferred(made->handle) ? await(L, made) : finish(L, made);
}

void njl_push_function(lua_State *L, njl_function *function) {
  lua_pushlightuserdata(L, function);
  lua_pushcclosure(L, call, 1);
}
