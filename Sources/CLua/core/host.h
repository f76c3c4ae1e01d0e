/* host.h - the host of a Lua state. Each folder of CLua uses only the folders before it in this list.
 *
 *   core/      the host: the event loop, tasks and waits, errors, limits
 *   json/      JSON
 *   bindings/  clients, requests, responses
 *   modules/   the table nightjar and the standard modules; their Lua parts are in modules/lua/
 *   scripts/   Lua states that Swift runs, the sandbox and the session
 *
 * A binding usually works in this order: check the arguments (may raise, nothing is owned yet), create the userdata
 * that will own the result, call Swift (never raises), then push, yield or raise. */
#ifndef NJL_HOST_STATE_H
#define NJL_HOST_STATE_H

#include <lua5.4/lua.h>
#include <stdatomic.h>

#include "core/annotations.h"
#include "core/task.h"
#include "core/timers.h"
#include "njl_types.h"

typedef struct njl_clock njl_clock;

/* Limits on the depth of the C stack, in bytes below the base. Lua limits nested C calls to 200 (each of 300 bytes
 * to 2 KiB), but resets their count when a coroutine is closed, so the host measures the stack itself. Beyond
 * NJL_DEEP, a blocking wait runs no other tasks, and fails if it needs them. Beyond NJL_DEEPEST, scripts cannot close
 * coroutines. A host thread needs a stack of 512 KiB for this depth and Lua's own calls. */
#define NJL_DEEP (64 * 1024)
#define NJL_DEEPEST (128 * 1024)

struct njl_host {
  njl_engine *engine;
  njl_client *client; /* the host program's client, owned; NULL: none */
  bool is_sandboxed;  /* scripts cannot create clients */
  /* the running Lua thread, if the host started or resumed it; read by a signal handler */
  lua_State *volatile running;
  /* the running code may yield to the loop: every coroutine below it was resumed by the host and passes the token on */
  bool yields;
  njl_task *current; /* never NULL */
  njl_task *first_ready, *last_ready;
  size_t ready;
  lua_Integer spawned; /* number of tasks ever spawned */
  njl_wait *timers;    /* root of the heap */
  njl_clock *clock;    /* the virtual clock of the timers; NULL: real time */
  size_t calls;        /* in flight */
  size_t listeners;    /* the last number that njl_number returned */
  size_t subrequests;  /* number of tasks that make calls for subrequest.c */
  /* Functions that the turns of the loop call. The named file sets its function on first use; NULL: not set yet. */
  void (*run_callbacks)(lua_State *L, njl_host *host); /* callbacks.c; set with the first listener */
  void (*write_log)(lua_State *L, njl_host *host); /* log.c; set with the first listener */
  void (*run_subrequests)(lua_State *L, njl_host *host); /* subrequest.c */
  void (*show_progress)(lua_State *L, njl_host *host); /* session.c; called while `follows` is set */
  uint64_t searches; /* number of searches of cycle.c so far */
  char cycle[256]; /* the message of the last search that found a cycle */
  int nested; /* nesting depth of runs, blocking waits and closers on the C stack */
  uintptr_t base; /* the address on the C stack at which the outermost of these began */
  bool is_logging; /* a log function is running; later log lines wait for it */
  njl_task root; /* the current task while no task of the host is running */
  /* the main task of njl_script_run; NULL: no run is in progress, or a stock interpreter runs the state */
  njl_task *script;
  bool was_idle;   /* the last turn of the loop found nothing to do */
  bool is_stepped; /* the run in progress is made in steps: the outermost turns of the loop do not wait */
  njl_moment limit;                         /* when the run in progress is stopped; NJL_NEVER: no limit */
  uint64_t instructions, most_instructions; /* executed in the run in progress, and the limit; 0: no limit */
  uint64_t burst, longest_burst;            /* executed since the last wait, and the limit; 0: no limit */
  uint64_t unchecked;                       /* steps of C functions not yet added to `instructions` and `burst` */
  uint64_t closing;                         /* instructions granted to closers since the host was stopped */
  atomic_bool is_stopped;                   /* interrupted or over a limit; every wait ends */
  _Atomic(const char *) stop_reason;        /* for the error message; a static string */
  bool is_session;                          /* session.c */
  atomic_bool is_interrupted;               /* Ctrl-C was typed and has not been handled */
  bool was_interrupted;                     /* the program has not been notified of Ctrl-C yet */
  bool attends;                             /* Ctrl-C ends the wait of the session's program */
  bool follows;                             /* the session shows the progress of the foreground's calls */
  njl_task *foreground;                     /* the task of the evaluation, anchored by the registry; NULL: none */
};

bool njl_host_is_open(lua_State *L);

/* Returns whether a finalizer is running. */
bool njl_is_finalizing(lua_State *L);
/* Registers the empty userdata on top of the stack for finalization. Must be called for each userdata with a finalizer,
 * before the userdata owns anything. Lua does not finalize objects that a finalizer creates while the state closes
 * (manual, section 2.5.3); the host, which is finalized last, finalizes them. */
void njl_own(lua_State *L) NJL_RAISES;
njl_host *njl_host_open(lua_State *L) NJL_RAISES; /* finds or creates the host of this state; pushes nothing */
njl_host *njl_host_of(lua_State *L); /* from upvalue 1 of the running function */
/* Called before and after a run, a blocking wait and the closing of a coroutine. The outermost njl_enter sets the
 * base of the stack, because a stock interpreter may call the host from any depth of its stack, or from another
 * thread. */
void njl_enter(njl_host *host);
void njl_leave(njl_host *host);
bool njl_is_deeper(const njl_host *host, size_t bytes); /* whether the stack is more than `bytes` below the base */

/* User values of the host's userdata: the anchored tasks, by address; the objects created by finalizers;
 * and the error last passed to another task, with its traceback (traceback.c). */
enum { NJL_HOST_ANCHORS = 1, NJL_HOST_LATE, NJL_HOST_REPORTED, NJL_HOST_VALUES = NJL_HOST_REPORTED };
void njl_push_host_value(lua_State *L, int place);

void njl_anchor(lua_State *L, njl_task *task, int index) NJL_RAISES; /* keeps the task alive until njl_release_anchor */
void njl_release_anchor(lua_State *L, njl_task *task) NJL_RAISES;
/* pushes the userdata; returns false and pushes nothing if the task is not anchored */
bool njl_push_anchored(lua_State *L, njl_task *task);

#endif
