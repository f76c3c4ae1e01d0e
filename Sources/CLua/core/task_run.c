/* task_run.c - resumes tasks and takes their results. Only resume() in this file resumes tasks. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdatomic.h>

#include "core/coroutine.h"
#include "core/host.h"
#include "core/loop.h"
#include "core/stopping.h"
#include "core/task.h"
#include "core/task_end.h"
#include "core/task_run.h"
#include "core/traceback.h"
#include "core/wait.h"

/* Moves the results of the task at index 1 from its thread into a list. Called only for several results. */
static int pack_results(lua_State *L) {
  njl_task *task = lua_touserdata(L, 1);
  lua_createtable(L, task->results, 0);
  /* A finalizer may have changed the thread. */
  if (lua_gettop(task->thread) != task->results) {
    return luaL_error(L, "the coroutine of the task was closed or resumed by other code");
  }
  for (int place = task->results; place > 0; place--) {
    lua_xmove(task->thread, L, 1);
    lua_rawseti(L, -2, place);
  }
  return 1;
}

/* Moves the `count` results of the task's thread into the task. A single result needs no memory. */
static void take_results(lua_State *L, njl_task *task, int count) {
  task->results = count;
  if (count == 0) return;
  if (!njl_push_anchored(L, task)) {
    task->results = 0;
    return;
  }
  if (count == 1) {
    lua_xmove(task->thread, L, 1);
  } else {
    lua_pushcfunction(L, pack_results);
    lua_pushlightuserdata(L, task);
    int status = lua_pcall(L, 1, 1, 0);
    if (status != LUA_OK) {
      task->status = status;
      task->results = 1;
    }
  }
  lua_setiuservalue(L, -2, NJL_TASK_RESULT);
  lua_pop(L, 1);
}

/* --- Running --- */

/* Returns whether the thread of a new or suspended task is in the state in which the loop left it. A script can change
 * that state with a coroutine.resume or coroutine.close that it saved before nightjar was loaded; the thread may even
 * be running. */
static bool is_intact(const njl_task *task) {
  lua_State *thread = task->thread;
  lua_Debug frame;
  if (task->state == NJL_SUSPENDED) return lua_status(thread) == LUA_YIELD;
  return lua_status(thread) == LUA_OK && lua_gettop(thread) == task->results + 1 &&
         lua_getstack(thread, 0, &frame) == 0;
}

/* Closes the <close> variables of a coroutine that will not be resumed. Their waits block. */
static void close_thread(lua_State *L, njl_task *task) {
  njl_host *host = task->host;
  njl_task *outer = host->current;
  host->current = task;
  task->state = NJL_RUNNING;
  task->is_closing = true;
  task->status = njl_close_coroutine(host, task->thread);
  task->is_closing = false;
  host->current = outer;
  take_results(L, task, task->status != LUA_OK && lua_gettop(task->thread) > 0 ? 1 : 0);
}

/* Ends a task that failed while the host was stopped. Its coroutine is not closed. */
static void abandon_thread(lua_State *L, njl_task *task) {
  njl_abandon(task->thread);
  take_results(L, task, lua_gettop(task->thread) > 0 ? 1 : 0);
}

static void resume(lua_State *L, njl_task *task) {
  njl_host *host = task->host;
  lua_State *thread = task->thread;
  njl_task *outer = host->current;
  lua_State *outer_thread = host->running;
  bool outer_yields = host->yields;
  int arguments = task->state == NJL_NEW ? task->results : 0;
  int count = 0;
  if (njl_is_waiting(thread)) lua_pop(thread, 1);
  host->current = task;
  host->running = thread;
  host->yields = true;
  task->state = NJL_RUNNING;
  int status = lua_resume(thread, L, arguments, &count);
  host->current = outer;
  host->running = outer_thread;
  host->yields = outer_yields;

  if (status == LUA_YIELD) {
    bool waits = count == 1 && njl_is_token(thread, -1);
    if (!waits) {
      if (atomic_load(&host->is_stopped)) njl_keep_traceback(L, task); /* The stop ended the task at this point. */
      lua_pop(thread, count);
      if (lua_checkstack(thread, 1)) njl_push_token(thread);
    }
    task->state = NJL_SUSPENDED;
    if (!waits || task->wait == NULL) njl_make_ready(task); /* A plain yield lets the other tasks run. */
    return;
  }
  task->status = status;
  if (status == LUA_OK) {
    take_results(L, task, count);
  } else {
    njl_keep_traceback(L, task);
    if (atomic_load(&host->is_stopped)) abandon_thread(L, task);
    else close_thread(L, task);
    if (task->status == LUA_OK) task->status = status;
    if (task->is_cancelled) task->status = NJL_WAS_CANCELLED;
  }
  njl_task_finish(L, task);
}

void njl_task_step(lua_State *L, njl_task *task) {
  njl_host *host = task->host;
  if (task->state != NJL_NEW && task->state != NJL_SUSPENDED) return;
  host->burst = 0;
  njl_charge(host, task->state == NJL_NEW ? NJL_START_CHARGE : 0);
  if (atomic_load(&host->is_stopped)) njl_task_cancel(task);
  if (!is_intact(task)) {
    task->status = task->is_cancelled ? NJL_WAS_CANCELLED : LUA_ERRRUN;
    task->results = 0;
    return njl_task_finish(L, task);
  }
  if (!task->is_cancelled) return resume(L, task);
  close_thread(L, task);
  if (task->status == LUA_OK) task->status = NJL_WAS_CANCELLED;
  njl_task_finish(L, task);
}
