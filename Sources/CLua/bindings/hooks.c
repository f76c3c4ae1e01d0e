/* hooks.c - hooks of the script: before and after each call of a client, on redirects, on failed attempts, on
 * progress, and when a call waits for the network. Hooks run in the coroutine of the call and may wait. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/task.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_calls.h"
#include "njl_future.h"

/* --- Before and after --- */

bool njl_read_function(lua_State *L, int options, int client, const char *name, int slot) {
  lua_pushstring(L, name);
  if (lua_rawget(L, options) == LUA_TNIL) {
    lua_pop(L, 1);
    return false;
  }
  if (!njl_is_callable(L, -1)) luaL_error(L, "client: %s must be a function, got %s", name, luaL_typename(L, -1));
  lua_setiuservalue(L, client, slot);
  return true;
}

bool njl_read_hooks(lua_State *L, int options, int client) {
  bool has_before = njl_read_function(L, options, client, "before", NJL_CLIENT_BEFORE);
  return njl_read_function(L, options, client, "after", NJL_CLIENT_AFTER) || has_before;
}

void njl_push_copy(lua_State *L, int index) {
  index = lua_absindex(L, index);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, index) != 0;) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
}

void njl_push_request(lua_State *L, int options) {
  /* Copies also the caller's tables that hooks often change. */
  static const char *const tables[] = {"headers", "query", "params"};
  if (lua_istable(L, options)) njl_push_copy(L, options);
  else lua_newtable(L);
  for (size_t index = 0; index < sizeof tables / sizeof *tables; index++) {
    lua_pushstring(L, tables[index]);
    if (lua_rawget(L, -2) == LUA_TTABLE) {
      njl_push_copy(L, -1);
      lua_setfield(L, -3, tables[index]);
    }
    lua_pop(L, 1);
  }
  lua_pushliteral(L, "headers");
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_newtable(L);
    lua_setfield(L, -3, "headers");
  }
  lua_pop(L, 1);
}

/* The stack of the functions below. */
enum { REQUEST = 2, OUTCOME };

static int over(lua_State *L, int status, lua_KContext succeeded) {
  (void)status;
  lua_settop(L, OUTCOME);
  return succeeded ? 1 : lua_error(L);
}

static int responded(lua_State *L, int status, lua_KContext context) {
  (void)context;
  lua_KContext succeeded = status == LUA_OK || status == LUA_YIELD;
  /* The after hook is called only for responses and error objects, not for other errors, such as a wrong option. */
  bool is_future = njl_test(L, OUTCOME, succeeded ? NJL_RESPONSE : NJL_ERROR) != NULL;
  if (!is_future || lua_getiuservalue(L, 1, NJL_CLIENT_AFTER) == LUA_TNIL) return over(L, LUA_OK, succeeded);
  lua_pushvalue(L, OUTCOME);
  lua_pushvalue(L, REQUEST);
  lua_callk(L, 2, 0, succeeded, over);
  return over(L, LUA_OK, succeeded);
}

static int prepared(lua_State *L, int status, lua_KContext context) {
  (void)status;
  lua_settop(L, REQUEST);
  lua_pushcfunction(L, (lua_CFunction)context);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, REQUEST);
  return responded(L, lua_pcallk(L, 2, 1, 0, 0, responded), 0);
}

int njl_call_hooked(lua_State *L, lua_CFunction request) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (lua_getiuservalue(L, 1, NJL_CLIENT_BEFORE) != LUA_TNIL) {
    lua_pushvalue(L, REQUEST);
    lua_callk(L, 1, 0, (lua_KContext)request, prepared);
  }
  return prepared(L, LUA_OK, (lua_KContext)request);
}

/* --- Redirects --- */

static void set_text(lua_State *L, njl_future *call, njl_field field, const char *name) {
  size_t length = 0;
  const char *text = njl_future_text(call, field, &length);
  lua_pushlstring(L, text == NULL ? "" : text, length);
  lua_setfield(L, -2, name);
}

/* Continues to wait for the call after one of its functions has returned. */
static int set_next(lua_State *L, njl_reply *reply) {
  lua_settop(L, reply->top);
  njl_call_await(reply->wait.host->engine, reply->wait.call, &reply->wait);
  reply->wait.state = NJL_PENDING;
  reply->wait.host->calls++;
  return njl_await(L, &reply->wait, njl_responded);
}

static int decided(lua_State *L, int status, lua_KContext context) {
  njl_reply *reply = (njl_reply *)context;
  njl_future *call = reply->wait.call;
  bool failed = status != LUA_OK && status != LUA_YIELD, follows = true;
  njl_bytes url = {0};
  if (!failed) {
    switch (lua_type(L, -1)) {
    case LUA_TNIL: break;
    case LUA_TBOOLEAN: follows = lua_toboolean(L, -1); break;
    case LUA_TSTRING: url.data = lua_tolstring(L, -1, &url.length); break;
    default:
      lua_pushfstring(L, "on_redirect must return true, false or a URL, got %s", luaL_typename(L, -1));
      failed = true;
    }
  }
  if (failed) { /* The error of the hook replaces the response. */
    njl_call_cancel(call);
    return lua_error(L);
  }
  njl_call_redirect(call, follows, url);
  return set_next(L, reply);
}

int njl_decide_redirect(lua_State *L, njl_reply *reply) {
  njl_future *call = reply->wait.call;
  lua_settop(L, reply->top);
  lua_getiuservalue(L, 2, NJL_REPLY_REDIRECT);
  lua_createtable(L, 0, 4);
  lua_pushinteger(L, njl_call_redirect_status(call));
  lua_setfield(L, -2, "status");
  set_text(L, call, NJL_REDIRECT_URL, "url");
  set_text(L, call, NJL_REDIRECT_SOURCE_URL, "from");
  set_text(L, call, NJL_REDIRECT_METHOD, "method");
  return decided(L, lua_pcallk(L, 1, 1, 0, (lua_KContext)reply, decided), (lua_KContext)reply);
}

/* --- Progress and waiting --- */

static int after_report(lua_State *L, int status, lua_KContext context) {
  njl_reply *reply = (njl_reply *)context;
  if (status != LUA_OK && status != LUA_YIELD) { /* The error of the function replaces the response. */
    njl_call_cancel(reply->wait.call);
    return lua_error(L);
  }
  return set_next(L, reply);
}

void njl_set_count(lua_State *L, int64_t count, const char *name) {
  if (count < 0) return;
  lua_pushinteger(L, count);
  lua_setfield(L, -2, name);
}

int njl_report_progress(lua_State *L, njl_reply *reply, const njl_progress *progress) {
  lua_settop(L, reply->top);
  lua_getiuservalue(L, 2, NJL_REPLY_PROGRESS);
  lua_createtable(L, 0, 4);
  njl_set_count(L, progress->sent, "sent");
  njl_set_count(L, progress->sent_total, "sent_total");
  njl_set_count(L, progress->received, "received");
  njl_set_count(L, progress->received_total, "received_total");
  return after_report(L, lua_pcallk(L, 1, 0, 0, (lua_KContext)reply, after_report), (lua_KContext)reply);
}

int njl_report_waiting(lua_State *L, njl_reply *reply, const char *reason) {
  lua_settop(L, reply->top);
  lua_getiuservalue(L, 2, NJL_REPLY_WAITING);
  lua_pushstring(L, reason);
  return after_report(L, lua_pcallk(L, 1, 0, 0, (lua_KContext)reply, after_report), (lua_KContext)reply);
}

/* --- Failed attempts --- */

static int judged(lua_State *L, int status, lua_KContext context) {
  njl_reply *reply = (njl_reply *)context;
  njl_future *call = reply->wait.call;
  bool failed = status != LUA_OK && status != LUA_YIELD;
  njl_retry retry = NJL_RETRY_DEFAULT;
  double after = 0;
  if (!failed) {
    switch (lua_type(L, -1)) {
    case LUA_TNIL: break;
    case LUA_TBOOLEAN: retry = lua_toboolean(L, -1) ? NJL_RETRY_AGAIN : NJL_RETRY_STOP; break;
    case LUA_TNUMBER:
      retry = NJL_RETRY_AGAIN;
      after = lua_tonumber(L, -1);
      if (after >= 0 && after <= 1e9) break;
      lua_pushfstring(L, "on_retry must return from 0 to 1e9 seconds, got %f", after);
      failed = true;
      break;
    default:
      lua_pushfstring(L, "on_retry must return nil, true, false or a number of seconds, got %s", luaL_typename(L, -1));
      failed = true;
    }
  }
  if (failed) {
    njl_call_cancel(call);
    return lua_error(L);
  }
  njl_call_retry(call, retry, after);
  return set_next(L, reply);
}

int njl_decide_retry(lua_State *L, njl_reply *reply) {
  njl_attempt attempt = {0};
  njl_call_attempt(reply->wait.call, &attempt);
  lua_settop(L, reply->top);
  lua_getiuservalue(L, 2, NJL_REPLY_RETRY);
  lua_createtable(L, 0, 4);
  njl_reply *error = njl_error_push(L);
  error->wait.call = njl_call_attempt_error(reply->wait.call);
  lua_setfield(L, -2, "error");
  lua_pushinteger(L, attempt.number);
  lua_setfield(L, -2, "attempt");
  lua_pushboolean(L, attempt.again);
  lua_setfield(L, -2, "again");
  if (attempt.again) {
    lua_pushnumber(L, attempt.after);
    lua_setfield(L, -2, "after");
  }
  return judged(L, lua_pcallk(L, 1, 1, 0, (lua_KContext)reply, judged), (lua_KContext)reply);
}
