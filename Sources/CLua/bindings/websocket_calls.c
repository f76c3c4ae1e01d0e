/* websocket_calls.c - functions of a WebSocket that wait.
 *
 * A waiting function waits for the next event of the WebSocket and then tries again. The hook `before` and the function
 * on_open run in the task that waits. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/guard.h"
#include "core/metatable.h"
#include "core/timers.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "bindings/websocket.h"

/* The stack of an operation, after its arguments. A guard is above it while a function of the script runs. */
enum { OPERATION = SECOND + 1, DEADLINE, TOP = DEADLINE };

static int proceed(lua_State *L) NJL_YIELDS;

/* --- Functions of the script --- */

/* Closes the guard, and raises the error of the function on top of the stack, if any. */
static void end_function(lua_State *L, int status) {
  if (status == LUA_OK || status == LUA_YIELD) {
    lua_settop(L, TOP);
    return;
  }
  lua_replace(L, OPERATION);
  lua_settop(L, OPERATION);
  lua_error(L);
}

static void end_opening(void *object) {
  websocket *self = object;
  self->is_opening = false;
  njl_websocket_handled_open(self->handle);
}

static int has_opened(lua_State *L, int status, lua_KContext context) {
  (void)context;
  end_function(L, status);
  return proceed(L);
}

static bool must_open(const websocket *self) { return !self->is_opening && njl_websocket_has_opened(self->handle); }

/* Calls on_open(socket) for a new connection. */
static void call_on_open(lua_State *L, websocket *self) {
  njl_guard *guard = njl_guard_push(L, SOCKET);
  if (!must_open(self)) return;
  njl_websocket_take_open(self->handle);
  self->is_opening = true;
  self->opener = L;
  guard->end = end_opening;
  lua_getiuservalue(L, SOCKET, ON_OPEN);
  lua_pushvalue(L, SOCKET);
  end_function(L, lua_pcallk(L, 1, 0, 0, 0, has_opened));
}

/* If the hook has not made the request, for example because its task was cancelled, another task calls the hook. */
static void end_preparing(void *object) {
  websocket *self = object;
  self->is_preparing = false;
  njl_websocket_notify(self->handle);
}

static void end_request(lua_State *L, int status) {
  websocket *self = lua_touserdata(L, SOCKET);
  if (status != LUA_OK && status != LUA_YIELD) njl_websocket_cancel(self->handle);
  end_function(L, status);
}

static int has_prepared(lua_State *L, int status, lua_KContext context) {
  (void)context;
  end_request(L, status);
  return proceed(L);
}

static bool must_prepare(const websocket *self) {
  return !self->is_preparing && njl_websocket_wants_request(self->handle);
}

static void prepare(lua_State *L, websocket *self) {
  njl_guard *guard = njl_guard_push(L, SOCKET);
  if (!must_prepare(self)) return;
  self->is_preparing = true;
  guard->end = end_preparing;
  lua_getiuservalue(L, SOCKET, OWNER);
  lua_getiuservalue(L, SOCKET, REQUEST);
  njl_push_preparation(L, &njl_websocket_connector, SOCKET, lua_gettop(L) - 1, lua_gettop(L));
  end_request(L, lua_pcallk(L, NJL_PREPARATION_ARGUMENTS, 0, 0, 0, has_prepared));
}

/* --- Waiting --- */

static int has_waited(lua_State *L, int status, lua_KContext context) {
  (void)status;
  const njl_wait *wait = (const njl_wait *)context;
  const operation *self = lua_touserdata(L, OPERATION);
  if (wait->state == NJL_EXPIRED) return njl_raise(L, NJL_KIND_TIMEOUT, 0, "%s", self->late);
  return proceed(L);
}

static njl_wait *push_wait(lua_State *L, websocket *self) {
  njl_wait *wait = njl_wait_push(L, self->host);
  njl_moment deadline = lua_isinteger(L, DEADLINE) ? (njl_moment)lua_tointeger(L, DEADLINE) : NJL_NEVER;
  njl_wait_begin(wait, njl_websocket_await(self->handle, wait), deadline);
  return wait;
}

static int proceed(lua_State *L) {
  websocket *self = lua_touserdata(L, SOCKET);
  const operation *operation = lua_touserdata(L, OPERATION);
  for (;;) {
    lua_settop(L, TOP);
    if (must_prepare(self)) {
      prepare(L, self);
      continue;
    }
    if (must_open(self)) {
      call_on_open(L, self);
      continue;
    }
    if (operation->attempt(L, self)) return 1;
    njl_check_owner(L, SOCKET, OWNER);
    njl_wait *wait = push_wait(L, self);
    if (njl_may_yield(L, self->host)) return njl_await(L, wait, has_waited);
    njl_await_here(L, wait);
    if (wait->state == NJL_EXPIRED) return njl_raise(L, NJL_KIND_TIMEOUT, 0, "%s", operation->late);
  }
}

int njl_websocket_begin(lua_State *L, const operation *operation, int timeout, const char *function) {
  websocket *self = njl_check_websocket(L);
  double seconds = 0;
  if (timeout != 0 && !lua_isnoneornil(L, timeout)) seconds = njl_check_limit(L, timeout, function, "timeout");
  lua_settop(L, SECOND);
  lua_pushlightuserdata(L, (void *)operation);
  if (seconds > 0) lua_pushinteger(L, (lua_Integer)njl_host_deadline_after(self->host, seconds));
  else lua_pushnil(L);
  return proceed(L);
}
