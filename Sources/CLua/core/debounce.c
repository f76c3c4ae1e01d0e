/* debounce.c - debounced and throttled functions.
 *
 *   debounce   runs when no call has arrived for the given time, with the arguments of the last call
 *   throttle   runs immediately, then at most once per period; a call in between runs at the end of the period
 *
 * Each run is a task, a child of the task that made the last call or called flush. That task does not end before the
 * run has ended. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/debounce.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/task.h"
#include "core/timers.h"
#include "core/wait.h"

/* User values: the function, the arguments of the last call as a list, and the pending task. */
enum { FUNCTION = 1, ARGUMENTS, PENDING, VALUES = PENDING };

typedef struct limiter {
  njl_host *host;
  njl_moment span;     /* nanoseconds */
  bool leads;          /* throttle */
  njl_moment due;      /* when the pending task runs */
  njl_moment free;     /* throttle: the time from which a call runs immediately */
  int count;           /* number of arguments */
  njl_task *pending;   /* kept alive by its user value; NULL: none */
} limiter;

static limiter *check_limiter(lua_State *L) {
  limiter *self = njl_test(L, 1, NJL_DEBOUNCED);
  if (self == NULL) self = njl_test(L, 1, NJL_THROTTLED);
  if (self == NULL) {
    luaL_error(L, "debounced function expected, got %s; call methods with a colon, as in f:cancel()",
               luaL_typename(L, 1));
  }
  return self;
}

static njl_moment later(njl_moment moment, njl_moment span) {
  return moment > NJL_NEVER - span ? NJL_NEVER : moment + span;
}

/* Returns whether a run is pending. The pending task may have been cancelled together with its parent. */
static bool is_pending(const limiter *self) {
  return self->pending != NULL && !self->pending->is_cancelled && self->pending->state != NJL_ENDED;
}

/* Forgets the pending run of the object at index 1. */
static void forget(lua_State *L, limiter *self) {
  self->pending = NULL;
  self->count = 0;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, PENDING);
  lua_pushnil(L);
  lua_setiuservalue(L, 1, ARGUMENTS);
}

/* Pushes the function and the stored arguments. Returns the number of arguments. */
static int push_call(lua_State *L, const limiter *self) {
  int count = self->count;
  luaL_checkstack(L, count + 4, "too many arguments");
  lua_getiuservalue(L, 1, FUNCTION);
  lua_getiuservalue(L, 1, ARGUMENTS);
  int list = lua_gettop(L);
  for (int place = 1; place <= count; place++) lua_rawgeti(L, list, place);
  lua_remove(L, list);
  return count;
}

/* --- The pending task --- */

static int ran(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 0;
}

static int wait_and_run(lua_State *L);

static int waited(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_settop(L, 1);
  return wait_and_run(L);
}

/* Waits until the call is due, then calls the function of the object at index 1. A later call of a debounced function
 * may have postponed the due time. */
static int wait_and_run(lua_State *L) {
  limiter *self = lua_touserdata(L, 1);
  njl_moment now = njl_host_now(self->host);
  if (now < self->due) {
    njl_wait *wait = njl_wait_push(L, self->host);
    wait->deadline = self->due;
    njl_timer_add(wait);
    return njl_await(L, wait, waited);
  }
  int count = push_call(L, self);
  forget(L, self);
  self->free = later(now, self->span);
  lua_callk(L, count, 0, 0, ran);
  return 0;
}

/* --- Calls --- */

/* Stores the arguments at index 2 and above for the pending run. */
static void keep_arguments(lua_State *L, limiter *self) {
  int count = lua_gettop(L) - 1;
  lua_createtable(L, count, 0);
  lua_insert(L, 2);
  for (int place = count; place >= 1; place--) lua_rawseti(L, 2, place);
  lua_setiuservalue(L, 1, ARGUMENTS);
  self->count = count;
}

/* Spawns a child of the current task that makes the stored call at `due`. Keeps the pending task if it already is a
 * child of the current task. */
static void put_off(lua_State *L, limiter *self) {
  if (is_pending(self)) {
    if (self->pending->parent == self->host->current) return;
    njl_task_cancel(self->pending);
  }
  self->pending = NULL;
  lua_pushcfunction(L, wait_and_run);
  lua_pushvalue(L, 1);
  njl_task *task = njl_task_spawn(L, self->host, 1);
  lua_setiuservalue(L, 1, PENDING);
  self->pending = task;
}

/* f(...) */
static int call(lua_State *L) {
  limiter *self = check_limiter(L);
  njl_moment now = njl_host_now(self->host);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (self->leads && now >= self->free && !is_pending(self)) {
    int arguments = lua_gettop(L) - 1;
    lua_getiuservalue(L, 1, FUNCTION);
    lua_insert(L, 2);
    njl_task_spawn(L, self->host, arguments);
    self->free = later(now, self->span);
    return 0;
  }
  keep_arguments(L, self);
  self->due = self->leads ? self->free : later(now, self->span);
  put_off(L, self);
  return 0;
}

/* f:cancel() discards the pending run. The next call of a throttled function runs immediately. */
static int cancel(lua_State *L) {
  limiter *self = check_limiter(L);
  njl_task *pending = is_pending(self) ? self->pending : NULL;
  if (pending != NULL) njl_task_cancel(pending);
  forget(L, self);
  self->free = 0;
  return 0;
}

/* f:flush() -> a new task that makes the pending call without further delay; nil if no call was pending. */
static int flush(lua_State *L) {
  limiter *self = check_limiter(L);
  lua_settop(L, 1);
  if (!is_pending(self)) {
    lua_pushnil(L);
    return 1;
  }
  njl_task *pending = self->pending;
  lua_getiuservalue(L, 1, PENDING); /* Keeps the pending task alive while finalizers run. */
  int count = push_call(L, self);
  njl_task_spawn(L, self->host, count);
  njl_task_cancel(pending);
  forget(L, self);
  self->free = later(njl_host_now(self->host), self->span);
  return 1;
}

/* --- Construction --- */

static int make(lua_State *L, bool leads, const char *name) {
  lua_Number seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, seconds >= 0 && seconds <= 1e9, 1, "seconds from 0 to 1e9 expected");
  njl_check_callable(L, 2, "function");
  limiter *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (limiter){.host = njl_host_of(L), .leads = leads, .span = (njl_moment)(seconds * 1e9)};
  njl_set_type(L, name);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, FUNCTION);
  return 1;
}

/* nightjar.debounce(seconds, f) */
int njl_debounce(lua_State *L) { return make(L, false, NJL_DEBOUNCED); }

/* nightjar.throttle(seconds, f) */
int njl_throttle(lua_State *L) { return make(L, true, NJL_THROTTLED); }

static int describe(lua_State *L) {
  limiter *self = check_limiter(L);
  lua_pushfstring(L, "%s: %p", self->leads ? NJL_THROTTLED : NJL_DEBOUNCED, (void *)self);
  return 1;
}

static int unknown(lua_State *L) {
  static const char *const names[] = {"cancel", "flush", NULL};
  return njl_unknown_field(L, "debounced function", luaL_tolstring(L, 2, NULL), names);
}

void njl_open_debounce(lua_State *L) {
  static const luaL_Reg meta[] = {{"__call", call}, {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"cancel", cancel}, {"flush", flush}, {NULL, NULL}};
  njl_add_type(L, NJL_DEBOUNCED, meta, methods, unknown);
  njl_add_type(L, NJL_THROTTLED, meta, methods, unknown);
}
