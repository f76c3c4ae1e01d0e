/* drain.c - api:drain, which waits for the end of the work in flight and closes the client. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "bindings/bindings.h"
#include "core/failure.h"
#include "core/host.h"
#include "core/loop.h"
#include "core/names.h"
#include "core/wait.h"
#include "njl_calls.h"
#include "njl_future.h"
#include "njl_logins.h"

enum { CLIENT = 1, OPTIONS, REPLY };

static int drained(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_reply *reply = (njl_reply *)context;
  bool has_failed = njl_login_has_failed(reply->wait.call);
  lua_settop(L, REPLY);
  lua_getfield(L, CLIENT, "close");
  lua_pushvalue(L, CLIENT);
  lua_call(L, 1, 0);
  return has_failed ? njl_reply_finish(L, REPLY) : 0;
}

/* api:drain{ timeout = } raises an error of the kind timeout if the work does not end in time, and cancels the rest. */
int njl_client_drain(lua_State *L) {
  static const char *const known[] = {"timeout", NULL};
  njl_client *client = njl_check_client(L);
  if (njl_client_is_shared(L)) return luaL_error(L, "drain failed: the client belongs to the host program; let the host program drain it");
  lua_settop(L, OPTIONS);
  double seconds = 0;
  if (!lua_isnil(L, OPTIONS)) {
    if (!lua_istable(L, OPTIONS)) {
      return luaL_error(L, "drain: options must be a table, got %s", luaL_typename(L, OPTIONS));
    }
    njl_check_options(L, OPTIONS, "drain", "", known);
    lua_pushliteral(L, "timeout");
    if (lua_rawget(L, OPTIONS) != LUA_TNIL) seconds = njl_check_limit(L, -1, "drain", "timeout");
    lua_settop(L, OPTIONS);
  }
  njl_host *host = njl_host_open(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  njl_reply *reply = (njl_reply *)njl_reply_push(L, host);
  njl_future *refusal = NULL;
  reply->wait.call = njl_drain_start(host->engine, client, &reply->wait, seconds, &refusal);
  if (reply->wait.call == NULL) {
    reply->wait.call = refusal;
    reply->wait.state = NJL_DONE;
    return njl_reply_finish(L, REPLY);
  }
  host->calls++;
  return njl_await(L, &reply->wait, drained);
}
