/* njl.h - the parts of the Lua host and how they fit; inside CLua only.
 *
 *   module.c     what require "nightjar" returns
 *   host.c       one for each Lua state: the loop that polls, resumes and finishes tasks
 *   timers.c     waits with a deadline, earliest first
 *   wait.c       suspending a coroutine, or blocking where it cannot yield
 *   circle.c     waits that would end only with themselves
 *   gate.c       waits that the code of modules ends
 *   clock.c      the time of nightjar.testing
 *   work.c       what blocks, on other threads: files
 *   epoll.c      waiting for descriptors, for Swift
 *   pipe.c       descriptors that are read and written: standard input, pipes of processes
 *   process.c    processes of ours
 *   testing.c    nightjar.testing
 *   require.c    a require that may wait
 *   exit.c       an os.exit that leaves nothing temporary behind
 *   task.c       task objects: spawn, join, cancel
 *   group.c      all, race, map, timeout
 *   batch.c      many requests, a few at a time: batch
 *   paginate.c   paginate: the options of a list
 *   list.c       lists in pages: what is taken from them
 *   debounce.c   debounce, throttle
 *   coroutine.c  coroutine.resume and wrap that let a script's own generators wait
 *   client.c     client{...} and the verbs
 *   cookies.c    a client's cookies
 *   cache.c      a client's cache by hand
 *   endpoints.c  what a client's API can do, by name
 *   refresh.c    stored answers that are fetched anew: refreshed, on_refresh
 *   errand.c     calls that lists and documents need, between the hooks of their client
 *   login.c      a client's tokens: functions that provide them, sign_in, sign_out, log_in
 *   limits.c     how a client stands with its limits
 *   request.c    the options of a call
 *   response.c   response objects
 *   explain.c    why a call went as it did: explain, earlier, idempotency_key
 *   stream.c     bodies in parts
 *   log.c        the log of a client
 *   hooks.c      functions that see calls: before, after, at redirects and failed attempts
 *   failure.c    error objects, try
 *   json.c       nightjar.json, null and array; json.h tells how values map
 *   json_pointer.c nightjar.json.pointer
 *   blocks.c     memory that a script has let go of
 *   metatable.c  the metatables of our userdata
 *   names.c      names of fields and options, and the nearest to one that is unknown
 *   session.c    a program that people talk to, and what Ctrl-C ends there
 *   script.c     states with limits, run from Swift
 *   memory.c     the memory that these states use
 *   stopping.c   ends their runs at limits and interrupts
 *   interpreter.c is what the command runs in them, and
 *   sigint.c     what Ctrl-C does there
 *   function.c   functions of the host program
 *   sandbox.c    the libraries of scripts that the host did not write
 *   bounded.c    bounded functions of the base and utf8 libraries for such scripts
 *   bounded_string.c, bounded_table.c bounded functions of the string and table libraries
 *   pattern.c    matches patterns
 *   modules.c    the standard modules, nightjar.csv and so on; those in Lua are in modules/, and
 *   natives.c    what they all have of C
 *   base64.c     nightjar.base64
 *   csv.c        what nightjar.csv has of C
 *   hash.c       nightjar.hash
 *   uuid.c       nightjar.uuid
 *   moment.c     what nightjar.time has of C
 *   url.c        what nightjar.url has of C
 *   script_log.c what nightjar.log has of C
 *   environment.c what nightjar.env has of C
 *
 * Order in each binding: check the arguments (may raise, nothing owned yet), make the userdata that will own, call
 * Swift (never raises), then push, yield or raise. */
#ifndef NJL_CORE_H
#define NJL_CORE_H

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdatomic.h>

#include "njl_host.h"
#include "njl_script.h"

/* Annotations of the functions in these headers. A function without one neither raises nor yields. scripts/check-raises derives
 * them from the sources. */
#define NJL_RAISES /* may raise a Lua error, for lack of memory at least */
#define NJL_YIELDS /* may yield the running coroutine, and may raise */

typedef struct njl_host njl_host;
typedef struct njl_clock njl_clock;

/* Nanoseconds of the monotonic clock. */
typedef uint64_t njl_moment;
#define NJL_NEVER UINT64_MAX

/* Bytes of the C stack. Lua bounds the C calls within each other (200, each of 300 bytes to 2 KiB) but forgets their
 * number where coroutines are closed, so what may be nested is measured. Below NJL_DEEP Lua has calls left for the tasks
 * that a wait runs while it blocks; beyond it waits block without running others. Beyond NJL_DEEPEST nothing is closed
 * within something else; 512 KiB, as threads of a host may have, is enough for that and Lua's calls. */
#define NJL_DEEP (64 * 1024)
#define NJL_DEEPEST (128 * 1024)

/* How a wait ended. */
typedef enum njl_state_of_wait {
  NJL_PENDING,
  NJL_DONE,      /* what was waited for has occurred */
  NJL_EXPIRED,   /* its deadline passed first */
  NJL_CANCELLED, /* its task was cancelled, or the host stops */
  NJL_STUCK,     /* it would never end, see circle.c */
} njl_state_of_wait;

/* What a coroutine waits for: a call, a moment, the end of a task, or of some of a group. The first part of a userdata
 * that lies on the stack of the waiting C function and whose finalizer calls njl_wait_drop. */
struct njl_wait {
  njl_host *host;
  njl_task *task; /* made ready at the end; NULL once that is done */
  lua_KFunction then; /* where the C function goes on */
  njl_state_of_wait state;
  njl_moment deadline;                         /* NJL_NEVER: not among the timers */
  njl_wait *heap_child, *heap_next, *heap_previous; /* timers.c */
  njl_outcome *call;                           /* owned; in flight while pending */
  njl_task *target;                            /* whose end is waited for */
  njl_wait *next_joiner;                       /* of the same target */
  bool needs_tasks;                            /* it cannot end before a task has run */
  lua_Integer caller;                          /* of errand.c, by whose calls the call ends; 0: by none */
  lua_Integer waiter;                          /* the number of the task that waits; only this task may continue */
};

typedef enum njl_state_of_task {
  NJL_NEW,       /* not resumed yet */
  NJL_SUSPENDED, /* in a wait */
  NJL_RUNNING,   /* on the C stack, perhaps in a wait that could not yield */
  NJL_ENDING,    /* its function is over; its children are not */
  NJL_ENDED,     /* its results or its error are the user value NJL_TASK_RESULT */
} njl_state_of_task;

/* A coroutine that the loop resumes, or the main chunk of a stock interpreter (`thread` is NULL). A userdata with
 * the user values NJL_TASK_THREAD and so on. Anchored by the host until it has ended. */
struct njl_task {
  njl_host *host;
  lua_State *thread;
  njl_task *parent, *first_child, *previous, *next; /* children end with their parent */
  lua_Integer number;                               /* greater than those of the tasks spawned before */
  size_t unended;                                   /* children that have not ended */
  njl_task *failed; /* the first child whose failure nobody has asked for yet; anchored */
  njl_task *next_ready; /* in the ready list; once ended, among the finished of its group */
  njl_wait *wait;    /* the one it is in */
  njl_wait *joiners; /* waits for its end */
  njl_wait *group;   /* told of its end, see group.c */
  lua_Integer place; /* in the group */
  njl_question *question; /* that it answers, of login.c; its end releases it */
  njl_errand *errand;     /* whose call it makes, of errand.c; its end releases it */
  njl_state_of_task state;
  int status;    /* LUA_OK, the error that ended it, or NJL_WAS_CANCELLED */
  int results;   /* before the first resume, the number of arguments on the thread; after the end, that of the results */
  bool is_ready; /* in the ready list */
  bool is_cancelled;
  bool is_closing;  /* its <close> variables run: they may wait although it is cancelled */
  bool is_observed; /* somebody joined it or will: its error is not lost */
  bool is_interrupted; /* by Ctrl-C: what is below it raises at each instruction, but for what closes variables */
  uint64_t search;     /* of circle.c, that has found it last, and */
  njl_task *sought_by, *next_sought; /* its links in there */
};

#define NJL_WAS_CANCELLED (-1)
/* NJL_TASK_RESULT is the error or the only result, or a list of several results. Nothing is read from the thread of a task
 * that has ended: a script can get hold of the thread and change it. */
enum { NJL_TASK_THREAD = 1, NJL_TASK_GROUP, NJL_TASK_TRACEBACK, NJL_TASK_RESULT, NJL_TASK_VALUES = NJL_TASK_RESULT };

struct njl_host {
  njl_engine *engine;
  njl_client *client;       /* the host program's, owned; NULL: there is none */
  bool is_sandboxed;        /* no other clients */
  lua_State *volatile running; /* whose code runs, as far as our code resumed it; a signal handler reads it */
  bool yields;              /* all between it and the loop pass our token on, so it may yield to the loop */
  njl_task *current;        /* never NULL */
  njl_task *first_ready, *last_ready;
  size_t ready;
  lua_Integer spawned;      /* tasks, ever */
  njl_wait *timers;         /* root of the heap */
  njl_clock *clock;         /* that the timers go by in place of real time; NULL: none */
  size_t calls;             /* in flight */
  size_t listeners;         /* what has been numbered: clients, and callers of errand.c */
  size_t errands;           /* tasks that make their calls */
  /* Work that each turn of the loop does. The code that needs it sets the function, which is NULL before. */
  void (*ask_logins)(lua_State *L, njl_host *host);    /* login.c; set with the first listener */
  void (*write_log)(lua_State *L, njl_host *host);     /* log.c; likewise */
  void (*run_errands)(lua_State *L, njl_host *host);   /* errand.c */
  void (*show_progress)(lua_State *L, njl_host *host); /* session.c; called while `follows` is set */
  uint64_t searches;        /* of circle.c, ever made */
  char circle[256];         /* what the last one has found */
  int nested;               /* runs, waits that block and closers on the C stack, within each other */
  uintptr_t base;           /* where on the C stack the outermost began */
  bool is_logging;          /* a log function runs; what is logged meanwhile comes after it */
  njl_task root;            /* what runs outside of any coroutine of ours */
  njl_task *script;         /* what a run in a state of ours began with; NULL: none is in progress, or it is a stock one */
  njl_moment limit;         /* when the run in progress is stopped; NJL_NEVER: it is not */
  uint64_t instructions, most_instructions; /* of the run in progress, and when it is stopped; 0: it is not */
  uint64_t burst, longest_burst;            /* likewise, since something was last waited for */
  uint64_t unchecked;       /* steps of C functions that `instructions` and `burst` do not include yet */
  uint64_t closing;         /* instructions allowed to closers since the host was stopped */
  atomic_bool is_stopped;   /* interrupted or beyond a limit: nothing waits any more */
  _Atomic(const char *) stop_reason; /* for the message; static */
  bool is_session;          /* session.c */
  atomic_bool is_interrupted; /* Ctrl-C was typed there and nothing has come of it yet */
  bool was_interrupted;     /* the program is to be told */
  bool attends;             /* its wait ends then */
  bool follows;             /* the progress of calls in the foreground */
  njl_task *foreground;     /* what it evaluates, kept by the registry; NULL: nothing */
};

/* host.c */
bool njl_host_is_open(lua_State *L);

/* Whether a finalizer runs. */
bool njl_is_finalizing(lua_State *L);
/* For each userdata with a finalizer, on top of the stack, before there is anything in it. Lua finalizes nothing that a
 * finalizer makes while its state closes (manual, section 2.5.3): the host, which goes last, does it then. */
void njl_own(lua_State *L) NJL_RAISES;
njl_host *njl_host_open(lua_State *L) NJL_RAISES;            /* finds or makes the host of this state; pushes nothing */
njl_host *njl_host_of(lua_State *L);              /* by upvalue 1 of the running function */
void njl_make_ready(njl_task *task);
void njl_make_first(njl_task *task); /* of those that are ready */
/* Around a run, a wait that blocks and the closing of a coroutine. Where the outermost begins is the base: a stock
 * interpreter calls us from anywhere on its stack, or on another thread's. */
void njl_enter(njl_host *host);
void njl_leave(njl_host *host);
bool njl_is_deeper(const njl_host *host, size_t bytes); /* than so many bytes below the base */
/* One round of the loop: ends waits, then runs at most so many tasks. False: nothing can ever happen. */
bool njl_turn(lua_State *L, njl_host *host, size_t most) NJL_RAISES;
/* Until the task has ended. Needs LUA_MINSTACK. */
void njl_run(lua_State *L, njl_host *host, njl_task *task) NJL_RAISES;
void njl_stop(njl_host *host, const char *reason); /* any thread, and signal handlers; `reason` is static */
/* Counts instructions and stops the host when it is beyond a limit. */
void njl_charge(njl_host *host, uint64_t instructions);
/* What a coroutine counts for when it starts: the hook, which sees it after 1000 instructions, may never see it. */
#define NJL_START_CHARGE 100
/* Passes the error on top, of the task at `index`, to another task. If it ends that task, both tracebacks are shown. */
void njl_remember_told(lua_State *L, int index) NJL_RAISES;
/* Whether nothing happens although some wait for a moment: nobody advances the clock. */
bool njl_stands_still(const njl_host *host);
int njl_raise_deadlock(lua_State *L, bool stands_still) NJL_RAISES;
void njl_anchor(lua_State *L, njl_task *task, int index) NJL_RAISES;   /* until it has ended; may raise */
void njl_release_anchor(lua_State *L, njl_task *task) NJL_RAISES;
bool njl_push_anchored(lua_State *L, njl_task *task); /* its userdata; false: it is not anchored, and nothing is pushed */

/* timers.c */
njl_moment njl_now(void);                       /* real time, */
njl_moment njl_deadline_after(double seconds);  /* as the limits of a run have it */
njl_moment njl_host_now(const njl_host *host);  /* the time that timers go by, */
njl_moment njl_host_deadline_after(const njl_host *host, double seconds); /* as all waits have it */
void njl_timers_shift(njl_host *host, int64_t span);
void njl_timer_add(njl_wait *wait);
void njl_timer_remove(njl_wait *wait);

/* wait.c */
void njl_wait_init(njl_wait *wait, njl_host *host);
njl_wait *njl_wait_push(lua_State *L, njl_host *host) NJL_RAISES;                    /* a plain wait as userdata */
njl_wait *njl_wait_push_sized(lua_State *L, njl_host *host, size_t size) NJL_RAISES; /* with zeros behind it */
void njl_wait_end(njl_wait *wait, njl_state_of_wait state);
void njl_wait_drop(njl_wait *wait);
/* Suspends the calling C function until `wait` is over, then goes on in `k` with the wait as its context. Call it last:
 * return njl_await(...). `k` may run with the wait still pending, when somebody resumed the coroutine out of turn: it
 * then calls njl_await again. A wait that was cancelled raises here and never comes to `k`. */
int njl_await(lua_State *L, njl_wait *wait, lua_KFunction k) NJL_YIELDS;
/* Suspends the calling C function until the descriptor can be read (or written), or is broken, then goes on in `k` with the
 * wait as its context: its state is NJL_DONE, or NJL_EXPIRED when the deadline came first. Call it last. `k` begins with
 * njl_check_work, which raises what the wait has failed with: after a fork nothing is waited for. Who closes a descriptor ends
 * the waits for it before. */
int njl_await_descriptor(lua_State *L, njl_host *host, int descriptor, bool writes, njl_moment deadline, lua_KFunction k) NJL_YIELDS;
njl_wait *njl_descriptor_wait_push(lua_State *L, njl_host *host, int descriptor, bool writes) NJL_RAISES; /* the wait alone */
void njl_check_work(lua_State *L, njl_wait *wait) NJL_RAISES;
bool njl_is_token(lua_State *L, int index);
/* Whether the coroutine is suspended in a wait: its token then stays on its stack until the loop resumes it. */
bool njl_is_waiting(lua_State *co);
void njl_push_token(lua_State *L);

/* circle.c */
/* When nothing is ready: ends a wait that would never end, and makes its task ready. False: there is none. */
bool njl_break_circle(njl_host *host);
int njl_raise_circle(lua_State *L, const njl_host *host) NJL_RAISES; /* the error of that wait */

/* task.c */
/* Makes a child of the current task from the function and the arguments on top of the stack, which the task's userdata
 * replaces. It runs when its turn comes, never at once. */
njl_task *njl_task_spawn(lua_State *L, njl_host *host, int arguments) NJL_RAISES;
/* Calls `begin` with the light userdata `arrival`: it spawns the task for what has come in, a child of the root, and takes it
 * over. Out of memory it does not, and what has come in fails with its release. */
void njl_task_begin(lua_State *L, njl_host *host, lua_CFunction begin, void *arrival);
void njl_task_cancel(njl_task *task);                    /* it and all below it */
void njl_task_leave(njl_task *task);                     /* its parent's list */
void njl_task_leave_to_script(njl_task *task);           /* its parent too: it belongs to the script as a whole */
void njl_task_drop_errands(njl_task *task);              /* the question and the errand, which fail unless they were answered */
/* Both take the stack index of the task's userdata. */
int njl_task_push_results(lua_State *L, int index) NJL_RAISES; /* returns their number; the task has ended and did not fail */
void njl_task_push_error(lua_State *L, int index) NJL_RAISES;  /* the task has ended and failed */
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
  bool numbers_errors; /* each error says which request it was */
} njl_group_options;
#define NJL_CONCURRENCY 6 /* what browsers open to one host */
/* Reads the option whose name and value are on top of the stack. Raises an error if it is unknown or invalid. */
void njl_read_group_option(lua_State *L, const char *function, njl_group_options *options) NJL_RAISES;
/* Reads the options in the table at `table`; none is given if there is no value. */
njl_group_options njl_read_group_options(lua_State *L, int table, const char *function) NJL_RAISES;
/* map of the list at index 1 with the function at index 2, which are all of the stack but for options at index 3. */
int njl_run_map(lua_State *L, const njl_group_options *options) NJL_YIELDS;
void njl_group_child_ended(njl_wait *group, njl_task *child);

/* coroutine.c */
/* As lua_resetthread, which counts no levels of the C stack in Lua 5.4.4: closers that close others could overflow it.
 * What the closers wait for, they wait for by blocking. */
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
  bool is_used[NJL_BLOCK_CLASSES]; /* of late */
  size_t bytes, most;              /* kept; kept at most */
  size_t misses;                   /* since it was looked what is used */
} njl_blocks;
/* What realloc does, and free where `size` is 0, with what is kept. `memory` is NULL or of this function. */
void *njl_blocks_resize(njl_blocks *blocks, void *memory, size_t old_size, size_t size);
void njl_blocks_free(njl_blocks *blocks); /* what is kept */

/* metatable.c. A type is the address of its name: what is given as one must be that, and not an equal text. */
void njl_set_type(lua_State *L, const char *type); /* of the userdata on top */
void *njl_test(lua_State *L, int index, const char *type);  /* NULL: it is none of these */
void *njl_check(lua_State *L, int index, const char *type) NJL_RAISES; /* the same for an argument; raises */
void njl_push_metatable(lua_State *L, const char *type, const luaL_Reg *meta) NJL_RAISES; /* made with `meta` at the first call */
/* Makes the metatable of a type, once. What is none of its methods is asked of `unknown`, which says so; NULL: it is nil. */
void njl_add_type(lua_State *L, const char *type, const luaL_Reg *meta, const luaL_Reg *methods, lua_CFunction unknown) NJL_RAISES;
/* Adds functions to the table at the index `table`, for which njl_host_of has the host. */
void njl_add_functions(lua_State *L, int table, const luaL_Reg *functions) NJL_RAISES;

/* names.c */
/* Where the string at `index` stands among the names; -1: nowhere. A string that goes on behind a NUL is another name. */
int njl_find_name(lua_State *L, int index, const char *const names[]) NJL_RAISES;
int njl_unknown_option(lua_State *L, const char *function, const char *prefix, const char *name,
                       const char *const known[]) NJL_RAISES; /* raises */
/* Of one letter (insert, drop, replace, swap with its neighbour), that turn `a` into `b`. */
size_t njl_edits(const char *a, size_t a_length, const char *b);
const char *njl_nearest(const char *name, size_t length, const char *const names[]); /* NULL: none is near */
int njl_unknown_field(lua_State *L, const char *noun, const char *name, const char *const names[]) NJL_RAISES; /* raises */
/* Reads options that are true or false from the table at `index`, if there is one, and returns which were given: 1 for the
 * first, 2 for the second, 4 and so on. Raises what is wrong. */
unsigned njl_read_flags(lua_State *L, int index, const char *function, const char *const names[], bool *const flags[]) NJL_RAISES;
void njl_push_field_numbers(lua_State *L, const char *const names[]) NJL_RAISES; /* a table: name to index */

/* failure.c */
typedef struct njl_reply {
  njl_wait wait; /* its call is the outcome */
  bool asks_redirects, asks_retries, hears_of_refresh, hears_of_progress;
  int top; /* of the stack of the function that waits for the call */
  lua_Integer place; /* of an error: which request of a batch it was; 0: of none */
} njl_reply;
/* User values of a reply: three for what it becomes, a response or an error, and the client while a streamed answer may
 * still come in; and the functions that are asked about redirects and failed attempts, and told of a fresh answer and of progress. */
enum {
  NJL_REPLY_CLIENT = 4,
  NJL_REPLY_REDIRECT,
  NJL_REPLY_RETRY,
  NJL_REPLY_REFRESH,
  NJL_REPLY_PROGRESS,
  NJL_REPLY_VALUES = NJL_REPLY_PROGRESS
};
njl_wait *njl_reply_push(lua_State *L, njl_host *host) NJL_RAISES; /* a userdata, waiting for its call */
int njl_reply_finish(lua_State *L, int index) NJL_RAISES;          /* returns it as a response or raises it as an error */
int njl_reply_gc(lua_State *L);
/* Lets the collector know of memory that is not Lua's, so that responses nobody holds do not pile up. */
void njl_account(lua_State *L, size_t bytes);
njl_reply *njl_error_push(lua_State *L) NJL_RAISES;                /* an error that is yet to own its outcome */
void njl_push_failure(lua_State *L, njl_kind kind, int phase, const char *message) NJL_RAISES;
int njl_raise(lua_State *L, njl_kind kind, int phase, const char *format, ...) NJL_RAISES;
#define NJL_BATCH_PREFIX "request %I of the batch: "
/* Adds to the error on top of the stack the number of the request in its batch. */
void njl_number_error(lua_State *L, lua_Integer place) NJL_RAISES;
int njl_try(lua_State *L) NJL_RAISES;

/* stopping.c */
/* Ends the code that runs in `L` because the host was stopped, by a yield or by an error, and again at each further instruction
 * of this coroutine. Returns only in a hook. */
int njl_raise_stopped(lua_State *L, njl_host *host) NJL_YIELDS;
/* Limits the instructions of the closers that `L` still runs. */
void njl_arm_stopped(njl_host *host, lua_State *L);
void njl_disarm(lua_State *L); /* The closers that `L` still runs are not limited. */
/* Marks a coroutine that failed while the host was stopped. Its closers never run, because hooks may be off in it. */
void njl_abandon(lua_State *L);
bool njl_is_abandoned(lua_State *L);
/* Counts the work of a C function as `steps` instructions. Ends the running code if a limit is exceeded or the host is stopped. */
void njl_spend(lua_State *L, njl_host *host, uint64_t steps) NJL_YIELDS;
void njl_script_interrupt_from_signal(njl_script *script); /* on the thread that runs it */
void njl_script_wake(njl_script *script);                  /* any thread */

/* memory.c */
/* Memory that is not Lua's but a script's doing. False: that would be beyond the limit. */
bool njl_limits_memory(lua_State *L);
bool njl_charge_memory(lua_State *L, size_t bytes);
void njl_discharge_memory(lua_State *L, size_t bytes);
size_t njl_memory_left(lua_State *L); /* SIZE_MAX: there is no limit */
/* Runs a full collection if much memory is in use outside of Lua, which the collector does not see. */
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
void njl_script_catch_again(void); /* what njl_script_catch_interrupt has begun: a Ctrl-C has had its effect */

/* gate.c */
void njl_add_gates(lua_State *L, int table) NJL_RAISES; /* functions for modules in Lua */

/* clock.c */
njl_moment njl_clock_now(const njl_clock *clock);
/* Moves the host's clock to the next moment at which something happens; when all tasks wait and no call is under way. False:
 * it does not move. */
bool njl_clock_step(njl_host *host);
void njl_add_clock(lua_State *L) NJL_RAISES; /* to nightjar.testing, on top */

/* The types of userdata: their names, as messages show them. */
extern const char NJL_CLIENT[], NJL_CALLER[], NJL_LIST[], NJL_PAGE[], NJL_DECISION[], NJL_COOKIES[], NJL_MOCK[],
    NJL_CACHE[], NJL_ENDPOINTS[], NJL_ENDPOINT[], NJL_LOAN[], NJL_REPLY[], NJL_DECISION_LIST[], NJL_DEBOUNCED[],
    NJL_THROTTLED[], NJL_RESPONSE[], NJL_HEADERS[], NJL_ERROR[], NJL_TASK[], NJL_WAIT[], NJL_GROUP[], NJL_DIGEST[],
    NJL_GATE[], NJL_CLOCK[], NJL_PIPE[], NJL_PROCESS[], NJL_RESOURCE[];

#endif
