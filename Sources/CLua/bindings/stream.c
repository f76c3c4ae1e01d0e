/* stream.c - streamed responses: res:chunks() and res:close(). */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/task.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_calls.h"
#include "njl_future.h"

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

/* res:close(), also called by <close>. Cancels a streamed response that was not read to its
 * end. Closing a closed response does nothing. */
int njl_close_response(lua_State *L) {
  njl_reply_close(check_response(L, 1));
  return 0;
}
