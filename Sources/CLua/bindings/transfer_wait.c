/* transfer_wait.c - download:wait and upload:wait. The hook `before`, the functions on_head and on_progress, and
 * the function of an upload's content run in the task that waits. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/guard.h"
#include "core/metatable.h"
#include "core/timers.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "bindings/transfer.h"
#include "njl_future.h"

/* The stack of transfer:wait. A guard is above it while a function of the script runs. */
enum { TRANSFER = 1, DEADLINE, TOP = DEADLINE };

static int proceed(lua_State *L) NJL_YIELDS;

/* --- Functions of the script --- */

/* If the hook has not made the request, for example because its task was cancelled, another task calls the hook. */
static void end_calling(void *object) {
  transfer *self = object;
  self->caller = NULL;
  njl_transfer_notify(self->handle);
}

static void begin_calling(lua_State *L, transfer *self) {
  njl_guard *guard = njl_guard_push(L, TRANSFER);
  self->caller = L;
  guard->end = end_calling;
}

/* Closes the guard. The error of a function cancels the transfer, and is raised. */
static void end_function(lua_State *L, int status) {
  if (status == LUA_OK || status == LUA_YIELD) {
    lua_settop(L, TOP);
    return;
  }
  transfer *self = lua_touserdata(L, TRANSFER);
  njl_transfer_cancel(self->handle, true);
  lua_replace(L, DEADLINE);
  lua_settop(L, DEADLINE);
  lua_error(L);
}

static int has_returned(lua_State *L, int status, lua_KContext context) {
  (void)context;
  end_function(L, status);
  return proceed(L);
}

/* Calls before(request) for the next request, and sends it. */
static void prepare(lua_State *L, transfer *self) {
  begin_calling(L, self);
  lua_getiuservalue(L, TRANSFER, OWNER);
  lua_getiuservalue(L, TRANSFER, REQUEST);
  njl_push_preparation(L, &self->kind->connector, TRANSFER, lua_gettop(L) - 1, lua_gettop(L));
  end_function(L, lua_pcallk(L, NJL_PREPARATION_ARGUMENTS, 0, 0, 0, has_returned));
}

/* Calls on_progress(progress, transfer). */
static void report(lua_State *L, transfer *self, const njl_transfer_progress *progress) {
  begin_calling(L, self);
  lua_getiuservalue(L, TRANSFER, ON_PROGRESS);
  njl_push_transfer_progress(L, self, progress);
  lua_pushvalue(L, TRANSFER);
  end_function(L, lua_pcallk(L, 2, 0, 0, 0, has_returned));
}

/* Pushes the head of a response. Returns false if there is no new one. */
static bool push_head(lua_State *L, transfer *self) {
  njl_wait *wait = njl_reply_push(L, NULL);
  wait->state = NJL_DONE;
  wait->call = njl_transfer_take_head(self->handle);
  if (wait->call != NULL) njl_set_type(L, NJL_RESPONSE);
  return wait->call != NULL;
}

/* Calls on_head(response, transfer) for the head above TOP. */
static void report_head(lua_State *L, transfer *self) {
  begin_calling(L, self);
  lua_getiuservalue(L, TRANSFER, ON_HEAD);
  lua_pushvalue(L, TOP + 1);
  lua_pushvalue(L, TRANSFER);
  end_function(L, lua_pcallk(L, 2, 0, 0, 0, has_returned));
}

/* Provides the bytes on top of the stack to an upload, or ends its content for nil. */
static void provide(lua_State *L, transfer *self, int status) {
  if (status != LUA_OK && status != LUA_YIELD) return end_function(L, status);
  if (lua_isnoneornil(L, -1)) {
    njl_transfer_provide(self->handle, NULL, 0);
  } else if (lua_type(L, -1) == LUA_TSTRING) {
    size_t length;
    const char *bytes = lua_tolstring(L, -1, &length);
    njl_transfer_provide(self->handle, bytes, length);
  } else {
    lua_pushfstring(L, "upload: the function must return a string or nil, got %s", luaL_typename(L, -1));
    return end_function(L, LUA_ERRRUN);
  }
  end_function(L, LUA_OK);
}

static int has_read(lua_State *L, int status, lua_KContext context) {
  (void)context;
  provide(L, lua_touserdata(L, TRANSFER), status);
  return proceed(L);
}

/* Calls the function of the content. */
static void read_content(lua_State *L, transfer *self) {
  begin_calling(L, self);
  lua_getiuservalue(L, TRANSFER, ON_READ);
  provide(L, self, lua_pcallk(L, 0, 1, 0, 0, has_read));
}

/* Calls one function of the script, if there is a reason. Returns whether it has. */
static bool call_function(lua_State *L, transfer *self) {
  if (self->caller != NULL) return false;
  if (njl_transfer_wants_request(self->handle)) {
    prepare(L, self);
    return true;
  }
  if (njl_transfer_wants_bytes(self->handle)) {
    read_content(L, self);
    return true;
  }
  if (self->reports_heads && push_head(L, self)) {
    report_head(L, self);
    return true;
  }
  lua_settop(L, TOP);
  njl_transfer_progress progress;
  if (!njl_transfer_take_progress(self->handle, &progress)) return false;
  report(L, self, &progress);
  return true;
}

/* --- Waiting --- */

static int has_waited(lua_State *L, int status, lua_KContext context) {
  (void)status;
  if (((const njl_wait *)context)->state == NJL_EXPIRED) {
    const transfer *self = lua_touserdata(L, TRANSFER);
    return njl_raise(L, NJL_KIND_TIMEOUT, 0, "the %s has not ended in time; it continues", self->kind->name);
  }
  return proceed(L);
}

static njl_wait *push_wait(lua_State *L, transfer *self) {
  njl_wait *wait = njl_wait_push(L, self->host);
  njl_moment deadline = lua_isinteger(L, DEADLINE) ? (njl_moment)lua_tointeger(L, DEADLINE) : NJL_NEVER;
  njl_wait_begin(wait, njl_transfer_await(self->handle, wait), deadline);
  return wait;
}

/* Calls functions of the script until the transfer has ended. Returns the transfer, or raises its error. */
static int proceed(lua_State *L) {
  transfer *self = lua_touserdata(L, TRANSFER);
  for (;;) {
    lua_settop(L, TOP);
    if (call_function(L, self)) continue;
    if (njl_transfer_is_ended(self->handle)) break;
    njl_check_owner(L, TRANSFER, OWNER);
    njl_wait *wait = push_wait(L, self);
    if (njl_may_yield(L, self->host)) return njl_await(L, wait, has_waited);
    njl_await_here(L, wait);
    if (wait->state == NJL_EXPIRED) return has_waited(L, LUA_OK, (lua_KContext)wait);
  }
  njl_reply *error = njl_error_push(L);
  error->wait.call = njl_transfer_error(self->handle);
  if (error->wait.call != NULL) return lua_error(L);
  lua_settop(L, TRANSFER);
  return 1;
}

int njl_wait_for_transfer(lua_State *L) {
  transfer *self = njl_check_transfer(L);
  if (self->caller == L) luaL_error(L, "wait: not available in a function of the %s", self->kind->name);
  double seconds = 0;
  if (!lua_isnoneornil(L, DEADLINE)) seconds = njl_check_limit(L, DEADLINE, "wait", "timeout");
  lua_settop(L, TRANSFER);
  if (seconds > 0) lua_pushinteger(L, (lua_Integer)njl_host_deadline_after(self->host, seconds));
  else lua_pushnil(L);
  return proceed(L);
}
