/* circle.c - tasks that would wait for each other for ever while the loop believes that something is under way.
 *
 * To the loop a page of a list, or a document, is a call like any other. Where its client has before or after it is made by a
 * task, an errand (errand.c). When a hook in there waits for a task that in turn waits for the page, nothing will ever come, and
 * without calls and timers elsewhere or with them, nobody is told. So before the loop sleeps it looks at the errands whose hooks
 * wait: for whom, for whom that waits, and so on. Where none of those can go on, the hook's wait ends with an error.
 *
 * What might still be done from outside of the circle, as closing the list, is not waited for: taking from a list in its own
 * hook is refused at once for the same reason. Beyond that the search errs on the side of waiting. A task can go on if it is
 * ready, or waits for a moment or for a call of its own; and one that waits at a gate (channels, require) or for what
 * the function of a list decides, as long as any task of the state can. */
#include <stdio.h>

#include "core/core.h"

/* Tasks in the order in which they were found, linked by `next_sought`; each knows by `sought_by` who waits for it. */
typedef struct search {
  njl_host *host;
  njl_task *origin, *last;
  njl_task *closing; /* waits for the origin; NULL: none does */
  bool needs_others; /* one waits for what any task may do */
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

/* Whether the task makes a call that somebody may wait for. */
static bool is_at_errand(const njl_task *task) {
  return task->errand != NULL && !task->is_cancelled && task->state < NJL_ENDING;
}

static bool is_waiting(const njl_task *task) {
  return task->wait != NULL && task->wait->state == NJL_PENDING && !task->is_ready;
}

/* Adds who makes the calls of that number; false: nobody does yet. */
static bool add_errands(search *search, njl_task *task, lua_Integer caller) {
  bool is_made = false;
  for (njl_task *other = search->host->root.first_child; other != NULL; other = other->next) {
    if (!is_at_errand(other) || njl_errand_caller(other->errand) != caller) continue;
    add(search, other, task);
    is_made = true;
  }
  return is_made;
}

/* Adds the children that have not ended, of the group or, without one, all; false: there are none. */
static bool add_children(search *search, njl_task *task, const njl_wait *group) {
  bool has_children = false;
  for (njl_task *child = task->first_child; child != NULL; child = child->next) {
    if (child->state == NJL_ENDED || (group != NULL && child->group != group)) continue;
    add(search, child, task);
    has_children = true;
  }
  return has_children;
}

/* Adds those of whom one has to go on before the task does. True: it can go on without them. */
static bool can_go_on(search *search, njl_task *task) {
  if (task->state == NJL_ENDING) return !add_children(search, task, NULL);
  if (!is_waiting(task)) return true;
  const njl_wait *wait = task->wait;
  if (wait->deadline != NJL_NEVER) return true;
  if (wait->target != NULL) {
    add(search, wait->target, task);
    return false;
  }
  if (wait->caller != 0) return !add_errands(search, task, wait->caller);
  if (!wait->needs_tasks) return true;
  if (!add_children(search, task, wait)) search->needs_others = true;
  return false;
}

static njl_task *next_of_all(const njl_host *host, njl_task *task) {
  if (task->first_child != NULL) return task->first_child;
  while (task != &host->root && task->next == NULL) task = task->parent;
  return task == &host->root ? NULL : task->next;
}

/* Whether any task of the state can go on by itself. */
static bool any_can_go_on(njl_host *host) {
  search none = {.host = host};
  host->searches++;
  for (njl_task *task = &host->root; task != NULL; task = next_of_all(host, task)) {
    if (task->state == NJL_ENDED || (task == &host->root && task->wait == NULL)) continue;
    if (can_go_on(&none, task)) return true;
  }
  return false;
}

/* --- The message --- */

/* What the task waits for; `is_last`: that comes by the origin. */
static const char *name_next(const njl_task *task, bool is_last) {
  if (task->state == NJL_ENDING) return "a task of its own";
  if (task->wait->target != NULL) return "a task";
  if (task->wait->caller == 0) return "a task of its own";
  return is_last ? "the page or document that they are called for" : "a page or document";
}

/* The way from the origin to itself; `sought_by` leads back. */
static void describe(search *search) {
  njl_host *host = search->host;
  char *text = host->circle;
  const size_t room = sizeof host->circle;
  static const char begin[] = "deadlock: before or after waits for ";
  if (search->closing == NULL) {
    const char *others = search->needs_others ? "another task, and none can go on" : "tasks that wait for each other";
    snprintf(text, room, "%s%s", begin, others);
    return;
  }
  /* The way turned round, in the links that the search needs no more. */
  njl_task *way = NULL;
  for (njl_task *task = search->closing; task != NULL; task = task == search->origin ? NULL : task->sought_by) {
    task->next_sought = way;
    way = task;
  }
  size_t length = (size_t)snprintf(text, room, "%s", begin);
  for (njl_task *task = way; task != NULL && length < room; task = task->next_sought) {
    bool is_last = task->next_sought == NULL;
    bool is_page = task->state != NJL_ENDING && task->wait->caller != 0;
    const char *joint = is_last ? "" : is_page ? ", whose before or after waits for " : ", which waits for ";
    length += (size_t)snprintf(text + length, room - length, "%s%s", name_next(task, is_last), joint);
  }
  if (length >= room) snprintf(text + room - 4, 4, "...");
}

/* --- */

/* What any_can_go_on says, once it has been asked. */
typedef enum others { UNASKED, NONE_CAN, ANY_CAN } others;

/* Then the host has the message. */
static bool is_stuck(search *search, others *others) {
  search->host->searches++;
  add(search, search->origin, NULL);
  for (njl_task *task = search->origin; task != NULL; task = task->next_sought) {
    if (can_go_on(search, task)) return false;
  }
  describe(search);
  if (!search->needs_others) return true;
  if (*others == UNASKED) *others = any_can_go_on(search->host) ? ANY_CAN : NONE_CAN;
  return *others == NONE_CAN;
}

bool njl_break_circle(njl_host *host) {
  others others = UNASKED;
  for (njl_task *task = host->root.first_child; task != NULL; task = task->next) {
    if (!is_at_errand(task) || !is_waiting(task) || !task->wait->needs_tasks) continue;
    search search = {.host = host, .origin = task};
    if (!is_stuck(&search, &others)) continue;
    njl_wait_end(task->wait, NJL_STUCK);
    return true;
  }
  return false;
}

int njl_raise_circle(lua_State *L, const njl_host *host) { return luaL_error(L, "%s", host->circle); }
