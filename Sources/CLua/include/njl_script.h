/* njl_script.h - Lua states of our own, run from Swift. None of these functions raises; all but
 * njl_script_interrupt belong to one thread at a time. */
#ifndef NJL_SCRIPT_H
#define NJL_SCRIPT_H

#include "njl_host.h"

/* A Lua state with its limits and its host. */
typedef struct njl_script njl_script;

typedef struct njl_script_options {
  bool is_sandboxed;     /* no io, os, debug, package, print; text chunks only */
  bool is_interruptible; /* from any thread, also while it computes; costs some speed */
  bool warns;            /* on standard error once the script asks for it, by warn("@on") */
  size_t memory;         /* bytes that Lua may have allocated; 0: no bound */
  uint64_t instructions; /* of one run; 0: no bound */
  uint64_t burst;        /* instructions between two waits; 0: no bound */
  double seconds;        /* of one run, by the wall clock; 0: no bound */
  uint64_t allocations;  /* those after so many fail; 0: none does. For tests */
  uint64_t failures;     /* so many of them; 0: all */
} njl_script_options;

/* NULL: out of memory. */
njl_script *njl_script_new(const njl_script_options *options);
/* Not from inside a run. */
void njl_script_free(njl_script *script);

/* What a chunk is. */
typedef enum njl_source {
  NJL_FROM_TEXT,   /* `text`, named `name` as lua_load has it ("=stdin", "@file.lua") */
  NJL_FROM_FILE,   /* the file `name`; NULL: standard input */
  NJL_FROM_MODULE, /* require(name), made a global; `name` may be "global=module" */
  NJL_FROM_PROGRAM, /* require(name) is called with the arguments of `text`, a NUL behind each */
} njl_source;

typedef enum njl_run_status {
  NJL_RAN,
  NJL_FAILED, /* the message says why */
} njl_run_status;

/* Runs a chunk to its end and that of its tasks, with the arguments that njl_script_set_arguments left. On NJL_FAILED
 * `*message` is text to free with njl_script_free_text; NULL: out of memory. */
njl_run_status njl_script_run(njl_script *script, njl_source source, njl_bytes text, const char *name, char **message);
/* What the program of the last run returned, where that was an integer; else 0. */
int njl_script_exit_status(const njl_script *script);
void njl_script_free_text(char *text);
/* So many were asked for. */
uint64_t njl_script_allocations(const njl_script *script);

/* What nightjar.client() gives; takes over one reference. */
void njl_script_set_client(njl_script *script, njl_client *client);
/* Borrowed from the script. */
njl_engine *njl_script_engine(const njl_script *script);
/* Globals. False: out of memory. The function must live as long as the script. */
bool njl_script_set_function(njl_script *script, const char *name, njl_function *function);
bool njl_script_set_value(njl_script *script, const char *name, const njl_value *value);

struct lua_State;
/* A lua_CFunction: the library nightjar.command.session, of session.c. */
int njl_open_session(struct lua_State *L);
/* Calls a lua_CFunction that opens a library in the state. On false `*message` is as that of njl_script_run. */
bool njl_script_open(njl_script *script, int (*open)(struct lua_State *), char **message);

/* The memory limit of a script. Memory that is held for the script outside of Lua counts too. Any thread. */
typedef struct njl_budget njl_budget;
/* Returns the budget, which the caller releases and which may outlive the script. NULL: the script has no limit. */
njl_budget *njl_script_budget(njl_script *script);
void njl_budget_release(njl_budget *budget);
/* False: the limit would be exceeded, and nothing is counted. */
bool njl_budget_take(njl_budget *budget, size_t bytes);
void njl_budget_give(njl_budget *budget, size_t bytes);

/* "Lua 5.4" */
const char *njl_lua_version(void);

/* The table `arg` as lua has it: `first` counts from 0 and is where the script's name stands. */
bool njl_script_set_arguments(njl_script *script, int count, char *const *arguments, int first);

/* Ends the run in progress with the error "interrupted", which pcall cannot hold back. Any thread. */
void njl_script_interrupt(njl_script *script);
/* From here on, until the release, SIGINT interrupts the script; for one script and the thread that runs it. */
void njl_script_catch_interrupt(njl_script *script);
void njl_script_release_interrupt(void);
/* Whether SIGINT has interrupted a script of this process. */
bool njl_script_was_interrupted(void);

#endif
