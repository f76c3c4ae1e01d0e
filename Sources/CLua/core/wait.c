/* wait.c - suspends a coroutine until the awaited event has occurred, or blocks where it cannot yield. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdatomic.h>
#include <string.h>

#include "core/cycle.h"
#include "core/failure.h"
#include "core/host.h"
#include "core/loop.h"
#include "core/metatable.h"
#include "core/stopping.h"
#include "core/task.h"
#include "core/timers.h"
#include "core/wait.h"
#include "njl_calls.h"
#include "njl_future.h"
#include "njl_work.h"

/* The value that the host yields. It distinguishes the yields of the host from the yields of a script. */
static char token;

void njl_push_token(lua_State *L) { lua_pushlightuserdata(L, &token); }

bool njl_is_token(lua_State *L, int index) { return lua_touserdata(L, index) == &token; }

bool njl_is_waiting(lua_State *co) {
  return lua_status(co) == LUA_YIELD && lua_gettop(co) > 0 && njl_is_token(co, -1);
}

void njl_wait_init(njl_wait *wait, njl_host *host) {
  *wait = (njl_wait){.host = host, .state = NJL_PENDING, .deadline = NJL_NEVER};
}

static int wait_gc(lua_State *L) {
  njl_wait_drop(lua_touserdata(L, 1));
  return 0;
}

njl_wait *njl_wait_push(lua_State *L, njl_host *host) { return njl_wait_push_sized(L, host, sizeof(njl_wait)); }

njl_wait *njl_wait_push_sized(lua_State *L, njl_host *host, size_t size) {
  static const luaL_Reg meta[] = {{"__gc", wait_gc}, {NULL, NULL}};
  njl_wait *wait = lua_newuserdatauv(L, size, 0);
  memset(wait, 0, size);
  njl_wait_init(wait, host);
  njl_push_metatable(L, NJL_WAIT, meta);
  lua_setmetatable(L, -2);
  njl_own(L);
  return wait;
}

void njl_wait_begin(njl_wait *wait, njl_future *call, njl_moment deadline) {
  wait->call = call;
  wait->host->calls++;
  wait->deadline = deadline;
  njl_timer_add(wait);
}

static void leave_target(njl_wait *wait) {
  njl_wait **link = &wait->target->joiners;
  while (*link != NULL && *link != wait) link = &(*link)->next_joiner;
  if (*link == wait) *link = wait->next_joiner;
  wait->target = NULL;
}

void njl_wait_end(njl_wait *wait, njl_state_of_wait state) {
  if (wait->state != NJL_PENDING) return;
  wait->state = state;
  njl_timer_remove(wait);
  if (wait->target != NULL) leave_target(wait);
  if (wait->call != NULL) {
    wait->host->calls--;
    if (state != NJL_DONE) njl_call_abandon(wait->call);
  }
  njl_task *task = wait->task;
  wait->task = NULL;
  if (task == NULL || task->wait != wait) return; /* The task left the wait by an error and may be in another wait. */
  task->wait = NULL;
  if (task->state == NJL_SUSPENDED) njl_make_ready(task);
}

void njl_wait_drop(njl_wait *wait) {
  njl_wait_end(wait, NJL_CANCELLED);
  njl_future_release(wait->call);
  wait->call = NULL;
}

static int refuse_stopped(lua_State *L, njl_wait *wait) {
  njl_wait_end(wait, NJL_CANCELLED);
  return njl_raise_stopped(L, wait->host);
}

static int refuse_cancelled(lua_State *L, njl_wait *wait) {
  njl_wait_end(wait, NJL_CANCELLED);
  return njl_raise(L, NJL_KIND_CANCELLED, 0, "the task was cancelled");
}

static int refuse_resumed(lua_State *L, njl_wait *wait) {
  njl_wait_end(wait, NJL_CANCELLED);
  return luaL_error(L, "this coroutine waits for nightjar and cannot be resumed");
}

/* Continues the waiting C function. Lua calls this function too early, or in another task, if code other than the loop
 * resumes the coroutine, such as a coroutine.resume that the script saved before nightjar was loaded. */
static int set_next(lua_State *L, int status, lua_KContext context) {
  njl_wait *wait = (njl_wait *)context;
  if (wait->host->current->number != wait->waiter) return refuse_resumed(L, wait);
  switch (wait->state) {
  case NJL_DONE:
  case NJL_EXPIRED: return wait->then(L, status, context);
  case NJL_PENDING: return refuse_resumed(L, wait);
  case NJL_STUCK: return njl_raise_cycle(L, wait->host);
  case NJL_CANCELLED: break;
  }
  if (atomic_load(&wait->host->is_stopped)) return refuse_stopped(L, wait);
  return refuse_cancelled(L, wait);
}

/* Returns whether the task must not wait. A `__close` metamethod of a cancelled task may still wait. */
static bool is_cancelled(const njl_task *task) { return task->is_cancelled && !task->is_closing; }

bool njl_may_yield(lua_State *L, const njl_host *host) {
  return host->yields && L == host->running && lua_isyieldable(L);
}

static int return_nothing(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 0;
}

void njl_await_here(lua_State *L, njl_wait *wait) { njl_await(L, wait, return_nothing); }

int njl_await(lua_State *L, njl_wait *wait, lua_KFunction k) {
  njl_host *host = wait->host;
  njl_task *task = host->current;
  wait->then = k;
  wait->waiter = task->number;
  if (atomic_load(&host->is_stopped)) return refuse_stopped(L, wait);
  bool yields = njl_may_yield(L, host);
  if (is_cancelled(task)) {
    if (!yields) return refuse_cancelled(L, wait);
    /* Yields instead of raising an error, which the script could catch to wait again, forever. The loop then closes the
     * coroutine. */
    njl_wait_end(wait, NJL_CANCELLED);
    njl_push_token(L);
    return lua_yieldk(L, 1, (lua_KContext)wait, set_next);
  }
  if (wait->state != NJL_PENDING) return set_next(L, LUA_OK, (lua_KContext)wait);
  bool is_deep = !yields && njl_is_deeper(host, NJL_DEEP);
  if (is_deep && wait->needs_tasks) {
    njl_wait_end(wait, NJL_CANCELLED);
    return luaL_error(L, "too many nested waits that cannot yield");
  }
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    njl_wait_end(wait, NJL_CANCELLED);
    return luaL_error(L, "stack overflow (too many nested waits)");
  }
  /* The task is inside an outer, blocking wait. From now on, the end of the outer wait does not make the task ready. */
  if (task->wait != NULL) task->wait->task = NULL;
  task->wait = wait;
  wait->task = task;
  if (yields) {
    njl_push_token(L);
    return lua_yieldk(L, 1, (lua_KContext)wait, set_next);
  }
  /* A nested blocking wait runs one task per turn, because the awaited event may have occurred while that task ran. */
  size_t most = is_deep ? 0 : host->nested > 0 ? 1 : SIZE_MAX;
  bool is_deadlock = false;
  njl_enter(host);
  /* If the task blocks in another wait in the meantime, cancelling the task does not end this wait. */
  while (wait->state == NJL_PENDING && !atomic_load(&host->is_stopped) && !is_deadlock && !is_cancelled(task)) {
    is_deadlock = !njl_turn(L, host, most) && wait->state == NJL_PENDING;
  }
  njl_leave(host);
  if (is_deadlock) {
    bool stands_still = njl_is_deadlocked(host);
    njl_wait_end(wait, NJL_CANCELLED);
    return njl_raise_deadlock(L, stands_still);
  }
  if (wait->state == NJL_PENDING && is_cancelled(task)) return refuse_cancelled(L, wait);
  if (wait->state == NJL_PENDING) return refuse_stopped(L, wait);
  return set_next(L, LUA_OK, (lua_KContext)wait);
}

njl_wait *njl_descriptor_wait_push(lua_State *L, njl_host *host, int descriptor, bool writes) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  njl_wait *wait = njl_wait_push(L, host);
  njl_reply *error = njl_error_push(L);
  wait->call = njl_descriptor_await(host->engine, descriptor, writes, wait, &error->wait.call);
  if (wait->call == NULL) lua_error(L);
  host->calls++;
  lua_pop(L, 1);
  return wait;
}

int njl_await_descriptor(lua_State *L, njl_host *host, int descriptor, bool writes, njl_moment deadline,
                         lua_KFunction k) {
  njl_wait *wait = njl_descriptor_wait_push(L, host, descriptor, writes);
  wait->deadline = deadline;
  njl_timer_add(wait);
  return njl_await(L, wait, k);
}

void njl_check_work(lua_State *L, njl_wait *wait) {
  if (!njl_future_failure(wait->call, NULL)) return;
  njl_reply *error = njl_error_push(L);
  error->wait.call = wait->call;
  wait->call = NULL;
  lua_error(L);
}
