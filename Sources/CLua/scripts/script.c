/* script.c - creates the host's own Lua states and runs chunks in them. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/coroutine.h"
#include "core/host.h"
#include "core/loop.h"
#include "core/state.h"
#include "core/task.h"
#include "core/timers.h"
#include "bindings/bindings.h"
#include "modules/modules.h"
#include "scripts/scripts.h"
#include "njl_script.h"

/* --- Creating --- */

static void open_library(lua_State *L, const char *name, lua_CFunction open) {
  luaL_requiref(L, name, open, 1);
  lua_pop(L, 1);
}

static int open_state(lua_State *L) {
  njl_script *script = lua_touserdata(L, 1);
  if (!script->options.is_sandboxed) {
    luaL_openlibs(L);
    /* Generational mode, as in lua: a response that a script discards soon is collected while it is still in the
     * processor's cache. */
    lua_gc(L, LUA_GCGEN, 0, 0);
  }
  script->host = njl_host_open(L);
  script->host->is_sandboxed = script->options.is_sandboxed;
  if (script->options.is_sandboxed) njl_open_sandbox(L, script->host);
  njl_open_coroutine(L); /* Each resume then checks limits and interrupts. */
  if (script->options.is_sandboxed) {
    open_library(L, "nightjar", luaopen_nightjar);
  } else {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_nightjar);
    lua_setfield(L, -2, "nightjar");
    njl_preload_modules(L);
    njl_open_require(L);
    njl_open_exit(L);
  }
  return 0;
}

njl_script *njl_script_new(const njl_script_options *options) {
  njl_script *script = calloc(1, sizeof *script);
  if (script == NULL) return NULL;
  script->options = *options;
  bool is_limited = options->instructions != 0 || options->burst != 0 || options->seconds > 0;
  if (is_limited) script->options.is_interruptible = true;
  if (njl_open_budget(script)) script->L = lua_newstate(njl_allocate, script);
  if (script->L != NULL) {
    *(njl_script **)lua_getextraspace(script->L) = script;
    if (options->warns) lua_setwarnf(script->L, njl_warn, &script->warnings);
    lua_pushcfunction(script->L, open_state);
    lua_pushlightuserdata(script->L, script);
    if (lua_pcall(script->L, 1, 0, 0) == LUA_OK) {
      njl_watch(script, script->L);
      return script;
    }
  }
  njl_script_free(script);
  return NULL;
}

void njl_script_free(njl_script *script) {
  if (script == NULL) return;
  if (script->L != NULL) lua_close(script->L);
  njl_budget_release(script->budget);
  free(script);
}

/* --- Running --- */

typedef struct job {
  njl_script *script;
  njl_source source;
  njl_bytes text;
  const char *name;
  njl_run_status status;
  char *message;
} job;

static char *copy(const char *text, size_t length) {
  char *bytes = malloc(length + 1);
  if (bytes == NULL) return NULL;
  memcpy(bytes, text, length);
  bytes[length] = 0;
  return bytes;
}

/* Sets the message from the error and the traceback on top of the stack. */
static void describe(lua_State *L, job *job) {
  size_t length;
  const char *traceback = lua_tostring(L, -1);
  if (lua_isnil(L, -2)) lua_pushliteral(L, "nil");
  else luaL_tolstring(L, -2, NULL);
  if (traceback != NULL) {
    lua_pushliteral(L, "\n");
    lua_pushvalue(L, -3);
    lua_concat(L, 3);
  }
  const char *message = lua_tolstring(L, -1, &length);
  job->message = copy(message, length);
}

/* Pushes the chunk and returns true, or pushes the error and returns false. */
static bool load(lua_State *L, job *job) {
  const char *mode = job->script->options.is_sandboxed ? "t" : "bt";
  switch (job->source) {
  case NJL_FROM_TEXT: return luaL_loadbufferx(L, job->text.data, job->text.length, job->name, "t") == LUA_OK;
  case NJL_FROM_FILE: return luaL_loadfilex(L, job->name, mode) == LUA_OK;
  case NJL_FROM_MODULE: njl_push_requirer(L, job->name); return true;
  case NJL_FROM_PROGRAM: njl_push_program(L, job->name, job->text); return true;
  }
  return false;
}

static int push_arguments(lua_State *L, const job *job) {
  if (job->source != NJL_FROM_FILE || !job->script->has_arguments) return 0;
  lua_pushglobaltable(L);
  lua_pushliteral(L, "arg");
  lua_rawget(L, -2);
  lua_remove(L, -2);
  if (!lua_istable(L, -1)) {
    lua_pop(L, 1);
    return 0;
  }
  int table = lua_gettop(L), count = 0;
  while (lua_rawgeti(L, table, count + 1) != LUA_TNIL) {
    luaL_checkstack(L, 2, "too many arguments to the script");
    count++;
  }
  lua_pop(L, 1);
  lua_remove(L, table);
  return count;
}

static int take_status(lua_State *L, int task) {
  int count = njl_task_push_results(L, task);
  int status = count > 0 && lua_isinteger(L, -count) ? (int)lua_tointeger(L, -count) : 0;
  lua_pop(L, count);
  return status;
}

static int run(lua_State *L) {
  job *job = lua_touserdata(L, 1);
  njl_script *script = job->script;
  njl_host *host = script->host;
  atomic_store(&host->is_stopped, false);
  host->instructions = 0;
  host->closing = host->unchecked = 0;
  host->most_instructions = script->options.instructions;
  host->burst = 0;
  host->longest_burst = script->options.burst;
  host->limit = script->options.seconds > 0 ? njl_deadline_after(script->options.seconds) : NJL_NEVER;

  if (!load(L, job)) {
    job->status = NJL_FAILED;
    lua_pushnil(L);
    describe(L, job);
    return 0;
  }
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  njl_task *task = njl_task_spawn(L, host, push_arguments(L, job));
  task->is_observed = true;
  int place = lua_gettop(L);
  host->script = task;
  njl_run(L, host, task);
  if (atomic_load(&host->is_stopped)) {
    lua_pushstring(L, atomic_load(&host->stop_reason));
  } else if (task->status != LUA_OK) {
    njl_task_push_error(L, place);
  } else {
    if (job->source == NJL_FROM_PROGRAM) script->exit_status = take_status(L, place);
    return 0;
  }
  job->status = NJL_FAILED;
  lua_getiuservalue(L, place, NJL_TASK_TRACEBACK);
  describe(L, job);
  return 0;
}

njl_run_status njl_script_run(njl_script *script, njl_source source, njl_bytes text, const char *name,
                              char **message) {
  lua_State *L = script->L;
  job job = {.script = script, .source = source, .text = text, .name = name, .status = NJL_RAN};
  lua_settop(L, 0);
  script->host->running = L;
  njl_enter(script->host);
  lua_pushcfunction(L, run);
  lua_pushlightuserdata(L, &job);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) { /* Out of memory, or an error while describing an error. */
    job.status = NJL_FAILED;
    free(job.message);
    size_t length = 0;
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : "error in error handling";
    job.message = copy(text, length != 0 ? length : strlen(text));
  }
  njl_leave(script->host);
  script->host->is_session = script->host->attends = false;
  script->host->foreground = NULL;
  script->host->script = NULL;
  script->host->limit = NJL_NEVER; /* Reset only here: describing an error may run the script's code. */
  lua_settop(L, 0);
  *message = job.message;
  return job.status;
}

void njl_script_free_text(char *text) { free(text); }

int njl_script_exit_status(const njl_script *script) { return script->exit_status; }

bool njl_script_open(njl_script *script, lua_CFunction open, char **message) {
  lua_State *L = script->L;
  lua_settop(L, 0);
  lua_pushcfunction(L, open);
  bool is_open = lua_pcall(L, 0, 0, 0) == LUA_OK;
  size_t length = 0;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : NULL;
  *message = !is_open && text != NULL ? copy(text, length) : NULL;
  lua_settop(L, 0);
  return is_open;
}

uint64_t njl_script_allocations(const njl_script *script) { return script->allocations; }

const char *njl_lua_version(void) { return LUA_VERSION; }

bool njl_script_set_arguments(njl_script *script, int count, char *const *arguments, int first) {
  script->has_arguments = true;
  return njl_set_arguments(script->L, count, arguments, first);
}

void njl_script_set_client(njl_script *script, njl_client *client) { script->host->client = client; }

njl_engine *njl_script_engine(const njl_script *script) { return script->host->engine; }

typedef struct global {
  const char *name;
  njl_function *function; /* NULL: the global is `value` */
  const njl_value *value;
} global;

/* Sets a global. Bypasses a metatable that the script may have set on its globals. */
static int set_global(lua_State *L) {
  const global *global = lua_touserdata(L, 1);
  lua_pushglobaltable(L);
  lua_pushstring(L, global->name);
  if (global->function != NULL) njl_push_function(L, global->function);
  else njl_push_value(L, global->value);
  lua_rawset(L, -3);
  return 0;
}

/* Keeps the stack unchanged: the running script may have called the host function that sets the global. */
static bool set(njl_script *script, global global) {
  lua_State *L = script->L;
  if (!lua_checkstack(L, 4)) return false;
  int top = lua_gettop(L);
  lua_pushcfunction(L, set_global);
  lua_pushlightuserdata(L, &global);
  bool is_set = lua_pcall(L, 1, 0, 0) == LUA_OK;
  lua_settop(L, top);
  return is_set;
}

bool njl_script_set_function(njl_script *script, const char *name, njl_function *function) {
  return set(script, (global){.name = name, .function = function});
}

bool njl_script_set_value(njl_script *script, const char *name, const njl_value *value) {
  return set(script, (global){.name = name, .value = value});
}
