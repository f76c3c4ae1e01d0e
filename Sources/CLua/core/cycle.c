/* cycle.c - detects circular waits that involve the pages of a list or the load of a document.
 *
 * For the loop, a page or a document is a call in flight. If the client has before or after hooks, a task makes this
 * call: a subrequest (subrequest.c). If a hook of the subrequest waits for a task that waits for the page, neither
 * task can ever finish, and the loop does not notice. Before the loop sleeps, it therefore searches all subrequests
 * with a waiting hook. The search follows the waits from task to task. If the search finds no task that can continue,
 * the hook's wait ends with an error.
 *
 * The search ignores actions from outside of the cycle that could end it, such as closing the list. In all other
 * cases of doubt, the tasks continue to wait. A task can continue if it is ready, waits for a deadline, or waits for
 * its own call. A task may also wait at a gate (channels, require), or for the function that decides how a list
 * continues. Such a task can continue as long as any task of the state can. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdio.h>

#include "core/cycle.h"
#include "core/task.h"
#include "core/timers.h"
#include "core/wait.h"
#include "njl_subrequests.h"

/* The visited tasks, in order, linked by `next_sought`. `sought_by` of each task is a task that waits for it. */
typedef struct search {
  njl_host *host;
  njl_task *origin, *last;
  njl_task *closing; /* a task that waits for the origin; NULL: no such task was found */
  bool needs_others; /* one of the tasks waits for an event that any task may cause */
} search;

static void add(search *search, njl_task *task, njl_task *by) {
  if (task == search->origin && search->closing == NULL) search->closing = by;
  if (task->search == search->host->searches) return;
  task->search = search->host->searches;
  task->sought_by = by;
  task->next_sought = NULL;
  if (search->last != NULL) search->last->next_sought = task;
  search->last = task;
}

/* Returns whether the task makes a call that another task may wait for. */
static bool is_at_subrequest(const njl_task *task) {
  return task->subrequest != NULL && !task->is_cancelled && task->state < NJL_ENDING;
}

static bool is_waiting(const njl_task *task) {
  return task->wait != NULL && task->wait->state == NJL_PENDING && !task->is_ready;
}

/* Adds the tasks that make the calls of `caller`. Returns false if no such task exists yet. */
static bool add_subrequests(search *search, njl_task *task, lua_Integer caller) {
  bool is_made = false;
  for (njl_task *other = search->host->root.first_child; other != NULL; other = other->next) {
    if (!is_at_subrequest(other) || njl_subrequest_caller(other->subrequest) != caller) continue;
    add(search, other, task);
    is_made = true;
  }
  return is_made;
}

/* Adds the children that have not ended: those of the group, or all if `group` is NULL. Returns false if there are
 * none. */
static bool add_children(search *search, njl_task *task, const njl_wait *group) {
  bool has_children = false;
  for (njl_task *child = task->first_child; child != NULL; child = child->next) {
    if (child->state == NJL_ENDED || (group != NULL && child->group != group)) continue;
    add(search, child, task);
    has_children = true;
  }
  return has_children;
}

/* Returns true if `task` can continue without another task. Otherwise adds the tasks that it waits for. */
static bool can_continue(search *search, njl_task *task) {
  if (task->state == NJL_ENDING) return !add_children(search, task, NULL);
  if (!is_waiting(task)) return true;
  const njl_wait *wait = task->wait;
  if (wait->deadline != NJL_NEVER) return true;
  if (wait->target != NULL) {
    add(search, wait->target, task);
    return false;
  }
  if (wait->caller != 0) return !add_subrequests(search, task, wait->caller);
  if (!wait->needs_tasks || wait->call != NULL) return true;
  if (!add_children(search, task, wait)) search->needs_others = true;
  return false;
}

static njl_task *next_of_all(const njl_host *host, njl_task *task) {
  if (task->first_child != NULL) return task->first_child;
  while (task != &host->root && task->next == NULL) task = task->parent;
  return task == &host->root ? NULL : task->next;
}

/* Returns whether any task of the state can continue by itself. */
static bool any_can_continue(njl_host *host) {
  search none = {.host = host};
  host->searches++;
  for (njl_task *task = &host->root; task != NULL; task = next_of_all(host, task)) {
    if (task->state == NJL_ENDED || (task == &host->root && task->wait == NULL)) continue;
    if (can_continue(&none, task)) return true;
  }
  return false;
}

/* --- The message --- */

/* Describes what the task waits for. `is_last`: the task waits for the origin's call. */
static const char *name_next(const njl_task *task, bool is_last) {
  if (task->state == NJL_ENDING) return "a child task";
  if (task->wait->target != NULL) return "a task";
  if (task->wait->caller == 0) return "a child task";
  return is_last ? "the page or document that the hook was called for" : "a page or document";
}

/* Writes the message, which lists the tasks of the cycle from the origin on. `sought_by` leads from the last task of
 * the cycle back to the origin. */
static void describe(search *search) {
  njl_host *host = search->host;
  char *text = host->cycle;
  const size_t room = sizeof host->cycle;
  static const char begin[] = "deadlock: a before or after hook waits for ";
  if (search->closing == NULL) {
    const char *others =
        search->needs_others ? "another task, and no task can continue" : "tasks that wait for each other";
    snprintf(text, room, "%s%s", begin, others);
    return;
  }
  /* Reverses the cycle, reusing links that the search no longer needs. */
  njl_task *way = NULL;
  for (njl_task *task = search->closing; task != NULL; task = task == search->origin ? NULL : task->sought_by) {
    task->next_sought = way;
    way = task;
  }
  size_t length = (size_t)snprintf(text, room, "%s", begin);
  for (njl_task *task = way; task != NULL && length < room; task = task->next_sought) {
    bool is_last = task->next_sought == NULL;
    bool is_page = task->state != NJL_ENDING && task->wait->caller != 0;
    const char *joint = is_last ? "" : is_page ? ", whose before or after hook waits for " : ", which waits for ";
    length += (size_t)snprintf(text + length, room - length, "%s%s", name_next(task, is_last), joint);
  }
  if (length >= room) snprintf(text + room - 4, 4, "...");
}

/* The cached result of any_can_continue. */
typedef enum others { UNASKED, NONE_CAN, ANY_CAN } others;

/* Returns whether the origin of the search can never continue. If so, writes the message to `host->cycle`. */
static bool is_stuck(search *search, others *others) {
  search->host->searches++;
  add(search, search->origin, NULL);
  for (njl_task *task = search->origin; task != NULL; task = task->next_sought) {
    if (can_continue(search, task)) return false;
  }
  describe(search);
  if (!search->needs_others) return true;
  if (*others == UNASKED) *others = any_can_continue(search->host) ? ANY_CAN : NONE_CAN;
  return *others == NONE_CAN;
}

bool njl_break_cycle(njl_host *host) {
  others others = UNASKED;
  for (njl_task *task = host->root.first_child; task != NULL; task = task->next) {
    if (!is_at_subrequest(task) || !is_waiting(task) || !task->wait->needs_tasks) continue;
    search search = {.host = host, .origin = task};
    if (!is_stuck(&search, &others)) continue;
    njl_wait_end(task->wait, NJL_STUCK);
    return true;
  }
  return false;
}

int njl_raise_cycle(lua_State *L, const njl_host *host) { return luaL_error(L, "%s", host->cycle); }
