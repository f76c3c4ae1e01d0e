/* loop.c - the event loop of a Lua state: polls for ended calls and runs the tasks that waited for them. Ending a wait
 * only puts its task into the ready list. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdatomic.h>

#include "core/clock.h"
#include "core/cycle.h"
#include "core/interrupt.h"
#include "core/loop.h"
#include "core/stopping.h"
#include "core/task.h"
#include "core/task_run.h"
#include "core/timers.h"
#include "core/wait.h"
#include "njl_engine.h"

/* --- The ready list --- */

void njl_make_ready(njl_task *task) {
  if (task->is_ready) return;
  njl_host *host = task->host;
  task->is_ready = true;
  task->next_ready = NULL;
  if (host->last_ready != NULL) host->last_ready->next_ready = task;
  else host->first_ready = task;
  host->last_ready = task;
  host->ready++;
}

void njl_make_first(njl_task *task) {
  njl_host *host = task->host;
  if (!task->is_ready || host->first_ready == task) return;
  njl_task *before = host->first_ready;
  while (before->next_ready != task) before = before->next_ready;
  before->next_ready = task->next_ready;
  if (host->last_ready == task) host->last_ready = before;
  task->next_ready = host->first_ready;
  host->first_ready = task;
}

static njl_task *take_ready(njl_host *host) {
  njl_task *task = host->first_ready;
  if (task == NULL) return NULL;
  host->first_ready = task->next_ready;
  if (host->first_ready == NULL) host->last_ready = NULL;
  task->next_ready = NULL;
  task->is_ready = false;
  host->ready--;
  return task;
}

/* --- Turns --- */

/* Ends the waits whose deadline has passed. Returns false if there are none. */
static bool expire_timers(njl_host *host) {
  if (host->timers == NULL) return false;
  njl_moment now = njl_host_now(host);
  bool is_due = host->timers->deadline <= now;
  while (host->timers != NULL && host->timers->deadline <= now) njl_wait_end(host->timers, NJL_EXPIRED);
  return is_due;
}

double njl_idle_time(const njl_host *host) {
  njl_moment next = host->limit;
  /* A virtual clock does not advance while a call is in flight. */
  bool has_timers = host->timers != NULL && host->clock == NULL;
  if (has_timers && host->timers->deadline < next) next = host->timers->deadline;
  if (next == NJL_NEVER) return -1;
  njl_moment now = njl_now();
  return next > now ? (double)(next - now) * 1e-9 : 0;
}

/* Collects the calls that have ended or have another event. If `waits`, waits for the first event, until a deadline
 * passes or njl_engine_wake is called. */
static void poll(njl_host *host, bool waits) {
  enum { BATCH = 64 };
  njl_wait *ended[BATCH];
  double timeout = waits ? njl_idle_time(host) : 0;
  size_t count;
  do {
    count = njl_engine_poll(host->engine, timeout, ended, BATCH);
    for (size_t index = 0; index < count; index++) njl_wait_end(ended[index], NJL_DONE);
    timeout = 0;
  } while (count == BATCH);
}

bool njl_turn(lua_State *L, njl_host *host, size_t most) {
  if (host->engine == NULL) return false;
  host->was_idle = false;
  host->burst = 0; /* The script has reached a wait. */
  njl_charge(host, 0);
  njl_take_interrupt(host, false);
  /* An expired timer may belong to a blocking wait; then no task is ready. */
  bool is_idle = !expire_timers(host) && (host->ready == 0 || most == 0);
  if (is_idle && host->calls == 0) {
    if (host->clock == NULL) {
      if (host->timers == NULL) return false;
    } else {
      if (!njl_clock_step(host)) return false;
      is_idle = false;
      expire_timers(host);
    }
  }
  if (is_idle && host->subrequests > 0 && njl_break_cycle(host)) is_idle = false;
  if (is_idle || host->calls > 0) poll(host, is_idle && !(host->is_stepped && host->nested == 1));
  if (is_idle) expire_timers(host);
  if (host->listeners > 0) {
    host->run_callbacks(L, host);
    if (most > 0) host->write_log(L, host);
  }
  if (host->follows && most > 0) host->show_progress(L, host);
  if (host->run_subrequests != NULL) host->run_subrequests(L, host);
  /* Runs the tasks that are ready now. Tasks that become ready meanwhile run after the next poll. */
  bool was_idle = is_idle && host->ready == 0;
  for (size_t left = host->ready < most ? host->ready : most; left > 0; left--) {
    njl_task *task = take_ready(host);
    if (task == NULL) break;
    njl_task_step(L, task);
  }
  host->was_idle = was_idle; /* The tasks may have run nested turns. */
  return true;
}

void njl_advance(lua_State *L, njl_host *host, njl_task *task, njl_deadlock *deadlock) {
  if (atomic_load(&host->is_stopped)) njl_task_cancel(task);
  if (njl_turn(L, host, SIZE_MAX)) return;
  if (!deadlock->has_occurred) deadlock->stands_still = njl_is_deadlocked(host);
  deadlock->has_occurred = true;
  njl_task_cancel(task);
}

void njl_check_deadlock(lua_State *L, const njl_deadlock *deadlock) {
  if (deadlock->has_occurred) njl_raise_deadlock(L, deadlock->stands_still);
}

void njl_run(lua_State *L, njl_host *host, njl_task *task) {
  njl_deadlock deadlock = {0};
  while (task->state != NJL_ENDED) njl_advance(L, host, task, &deadlock);
  njl_check_deadlock(L, &deadlock);
}

bool njl_is_deadlocked(const njl_host *host) { return host->clock != NULL && host->timers != NULL; }

int njl_raise_deadlock(lua_State *L, bool stands_still) {
  if (!stands_still) return luaL_error(L, "deadlock: all tasks wait for each other");
  return luaL_error(L, "deadlock: all tasks wait, and no task advances the clock of nightjar.testing");
}
