/* body_function.c - requests whose body is a function.
 *
 * The function is called in the coroutine of the call. If the response is streamed, it is called in a task of its own, so
 * that the script can read the response while it sends the body. */
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

/* --- In the calling coroutine --- */

/* The stack of the calling function. `PARTS` is called for each part. `SOURCE`, unless nil, is called when an
 * attempt needs its first part, and returns the function for `PARTS`. If the response is streamed, `SOURCE` is the
 * upload, and `PARTS` is nil. */
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

/* Sends the part on top of the stack. */
static void provide(lua_State *L, const njl_host *host, njl_future *call) {
  njl_bytes part;
  switch (lua_type(L, -1)) {
  case LUA_TNIL: njl_call_end_body(host->engine, call); break;
  case LUA_TSTRING:
    part.data = lua_tolstring(L, -1, &part.length);
    njl_call_provide(call, part);
    break;
  default: luaL_error(L, "the body function must return a string or nil, got %s", luaL_typename(L, -1));
  }
}

static int pulled(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_wait *wait = (njl_wait *)context;
  provide(L, wait->host, wait->call);
  return await_more(L, wait);
}

static int pull(lua_State *L, njl_wait *wait) {
  lua_pushvalue(L, PARTS);
  lua_callk(L, 0, 1, (lua_KContext)wait, pulled);
  return pulled(L, LUA_OK, (lua_KContext)wait);
}

static void check_source(lua_State *L) {
  if (!njl_is_callable(L, -1)) luaL_error(L, "body.each must return a function, got %s", luaL_typename(L, -1));
}

static int started(lua_State *L, int status, lua_KContext context) {
  (void)status;
  check_source(L);
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

/* --- In a task --- */

/* The body of a call whose response is streamed. A task waits until the body was sent or the call has ended, and then
 * cancels its child, which calls the function. The call ends at the latest when its response is collected. */
typedef struct upload {
  njl_host *host;
  njl_future *call; /* owned */
} upload;

/* The user value of an upload: the error of its function. */
enum { FAILURE = 1 };

/* The stack of both tasks. */
enum { UPLOAD = 1, TASK_SOURCE, TASK_PARTS, CHILD };

static int collect_upload(lua_State *L) {
  upload *self = lua_touserdata(L, 1);
  njl_future *call = self->call;
  self->call = NULL;
  njl_future_release(call);
  return 0;
}

static njl_wait *push_wait(lua_State *L, upload *self, bool until_sent) {
  njl_wait *wait = njl_wait_push(L, self->host);
  wait->call = njl_call_await_body(self->host->engine, self->call, wait, until_sent);
  self->host->calls++;
  return wait;
}

/* Ends the call with the error on top of the stack. The calling function raises it, unless it has returned. */
static void fail(lua_State *L, upload *self) {
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, UPLOAD, FAILURE);
  njl_bytes message;
  message.data = luaL_tolstring(L, -1, &message.length);
  njl_call_fail_body(self->call, message);
}

static int send_part(lua_State *L) {
  const upload *self = lua_touserdata(L, lua_upvalueindex(1));
  provide(L, self->host, self->call);
  return 0;
}

static int take_source(lua_State *L) {
  check_source(L);
  return 1;
}

/* Handles the result of the function, or of the one that begins the body. Returns false if the upload has failed. */
static bool has_called(lua_State *L, int status, bool begins) {
  upload *self = lua_touserdata(L, UPLOAD);
  if (status == LUA_OK || status == LUA_YIELD) {
    if (begins) {
      lua_pushcfunction(L, take_source);
    } else {
      lua_pushvalue(L, UPLOAD);
      lua_pushcclosure(L, send_part, 1);
    }
    lua_insert(L, -2);
    status = lua_pcall(L, 1, begins ? 1 : 0, 0);
  }
  if (status != LUA_OK) {
    fail(L, self);
    return false;
  }
  if (begins) lua_replace(L, TASK_PARTS);
  return true;
}

static int feed(lua_State *L) NJL_YIELDS;

static int called(lua_State *L, int status, lua_KContext begins) {
  return has_called(L, status, begins != 0) ? feed(L) : 0;
}

static int fed(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return feed(L);
}

/* Sends the parts of the body as they are needed. */
static int feed(lua_State *L) {
  upload *self = lua_touserdata(L, UPLOAD);
  for (;;) {
    lua_settop(L, TASK_PARTS);
    if (!njl_call_sends_body(self->call)) return 0;
    if (!njl_call_needs_body(self->call)) return njl_await(L, push_wait(L, self, false), fed);
    bool begins = njl_call_restarts_body(self->call);
    lua_pushvalue(L, begins ? TASK_SOURCE : TASK_PARTS);
    if (!has_called(L, lua_pcallk(L, 0, 1, 0, begins, called), begins)) return 0;
  }
}

/* Spawns a task from the function and its arguments on the stack. If it ends early, for example because memory runs out,
 * the call fails. */
static void begin_task(lua_State *L, const upload *self, int arguments) {
  njl_task *task = njl_task_spawn(L, self->host, arguments);
  task->is_observed = true;
  njl_future_retain(self->call);
  task->upload = self->call;
}

static int has_ended(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  njl_task_cancel(lua_touserdata(L, CHILD));
  return 0;
}

static int upload_body(lua_State *L) {
  upload *self = lua_touserdata(L, UPLOAD);
  lua_pushcfunction(L, feed);
  for (int slot = UPLOAD; slot <= TASK_PARTS; slot++) lua_pushvalue(L, slot);
  begin_task(L, self, TASK_PARTS);
  return njl_await(L, push_wait(L, self, true), has_ended);
}

/* The stack is as for begin_task. The first argument is the upload. */
static int spawn(lua_State *L) {
  const upload *self = lua_touserdata(L, 2);
  begin_task(L, self, lua_gettop(L) - 1);
  return 0;
}

void njl_start_upload(lua_State *L, njl_wait *wait) {
  static const char type[] = "nightjar.upload";
  static const luaL_Reg meta[] = {{"__gc", collect_upload}, {NULL, NULL}};
  lua_pushcfunction(L, spawn);
  lua_pushcfunction(L, upload_body);
  upload *self = lua_newuserdatauv(L, sizeof *self, FAILURE);
  *self = (upload){.host = wait->host};
  njl_push_metatable(L, type, meta);
  lua_setmetatable(L, -2);
  njl_future_retain(wait->call);
  self->call = wait->call;
  lua_pushvalue(L, SOURCE);
  lua_pushvalue(L, PARTS);
  lua_pushvalue(L, -3);
  lua_replace(L, SOURCE);
  lua_pushnil(L);
  lua_replace(L, PARTS);
  /* A child of the root task, because it may end after the script has read the response. It ends with the call. */
  njl_task *outer = wait->host->current;
  wait->host->current = &wait->host->root;
  int status = lua_pcall(L, TASK_PARTS + 1, 0, 0);
  wait->host->current = outer;
  if (status != LUA_OK) lua_error(L);
}

void njl_check_upload(lua_State *L, njl_wait *wait) {
  if (njl_future_is_response(wait->call)) return;
  if (lua_getiuservalue(L, SOURCE, FAILURE) != LUA_TNIL) lua_error(L);
  lua_pop(L, 1);
}
