/* websocket_calls.c - functions of a WebSocket that wait.
 *
 * A waiting function waits for the next event of the WebSocket and then tries again. The hook `before` and the function
 * on_open run in the task that waits. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/timers.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "bindings/websocket.h"

/* The stack of an operation, after its arguments. A guard is above it while a function of the script runs. */
enum { OPERATION = SECOND + 1, DEADLINE, TOP = DEADLINE };

static int proceed(lua_State *L) NJL_YIELDS;

/* --- Functions of the script --- */

/* Ends the state of a function that is running, also if its task is cancelled. */
typedef struct guard {
  websocket *socket; /* kept alive by the user value */
  void (*end)(websocket *self); /* NULL: no function is running */
} guard;

static int close_guard(lua_State *L) {
  guard *self = lua_touserdata(L, 1);
  if (self->end != NULL) self->end(self->socket);
  return 0;
}

/* Pushes a guard for a function that is not running yet. Finalizers may run meanwhile, and may use the WebSocket. */
static guard *push_guard(lua_State *L, websocket *socket) {
  static const char type[] = "nightjar.websocket_guard";
  static const luaL_Reg meta[] = {{"__close", close_guard}, {NULL, NULL}};
  guard *self = lua_newuserdatauv(L, sizeof *self, 1);
  *self = (guard){.socket = socket};
  lua_pushvalue(L, SOCKET);
  lua_setiuservalue(L, -2, 1);
  njl_push_metatable(L, type, meta);
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  return self;
}

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

static void end_opening(websocket *self) {
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
  guard *guard = push_guard(L, self);
  if (!must_open(self)) return;
  njl_websocket_take_open(self->handle);
  self->is_opening = true;
  self->opener = L;
  guard->end = end_opening;
  lua_getiuservalue(L, SOCKET, ON_OPEN);
  lua_pushvalue(L, SOCKET);
  end_function(L, lua_pcallk(L, 1, 0, 0, 0, has_opened));
}

/* The stack of the functions below. */
enum { CLIENT = 1, OBJECT, OPTIONS };

static int reconnect(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_settop(L, OPTIONS);
  njl_client *client = njl_check_client(L);
  websocket *self = lua_touserdata(L, OBJECT);
  njl_reply *error = njl_error_push(L);
  int top = lua_gettop(L);
  njl_request request = {.method = {"GET", 3}};
  njl_websocket_read_request(L, OPTIONS, &request);
  bool is_made =
      njl_websocket_reconnect(self->handle, self->host->engine, client, &request, &error->wait.call);
  lua_settop(L, top);
  return is_made ? 0 : lua_error(L);
}

/* Calls before(request) for the next connection, and makes it. Arguments: the client and the WebSocket. */
static int make_request(lua_State *L) {
  lua_getiuservalue(L, OBJECT, REQUEST);
  njl_push_request(L, OPTIONS);
  lua_replace(L, OPTIONS);
  lua_getiuservalue(L, CLIENT, NJL_CLIENT_BEFORE);
  lua_pushvalue(L, OPTIONS);
  lua_callk(L, 1, 0, 0, reconnect);
  return reconnect(L, LUA_OK, 0);
}

/* If the hook has not made the request, for example because its task was cancelled, another task calls the hook. */
static void end_preparing(websocket *self) {
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
  guard *guard = push_guard(L, self);
  if (!must_prepare(self)) return;
  self->is_preparing = true;
  guard->end = end_preparing;
  lua_pushcfunction(L, make_request);
  lua_getiuservalue(L, SOCKET, OWNER);
  lua_pushvalue(L, SOCKET);
  end_request(L, lua_pcallk(L, 2, 0, 0, 0, has_prepared));
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
  wait->call = njl_websocket_await(self->handle, wait);
  self->host->calls++;
  wait->deadline = lua_isinteger(L, DEADLINE) ? (njl_moment)lua_tointeger(L, DEADLINE) : NJL_NEVER;
  njl_timer_add(wait);
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
