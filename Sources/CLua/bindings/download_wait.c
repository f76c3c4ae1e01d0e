/* download_wait.c - download:wait. The hook `before` and the functions on_head and on_progress run in the task that
 * waits. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/guard.h"
#include "core/metatable.h"
#include "core/timers.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "bindings/download.h"
#include "njl_future.h"

/* The stack of download:wait. A guard is above it while a function of the script runs. */
enum { DOWNLOAD = 1, DEADLINE, TOP = DEADLINE };

static int proceed(lua_State *L) NJL_YIELDS;

/* --- Functions of the script --- */

/* If the hook has not made the request, for example because its task was cancelled, another task calls the hook. */
static void end_calling(void *object) {
  download *self = object;
  self->is_calling = false;
  njl_download_notify(self->handle);
}

static void begin_calling(lua_State *L, download *self) {
  njl_guard *guard = njl_guard_push(L, DOWNLOAD);
  self->is_calling = true;
  guard->end = end_calling;
}

/* Closes the guard. The error of a function cancels the download, and is raised. */
static void end_function(lua_State *L, int status) {
  if (status == LUA_OK || status == LUA_YIELD) {
    lua_settop(L, TOP);
    return;
  }
  download *self = lua_touserdata(L, DOWNLOAD);
  njl_download_cancel(self->handle, true);
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
static void prepare(lua_State *L, download *self) {
  begin_calling(L, self);
  lua_getiuservalue(L, DOWNLOAD, OWNER);
  lua_getiuservalue(L, DOWNLOAD, REQUEST);
  njl_push_preparation(L, &njl_download_connector, DOWNLOAD, lua_gettop(L) - 1, lua_gettop(L));
  end_function(L, lua_pcallk(L, NJL_PREPARATION_ARGUMENTS, 0, 0, 0, has_returned));
}

/* Calls on_progress(progress, download). */
static void report(lua_State *L, download *self, const njl_download_progress *progress) {
  begin_calling(L, self);
  lua_getiuservalue(L, DOWNLOAD, ON_PROGRESS);
  njl_push_download_progress(L, progress);
  lua_pushvalue(L, DOWNLOAD);
  end_function(L, lua_pcallk(L, 2, 0, 0, 0, has_returned));
}

/* Pushes the head of a response. Returns false if there is no new one. */
static bool push_head(lua_State *L, download *self) {
  njl_wait *wait = njl_reply_push(L, NULL);
  wait->state = NJL_DONE;
  wait->call = njl_download_take_head(self->handle);
  if (wait->call != NULL) njl_set_type(L, NJL_RESPONSE);
  return wait->call != NULL;
}

/* Calls on_head(response, download) for the head above TOP. */
static void report_head(lua_State *L, download *self) {
  begin_calling(L, self);
  lua_getiuservalue(L, DOWNLOAD, ON_HEAD);
  lua_pushvalue(L, TOP + 1);
  lua_pushvalue(L, DOWNLOAD);
  end_function(L, lua_pcallk(L, 2, 0, 0, 0, has_returned));
}

/* Calls one function of the script, if there is a reason. Returns whether it has. */
static bool call_function(lua_State *L, download *self) {
  if (self->is_calling) return false;
  if (njl_download_wants_request(self->handle)) {
    prepare(L, self);
    return true;
  }
  if (self->reports_heads && push_head(L, self)) {
    report_head(L, self);
    return true;
  }
  lua_settop(L, TOP);
  njl_download_progress progress;
  if (!njl_download_take_progress(self->handle, &progress)) return false;
  report(L, self, &progress);
  return true;
}

/* --- Waiting --- */

static int has_waited(lua_State *L, int status, lua_KContext context) {
  (void)status;
  if (((const njl_wait *)context)->state == NJL_EXPIRED) {
    return njl_raise(L, NJL_KIND_TIMEOUT, 0, "the download has not ended in time; it continues");
  }
  return proceed(L);
}

static njl_wait *push_wait(lua_State *L, download *self) {
  njl_wait *wait = njl_wait_push(L, self->host);
  njl_moment deadline = lua_isinteger(L, DEADLINE) ? (njl_moment)lua_tointeger(L, DEADLINE) : NJL_NEVER;
  njl_wait_begin(wait, njl_download_await(self->handle, wait), deadline);
  return wait;
}

/* Calls functions of the script until the download has ended. Returns the download, or raises its error. */
static int proceed(lua_State *L) {
  download *self = lua_touserdata(L, DOWNLOAD);
  for (;;) {
    lua_settop(L, TOP);
    if (call_function(L, self)) continue;
    if (njl_download_is_ended(self->handle)) break;
    njl_wait *wait = push_wait(L, self);
    if (njl_may_yield(L, self->host)) return njl_await(L, wait, has_waited);
    njl_await_here(L, wait);
    if (wait->state == NJL_EXPIRED) return has_waited(L, LUA_OK, (lua_KContext)wait);
  }
  njl_reply *error = njl_error_push(L);
  error->wait.call = njl_download_error(self->handle);
  if (error->wait.call != NULL) return lua_error(L);
  lua_settop(L, DOWNLOAD);
  return 1;
}

int njl_wait_for_download(lua_State *L) {
  download *self = njl_check_download(L);
  double seconds = 0;
  if (!lua_isnoneornil(L, DEADLINE)) seconds = njl_check_limit(L, DEADLINE, "wait", "timeout");
  lua_settop(L, DOWNLOAD);
  if (seconds > 0) lua_pushinteger(L, (lua_Integer)njl_host_deadline_after(self->host, seconds));
  else lua_pushnil(L);
  return proceed(L);
}
