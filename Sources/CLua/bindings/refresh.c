/* refresh.c - the background revalidation of stale responses: res:refreshed() and the option on_refresh. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/task.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_calls.h"
#include "njl_future.h"

/* Pushes the result of the revalidation at `index`: the new response; nil and the error; or nil if nothing was
 * revalidated. */
static int push_fresh(lua_State *L, int index) {
  njl_reply *reply = lua_touserdata(L, index);
  njl_failure failure;
  if (njl_future_is_response(reply->wait.call)) return njl_reply_finish(L, index);
  lua_pushnil(L);
  if (!njl_future_failure(reply->wait.call, &failure)) return 1;
  lua_pushvalue(L, index);
  njl_set_type(L, NJL_ERROR);
  return 2;
}

/* Pushes a reply that waits for the call's revalidation. Returns false and pushes nothing if there is none. */
static bool push_wait(lua_State *L, njl_host *host, njl_future *call) {
  njl_wait *wait = njl_reply_push(L, host);
  wait->state = NJL_DONE; /* No task waits yet. */
  wait->call = njl_call_refresh(host->engine, call);
  if (wait->call == NULL) lua_pop(L, 1);
  return wait->call != NULL;
}

static int await_fresh(lua_State *L, njl_wait *wait, lua_KFunction then) {
  njl_call_await(wait->host->engine, wait->call, wait);
  wait->state = NJL_PENDING;
  wait->host->calls++;
  return njl_await(L, wait, then);
}

static int came(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return push_fresh(L, 2);
}

/* res:refreshed() waits for the revalidation -> the new response; nil and the error; nil if nothing is revalidated */
int njl_refreshed(lua_State *L) {
  njl_reply *reply = njl_check(L, 1, NJL_RESPONSE);
  njl_host *host = njl_host_open(L);
  lua_settop(L, 1);
  if (!push_wait(L, host, reply->wait.call)) {
    lua_pushnil(L);
    return 1;
  }
  return await_fresh(L, lua_touserdata(L, 2), came);
}

/* --- on_refresh --- */

static int after_on_refresh(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 0;
}

/* Calls the on_refresh function with the result of the revalidation. The stack: the on_refresh function, and the
 * finished reply. */
static int report(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_pushvalue(L, 1);
  int count = push_fresh(L, 2);
  if (count == 1 && lua_isnil(L, -1)) return 0;
  lua_callk(L, count, 0, 0, after_on_refresh);
  return 0;
}

static int watch(lua_State *L) { return await_fresh(L, lua_touserdata(L, 2), report); }

/* Starts a child of the script's main task. A child of the calling task would delay the end of the calling task until
 * the revalidation has ended. */
void njl_watch_refresh(lua_State *L, int index) {
  njl_reply *reply = lua_touserdata(L, index);
  njl_host *host = reply->wait.host;
  if (!njl_future_is_response(reply->wait.call)) return;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_pushcfunction(L, watch);
  lua_getiuservalue(L, index, NJL_REPLY_REFRESH);
  if (!push_wait(L, host, reply->wait.call)) return lua_pop(L, 2);
  njl_task_leave_to_script(njl_task_spawn(L, host, 2));
  lua_pop(L, 1);
}
