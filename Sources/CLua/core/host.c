/* host.c - one host per Lua state: the event loop, which polls for ended calls and resumes the tasks that waited for
 * them. Only resume() in this file resumes tasks; ending a wait only puts its task into the ready list. */
#include <string.h>

#include "core/core.h"

/* Registry key of the host. */
static char host_key;

/* User values of the host: the tasks that have not ended, by address; the objects created by finalizers; and the
 * error last passed to another task (a weak reference), with its traceback. */
enum { ANCHORS = 1, LATE, REPORTED, VALUES = REPORTED };
enum { REPORTED_ERROR = 1, REPORTED_TRACEBACK };

/* While a finalizer runs, lua_gc returns -1. */
bool njl_is_finalizing(lua_State *L) { return lua_gc(L, LUA_GCCOUNT) < 0; }

void njl_own(lua_State *L) {
  if (!njl_is_finalizing(L)) return;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key) == LUA_TUSERDATA && lua_getiuservalue(L, -1, LATE) == LUA_TTABLE) {
    lua_pushvalue(L, -3);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int end_late(lua_State *L) {
  lua_getiuservalue(L, 1, LATE);
  for (lua_pushnil(L); lua_next(L, 2) != 0;) {
    lua_pop(L, 1);
    if (luaL_getmetafield(L, 3, "__gc") == LUA_TNIL) continue;
    lua_pushvalue(L, 3);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  }
  return 0;
}

/* The host's userdata is created first, so it is finalized last when the state closes. */
static int host_gc(lua_State *L) {
  njl_host *host = lua_touserdata(L, 1);
  lua_pushcfunction(L, end_late);
  lua_pushvalue(L, 1);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  njl_engine *engine = host->engine;
  host->engine = NULL;
  njl_engine_free(engine);
  njl_client_release(host->client);
  host->client = NULL;
  return 0;
}

bool njl_host_is_open(lua_State *L) {
  bool is_open = lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key) == LUA_TUSERDATA;
  lua_pop(L, 1);
  return is_open;
}

static void push_reported(lua_State *L) {
  lua_createtable(L, REPORTED_TRACEBACK, 0);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

njl_host *njl_host_open(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key) == LUA_TUSERDATA) {
    njl_host *known = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return known;
  }
  lua_pop(L, 1);
  njl_host *host = lua_newuserdatauv(L, sizeof *host, VALUES);
  *host = (njl_host){.stop_reason = "interrupted", .limit = NJL_NEVER};
  host->root.host = host;
  host->root.state = NJL_RUNNING;
  host->current = &host->root;
  lua_newtable(L);
  lua_setiuservalue(L, -2, ANCHORS);
  push_reported(L);
  lua_setiuservalue(L, -2, REPORTED);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_setiuservalue(L, -2, LATE);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, host_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  host->engine = njl_engine_new();
  if (host->engine == NULL) luaL_error(L, "not enough memory");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &host_key);
  return host;
}

void njl_enter(njl_host *host) {
  if (host->nested++ == 0) host->base = (uintptr_t)__builtin_frame_address(0);
}

void njl_leave(njl_host *host) { host->nested--; }

bool njl_is_deeper(const njl_host *host, size_t bytes) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  return host->nested > 0 && here < host->base && host->base - here > bytes;
}

njl_host *njl_host_of(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

static void push_value(lua_State *L, int place) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key);
  lua_getiuservalue(L, -1, place);
  lua_replace(L, -2);
}

static void push_anchors(lua_State *L) { push_value(L, ANCHORS); }

void njl_anchor(lua_State *L, njl_task *task, int index) {
  index = lua_absindex(L, index);
  push_anchors(L);
  lua_pushvalue(L, index);
  lua_rawsetp(L, -2, task);
  lua_pop(L, 1);
}

/* Removing an existing key cannot raise. */
void njl_release_anchor(lua_State *L, njl_task *task) {
  push_anchors(L);
  lua_pushnil(L);
  lua_rawsetp(L, -2, task);
  lua_pop(L, 1);
}

bool njl_push_anchored(lua_State *L, njl_task *task) {
  push_anchors(L);
  bool is_anchored = lua_rawgetp(L, -1, task) == LUA_TUSERDATA;
  lua_remove(L, -2);
  if (!is_anchored) lua_pop(L, 1);
  return is_anchored;
}

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

/* --- The end of a task --- */

/* Leaves a failed task, whose error was not observed, to the script. Its userdata, which holds the error, can then
 * be found through its dead thread, which refers to it. */
static void skip_undecided(lua_State *L, njl_task *task) {
  bool is_dead = task->results > 0; /* Otherwise the script could even resume the thread. */
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

/* The first error that was not observed becomes the error of the parent. */
static void adopt_failure(lua_State *L, njl_task *parent) {
  njl_task *child = parent->failed;
  if (parent->status != LUA_OK) return;
  if (child == NULL) { /* Other failed children may exist while the script keeps them alive. */
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

/* Ends the task if its function has returned and its children have ended; then its parent under the same condition,
 * and so on. */
static void end(lua_State *L, njl_task *task) {
  njl_host *host = task->host;
  while (task != NULL && task->state == NJL_ENDING && task->unended == 0) {
    adopt_failure(L, task);
    forget_children(L, task);
    task->state = NJL_ENDED;
    njl_task_drop_subrequests(task);
    while (task->joiners != NULL) njl_wait_end(task->joiners, NJL_DONE);
    if (task->group != NULL) njl_group_child_ended(task->group, task);
    njl_task *parent = task->parent;
    parent->unended--;
    /* The parent keeps a failed child until the error is observed or the parent ends; the root keeps none. It keeps
     * only one: others are kept by the script alone, so that they do not pile up in a long-lived parent. */
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

static void finish(lua_State *L, njl_task *task) {
  if (task->wait != NULL) njl_wait_end(task->wait, NJL_CANCELLED);
  task->state = NJL_ENDING; /* from now on, the end of a wait does not make the task ready */
  if (task->status != LUA_OK) {
    for (njl_task *child = task->first_child; child != NULL; child = child->next) njl_task_cancel(child);
  }
  end(L, task);
}

/* --- Results --- */

/* Moves the results of the task at index 1 from its thread into a list. Used if there are several. */
static int pack_results(lua_State *L) {
  njl_task *task = lua_touserdata(L, 1);
  lua_createtable(L, task->results, 0);
  /* Finalizers ran and may have changed the thread. */
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

/* Returns whether the thread of a suspended task is in the state in which the loop left it. Only a script that saved
 * coroutine.resume or coroutine.close before nightjar was loaded can change it; the thread may even be running. */
static bool is_intact(const njl_task *task) {
  lua_State *thread = task->thread;
  lua_Debug frame;
  if (task->state == NJL_SUSPENDED) return lua_status(thread) == LUA_YIELD;
  return lua_status(thread) == LUA_OK && lua_gettop(thread) == task->results + 1 && lua_getstack(thread, 0, &frame) == 0;
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

/* --- Running --- */

/* The longest traceback, in bytes: that of a task, which Lua shortens to 22 lines, plus those of the tasks that it
 * joined. */
#define LONGEST_TRACEBACK (16 * 1024)

/* Pushes the task's traceback. If its error came from a task that it joined, that task's traceback comes first. */
static void push_traceback(lua_State *L, const njl_task *task) {
  static const char title[] = "stack traceback:";
  luaL_traceback(L, task->thread, NULL, 0);
  size_t length;
  const char *own = lua_tostring(L, -1);
  push_value(L, REPORTED);
  lua_rawgeti(L, -1, REPORTED_ERROR);
  if (lua_gettop(task->thread) == 0) {
    lua_pop(L, 2);
    return;
  }
  lua_pushvalue(task->thread, -1);
  lua_xmove(task->thread, L, 1);
  bool is_reported = !lua_isnil(L, -1) && lua_rawequal(L, -1, -2);
  lua_rawgeti(L, -3, REPORTED_TRACEBACK);
  const char *reported = lua_tolstring(L, -1, &length);
  if (is_reported && reported != NULL && length < LONGEST_TRACEBACK && strncmp(own, title, sizeof title - 1) == 0) {
    lua_pushfstring(L, "%s\nawaited by:%s", reported, own + sizeof title - 1);
    lua_replace(L, -6);
  }
  lua_pop(L, 4);
}

static int make_traceback(lua_State *L) {
  njl_task *task = lua_touserdata(L, 1);
  if (!lua_checkstack(task->thread, 1)) return 0;
  push_anchors(L);
  lua_rawgetp(L, -1, task);
  push_traceback(L, task);
  lua_setiuservalue(L, -2, NJL_TASK_TRACEBACK);
  return 0;
}

/* Both slots exist, so nothing is allocated. */
void njl_remember_reported(lua_State *L, int index) {
  index = lua_absindex(L, index);
  push_value(L, REPORTED);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, REPORTED_ERROR);
  lua_getiuservalue(L, index, NJL_TASK_TRACEBACK);
  lua_rawseti(L, -2, REPORTED_TRACEBACK);
  lua_pop(L, 1);
}

static void keep_traceback(lua_State *L, njl_task *task) {
  lua_pushcfunction(L, make_traceback);
  lua_pushlightuserdata(L, task);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1); /* Out of memory: there is no traceback. */
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
      if (atomic_load(&host->is_stopped)) keep_traceback(L, task); /* The stop ended the task at this point. */
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
    keep_traceback(L, task);
    if (atomic_load(&host->is_stopped)) abandon_thread(L, task);
    else close_thread(L, task);
    if (task->status == LUA_OK) task->status = status;
    if (task->is_cancelled) task->status = NJL_WAS_CANCELLED;
  }
  finish(L, task);
}

static void step(lua_State *L, njl_task *task) {
  njl_host *host = task->host;
  if (task->state != NJL_NEW && task->state != NJL_SUSPENDED) return;
  host->burst = 0;
  njl_charge(host, task->state == NJL_NEW ? NJL_START_CHARGE : 0);
  if (atomic_load(&host->is_stopped)) njl_task_cancel(task);
  if (!is_intact(task)) {
    task->status = task->is_cancelled ? NJL_WAS_CANCELLED : LUA_ERRRUN;
    task->results = 0;
    return finish(L, task);
  }
  if (!task->is_cancelled) return resume(L, task);
  close_thread(L, task);
  if (task->status == LUA_OK) task->status = NJL_WAS_CANCELLED;
  finish(L, task);
}

/* Returns false if no timer was due. */
static bool expire_timers(njl_host *host) {
  if (host->timers == NULL) return false;
  njl_moment now = njl_host_now(host);
  bool is_due = host->timers->deadline <= now;
  while (host->timers != NULL && host->timers->deadline <= now) njl_wait_end(host->timers, NJL_EXPIRED);
  return is_due;
}

/* Collects the calls that have ended. If `is_idle`, waits for the first one. */
static void poll(njl_host *host, bool is_idle) {
  enum { BATCH = 64 };
  njl_wait *ended[BATCH];
  double timeout = 0;
  if (is_idle) {
    timeout = -1;
    njl_moment next = host->limit;
    /* A virtual clock stands still while a call is in flight. */
    bool has_timers = host->timers != NULL && host->clock == NULL;
    if (has_timers && host->timers->deadline < next) next = host->timers->deadline;
    if (next != NJL_NEVER) {
      njl_moment now = njl_now();
      timeout = next > now ? (double)(next - now) * 1e-9 : 0;
    }
  }
  size_t count;
  do {
    count = njl_engine_poll(host->engine, timeout, ended, BATCH);
    for (size_t index = 0; index < count; index++) njl_wait_end(ended[index], NJL_DONE);
    timeout = 0;
  } while (count == BATCH);
}

bool njl_turn(lua_State *L, njl_host *host, size_t most) {
  if (host->engine == NULL) return false;
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
  if (is_idle || host->calls > 0) poll(host, is_idle);
  if (is_idle) expire_timers(host);
  if (host->listeners > 0) {
    host->ask_logins(L, host);
    if (most > 0) host->write_log(L, host);
  }
  if (host->follows && most > 0) host->show_progress(L, host);
  if (host->run_subrequests != NULL) host->run_subrequests(L, host);
  /* Runs the tasks that are ready now. Tasks that become ready meanwhile run after the next poll. */
  for (size_t left = host->ready < most ? host->ready : most; left > 0; left--) {
    njl_task *task = take_ready(host);
    if (task == NULL) break;
    step(L, task);
  }
  return true;
}

void njl_stop(njl_host *host, const char *reason) {
  if (atomic_load(&host->is_stopped)) return;
  atomic_store(&host->stop_reason, reason);
  atomic_store(&host->is_stopped, true);
}

void njl_charge(njl_host *host, uint64_t instructions) {
  host->instructions += instructions;
  host->burst += instructions;
  if (host->most_instructions != 0 && host->instructions > host->most_instructions) {
    njl_stop(host, "the script exceeded its instruction limit");
  } else if (host->longest_burst != 0 && host->burst > host->longest_burst) {
    njl_stop(host, "the script exceeded its limit of instructions without a wait");
  } else if (host->limit != NJL_NEVER && njl_now() > host->limit) {
    njl_stop(host, "the script exceeded its time limit");
  }
}

void njl_run(lua_State *L, njl_host *host, njl_task *task) {
  bool is_deadlock = false, stands_still = false;
  while (task->state != NJL_ENDED) {
    if (atomic_load(&host->is_stopped)) njl_task_cancel(task);
    if (!njl_turn(L, host, SIZE_MAX)) {
      if (!is_deadlock) stands_still = njl_is_deadlocked(host);
      is_deadlock = true;
      njl_task_cancel(task);
    }
  }
  if (is_deadlock) njl_raise_deadlock(L, stands_still);
}

bool njl_is_deadlocked(const njl_host *host) { return host->clock != NULL && host->timers != NULL; }

int njl_raise_deadlock(lua_State *L, bool stands_still) {
  if (!stands_still) return luaL_error(L, "deadlock: all tasks wait for each other");
  return luaL_error(L, "deadlock: all tasks wait, and no task advances the clock of nightjar.testing");
}
