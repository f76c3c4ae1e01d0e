/* refresh.c - stored answers that are fetched anew while the script has them already: res:refreshed(), and on_refresh of a
 * call. */
#include "bindings/bindings.h"

/* The fresh answer at `index`; nil and the error; or nil where there is none. */
static int push_fresh(lua_State *L, int index) {
  njl_reply *reply = lua_touserdata(L, index);
  njl_failure failure;
  if (njl_outcome_is_response(reply->wait.call)) return njl_reply_finish(L, index);
  lua_pushnil(L);
  if (!njl_outcome_failure(reply->wait.call, &failure)) return 1;
  lua_pushvalue(L, index);
  njl_set_type(L, NJL_ERROR);
  return 2;
}

/* Pushes what the call's refresh is waited for with; false: there is none, and nothing is pushed. */
static bool push_wait(lua_State *L, njl_host *host, njl_outcome *call) {
  njl_wait *wait = njl_reply_push(L, host);
  wait->state = NJL_DONE; /* Nobody waits yet. */
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

/* res:refreshed() -> the fresh answer, once it is there; nil and the error; nil where none is fetched */
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

static int told(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 0;
}

/* The function, and what it waits for */
static int tell(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_pushvalue(L, 1);
  int count = push_fresh(L, 2);
  if (count == 1 && lua_isnil(L, -1)) return 0;
  lua_callk(L, count, 0, 0, told);
  return 0;
}

static int hear(lua_State *L) { return await_fresh(L, lua_touserdata(L, 2), tell); }

/* The task belongs to the script as a whole: whoever waits for the end of the one that made the call must not wait for the
 * server, too, which offline-first spares them. */
void njl_hear_of_refresh(lua_State *L, int index) {
  njl_reply *reply = lua_touserdata(L, index);
  njl_host *host = reply->wait.host;
  if (!njl_outcome_is_response(reply->wait.call)) return;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_pushcfunction(L, hear);
  lua_getiuservalue(L, index, NJL_REPLY_REFRESH);
  if (!push_wait(L, host, reply->wait.call)) return lua_pop(L, 2);
  njl_task_leave_to_script(njl_task_spawn(L, host, 2));
  lua_pop(L, 1);
}
