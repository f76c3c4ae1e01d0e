/* task.c - task objects: spawn, join, cancel.
 *
 * Concurrency is structured: a task is a child of the task that spawned it and ends before its parent. A task has
 * ended when its function has returned and its children have ended. When a task fails or is cancelled, its children
 * are cancelled. Exceptions: tasks that handle requests of the client are children of the root task (njl_task_begin),
 * and session.release gives the children of a task to the session. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/loop.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/task.h"
#include "core/timers.h"
#include "core/traceback.h"
#include "core/wait.h"
#include "njl_callbacks.h"
#include "njl_calls.h"
#include "njl_future.h"
#include "njl_subrequests.h"

static njl_task *check_task(lua_State *L, int index) { return njl_check(L, index, NJL_TASK); }

void njl_task_leave(njl_task *task) {
  njl_task *parent = task->parent;
  if (parent == NULL) return;
  if (task->previous != NULL) task->previous->next = task->next;
  else if (parent->first_child == task) parent->first_child = task->next;
  if (task->next != NULL) task->next->previous = task->previous;
  if (parent->failed == task) parent->failed = NULL;
  task->previous = task->next = NULL;
  task->parent = NULL;
}

void njl_task_leave_to_script(njl_task *task) {
  njl_host *host = task->host;
  njl_task *owner = host->script != NULL && host->script->state != NJL_ENDED ? host->script : &host->root;
  if (task->parent == NULL || task->parent == owner) return;
  task->parent->unended--;
  njl_task_leave(task);
  task->parent = owner;
  task->next = owner->first_child;
  if (task->next != NULL) task->next->previous = task;
  owner->first_child = task;
  owner->unended++;
  task->is_cancelled = owner->is_cancelled && !owner->is_closing;
}

void njl_task_drop_work(njl_task *task) {
  njl_callback *callback = task->callback;
  njl_subrequest *subrequest = task->subrequest;
  njl_future *upload = task->upload;
  task->callback = NULL;
  task->subrequest = NULL;
  task->upload = NULL;
  njl_callback_release(callback);
  if (upload != NULL) {
    static const char message[] = "the task that sends the body has ended before the body";
    if (njl_call_sends_body(upload)) njl_call_fail_body(upload, (njl_bytes){message, sizeof message - 1});
    njl_future_release(upload);
  }
  if (subrequest == NULL) return;
  task->host->subrequests--;
  njl_subrequest_end(subrequest);
}

/* Iterates instead of recursing, because a script may nest tasks deeper than the C stack allows. The loop runs no code
 * that could change the tree. */
void njl_task_cancel(njl_task *root) {
  for (njl_task *task = root;;) {
    if (!task->is_cancelled && task->state != NJL_ENDED) {
      task->is_cancelled = true;
      if (task->state == NJL_ENDING && task->status == LUA_OK) task->status = NJL_WAS_CANCELLED;
      if (task->wait != NULL) njl_wait_end(task->wait, NJL_CANCELLED);
    }
    if (task->first_child != NULL) {
      task = task->first_child;
      continue;
    }
    while (task != root && task->next == NULL) task = task->parent;
    if (task == root) return;
    task = task->next;
  }
}

bool njl_is_callable(lua_State *L, int index) {
  if (lua_isfunction(L, index)) return true;
  if (luaL_getmetafield(L, index, "__call") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

void njl_check_callable(lua_State *L, int index, const char *role) {
  if (njl_is_callable(L, index)) return;
  const char *message = lua_pushfstring(L, "%s expected, got %s", role, luaL_typename(L, index));
  luaL_argerror(L, index, message);
}

njl_task *njl_task_spawn(lua_State *L, njl_host *host, int arguments) {
  int function = lua_gettop(L) - arguments;
  njl_task *task = lua_newuserdatauv(L, sizeof *task, NJL_TASK_VALUES);
  *task = (njl_task){.host = host, .state = NJL_NEW, .results = arguments, .number = ++host->spawned};
  njl_set_type(L, NJL_TASK);
  task->thread = lua_newthread(L);
  lua_setiuservalue(L, -2, NJL_TASK_THREAD);
  if (!lua_checkstack(task->thread, arguments + LUA_MINSTACK)) luaL_error(L, "too many arguments to spawn");
  lua_insert(L, function);
  lua_xmove(L, task->thread, arguments + 1);
  njl_anchor(L, task, -1);

  njl_task *parent = host->current;
  task->parent = parent;
  task->next = parent->first_child;
  if (task->next != NULL) task->next->previous = task;
  parent->first_child = task;
  parent->unended++;
  task->is_cancelled = parent->is_cancelled && !parent->is_closing;
  njl_make_ready(task);
  return task;
}

void njl_task_begin(lua_State *L, njl_host *host, lua_CFunction begin, void *arrival) {
  njl_task *outer = host->current;
  host->current = &host->root;
  lua_pushcfunction(L, begin);
  lua_pushlightuserdata(L, arrival);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  host->current = outer;
}

int njl_task_push_results(lua_State *L, int index) {
  const njl_task *task = lua_touserdata(L, index);
  int count = task->results;
  if (count == 0) return 0;
  luaL_checkstack(L, count + 1, "too many results");
  lua_getiuservalue(L, index, NJL_TASK_RESULT);
  if (count == 1) return 1;
  int list = lua_gettop(L);
  for (int place = 1; place <= count; place++) lua_rawgeti(L, list, place);
  lua_remove(L, list);
  return count;
}

void njl_task_push_error(lua_State *L, int index) {
  const njl_task *task = lua_touserdata(L, index);
  index = lua_absindex(L, index);
  if (task->status == NJL_WAS_CANCELLED) {
    njl_push_failure(L, NJL_KIND_CANCELLED, 0, "the task was cancelled");
  } else if (task->results == 0) {
    lua_pushliteral(L, "the coroutine of the task was closed or resumed by other code");
  } else {
    lua_getiuservalue(L, index, NJL_TASK_RESULT);
    njl_remember_reported(L, index);
  }
}

/* nightjar.spawn(f, ...) -> task */
int njl_spawn(lua_State *L) {
  njl_check_callable(L, 1, "function");
  njl_task_spawn(L, njl_host_of(L), lua_gettop(L) - 1);
  return 1;
}

/* Returns the results of the ended task at index 1, or raises its error. */
static int observe(lua_State *L, njl_task *task) {
  task->is_observed = true;
  if (task->parent != NULL) {
    njl_task_leave(task);
    njl_release_anchor(L, task);
  }
  if (task->status == LUA_OK) return njl_task_push_results(L, 1);
  njl_task_push_error(L, 1);
  return lua_error(L);
}

static int joined(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return observe(L, check_task(L, 1));
}

/* task:join() -> the results of the task's function; raises the task's error */
static int join(lua_State *L) {
  njl_task *task = check_task(L, 1);
  njl_host *host = task->host;
  if (task->state == NJL_ENDED) return observe(L, task);
  for (njl_task *above = host->current; above != NULL; above = above->parent) {
    if (above == task) return luaL_error(L, "a task cannot join itself or one of its ancestors");
  }
  task->is_observed = true;
  lua_settop(L, 1);
  njl_wait *wait = njl_wait_push(L, host);
  wait->target = task;
  wait->needs_tasks = true;
  wait->next_joiner = task->joiners;
  task->joiners = wait;
  return njl_await(L, wait, joined);
}

/* task:cancel() cancels the task and its descendants. They end in a later turn of the loop. */
static int cancel(lua_State *L) {
  njl_task_cancel(check_task(L, 1));
  return 0;
}

static int read_field(lua_State *L) {
  static const char *const fields[] = {"done", "cancelled", NULL};
  njl_task *task = check_task(L, 1);
  const char *name = luaL_checkstring(L, 2);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  switch (njl_find_name(L, 2, fields)) {
  case 0: lua_pushboolean(L, task->state == NJL_ENDED); return 1;
  case 1: lua_pushboolean(L, task->is_cancelled); return 1;
  default: return luaL_error(L, "a task has no field '%s'", name);
  }
}

static int describe(lua_State *L) {
  static const char *const words[] = {"new", "waiting", "running", "ending", "ended"};
  njl_task *task = check_task(L, 1);
  const char *word = words[task->state];
  if (task->state == NJL_ENDED && task->status != LUA_OK) {
    word = task->status == NJL_WAS_CANCELLED ? "cancelled" : "failed";
  }
  lua_pushfstring(L, "%s: %p (%s)", NJL_TASK, (void *)task, word);
  return 1;
}

/* Finalizes a task. If the task failed and no other task can observe the error, reports the error as a warning. */
static int collect(lua_State *L) {
  njl_task *task = njl_check(L, 1, NJL_TASK);
  njl_task_leave(task);
  njl_task_drop_work(task);
  if (task->state != NJL_ENDED || task->status <= LUA_OK || task->is_observed) return 0;
  task->is_observed = true;
  njl_task_push_error(L, 1);
  const char *message = lua_tostring(L, -1); /* May raise for a number, which is safe in a finalizer. */
  lua_warning(L, "nightjar: a task failed and was never joined: ", 1);
  lua_warning(L, message != NULL ? message : "(error object is not a string)", 0);
  return 0;
}

void njl_open_task(lua_State *L) {
  static const luaL_Reg methods[] = {{"join", join}, {"cancel", cancel}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__tostring", describe}, {"__gc", collect}, {NULL, NULL}};
  njl_push_metatable(L, NJL_TASK, meta);
  luaL_newlib(L, methods);
  lua_pushcclosure(L, read_field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

static int slept(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 0;
}

/* nightjar.sleep(seconds) */
int njl_sleep(lua_State *L) {
  lua_Number seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, seconds >= 0 && seconds <= 1e9, 1, "seconds from 0 to 1e9 expected");
  lua_settop(L, 1);
  njl_wait *wait = njl_wait_push(L, njl_host_of(L));
  wait->deadline = njl_host_deadline_after(wait->host, seconds);
  njl_timer_add(wait);
  return njl_await(L, wait, slept);
}
