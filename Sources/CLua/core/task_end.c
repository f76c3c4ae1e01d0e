/* task_end.c - the end of tasks: waits for children, passes errors to the parent, wakes the tasks that wait in join. */
#include <lua5.4/lua.h>

#include "core/group.h"
#include "core/host.h"
#include "core/interrupt.h"
#include "core/task.h"
#include "core/task_end.h"
#include "core/wait.h"

/* Releases the anchor of a failed task whose error was not observed, so that only the script keeps the task alive.
 * Stores the task's userdata, which holds the error, on the dead thread, where push_ended finds it. */
static void skip_undecided(lua_State *L, njl_task *task) {
  bool is_dead = task->results > 0; /* Without results, the script may still be able to resume the thread. */
  if (is_dead && lua_checkstack(task->thread, 1) && njl_push_anchored(L, task)) lua_xmove(L, task->thread, 1);
  njl_release_anchor(L, task);
}

/* Pushes the userdata of a failed task. Returns false and pushes nothing if it was collected. */
static bool push_ended(lua_State *L, njl_task *task) {
  if (njl_push_anchored(L, task)) return true;
  lua_State *thread = task->thread;
  bool is_known = lua_gettop(thread) > 0 && lua_touserdata(thread, -1) == task && lua_checkstack(thread, 1);
  if (!is_known) return false;
  lua_pushvalue(thread, -1);
  lua_xmove(thread, L, 1);
  return true;
}

/* Passes an unobserved error of a child, usually the first one, to the parent, unless the parent failed itself. */
static void adopt_failure(lua_State *L, njl_task *parent) {
  njl_task *child = parent->failed;
  if (parent->status != LUA_OK) return;
  if (child == NULL) { /* The script may keep other failed children alive. */
    child = parent->first_child;
    while (child != NULL && (child->status <= LUA_OK || child->is_observed)) child = child->next;
    if (child == NULL) return;
  }
  parent->status = child->status;
  parent->results = 0;
  child->is_observed = true;
  if (!njl_push_anchored(L, parent)) return;
  if (push_ended(L, child)) {
    parent->results = child->results;
    for (int value = NJL_TASK_TRACEBACK; value <= NJL_TASK_RESULT; value++) {
      lua_getiuservalue(L, -1, value);
      lua_setiuservalue(L, -3, value);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void forget_children(lua_State *L, njl_task *task) {
  while (task->first_child != NULL) {
    njl_task *child = task->first_child;
    njl_task_leave(child);
    njl_release_anchor(L, child);
  }
}

/* Ends the task if its function has returned and its children have ended. Then does the same for its parent, and so
 * on. */
static void end(lua_State *L, njl_task *task) {
  njl_host *host = task->host;
  while (task != NULL && task->state == NJL_ENDING && task->unended == 0) {
    adopt_failure(L, task);
    forget_children(L, task);
    task->state = NJL_ENDED;
    njl_task_drop_work(task);
    while (task->joiners != NULL) njl_wait_end(task->joiners, NJL_DONE);
    if (task->group != NULL) njl_group_child_ended(task->group, task);
    njl_task *parent = task->parent;
    parent->unended--;
    /* A parent keeps its first failed child until the error is observed or the parent ends. It does not keep further
     * failed children, which would accumulate in a long-lived parent. The root keeps no failed child. */
    if (task->status <= LUA_OK || task->is_observed || parent->thread == NULL) {
      njl_task_leave(task);
      njl_release_anchor(L, task);
    } else if (host->is_session && parent == host->script) {
      njl_session_task_failed(host, parent); /* releases the task */
    } else if (parent->failed == NULL) {
      parent->failed = task;
    } else {
      skip_undecided(L, task);
    }
    task = parent;
  }
}

void njl_task_finish(lua_State *L, njl_task *task) {
  if (task->wait != NULL) njl_wait_end(task->wait, NJL_CANCELLED);
  task->state = NJL_ENDING; /* from now on, the end of a wait does not make the task ready */
  if (task->status != LUA_OK) {
    for (njl_task *child = task->first_child; child != NULL; child = child->next) njl_task_cancel(child);
  }
  end(L, task);
}
