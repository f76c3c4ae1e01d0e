/* core.h - the host of a Lua state, used inside CLua only. The files of CLua follow; each
 * folder uses only the folders before it in this list.
 *
 * core/: the host: the event loop, tasks and waits, errors, limits
 *   host.c          the host, one per Lua state: the event loop, which polls, resumes and finishes tasks
 *   timers.c        the heap of waits with a deadline
 *   wait.c          suspends a coroutine, or blocks where it cannot yield
 *   cycle.c         detects circular waits (deadlocks)
 *   gate.c          waits that the standard modules end
 *   clock.c         the virtual clock of nightjar.testing
 *   epoll.c         epoll, for Swift
 *   task.c          task objects: spawn, join, cancel
 *   group.c         all, race, map, timeout
 *   debounce.c      debounce, throttle
 *   coroutine.c     replacements for coroutine.resume and wrap, so that a script's own generators can wait
 *   failure.c       replies, raising of errors, try
 *   blocks.c        a pool of freed memory blocks
 *   metatable.c     the metatables of the host's userdata
 *   names.c         names of fields and options, and suggestions for unknown ones
 *   memory.c        the memory limit of a state
 *   stopping.c      ends runs at limits and interrupts
 *   sigint.c        Ctrl-C in the interpreter
 *   interrupt.c     Ctrl-C in a session
 *
 * json/: JSON
 *   json.c          nightjar.json, null and array; json.h documents the mapping of values
 *   json_pointer.c  nightjar.json.pointer
 *   json_decode.c   JSON text to Lua values
 *   json_encode.c   Lua values to JSON text
 *
 * bindings/: clients, requests, responses
 *   batch.c         batch: many requests with bounded concurrency
 *   paginate.c      paginate: the options of a list
 *   list_decision.c the function that decides how a list continues
 *   list.c          paginated lists: iterators over items and pages
 *   client.c        client{...} and the verbs
 *   cookies.c       a client's cookies
 *   cache.c         direct access to a client's cache
 *   endpoints.c     a client's endpoints, called by name
 *   refresh.c       background revalidation of cached responses: refreshed, on_refresh
 *   subrequest.c    runs the calls of paginated lists and document loads through the hooks of their client
 *   client_options.c, login_options.c the options of client{...}
 *   login.c         a client's tokens: token functions, set_token, log_out, log_in
 *   limits.c        the state of a client's limits
 *   request.c       the options of a call; with reading.c and form.c
 *   response.c      response objects
 *   explain.c       how a call was decided: explain, earlier, idempotency_key
 *   stream.c        streamed bodies
 *   log.c           the log of a client
 *   hooks.c         hooks: before, after, on redirects and on failed attempts
 *   function.c      functions of the host program
 *   error.c         the fields of error objects
 *   mock.c          mocks: responses in place of servers
 *
 * modules/: the table nightjar and the standard modules; their Lua parts are in modules/lua/
 *   module.c        the table that require "nightjar" returns
 *   work.c          blocking work (files) on other threads
 *   pipe.c          descriptors that are read and written: standard input, pipes of child processes
 *   process.c       child processes
 *   testing.c       nightjar.testing
 *   require.c       a require whose modules may wait
 *   exit.c          an os.exit that removes temporary files first
 *   modules.c       the list of the standard modules (nightjar.csv and so on)
 *   natives.c       the C functions that the Lua modules use
 *   base64.c        nightjar.base64
 *   csv.c           the C part of nightjar.csv
 *   hash.c          nightjar.hash
 *   uuid.c          nightjar.uuid
 *   moment.c        the C part of nightjar.time
 *   url.c           the C part of nightjar.url
 *   script_log.c    the C part of nightjar.log
 *   environment.c   the C part of nightjar.env
 *
 * scripts/: Lua states that Swift runs, the sandbox and the session
 *   session.c       the interactive session of the command
 *   script.c        Lua states with limits, run from Swift
 *   interpreter.c   the stand-alone interpreter of the command
 *   sandbox.c       the libraries of sandboxed scripts
 *   bounded.c       bounded functions of the base and utf8 libraries, for sandboxed scripts
 *   bounded_string.c, bounded_table.c the same for the string and table libraries
 *   pattern.c       matches Lua patterns
 *
 * Each binding works in this order: check the arguments (may raise, nothing is owned yet), create the userdata that
 * will own the result, call Swift (never raises), then push, yield or raise. */
#ifndef NJL_CORE_H
#define NJL_CORE_H

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdatomic.h>

#include "core/annotations.h"
#include "njl_host.h"
#include "njl_script.h"

typedef struct njl_host njl_host;
typedef struct njl_clock njl_clock;

/* Nanoseconds of the monotonic clock. */
typedef uint64_t njl_moment;
#define NJL_NEVER UINT64_MAX

/* Limits on the depth of the C stack, in bytes below the base. Lua limits nested C calls to 200 (each of 300 bytes
 * to 2 KiB), but resets their count when a coroutine is closed, so the host measures the stack itself. Up to
 * NJL_DEEP, a blocking wait runs other tasks; beyond it, a blocking wait runs no other tasks. Beyond NJL_DEEPEST, no
 * coroutine is closed within another call. A host thread needs a stack of 512 KiB for this depth and Lua's own
 * calls. */
#define NJL_DEEP (64 * 1024)
#define NJL_DEEPEST (128 * 1024)

/* How a wait ended. */
typedef enum njl_state_of_wait {
  NJL_PENDING,
  NJL_DONE,      /* the awaited event has occurred */
  NJL_EXPIRED,   /* the deadline passed first */
  NJL_CANCELLED, /* the task was cancelled, or the host is stopping */
  NJL_STUCK,     /* the wait could never end, see circle.c */
} njl_state_of_wait;

/* A wait of a coroutine: for a call, for a deadline, for the end of one task, or for the end of some tasks of a
 * group. It is the first part of a userdata that is on the stack of the waiting C function and whose finalizer calls
 * njl_wait_drop. */
struct njl_wait {
  njl_host *host;
  njl_task *task; /* made ready when the wait ends; NULL after that */
  lua_KFunction then; /* continues the C function */
  njl_state_of_wait state;
  njl_moment deadline;                         /* NJL_NEVER: no timer */
  njl_wait *heap_child, *heap_next, *heap_previous; /* timers.c */
  njl_future *call;                           /* owned; in flight while pending */
  njl_task *target;                            /* the wait ends when this task ends */
  njl_wait *next_joiner;                       /* of the same target */
  bool needs_tasks;                            /* the wait cannot end before some task has run */
  lua_Integer caller;                          /* the caller (subrequest.c) whose calls this call depends on; 0: none */
  lua_Integer waiter;                          /* the number of the waiting task; only this task may continue */
};

typedef enum njl_state_of_task {
  NJL_NEW,       /* not resumed yet */
  NJL_SUSPENDED, /* in a wait */
  NJL_RUNNING,   /* on the C stack, possibly in a wait that could not yield */
  NJL_ENDING,    /* its function has returned, but not all of its children have ended */
  NJL_ENDED,     /* its results or its error are in the user value NJL_TASK_RESULT */
} njl_state_of_task;

/* A coroutine that the loop resumes, or the main chunk of a stock interpreter (then `thread` is NULL). It is a
 * userdata with the user values NJL_TASK_THREAD and so on. The host anchors it until it has ended. */
struct njl_task {
  njl_host *host;
  lua_State *thread;
  njl_task *parent, *first_child, *previous, *next; /* children are cancelled when their parent ends */
  lua_Integer number;                               /* greater than the numbers of all tasks spawned earlier */
  size_t unended;                                   /* children that have not ended */
  njl_task *failed; /* the first child whose error has not been observed; anchored */
  njl_task *next_ready; /* the next task in the ready list; after the end, in the list of finished tasks of its group */
  njl_wait *wait;    /* the current wait */
  njl_wait *joiners; /* waits for the end of this task */
  njl_wait *group;   /* notified when the task ends, see group.c */
  lua_Integer place; /* index in the group */
  njl_callback *callback; /* the decision request that it responds to (login.c); released when the task ends */
  njl_subrequest *subrequest;     /* the subrequest whose call it makes (subrequest.c); released when the task ends */
  njl_state_of_task state;
  int status;    /* LUA_OK, the error that ended it, or NJL_WAS_CANCELLED */
  int results;   /* before the first resume, the number of arguments on the thread; after the end, of results */
  bool is_ready; /* in the ready list */
  bool is_cancelled;
  bool is_closing;  /* its <close> variables are being closed; they may wait although the task is cancelled */
  bool is_observed; /* joined, now or later, so its error is not lost */
  /* interrupted by Ctrl-C: its code raises at each instruction, except in the closers of variables */
  bool is_interrupted;
  uint64_t search;     /* the last search that visited the task (circle.c), and */
  njl_task *sought_by, *next_sought; /* its links in that search */
};

#define NJL_WAS_CANCELLED (-1)
/* NJL_TASK_RESULT holds the error, the only result, or a list of several results. The thread of a task that has
 * ended is never read, because a script can get hold of the thread and change it. */
enum { NJL_TASK_THREAD = 1, NJL_TASK_GROUP, NJL_TASK_TRACEBACK, NJL_TASK_RESULT, NJL_TASK_VALUES = NJL_TASK_RESULT };

struct njl_host {
  njl_engine *engine;
  njl_client *client;       /* the host program's client, owned; NULL: none */
  bool is_sandboxed;        /* scripts cannot create clients */
  /* the Lua thread that is running, as far as the host resumed it; a signal handler reads it */
  lua_State *volatile running;
  /* every function between the running code and the loop passes the token on, so the code may yield to the loop */
  bool yields;
  njl_task *current;        /* never NULL */
  njl_task *first_ready, *last_ready;
  size_t ready;
  lua_Integer spawned;      /* number of tasks ever spawned */
  njl_wait *timers;         /* root of the heap */
  njl_clock *clock;         /* the virtual clock of the timers; NULL: real time */
  size_t calls;             /* in flight */
  size_t listeners;         /* number of clients and subrequest.c callers numbered so far */
  size_t subrequests;           /* number of tasks that make calls for subrequest.c */
  /* Work that each turn of the loop does. The code that needs it sets the function, which is NULL before. */
  void (*ask_logins)(lua_State *L, njl_host *host);    /* login.c; set with the first listener */
  void (*write_log)(lua_State *L, njl_host *host);     /* log.c; likewise */
  void (*run_subrequests)(lua_State *L, njl_host *host);   /* subrequest.c */
  void (*show_progress)(lua_State *L, njl_host *host); /* session.c; called while `follows` is set */
  uint64_t searches;        /* number of searches of circle.c so far */
  char cycle[256];         /* the result of the last search */
  int nested;               /* nesting depth of runs, blocking waits and closers on the C stack */
  uintptr_t base;           /* where the outermost of them began on the C stack */
  bool is_logging;          /* a log function is running; later log lines wait for it */
  njl_task root;            /* stands for code outside of all coroutines of the host */
  /* the main task of a run in an own state; NULL: no run is in progress, or the state is a stock one */
  njl_task *script;
  njl_moment limit;         /* when the run in progress is stopped; NJL_NEVER: no limit */
  uint64_t instructions, most_instructions; /* executed in the run in progress, and the limit; 0: no limit */
  uint64_t burst, longest_burst;            /* the same since the last wait */
  uint64_t unchecked;       /* steps of C functions not yet added to `instructions` and `burst` */
  uint64_t closing;         /* instructions left for closers after the host was stopped */
  atomic_bool is_stopped;   /* interrupted or over a limit; every wait ends */
  _Atomic(const char *) stop_reason; /* for the error message; a static string */
  bool is_session;          /* session.c */
  atomic_bool is_interrupted; /* Ctrl-C was typed and has not been handled yet */
  bool was_interrupted;     /* the program has yet to be notified */
  bool attends;             /* its wait ends on Ctrl-C */
  bool follows;             /* reports the progress of calls in the foreground */
  njl_task *foreground;     /* the task that it evaluates, anchored by the registry; NULL: none */
};

/* host.c */
bool njl_host_is_open(lua_State *L);

/* Returns whether a finalizer is running. */
bool njl_is_finalizing(lua_State *L);
/* Registers the empty userdata on top of the stack for finalization. Call it for each userdata with a finalizer,
 * before the userdata owns anything. Lua does not finalize objects that a finalizer creates while the state closes
 * (manual, section 2.5.3); the host, which is finalized last, finalizes them. */
void njl_own(lua_State *L) NJL_RAISES;
njl_host *njl_host_open(lua_State *L) NJL_RAISES;            /* finds or creates the host of this state; pushes nothing */
njl_host *njl_host_of(lua_State *L);              /* from upvalue 1 of the running function */
void njl_make_ready(njl_task *task);
void njl_make_first(njl_task *task); /* puts the task at the front of the ready list */
/* Called before and after a run, a blocking wait and the closing of a coroutine. The outermost njl_enter sets the
 * base of the stack, because a stock interpreter may call the host from any depth of its stack, or from another
 * thread. */
void njl_enter(njl_host *host);
void njl_leave(njl_host *host);
bool njl_is_deeper(const njl_host *host, size_t bytes); /* whether the stack is more than `bytes` below the base */
/* One turn of the loop: ends waits, then runs at most `most` tasks. Returns false if no event can ever occur. */
bool njl_turn(lua_State *L, njl_host *host, size_t most) NJL_RAISES;
/* Runs the loop until the task has ended. Needs LUA_MINSTACK free slots. */
void njl_run(lua_State *L, njl_host *host, njl_task *task) NJL_RAISES;
/* callable from any thread and from signal handlers; `reason` is a static string */
void njl_stop(njl_host *host, const char *reason);
/* Counts instructions and stops the host when they exceed a limit. */
void njl_charge(njl_host *host, uint64_t instructions);
/* Instructions charged for starting a coroutine. The hook is called only every 1000 instructions, so short
 * coroutines would otherwise count nothing. */
#define NJL_START_CHARGE 100
/* Passes the error on top of the stack, raised in the task at `index`, to another task. If the error ends that task
 * too, both tracebacks are shown. */
void njl_remember_reported(lua_State *L, int index) NJL_RAISES;
/* Returns whether all tasks wait and some of them wait for the virtual clock, which nothing advances. */
bool njl_is_deadlocked(const njl_host *host);
int njl_raise_deadlock(lua_State *L, bool stands_still) NJL_RAISES;
void njl_anchor(lua_State *L, njl_task *task, int index) NJL_RAISES;   /* keeps the task alive until it has ended; may raise */
void njl_release_anchor(lua_State *L, njl_task *task) NJL_RAISES;
/* pushes the userdata; returns false and pushes nothing if the task is not anchored */
bool njl_push_anchored(lua_State *L, njl_task *task);

/* timers.c */
njl_moment njl_now(void);                       /* real time */
njl_moment njl_deadline_after(double seconds);  /* a deadline in real time; used for the limits of a run */
njl_moment njl_host_now(const njl_host *host);  /* the time that timers use: virtual or real */
/* a deadline in that time; used for all waits */
njl_moment njl_host_deadline_after(const njl_host *host, double seconds);
void njl_timers_shift(njl_host *host, int64_t span);
void njl_timer_add(njl_wait *wait);
void njl_timer_remove(njl_wait *wait);

/* wait.c */
void njl_wait_init(njl_wait *wait, njl_host *host);
njl_wait *njl_wait_push(lua_State *L, njl_host *host) NJL_RAISES;                    /* a plain wait as a userdata */
njl_wait *njl_wait_push_sized(lua_State *L, njl_host *host, size_t size) NJL_RAISES; /* followed by zeroed bytes */
void njl_wait_end(njl_wait *wait, njl_state_of_wait state);
void njl_wait_drop(njl_wait *wait);
/* Suspends the calling C function until `wait` is over, then continues in `k` with the wait as its context. Must be
 * the last call: `return njl_await(...)`. Raises an error instead of continuing in `k` if the wait was cancelled, or if
 * code other than the loop resumed the coroutine. */
int njl_await(lua_State *L, njl_wait *wait, lua_KFunction k) NJL_YIELDS;
/* Suspends the calling C function until the descriptor is readable (or writable) or broken, then continues in `k`
 * with the wait as its context. The wait's state is NJL_DONE, or NJL_EXPIRED if the deadline passed first. Must be
 * the last call. `k` must begin with njl_check_work, which raises the error of the wait (after a fork, every such
 * wait fails). The caller that closes a descriptor must end its waits first. */
int njl_await_descriptor(lua_State *L, njl_host *host, int descriptor, bool writes, njl_moment deadline, lua_KFunction k) NJL_YIELDS;
/* only creates the wait */
njl_wait *njl_descriptor_wait_push(lua_State *L, njl_host *host, int descriptor, bool writes) NJL_RAISES;
void njl_check_work(lua_State *L, njl_wait *wait) NJL_RAISES;
bool njl_is_token(lua_State *L, int index);
/* Returns whether the coroutine is suspended in a wait. If so, its token stays on its stack until the loop resumes
 * it. */
bool njl_is_waiting(lua_State *co);
void njl_push_token(lua_State *L);

/* circle.c */
/* Called when no task is ready: ends one wait that could never end and makes its task ready. Returns false if there
 * is no such wait. */
bool njl_break_cycle(njl_host *host);
int njl_raise_cycle(lua_State *L, const njl_host *host) NJL_RAISES; /* raises the error of that wait */

/* task.c */
/* Creates a child of the current task from the function and the arguments on top of the stack and replaces them by
 * the task's userdata. The task starts in a later turn of the loop, never immediately. */
njl_task *njl_task_spawn(lua_State *L, njl_host *host, int arguments) NJL_RAISES;
/* Calls `begin` with the light userdata `arrival`. `begin` spawns a child of the root task for the arrival and takes
 * ownership of it. If memory runs out, `begin` does not take ownership, and releasing the arrival makes it fail. */
void njl_task_begin(lua_State *L, njl_host *host, lua_CFunction begin, void *arrival);
void njl_task_cancel(njl_task *task);                    /* the task and all its descendants */
void njl_task_leave(njl_task *task);                     /* removes it from its parent's list */
/* detaches it from its parent as well: it then belongs to the script as a whole */
void njl_task_leave_to_script(njl_task *task);
/* releases the decision request and the subrequest, which fail if they are still pending */
void njl_task_drop_subrequests(njl_task *task);
/* In both functions, `index` is the stack index of the task's userdata. */
/* returns the number of results; the task must have ended without an error */
int njl_task_push_results(lua_State *L, int index) NJL_RAISES;
void njl_task_push_error(lua_State *L, int index) NJL_RAISES;  /* the task must have ended with an error */
bool njl_is_callable(lua_State *L, int index) NJL_RAISES;
void njl_check_callable(lua_State *L, int index, const char *role) NJL_RAISES;
void njl_open_task(lua_State *L) NJL_RAISES;
int njl_spawn(lua_State *L) NJL_RAISES;
int njl_sleep(lua_State *L) NJL_YIELDS;

/* group.c */
int njl_all(lua_State *L) NJL_YIELDS;
int njl_race(lua_State *L) NJL_YIELDS;
int njl_map(lua_State *L) NJL_YIELDS;
int njl_timeout(lua_State *L) NJL_YIELDS;
typedef struct njl_group_options {
  lua_Integer concurrency;
  bool collects_errors;
  bool numbers_errors; /* each error carries the index of its request */
} njl_group_options;
#define NJL_CONCURRENCY 6 /* the number of connections that browsers open to one host */
/* Reads the option whose name and value are on top of the stack. Raises an error if it is unknown or invalid. */
void njl_read_group_option(lua_State *L, const char *function, njl_group_options *options) NJL_RAISES;
/* Reads the options in the table at `table`; none is given if there is no value. */
njl_group_options njl_read_group_options(lua_State *L, int table, const char *function) NJL_RAISES;
/* Runs map for the list at index 1 and the function at index 2. The stack contains nothing else, except for options
 * at index 3. */
int njl_run_map(lua_State *L, const njl_group_options *options) NJL_YIELDS;
void njl_group_child_ended(njl_wait *group, njl_task *child);

/* coroutine.c */
/* Like lua_resetthread, but limits the depth of the C stack: Lua 5.4.4 does not count C levels there, so closers
 * that close other coroutines could overflow the stack. Waits of the closers block. */
int njl_close_coroutine(njl_host *host, lua_State *co);
void njl_open_coroutine(lua_State *L) NJL_RAISES;

/* debounce.c */
int njl_debounce(lua_State *L) NJL_RAISES;
int njl_throttle(lua_State *L) NJL_RAISES;
void njl_open_debounce(lua_State *L) NJL_RAISES;

/* blocks.c */
enum { NJL_BLOCK_CLASSES = 64 };
typedef struct njl_block njl_block;
typedef struct njl_blocks {
  njl_block *kept[NJL_BLOCK_CLASSES];
  bool is_used[NJL_BLOCK_CLASSES]; /* since the last sweep */
  size_t bytes, most;              /* bytes in the pool, and the limit */
  size_t misses;                   /* since the last sweep */
} njl_blocks;
/* Like realloc, or free if `size` is 0, but uses the pool. `memory` is NULL or was returned by this function. */
void *njl_blocks_resize(njl_blocks *blocks, void *memory, size_t old_size, size_t size);
void njl_blocks_free(njl_blocks *blocks); /* frees the pooled blocks */

/* metatable.c. A type is identified by the address of its name, not by its text. */
void njl_set_type(lua_State *L, const char *type); /* sets the type of the userdata on top */
void *njl_test(lua_State *L, int index, const char *type);  /* returns NULL if the value has another type */
void *njl_check(lua_State *L, int index, const char *type) NJL_RAISES; /* the same for an argument; raises */
/* created with `meta` on the first call */
void njl_push_metatable(lua_State *L, const char *type, const luaL_Reg *meta) NJL_RAISES;
/* Creates the metatable of a type, once. An unknown field calls `unknown`, which raises; with NULL it is nil. */
void njl_add_type(lua_State *L, const char *type, const luaL_Reg *meta, const luaL_Reg *methods, lua_CFunction unknown) NJL_RAISES;
/* Adds functions to the table at index `table`. They find their host with njl_host_of. */
void njl_add_functions(lua_State *L, int table, const luaL_Reg *functions) NJL_RAISES;

/* names.c */
/* Returns the position of the string at `index` among the names, or -1. A name with an embedded NUL never matches. */
int njl_find_name(lua_State *L, int index, const char *const names[]) NJL_RAISES;
int njl_unknown_option(lua_State *L, const char *function, const char *prefix, const char *name,
                       const char *const known[]) NJL_RAISES; /* raises */
/* Returns the number of edits (insert, delete or replace a letter, swap two neighbours) that turn `a` into `b`. */
size_t njl_edits(const char *a, size_t a_length, const char *b);
/* returns NULL if no name is similar */
const char *njl_nearest(const char *name, size_t length, const char *const names[]);
int njl_unknown_field(lua_State *L, const char *noun, const char *name, const char *const names[]) NJL_RAISES; /* raises */
/* Reads boolean options from the table at `index`, if there is one. Returns a bit set of the options that were
 * given: 1 for the first, 2 for the second, 4 for the third and so on. Raises an error if an option is invalid. */
unsigned njl_read_flags(lua_State *L, int index, const char *function, const char *const names[], bool *const flags[]) NJL_RAISES;
void njl_push_field_numbers(lua_State *L, const char *const names[]) NJL_RAISES; /* pushes a table from names to positions */

/* failure.c */
typedef struct njl_reply {
  njl_wait wait; /* its call is the outcome */
  bool decides_redirects, decides_retries, reports_refresh, reports_progress;
  int top; /* stack height of the function that waits for the call */
  lua_Integer place; /* for an error: the index of its request in a batch; 0: not part of a batch */
} njl_reply;
/* User values of a reply. The first three belong to the response or error that it becomes. The others are the client
 * (kept while a streamed response may still arrive) and the functions for redirects, failed attempts, revalidated
 * responses and progress. */
enum {
  NJL_REPLY_CLIENT = 4,
  NJL_REPLY_REDIRECT,
  NJL_REPLY_RETRY,
  NJL_REPLY_REFRESH,
  NJL_REPLY_PROGRESS,
  NJL_REPLY_VALUES = NJL_REPLY_PROGRESS
};
njl_wait *njl_reply_push(lua_State *L, njl_host *host) NJL_RAISES; /* pushes a userdata that waits for its call */
int njl_reply_finish(lua_State *L, int index) NJL_RAISES;          /* returns it as a response or raises it as an error */
int njl_reply_gc(lua_State *L);
/* Informs the collector of memory outside of Lua, so that unused responses do not pile up. */
void njl_account(lua_State *L, size_t bytes);
njl_reply *njl_error_push(lua_State *L) NJL_RAISES;                /* an error that does not own an outcome yet */
void njl_push_failure(lua_State *L, njl_kind kind, int phase, const char *message) NJL_RAISES;
int njl_raise(lua_State *L, njl_kind kind, int phase, const char *format, ...) NJL_RAISES;
#define NJL_BATCH_PREFIX "request %I of the batch: "
/* Adds to the error on top of the stack the number of the request in its batch. */
void njl_number_error(lua_State *L, lua_Integer place) NJL_RAISES;
int njl_try(lua_State *L) NJL_RAISES;

/* stopping.c */
/* Ends the code that runs in `L` because the host was stopped, by a yield or by an error, and again at each further
 * instruction of this coroutine. Returns only in a hook. */
int njl_raise_stopped(lua_State *L, njl_host *host) NJL_YIELDS;
/* Limits the instructions of the closers that `L` still runs. */
void njl_arm_stopped(njl_host *host, lua_State *L);
void njl_disarm(lua_State *L); /* The closers that `L` still runs are not limited. */
/* Marks a coroutine that failed while the host was stopped. Its closers never run, because hooks may be off in it. */
void njl_abandon(lua_State *L);
bool njl_is_abandoned(lua_State *L);
/* Counts the work of a C function as `steps` instructions. Ends the running code if a limit is exceeded or the host
 * is stopped. */
void njl_spend(lua_State *L, njl_host *host, uint64_t steps) NJL_YIELDS;
void njl_script_interrupt_from_signal(njl_script *script); /* on the thread that runs it */
void njl_script_wake(njl_script *script);                  /* any thread */

/* memory.c */
/* Memory outside of Lua that is held for a script. njl_charge_memory returns false if the limit would be exceeded. */
bool njl_limits_memory(lua_State *L);
bool njl_charge_memory(lua_State *L, size_t bytes);
void njl_discharge_memory(lua_State *L, size_t bytes);
size_t njl_memory_left(lua_State *L); /* SIZE_MAX: no limit */
/* Runs a full collection if much memory is in use outside of Lua, which the collector does not count. */
void njl_make_room(lua_State *L);

/* interrupt.c */
/* Whether the running code must end: the host is stopped, or Ctrl-C was typed in a session. */
bool njl_is_stopped(const njl_host *host);
/* Carries out the Ctrl-C of a session. `computes`: called in the middle of a task. Returns false if none was typed. */
bool njl_take_interrupt(njl_host *host, bool computes);
/* Whether a session shows the progress of the running task's calls. */
bool njl_is_followed(const njl_host *host);
/* A child of `parent` has failed, and no task has joined it. */
void njl_session_task_failed(njl_host *host, const njl_task *parent);

/* sigint.c */
/* called when a Ctrl-C has been handled: catches the next one, as njl_script_catch_interrupt does */
void njl_script_catch_again(void);

/* gate.c */
void njl_add_gates(lua_State *L, int table) NJL_RAISES; /* adds the gate functions that modules in Lua use */

/* clock.c */
njl_moment njl_clock_now(const njl_clock *clock);
/* Advances the host's clock to the next timer if all tasks wait and no call is in flight. Returns false if the clock
 * does not move. */
bool njl_clock_step(njl_host *host);
void njl_add_clock(lua_State *L) NJL_RAISES; /* adds the clock to nightjar.testing, on top of the stack */

/* The types of userdata. Their names appear in messages. */
extern const char NJL_CLIENT[], NJL_CALLER[], NJL_LIST[], NJL_PAGE[], NJL_DECISION[], NJL_COOKIES[], NJL_MOCK[],
    NJL_CACHE[], NJL_ENDPOINTS[], NJL_ENDPOINT[], NJL_LOAN[], NJL_REPLY[], NJL_DECISION_LIST[], NJL_DEBOUNCED[],
    NJL_THROTTLED[], NJL_RESPONSE[], NJL_HEADERS[], NJL_ERROR[], NJL_TASK[], NJL_WAIT[], NJL_GROUP[], NJL_DIGEST[],
    NJL_GATE[], NJL_CLOCK[], NJL_PIPE[], NJL_PROCESS[], NJL_RESOURCE[];

#endif
