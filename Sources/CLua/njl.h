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
#ifndef NJL_H
#define NJL_H

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdatomic.h>

#include "njl_host.h"
#include "njl_script.h"

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
  size_t callers;           /* of errand.c, ever made */
  size_t errands;           /* tasks that make their calls */
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
void njl_own(lua_State *L);
njl_host *njl_host_open(lua_State *L);            /* finds or makes the host of this state; pushes nothing */
njl_host *njl_host_of(lua_State *L);              /* by upvalue 1 of the running function */
void njl_make_ready(njl_task *task);
void njl_make_first(njl_task *task); /* of those that are ready */
/* Around a run, a wait that blocks and the closing of a coroutine. Where the outermost begins is the base: a stock
 * interpreter calls us from anywhere on its stack, or on another thread's. */
void njl_enter(njl_host *host);
void njl_leave(njl_host *host);
bool njl_is_deeper(const njl_host *host, size_t bytes); /* than so many bytes below the base */
/* One round of the loop: ends waits, then runs at most so many tasks. False: nothing can ever happen. */
bool njl_turn(lua_State *L, njl_host *host, size_t most);
/* Until the task has ended. Needs LUA_MINSTACK. */
void njl_run(lua_State *L, njl_host *host, njl_task *task);
void njl_stop(njl_host *host, const char *reason); /* any thread, and signal handlers; `reason` is static */
/* Counts instructions and stops the host when it is beyond a limit. */
void njl_charge(njl_host *host, uint64_t instructions);
/* What a coroutine counts for when it starts: the hook, which sees it after 1000 instructions, may never see it. */
#define NJL_START_CHARGE 100
/* Passes the error on top, of the task at `index`, to another task. If it ends that task, both tracebacks are shown. */
void njl_remember_told(lua_State *L, int index);
/* Whether nothing happens although some wait for a moment: nobody advances the clock. */
bool njl_stands_still(const njl_host *host);
int njl_raise_deadlock(lua_State *L, bool stands_still);
void njl_anchor(lua_State *L, njl_task *task, int index);   /* until it has ended; may raise */
void njl_release_anchor(lua_State *L, njl_task *task);
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
njl_wait *njl_wait_push(lua_State *L, njl_host *host);                    /* a plain wait as userdata */
njl_wait *njl_wait_push_sized(lua_State *L, njl_host *host, size_t size); /* with zeros behind it */
void njl_wait_end(njl_wait *wait, njl_state_of_wait state);
void njl_wait_drop(njl_wait *wait);
/* Suspends the calling C function until `wait` is over, then goes on in `k` with the wait as its context. Call it last:
 * return njl_await(...). `k` may run with the wait still pending, when somebody resumed the coroutine out of turn: it
 * then calls njl_await again. A wait that was cancelled raises here and never comes to `k`. */
int njl_await(lua_State *L, njl_wait *wait, lua_KFunction k);
/* Suspends the calling C function until the descriptor can be read (or written), or is broken, then goes on in `k` with the
 * wait as its context: its state is NJL_DONE, or NJL_EXPIRED when the deadline came first. Call it last. `k` begins with
 * njl_check_work, which raises what the wait has failed with: after a fork nothing is waited for. Who closes a descriptor ends
 * the waits for it before. */
int njl_await_descriptor(lua_State *L, njl_host *host, int descriptor, bool writes, njl_moment deadline, lua_KFunction k);
njl_wait *njl_descriptor_wait_push(lua_State *L, njl_host *host, int descriptor, bool writes); /* the wait alone */
void njl_check_work(lua_State *L, njl_wait *wait);
bool njl_is_token(lua_State *L, int index);
/* Whether the coroutine is suspended in a wait: its token then stays on its stack until the loop resumes it. */
bool njl_is_waiting(lua_State *co);
void njl_push_token(lua_State *L);

/* circle.c */
/* When nothing is ready: ends a wait that would never end, and makes its task ready. False: there is none. */
bool njl_break_circle(njl_host *host);
int njl_raise_circle(lua_State *L, const njl_host *host); /* the error of that wait */

/* task.c */
/* Makes a child of the current task from the function and the arguments on top of the stack, which the task's userdata
 * replaces. It runs when its turn comes, never at once. */
njl_task *njl_task_spawn(lua_State *L, njl_host *host, int arguments);
/* Calls `begin` with the light userdata `arrival`: it spawns the task for what has come in, a child of the root, and takes it
 * over. Out of memory it does not, and what has come in fails with its release. */
void njl_task_begin(lua_State *L, njl_host *host, lua_CFunction begin, void *arrival);
void njl_task_cancel(njl_task *task);                    /* it and all below it */
void njl_task_leave(njl_task *task);                     /* its parent's list */
void njl_task_leave_to_script(njl_task *task);           /* its parent too: it belongs to the script as a whole */
void njl_task_drop_errands(njl_task *task);              /* the question and the errand, which fail unless they were answered */
/* Both take the stack index of the task's userdata. */
int njl_task_push_results(lua_State *L, int index); /* returns their number; the task has ended and did not fail */
void njl_task_push_error(lua_State *L, int index);  /* the task has ended and failed */
bool njl_is_callable(lua_State *L, int index);
void njl_check_callable(lua_State *L, int index, const char *role);
void njl_open_task(lua_State *L);
int njl_spawn(lua_State *L);
int njl_sleep(lua_State *L);

/* group.c */
int njl_all(lua_State *L);
int njl_race(lua_State *L);
int njl_map(lua_State *L);
int njl_timeout(lua_State *L);
typedef struct njl_group_options {
  lua_Integer concurrency;
  bool collects_errors;
  bool numbers_errors; /* each error says which request it was */
} njl_group_options;
/* map of the list at index 1 with the function at index 2, which are all of the stack but for options at index 3. */
int njl_run_map(lua_State *L, const njl_group_options *options);
void njl_group_child_ended(njl_wait *group, njl_task *child);

/* batch.c */
#define NJL_CONCURRENCY 6 /* what browsers open to one host */
njl_group_options njl_read_group_options(lua_State *L, int table, const char *function);
int njl_batch(lua_State *L);

/* coroutine.c */
/* As lua_resetthread, which counts no levels of the C stack in Lua 5.4.4: closers that close others could overflow it.
 * What the closers wait for, they wait for by blocking. */
int njl_close_coroutine(njl_host *host, lua_State *co);
void njl_open_coroutine(lua_State *L);

/* debounce.c */
int njl_debounce(lua_State *L);
int njl_throttle(lua_State *L);
void njl_open_debounce(lua_State *L);

/* client.c */
/* That at index 1, or raises: what it is not, or that it is closed. */
njl_client *njl_check_client(lua_State *L);
/* A number for the userdata at `index`, by which it is found as long as somebody else keeps it. */
lua_Integer njl_number(lua_State *L, njl_host *host, int index);
bool njl_push_numbered(lua_State *L, lua_Integer number); /* false: it has gone, and nothing is pushed */
int njl_answered(lua_State *L, int status, lua_KContext context); /* what a call does when its wait is over */
/* Starts the request with the client at index 1 and waits, the reply at index 2, to go on in `then`; the rest of the stack is
 * the request's. The options are at index `options`. */
int njl_send(lua_State *L, const njl_request *request, int options, lua_KFunction then);
int njl_send_request(lua_State *L); /* api:request: of the client at index 1, the request at index 2 */
bool njl_client_has_hooks(lua_State *L); /* the one at index 1 */
int njl_client_open(lua_State *L);
void njl_open_client(lua_State *L);

/* login.c */
/* Reads the functions of the option auth of the table at `options` into the client and the listener. Where there are any,
 * replaces that table by one that JSON can hold. */
void njl_read_login(lua_State *L, int options, int client, njl_listener *listener);
/* Begins a task for each question that has come in. */
void njl_ask_logins(lua_State *L, njl_host *host);
int njl_sign_in(lua_State *L);
int njl_sign_out(lua_State *L);
int njl_log_in(lua_State *L);

/* mock.c */
/* Pushes a mock of the routes in the table at `index`. */
void njl_mock_push(lua_State *L, njl_host *host, int index);
const njl_mock *njl_mock_at(lua_State *L, int index); /* NULL: it is none */
int njl_mock_open(lua_State *L);
/* Pushes what answers a question of a mock, which is on the top of the stack and is replaced, and its arguments. */
int njl_mock_push_call(lua_State *L, njl_question *question);
void njl_open_mock(lua_State *L);

/* errand.c */
/* Pushes what makes calls through the hooks of the client at index 1, if that has any, and else nil. The options of each call are
 * those at `options`; 0: there are none. Returns its number; 0: there is none. */
lua_Integer njl_caller_push(lua_State *L, njl_host *host, int options);
lua_Integer njl_caller_number(lua_State *L, int caller);
/* Whether the running task makes one of its calls, or belongs to one that does. */
bool njl_caller_is_running(lua_State *L, int caller, const njl_host *host);
/* Raises the error at the top; where a hook of a call of the caller at `caller` has raised another, that. */
int njl_caller_raise(lua_State *L, int caller);
/* Begins a task for each errand that has come in, and cancels those of calls that nobody wants any more. */
void njl_run_errands(lua_State *L, njl_host *host);

/* limits.c */
int njl_limits(lua_State *L);

/* cookies.c */
/* Keeps what Swift lends for the length of a call that may raise in its middle. A userdata. */
typedef struct njl_loan {
  njl_cookie_list *list;
  njl_text *text;
} njl_loan;
njl_loan *njl_loan_push(lua_State *L);
int njl_cookies_push(lua_State *L); /* of the client at index 1; nil where it keeps none */
void njl_open_cookies(lua_State *L);

/* endpoints.c */
int njl_endpoints_push(lua_State *L); /* of the client at index 1, the same each time */
const njl_catalog *njl_endpoints_of(lua_State *L); /* of the client at index 1; pushes what keeps it */
int njl_load_openapi(lua_State *L);
void njl_open_endpoints(lua_State *L);

/* cache.c */
int njl_cache_push(lua_State *L); /* of the client at index 1; nil where it has none */
void njl_open_cache(lua_State *L);

/* refresh.c */
int njl_refreshed(lua_State *L);
/* Of the reply at `index` whose answer is there: begins the task that its function waits in for the fresh one. */
void njl_hear_of_refresh(lua_State *L, int index);

/* paginate.c */
int njl_paginate(lua_State *L);

/* list.c */
void njl_list_push(lua_State *L, njl_host *host);              /* of the client at index 1; closed as yet */
void njl_list_decide_by(lua_State *L, int index);              /* pops the function that says how the list goes on */
void njl_list_call_by(lua_State *L, int index);                /* pops its caller of errand.c, or nil */
void njl_list_open(lua_State *L, int index, njl_pages *pages); /* gives it its pages, to own */
void njl_open_list(lua_State *L);

/* request.c */
/* Reads the option table at `options` (0: there is none) into `request`, whose pointers then go to strings and
 * buffers on this stack: use it before anything is popped. Raises what is wrong, with `function` in the text; a file to
 * send too, unless `reads_files`. */
void njl_read_options(lua_State *L, int options, const char *function, bool reads_files, njl_request *request);

/* The longest limit of time, in seconds. */
#define NJL_MOST_SECONDS 3153600000.0

/* The limit of time in seconds at `index`: 0 for none, which 0, false and infinity mean. Raises "FUNCTION: NAME must be ..." for
 * anything else that is not between 0 and NJL_MOST_SECONDS. */
double njl_check_limit(lua_State *L, int index, const char *function, const char *name);

/* Raises a name in the option table at `options` that is none of a call. */
void njl_check_option_names(lua_State *L, int options, const char *function);

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
void *njl_check(lua_State *L, int index, const char *type); /* the same for an argument; raises */
void njl_push_metatable(lua_State *L, const char *type, const luaL_Reg *meta); /* made with `meta` at the first call */
/* Makes the metatable of a type, once. What is none of its methods is asked of `unknown`, which says so; NULL: it is nil. */
void njl_add_type(lua_State *L, const char *type, const luaL_Reg *meta, const luaL_Reg *methods, lua_CFunction unknown);
/* Adds functions to the table at the index `table`, for which njl_host_of has the host. */
void njl_add_functions(lua_State *L, int table, const luaL_Reg *functions);

/* names.c */
/* Where the string at `index` stands among the names; -1: nowhere. A string that goes on behind a NUL is another name. */
int njl_find_name(lua_State *L, int index, const char *const names[]);
int njl_unknown_option(lua_State *L, const char *function, const char *prefix, const char *name,
                       const char *const known[]); /* raises */
/* Of one letter (insert, drop, replace, swap with its neighbour), that turn `a` into `b`. */
size_t njl_edits(const char *a, size_t a_length, const char *b);
const char *njl_nearest(const char *name, size_t length, const char *const names[]); /* NULL: none is near */
int njl_unknown_field(lua_State *L, const char *noun, const char *name, const char *const names[]); /* raises */
/* Reads options that are true or false from the table at `index`, if there is one, and returns which were given: 1 for the
 * first, 2 for the second, 4 and so on. Raises what is wrong. */
unsigned njl_read_flags(lua_State *L, int index, const char *function, const char *const names[], bool *const flags[]);
void njl_push_field_numbers(lua_State *L, const char *const names[]); /* a table: name to index */

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
njl_wait *njl_reply_push(lua_State *L, njl_host *host); /* a userdata, waiting for its call */
int njl_reply_finish(lua_State *L, int index);          /* returns it as a response or raises it as an error */
int njl_reply_gc(lua_State *L);
/* Lets the collector know of memory that is not Lua's, so that responses nobody holds do not pile up. */
void njl_account(lua_State *L, size_t bytes);
njl_reply *njl_error_push(lua_State *L);                /* an error that is yet to own its outcome */
void njl_push_failure(lua_State *L, njl_kind kind, int phase, const char *message);
int njl_raise(lua_State *L, njl_kind kind, int phase, const char *format, ...);
/* Says of the error on top of the stack which request of a batch it was. */
void njl_number_error(lua_State *L, lua_Integer place);
int njl_try(lua_State *L);
void njl_open_failure(lua_State *L);

/* response.c */
int njl_curl(lua_State *L);
void njl_open_response(lua_State *L);

/* explain.c */
int njl_explain(lua_State *L);
int njl_push_earlier(lua_State *L, const njl_outcome *outcome); /* a list of error objects */
int njl_new_idempotency_key(lua_State *L);
void njl_open_explain(lua_State *L);

/* stream.c */
int njl_chunks(lua_State *L);
int njl_close_response(lua_State *L);
/* For a request whose body is pulled: how high the caller's stack is then. */
#define NJL_BODY_TOP 5
/* Puts the option at `body`, the last of the stack, in its place; cancels the call when it is left early. */
void njl_guard_body(lua_State *L, njl_wait *wait, int body);
int njl_pull_body(lua_State *L, njl_wait *wait); /* asks its function for a part and goes on waiting */

/* log.c */
/* Reads the log option of the table at `options`: pushes its function and returns its level, or returns 0. */
int njl_read_log(lua_State *L, int options);
void njl_write_log(lua_State *L, njl_host *host); /* Runs the functions of the lines that have come in. */

/* hooks.c */
/* User values of a client: functions, and the objects of its cookies, its cache and its endpoints. */
enum {
  NJL_CLIENT_LOG = 1,
  NJL_CLIENT_COOKIES,
  NJL_CLIENT_CACHE,
  NJL_CLIENT_BEFORE,
  NJL_CLIENT_AFTER,
  NJL_CLIENT_PROVIDERS, /* a list of them */
  NJL_CLIENT_LOGIN_REQUIRED,
  NJL_CLIENT_ENDPOINTS,
  NJL_CLIENT_MOCK,
  NJL_CLIENT_VALUES = NJL_CLIENT_MOCK
};
/* Reads the options before and after of the table at `options` into the client. False: there are none. */
bool njl_read_hooks(lua_State *L, int options, int client);
/* A copy of the options at `options`, which may be none, for hooks to change. */
void njl_push_request(lua_State *L, int options);
/* Calls `request` with the client at index 1 and the request at index 2, which are all of the stack, between its hooks. */
int njl_call_hooked(lua_State *L, lua_CFunction request);
int njl_ask_redirect(lua_State *L, njl_reply *reply); /* asks the function, and goes on waiting */
/* Tells the call's function how far it has come. */
int njl_tell_progress(lua_State *L, njl_reply *reply, const njl_progress *progress);
int njl_ask_retry(lua_State *L, njl_reply *reply);    /* likewise */
void njl_push_copy(lua_State *L, int table);

/* stopping.c */
/* Ends the code that runs in `L` because the host was stopped, by a yield or by an error, and again at each further instruction
 * of this coroutine. Returns only in a hook. */
int njl_raise_stopped(lua_State *L, njl_host *host);
/* Limits the instructions of the closers that `L` still runs. */
void njl_arm_stopped(njl_host *host, lua_State *L);
void njl_disarm(lua_State *L); /* The closers that `L` still runs are not limited. */
/* Marks a coroutine that failed while the host was stopped. Its closers never run, because hooks may be off in it. */
void njl_abandon(lua_State *L);
bool njl_is_abandoned(lua_State *L);
/* Counts the work of a C function as `steps` instructions. Ends the running code if a limit is exceeded or the host is stopped. */
void njl_spend(lua_State *L, njl_host *host, uint64_t steps);
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

/* session.c */
/* Whether what runs is to end: the host is stopped, or Ctrl-C was typed. */
bool njl_is_stopped(const njl_host *host);
/* Sees to it that the Ctrl-C of a session has its effect; `computes`: in the middle of a task. False: there was none. */
bool njl_take_interrupt(njl_host *host, bool computes);
/* Whether a session follows how far the calls of the running task come. */
bool njl_is_followed(const njl_host *host);
/* Tells the session's function what has changed of that. */
void njl_show_progress(lua_State *L, njl_host *host);
void njl_session_task_failed(njl_host *host, const njl_task *parent); /* A child of `parent` has, and nobody has asked for it. */

/* sigint.c */
void njl_script_catch_again(void); /* what njl_script_catch_interrupt has begun: a Ctrl-C has had its effect */

/* interpreter.c */
typedef struct njl_warnings {
  bool are_on;
  bool continues; /* the next piece belongs to the message that has begun */
} njl_warnings;
void njl_warn(void *warnings, const char *piece, int continues); /* a lua_WarnFunction, as lua has it */
bool njl_set_arguments(lua_State *L, int count, char *const *values, int first); /* false: out of memory */
void njl_push_requirer(lua_State *L, const char *name);
void njl_push_program(lua_State *L, const char *name, njl_bytes arguments);

/* function.c */
void njl_push_function(lua_State *L, njl_function *function);
void njl_push_value(lua_State *L, const njl_value *value);

njl_value njl_value_at(lua_State *L, int index);

/* gate.c */
void njl_add_gates(lua_State *L, int table); /* functions for modules in Lua */

/* clock.c */
njl_moment njl_clock_now(const njl_clock *clock);
/* Moves the host's clock to the next moment at which something happens; when all tasks wait and no call is under way. False:
 * it does not move. */
bool njl_clock_step(njl_host *host);
void njl_add_clock(lua_State *L); /* to nightjar.testing, on top */

/* work.c */
void njl_add_work(lua_State *L, int table);

/* pipe.c */
void njl_add_pipes(lua_State *L, int table);
void njl_add_reader(lua_State *L, int table); /* reading by line */
/* Takes over the descriptor. */
void njl_pipe_push(lua_State *L, njl_host *host);
void njl_pipe_set(lua_State *L, int index, int descriptor);
void njl_pipe_set_stream(lua_State *L, int index, int descriptor); /* of a named pipe or a device that was opened */

/* process.c */
void njl_add_processes(lua_State *L, int table);
void njl_end_processes(lua_State *L); /* all of the state */

/* exit.c */
void njl_open_exit(lua_State *L);

/* require.c */
void njl_open_require(lua_State *L);

/* sandbox.c */
void njl_open_sandbox(lua_State *L, njl_host *host);

/* bounded.c. Functions of the standard libraries that check limits and interrupts while they work. */
void njl_bound_base(lua_State *L, njl_host *host);
void njl_bound_strings(lua_State *L, njl_host *host); /* bounded_string.c */
void njl_bound_tables(lua_State *L, njl_host *host);  /* bounded_table.c */
/* Replaces the function `name` of the table on top by `function`. Its upvalues are the host and the replaced function. */
void njl_bound(lua_State *L, njl_host *host, const char *name, lua_CFunction function);
/* Calls the replaced function with the arguments of the running one. The replaced function must have no upvalues. */
int njl_call_replaced(lua_State *L);

/* pattern.c. Lua's patterns. Each step counts against the limits. */
enum { NJL_MOST_CAPTURES = 32 };
typedef struct njl_matcher {
  lua_State *L;
  njl_host *host;
  const char *text, *text_end, *pattern_end;
  int depth;      /* of recursion */
  uint32_t steps; /* that njl_spend has not counted yet */
  int count;      /* of captures */
  struct {
    const char *start;
    ptrdiff_t length; /* or one of the marks in pattern.c */
  } captures[NJL_MOST_CAPTURES];
} njl_matcher;
void njl_matcher_init(njl_matcher *matcher, lua_State *L, njl_host *host, njl_bytes text, njl_bytes pattern);
/* Returns the end of the match that begins at `start`, or NULL if there is none. Raises an error if the pattern is invalid. */
const char *njl_match(njl_matcher *matcher, const char *start, const char *pattern);
/* Pushes the captures, or the whole match if there are none and `start` is not NULL. Returns the number of values. */
int njl_push_captures(njl_matcher *matcher, const char *start, const char *end);
void njl_push_capture(njl_matcher *matcher, int index, const char *start, const char *end);

/* modules.c */
void njl_open_modules(lua_State *L);    /* of the table on top, that require "nightjar" returns */
void njl_preload_modules(lua_State *L); /* for require "nightjar.NAME" */
bool njl_push_module(lua_State *L, const char *name); /* "nightjar.NAME"; false: there is none, or not for this script */

/* natives.c */
void njl_push_natives(lua_State *L);

/* base64.c */
void njl_push_base64(lua_State *L, const uint8_t *bytes, size_t length, bool is_url, bool has_padding);

/* json_pointer.c */
int njl_json_pointer(lua_State *L);

/* environment.c */
int njl_is_secret(lua_State *L); /* lua_CFunction */
int njl_redact(lua_State *L);    /* lua_CFunction */

/* What opens the modules, see modules.c. */
int njl_open_base64(lua_State *L);
int njl_open_channels(lua_State *L);
int njl_open_fs(lua_State *L);
int njl_open_stdin(lua_State *L);
int njl_open_process(lua_State *L);
int njl_open_testing(lua_State *L);
int njl_open_csv(lua_State *L);
int njl_open_hash(lua_State *L);
int njl_open_uuid(lua_State *L);
int njl_open_time(lua_State *L);
int njl_open_url(lua_State *L);
int njl_open_log(lua_State *L);
int njl_open_env(lua_State *L);

/* module.c */
int luaopen_nightjar(lua_State *L);

#define NJL_VERSION "0.1.0"

/* The types of userdata: their names, as messages show them. */
extern const char NJL_CLIENT[], NJL_CALLER[], NJL_LIST[], NJL_PAGE[], NJL_DECISION[], NJL_COOKIES[], NJL_MOCK[],
    NJL_CACHE[], NJL_ENDPOINTS[], NJL_ENDPOINT[], NJL_LOAN[], NJL_REPLY[], NJL_DECISION_LIST[], NJL_DEBOUNCED[],
    NJL_THROTTLED[], NJL_RESPONSE[], NJL_HEADERS[], NJL_ERROR[], NJL_TASK[], NJL_WAIT[], NJL_GROUP[], NJL_DIGEST[],
    NJL_GATE[], NJL_CLOCK[], NJL_PIPE[], NJL_PROCESS[], NJL_RESOURCE[];

#endif
