/* njl_script.h - Lua states with limits, run from Swift. None of these functions raises. Unless stated otherwise,
 * only one thread at a time may use a script. */
#ifndef NJL_SCRIPT_H
#define NJL_SCRIPT_H

#include "njl_host.h"

/* A Lua state with its limits and its host. */
typedef struct njl_script njl_script;

typedef struct njl_script_options {
  bool is_sandboxed;     /* without io, os, debug, package, print and others (sandbox.c); text chunks only */
  bool is_interruptible; /* can be stopped while it computes; costs some speed; implied by a limit on instructions or
                          * time */
  bool warns;            /* prints warnings on standard error after the script calls warn("@on") */
  size_t memory;         /* bytes that Lua may allocate; 0: no limit */
  uint64_t instructions; /* limit for one run; 0: no limit */
  uint64_t burst;        /* limit for the instructions between two waits; 0: no limit */
  double seconds;        /* limit for one run in wall-clock time; 0: no limit */
  uint64_t allocations;  /* for tests: the number of allocations that succeed before allocations fail; 0: none fails */
  uint64_t failures;     /* the number of allocations that fail; 0: all */
} njl_script_options;

/* Returns NULL if out of memory. */
njl_script *njl_script_new(const njl_script_options *options);
/* Frees the script. Must not be called from inside a run. */
void njl_script_free(njl_script *script);

/* The origin of a chunk. */
typedef enum njl_source {
  NJL_FROM_TEXT,   /* `text`; `name` is its chunk name as in lua_load ("=stdin", "@file.lua") */
  NJL_FROM_FILE,   /* the file `name`; NULL: standard input */
  NJL_FROM_MODULE, /* require(name), stored in a global; `name` may be "global=module" */
  NJL_FROM_PROGRAM, /* require(name), called with the arguments in `text`, each followed by a NUL */
  NJL_FROM_GLOBAL,  /* the global function `name`, called with the elements of `text`, a JSON array; empty: none */
} njl_source;

/* The function of a run. */
typedef struct njl_call {
  njl_source source;
  njl_bytes text;
  const char *name;
  bool wants_results; /* the run fails if JSON cannot represent a result */
} njl_call;

typedef enum njl_run_status {
  NJL_RAN,
  NJL_FAILED, /* the message contains the reason */
  NJL_WAITS,  /* njl_script_step: the run has not ended */
} njl_run_status;

/* Resets the limits and the interrupt. Must be called before each run. An interrupt after this call ends the run. */
void njl_script_prepare(njl_script *script);
/* Runs a function until it and its tasks have ended. On NJL_FAILED, `*message` is a text to free with
 * njl_script_free_text; NULL: out of memory. On NJL_RAN, `*results` is a JSON array, to be freed in the same way; NULL
 * if the results are not wanted. */
njl_run_status njl_script_run(njl_script *script, const njl_call *call, char **results, char **message);
/* Runs a function in steps, which do not wait unless a coroutine that cannot yield waits. The first step starts the run;
 * `call->text` and `call->name` are read only then. Returns NJL_WAITS with the time in seconds after which the next step
 * must follow, or earlier if the engine's queue has an event; negative: no limit. All steps are made by one thread at a
 * time. The results are those of njl_script_run. */
njl_run_status njl_script_step(njl_script *script, const njl_call *call, bool is_first, double *wait, char **results,
                               char **message);
/* Returns the integer that the last NJL_FROM_PROGRAM run without an error returned; 0 if it returned none. */
int njl_script_exit_status(const njl_script *script);
void njl_script_free_text(char *text);
/* Returns the number of allocations requested so far. */
uint64_t njl_script_allocations(const njl_script *script);

/* Sets the client that nightjar.client() returns. Takes ownership of one reference. */
void njl_script_set_client(njl_script *script, njl_client *client);
/* Returns the engine of the script, borrowed from the script. */
njl_engine *njl_script_engine(const njl_script *script);
/* These functions set a global. They return false if out of memory. `function` must live as long as the script. */
bool njl_script_set_function(njl_script *script, const char *name, njl_function *function);
bool njl_script_set_value(njl_script *script, const char *name, const njl_value *value);
/* Returns a global as JSON text, to be freed with njl_script_free_text. On failure, returns NULL and sets `*message` as
 * njl_script_run does. */
char *njl_script_get_json(njl_script *script, const char *name, char **message);

struct lua_State;
/* Opens the library nightjar.command.session (session.c). A lua_CFunction. */
int njl_open_session(struct lua_State *L);
/* Calls a lua_CFunction that opens a library in the state. Returns false and sets `*message` as njl_script_run does
 * on failure. */
bool njl_script_open(njl_script *script, int (*open)(struct lua_State *), char **message);

/* The memory limit of a script, which includes memory held for the script outside of Lua. Callable from any thread. */
typedef struct njl_budget njl_budget;
/* Returns the budget, which the caller releases and which may outlive the script. NULL: the script has no limit. */
njl_budget *njl_script_budget(njl_script *script);
void njl_budget_release(njl_budget *budget);
/* Returns false and counts nothing if the limit would be exceeded. */
bool njl_budget_take(njl_budget *budget, size_t bytes);
void njl_budget_give(njl_budget *budget, size_t bytes);

/* Returns "Lua 5.4". */
const char *njl_lua_version(void);

/* Sets the table `arg` like the stand-alone lua. `first` is the zero-based index of the script's name, which becomes
 * arg[0]. */
bool njl_script_set_arguments(njl_script *script, int count, char *const *arguments, int first);

/* Ends the run in progress with the error "interrupted", which pcall cannot catch. Callable from any thread. */
void njl_script_interrupt(njl_script *script);
/* Makes SIGINT interrupt the script until njl_script_release_interrupt. Can be used for only one script at a time, and
 * only on the thread that runs the script. */
void njl_script_catch_interrupt(njl_script *script);
void njl_script_release_interrupt(void);
/* Returns whether SIGINT has interrupted a script of this process. */
bool njl_script_was_interrupted(void);

#endif
