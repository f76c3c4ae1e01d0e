/* run.c - runs chunks and functions in a script. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/loop.h"
#include "core/state.h"
#include "core/task.h"
#include "core/timers.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "modules/modules.h"
#include "scripts/scripts.h"
#include "njl_engine.h"
#include "njl_script.h"

typedef struct job {
  njl_script *script;
  const njl_call *call;
  njl_run_status status;
  njl_task *task;
  char *message, *results;
} job;

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
  job->message = njl_copy_text(message, length);
}

/* --- The function of a run --- */

/* Pushes a global. Bypasses a metatable that the script may have set on its globals. */
static void push_global(lua_State *L, const char *name) {
  lua_pushglobaltable(L);
  lua_pushstring(L, name);
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

/* Pushes the global function and returns true, or pushes an error and returns false. */
static bool push_function(lua_State *L, const char *name) {
  push_global(L, name);
  if (njl_is_callable(L, -1)) return true;
  lua_pushfstring(L, "invoke failed: the global '%s' is a %s value, not a function", name, luaL_typename(L, -1));
  return false;
}

/* Pushes the chunk and returns true, or pushes the error and returns false. */
static bool load(lua_State *L, const job *job) {
  const njl_call *call = job->call;
  const char *mode = job->script->options.is_sandboxed ? "t" : "bt";
  switch (call->source) {
  case NJL_FROM_TEXT: return luaL_loadbufferx(L, call->text.data, call->text.length, call->name, "t") == LUA_OK;
  case NJL_FROM_FILE: return luaL_loadfilex(L, call->name, mode) == LUA_OK;
  case NJL_FROM_MODULE: njl_push_requirer(L, call->name); return true;
  case NJL_FROM_PROGRAM: njl_push_program(L, call->name, call->text); return true;
  case NJL_FROM_GLOBAL: return push_function(L, call->name);
  }
  return false;
}

/* Replaces the table on top of the stack by its elements, up to the first that is nil. Returns their number. */
static int unpack(lua_State *L, const char *problem) {
  int table = lua_gettop(L), count = 0;
  while (lua_rawgeti(L, table, count + 1) != LUA_TNIL) {
    luaL_checkstack(L, 2, problem);
    if (njl_json_is_null(L, -1)) {
      lua_pop(L, 1);
      lua_pushnil(L);
    }
    count++;
  }
  lua_pop(L, 1);
  lua_remove(L, table);
  return count;
}

static int push_arguments(lua_State *L, const job *job) {
  const njl_call *call = job->call;
  if (call->source == NJL_FROM_GLOBAL) {
    if (call->text.length == 0) return 0;
    njl_open_values(L);
    njl_json_decode(L, "the list of arguments", call->text.data, call->text.length);
    if (!lua_istable(L, -1)) return luaL_error(L, "the arguments must be a JSON array");
    return unpack(L, "too many arguments to the function");
  }
  if (call->source != NJL_FROM_FILE || !job->script->has_arguments) return 0;
  push_global(L, "arg");
  if (lua_istable(L, -1)) return unpack(L, "too many arguments to the script");
  lua_pop(L, 1);
  return 0;
}

/* --- The results of a run --- */

static int take_status(lua_State *L, int task) {
  int count = njl_task_push_results(L, task);
  int status = count > 0 && lua_isinteger(L, -count) ? (int)lua_tointeger(L, -count) : 0;
  lua_pop(L, count);
  return status;
}

/* Stores the results of the task at index 1 in the job at index 2, as a JSON array. */
static int encode_results(lua_State *L) {
  job *job = lua_touserdata(L, 2);
  njl_open_values(L);
  int count = njl_task_push_results(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, "too many results");
  lua_createtable(L, count, 0);
  for (int place = 1; place <= count; place++) {
    if (lua_isnil(L, 2 + place)) njl_json_push_null(L);
    else lua_pushvalue(L, 2 + place);
    lua_rawseti(L, -2, place);
  }
  njl_json_push_array_mark(L);
  lua_setmetatable(L, -2);
  size_t length;
  const char *text = njl_json_write(L, -1, "results", (njl_json_style){.is_sorted = true}, &length);
  job->results = njl_copy_text(text, length);
  if (job->results == NULL) return luaL_error(L, "not enough memory");
  return 0;
}

/* --- Running --- */

void njl_script_prepare(njl_script *script) {
  njl_host *host = script->host;
  script->is_running = true;
  atomic_store(&host->is_stopped, false);
  host->instructions = 0;
  host->closing = host->unchecked = 0;
  host->most_instructions = script->options.instructions;
  host->burst = 0;
  host->longest_burst = script->options.burst;
  host->limit = script->options.seconds > 0 ? njl_deadline_after(script->options.seconds) : NJL_NEVER;
}

/* Starts the task of the run and pushes it. Returns false if the run has failed. */
static bool start(lua_State *L, job *job) {
  if (!load(L, job)) {
    job->status = NJL_FAILED;
    lua_pushnil(L);
    describe(L, job);
    return false;
  }
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  njl_host *host = job->script->host;
  job->task = njl_task_spawn(L, host, push_arguments(L, job));
  job->task->is_observed = true;
  host->script = job->task;
  return true;
}

/* Takes the results or the error of the ended task at the index `place`. */
static void conclude(lua_State *L, job *job, int place) {
  njl_host *host = job->script->host;
  const njl_task *task = lua_touserdata(L, place);
  if (atomic_load(&host->is_stopped)) {
    lua_pushstring(L, atomic_load(&host->stop_reason));
  } else if (task->status != LUA_OK) {
    njl_task_push_error(L, place);
  } else {
    if (job->call->source == NJL_FROM_PROGRAM) job->script->exit_status = take_status(L, place);
    if (!job->call->wants_results) return;
    lua_pushcfunction(L, encode_results);
    lua_pushvalue(L, place);
    lua_pushlightuserdata(L, job);
    if (lua_pcall(L, 2, 0, 0) == LUA_OK) return;
    job->status = NJL_FAILED;
    lua_pushnil(L);
    describe(L, job);
    return;
  }
  job->status = NJL_FAILED;
  lua_getiuservalue(L, place, NJL_TASK_TRACEBACK);
  describe(L, job);
}

static int run(lua_State *L) {
  job *job = lua_touserdata(L, 1);
  if (!start(L, job)) return 0;
  int place = lua_gettop(L);
  njl_run(L, job->script->host, job->task);
  conclude(L, job, place);
  return 0;
}

/* step(job, task) -> the task; without a task, starts the run */
static int step(lua_State *L) {
  job *job = lua_touserdata(L, 1);
  njl_script *script = job->script;
  if (lua_gettop(L) == 1) {
    script->deadlock = (njl_deadlock){0};
    return start(L, job) ? 1 : 0;
  }
  job->task = lua_touserdata(L, 2);
  njl_advance(L, script->host, job->task, &script->deadlock);
  if (job->task->state == NJL_ENDED) {
    job->status = NJL_RAN;
    njl_check_deadlock(L, &script->deadlock);
    conclude(L, job, 2);
  }
  lua_settop(L, 2);
  return 1;
}

/* Sets the message of a job whose function has raised the error on top of the stack: there is not enough memory, the
 * tasks wait for each other, or an error has occurred while an error was described. */
static void fail(lua_State *L, job *job) {
  job->status = NJL_FAILED;
  free(job->message);
  size_t length = 0;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : "error in error handling";
  job->message = njl_copy_text(text, length != 0 ? length : strlen(text));
}

/* Called last, because describing an error may run the script's code, within the limits. */
void njl_script_end_run(njl_script *script) {
  script->is_running = false;
  script->host->limit = NJL_NEVER;
}

static void forget(njl_script *script) {
  njl_host *host = script->host;
  njl_script_end_run(script);
  host->is_session = host->attends = false;
  host->foreground = NULL;
  host->script = NULL;
  lua_settop(script->L, 0);
}

njl_run_status njl_script_run(njl_script *script, const njl_call *call, char **results, char **message) {
  lua_State *L = script->L;
  job job = {.script = script, .call = call, .status = NJL_RAN};
  lua_settop(L, 0);
  script->host->running = L;
  script->host->is_stepped = false;
  njl_enter(script->host);
  lua_pushcfunction(L, run);
  lua_pushlightuserdata(L, &job);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) fail(L, &job);
  njl_leave(script->host);
  forget(script);
  *results = job.results;
  *message = job.message;
  return job.status;
}

/* The task stays at index 1 of the stack between the steps. */
njl_run_status njl_script_step(njl_script *script, const njl_call *call, bool is_first, double *wait, char **results,
                               char **message) {
  lua_State *L = script->L;
  njl_host *host = script->host;
  job job = {.script = script, .call = call, .status = NJL_WAITS};
  if (is_first) lua_settop(L, 0);
  host->running = L;
  host->is_stepped = true;
  njl_enter(host);
  lua_pushcfunction(L, step);
  lua_insert(L, 1);
  lua_pushlightuserdata(L, &job);
  lua_insert(L, 2);
  if (lua_pcall(L, is_first ? 1 : 2, 1, 0) != LUA_OK) fail(L, &job);
  njl_leave(host);
  bool is_due = is_first || !host->was_idle || atomic_load(&host->is_stopped) || njl_engine_has_ended(host->engine);
  *wait = is_due ? 0 : njl_idle_time(host);
  if (job.status != NJL_WAITS) forget(script);
  *results = job.results;
  *message = job.message;
  return job.status;
}
