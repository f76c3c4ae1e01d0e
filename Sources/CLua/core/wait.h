/* wait.h - waits of coroutines. */
#ifndef NJL_WAIT_H
#define NJL_WAIT_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/timers.h"
#include "njl_types.h"

/* How a wait ended. */
typedef enum njl_state_of_wait {
  NJL_PENDING,
  NJL_DONE,      /* the awaited event has occurred */
  NJL_EXPIRED,   /* the deadline passed first */
  NJL_CANCELLED, /* the wait was given up: for example, the task was cancelled, or the host is stopping */
  NJL_STUCK,     /* the wait could never end, see cycle.c */
} njl_state_of_wait;

/* A wait of a coroutine for a call, a deadline, the end of a task, the end of some children of a group, or a gate. The
 * wait is the first member of a userdata that stays on the stack of the waiting C function. If the wait can have a
 * call, the finalizer of the userdata calls njl_wait_drop. */
struct njl_wait {
  njl_host *host;
  njl_task *task;     /* made ready when the wait ends; NULL after that */
  lua_KFunction then; /* continues the C function */
  njl_state_of_wait state;
  njl_moment deadline; /* NJL_NEVER: no timer */
  njl_wait *heap_child, *heap_next, *heap_previous; /* timers.c */
  njl_future *call; /* owned; in flight while pending */
  njl_task *target; /* the wait ends when this task ends */
  njl_wait *next_joiner; /* of the same target */
  bool needs_tasks; /* other tasks must run before the wait can end */
  lua_Integer caller; /* the caller (subrequest.c) whose calls this call depends on; 0: none */
  lua_Integer waiter; /* the number of the waiting task; only this task may continue */
};

void njl_wait_init(njl_wait *wait, njl_host *host);
njl_wait *njl_wait_push(lua_State *L, njl_host *host) NJL_RAISES;                    /* pushes a wait as a userdata */
njl_wait *njl_wait_push_sized(lua_State *L, njl_host *host, size_t size) NJL_RAISES; /* a userdata of `size` bytes */
/* Begins a wait for a call in flight, which the wait owns from now on, until the deadline. */
void njl_wait_begin(njl_wait *wait, njl_future *call, njl_moment deadline);
void njl_wait_end(njl_wait *wait, njl_state_of_wait state);
void njl_wait_drop(njl_wait *wait);
/* Suspends the calling C function until `wait` is over, then continues in `k` with the wait as its context. Must be
 * the last call: `return njl_await(...)`. Does not continue in `k` but raises an error, for example, if the wait was
 * cancelled, or if code other than the loop resumed the coroutine. */
int njl_await(lua_State *L, njl_wait *wait, lua_KFunction k) NJL_YIELDS;
/* Returns whether njl_await suspends the coroutine. If not, njl_await returns after the wait, and a function that waits
 * in a loop must use njl_await_here: a chain of continuations would use more of the C stack with each wait. */
bool njl_may_yield(lua_State *L, const njl_host *host);
/* Waits without a continuation, where the coroutine cannot yield. Raises the same errors as njl_await. */
void njl_await_here(lua_State *L, njl_wait *wait) NJL_YIELDS;
/* Suspends the calling C function until the descriptor is readable (or writable) or broken, then continues in `k`
 * with the wait as its context. The wait's state is NJL_DONE, or NJL_EXPIRED if the deadline passed first. Must be
 * the last call. `k` must begin with njl_check_work, which raises the error of the wait: after a fork, all of these
 * waits fail. End the waits for a descriptor before closing it. */
int njl_await_descriptor(lua_State *L, njl_host *host, int descriptor, bool writes, njl_moment deadline,
                         lua_KFunction k) NJL_YIELDS;
/* pushes the wait of njl_await_descriptor without waiting */
njl_wait *njl_descriptor_wait_push(lua_State *L, njl_host *host, int descriptor, bool writes) NJL_RAISES;
void njl_check_work(lua_State *L, njl_wait *wait) NJL_RAISES;
bool njl_is_token(lua_State *L, int index);
/* Returns whether the coroutine is suspended in a wait. The token stays on the coroutine's stack until the loop
 * resumes the coroutine. */
bool njl_is_waiting(lua_State *co);
void njl_push_token(lua_State *L);

#endif
