/* stream.c - streamed bodies: res:chunks() of a response to a request with stream = true, and requests whose body is
 * a function. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/task.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_calls.h"
#include "njl_future.h"

/* --- Responses --- */

static njl_reply *check_response(lua_State *L, int index) { return njl_check(L, index, NJL_RESPONSE); }

static int next_chunk(lua_State *L);

static int chunk_came(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return next_chunk(L);
}

static int await_chunk(lua_State *L, njl_wait *wait) {
  wait->state = NJL_PENDING;
  wait->host->calls++;
  return njl_await(L, wait, chunk_came);
}

/* Returns the next part, or nil at the end, for the iterator of res:chunks(). The upvalues are the response, and a
 * reusable wait, which is nil until its first use. */
static int next_chunk(lua_State *L) {
  njl_reply *reply = lua_touserdata(L, lua_upvalueindex(1));
  njl_future *future = reply->wait.call;
  lua_settop(L, 0);
  njl_wait *wait = lua_touserdata(L, lua_upvalueindex(2));
  if (wait != NULL && wait->state == NJL_PENDING) return luaL_error(L, "another task already reads this response");
  if (wait == NULL) {
    wait = njl_wait_push(L, reply->wait.host);
    wait->state = NJL_DONE;
    njl_future_retain(future);
    wait->call = future;
    lua_replace(L, lua_upvalueindex(2));
  }
  njl_bytes part;
  switch (njl_stream_next(future, wait, &part, NULL)) {
  case NJL_PART_READY:
    lua_pushlstring(L, part.data, part.length);
    njl_stream_release(future);
    return 1;
  case NJL_PART_LATER: return await_chunk(L, wait);
  case NJL_PART_BUSY: return luaL_error(L, "another task already reads this response");
  case NJL_PART_END: return 0;
  case NJL_PART_FAILED: break;
  }
  njl_reply *error = njl_error_push(L);
  njl_stream_next(future, wait, &part, &error->wait.call);
  return lua_error(L);
}

static int whole_body(lua_State *L) {
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushnil(L);
  lua_replace(L, lua_upvalueindex(1));
  return 1;
}

/* res:chunks() -> an iterator of the parts of the body as they arrive; a body that was not streamed is one part, unless
 * it is empty */
int njl_chunks(lua_State *L) {
  njl_reply *reply = check_response(L, 1);
  njl_response response;
  lua_settop(L, 1);
  if (njl_future_response(reply->wait.call, &response) && !response.is_streamed) {
    if (response.body.length == 0) lua_pushnil(L);
    else lua_getfield(L, 1, "body");
    lua_pushcclosure(L, whole_body, 1);
  } else {
    lua_pushnil(L);
    lua_pushcclosure(L, next_chunk, 2);
  }
  return 1;
}

/* res:close(), also called by <close> and by the collector. Cancels a streamed response that was not read to its
 * end. Closing a closed response does nothing. */
int njl_close_response(lua_State *L) {
  njl_reply *reply = check_response(L, 1);
  njl_response response;
  bool is_there = reply->wait.call != NULL && njl_future_response(reply->wait.call, &response);
  if (is_there && response.is_streamed) njl_call_cancel(reply->wait.call);
  return 0;
}

/* --- Requests --- */

/* The stack of the calling function. `PARTS` is called for each part. `SOURCE`, unless nil, is called when an
 * attempt needs its first part, and returns the function for `PARTS`. */
enum { REPLY = 2, GUARD, SOURCE, PARTS };

/* Cancels the call if the calling function ends before the response has arrived, so that the server does not wait for
 * the rest of the body. */
static int close_guard(lua_State *L) {
  njl_wait *wait = *(njl_wait **)lua_touserdata(L, 1);
  if (!njl_future_is_response(wait->call)) njl_call_cancel(wait->call);
  return 0;
}

void njl_guard_body(lua_State *L, njl_wait *wait, int body) {
  static const char type[] = "nightjar.body";
  static const luaL_Reg meta[] = {{"__close", close_guard}, {NULL, NULL}};
  *(njl_wait **)lua_newuserdatauv(L, sizeof wait, 0) = wait;
  njl_push_metatable(L, type, meta);
  lua_setmetatable(L, -2);
  if (lua_istable(L, body)) {
    lua_pushliteral(L, "each");
    lua_rawget(L, body);
    lua_pushnil(L);
  } else {
    lua_pushnil(L);
    lua_pushvalue(L, body);
  }
  int guard = lua_gettop(L) - 2;
  for (int slot = 0; slot < 3; slot++) lua_copy(L, guard + slot, GUARD + slot);
  lua_settop(L, PARTS);
  lua_toclose(L, GUARD);
}

static int await_more(lua_State *L, njl_wait *wait) {
  lua_settop(L, PARTS);
  njl_call_await(wait->host->engine, wait->call, wait);
  wait->state = NJL_PENDING;
  wait->host->calls++;
  return njl_await(L, wait, njl_responded);
}

static int pulled(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_wait *wait = (njl_wait *)context;
  njl_bytes part;
  switch (lua_type(L, -1)) {
  case LUA_TNIL: njl_call_end_body(wait->call); break;
  case LUA_TSTRING:
    part.data = lua_tolstring(L, -1, &part.length);
    njl_call_provide(wait->call, part);
    break;
  default: return luaL_error(L, "the body function must return a string or nil, got %s", luaL_typename(L, -1));
  }
  return await_more(L, wait);
}

static int pull(lua_State *L, njl_wait *wait) {
  lua_pushvalue(L, PARTS);
  lua_callk(L, 0, 1, (lua_KContext)wait, pulled);
  return pulled(L, LUA_OK, (lua_KContext)wait);
}

static int started(lua_State *L, int status, lua_KContext context) {
  (void)status;
  if (!njl_is_callable(L, -1)) return luaL_error(L, "body.each must return a function, got %s", luaL_typename(L, -1));
  lua_replace(L, PARTS);
  lua_settop(L, PARTS);
  return pull(L, (njl_wait *)context);
}

int njl_pull_body(lua_State *L, njl_wait *wait) {
  lua_settop(L, PARTS);
  if (!njl_call_restarts_body(wait->call)) return pull(L, wait);
  lua_pushvalue(L, SOURCE);
  lua_callk(L, 0, 1, (lua_KContext)wait, started);
  return started(L, LUA_OK, (lua_KContext)wait);
}
