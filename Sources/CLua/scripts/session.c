/* session.c - interactive sessions: nightjar.command.session, for the command only.
 *
 * Evaluations run one after another in the foreground, each in its own task. When an evaluation ends, the tasks that
 * it spawned continue in the background and belong to the session. Ctrl-C ends the evaluation. Without an evaluation,
 * or if the evaluation does not end, Ctrl-C ends the task whose code is running. If there is neither an evaluation nor
 * a running task, Ctrl-C notifies the program, which waits at the terminal. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdatomic.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/interrupt.h"
#include "core/metatable.h"
#include "core/task.h"
#include "core/timers.h"
#include "core/wait.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "modules/modules.h"
#include "njl_script.h"
#include "njl_sessions.h"

/* session.begin(): until the run ends, Ctrl-C works as described above, and new clients are recorded. */
static int begin(lua_State *L) {
  njl_host *host = njl_host_of(L);
  njl_session_begin(host->engine);
  host->is_session = true;
  host->was_interrupted = false;
  atomic_store(&host->is_interrupted, false);
  return 0;
}

/* session.foreground(task) sets the foreground task; session.foreground() clears it. */
static int set_foreground(lua_State *L) {
  njl_host *host = njl_host_of(L);
  njl_session_pause_tracking(host->engine);
  host->foreground = lua_isnoneornil(L, 1) ? NULL : njl_check(L, 1, NJL_TASK);
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, "nightjar.foreground"); /* The registry keeps the task alive. */
  return 0;
}

/* session.release(): the children of the running task become children of the session. */
static int release(lua_State *L) {
  njl_task *task = njl_host_of(L)->current;
  for (njl_task *child = task->first_child; child != NULL;) {
    njl_task *next = child->next;
    njl_task_leave_to_script(child);
    child = next;
  }
  return 0;
}

/* session.attend(boolean) sets whether a wait of the program ends on Ctrl-C and when a background task fails. */
static int attend(lua_State *L) {
  njl_host_of(L)->attends = lua_toboolean(L, 1);
  return 0;
}

static int input_is_there(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_check_work(L, (njl_wait *)context);
  return 0;
}

/* session.await_input() waits until standard input is readable, or until Ctrl-C or a failed background task ends the
 * wait (session.attend). */
static int await_input(lua_State *L) {
  enum { STANDARD_INPUT = 0 };
  lua_settop(L, 0);
  return njl_await_descriptor(L, njl_host_of(L), STANDARD_INPUT, false, NJL_NEVER, input_is_there);
}

/* session.was_interrupted() -> whether a Ctrl-C has notified the program since the last call */
static int was_interrupted(lua_State *L) {
  njl_host *host = njl_host_of(L);
  lua_pushboolean(L, host->was_interrupted);
  host->was_interrupted = false;
  return 1;
}

/* session.failures() -> a list of { error =, traceback = } of failed background tasks; each is returned once */
static int failures(lua_State *L) {
  njl_host *host = njl_host_of(L);
  lua_Integer count = 0;
  lua_newtable(L);
  for (njl_task *task = host->script != NULL ? host->script->first_child : NULL; task != NULL;) {
    njl_task *next = task->next;
    if (task->state == NJL_ENDED && task->status != LUA_OK && !task->is_observed) {
      if (task->status != NJL_WAS_CANCELLED || task->is_interrupted) {
        lua_createtable(L, 0, 2);
        if (njl_push_anchored(L, task)) {
          njl_task_push_error(L, -1);
          lua_setfield(L, -3, "error");
          lua_getiuservalue(L, -1, NJL_TASK_TRACEBACK);
          lua_setfield(L, -3, "traceback");
          lua_pop(L, 1);
        }
        lua_rawseti(L, -2, ++count);
      }
      task->is_observed = true;
      njl_task_leave(task);
      njl_release_anchor(L, task);
    }
    task = next;
  }
  return 1;
}

/* session.background() -> the number of background tasks that have not ended */
static int background(lua_State *L) {
  njl_host *host = njl_host_of(L);
  lua_Integer count = 0;
  for (njl_task *task = host->script != NULL ? host->script->first_child : NULL; task != NULL; task = task->next) {
    if (task->state != NJL_ENDED && task != host->foreground) count++;
  }
  lua_pushinteger(L, count);
  return 1;
}

/* session.is_background() -> whether the running task is neither the program nor the foreground task or a descendant of
 * the foreground task */
static int is_background(lua_State *L) {
  njl_host *host = njl_host_of(L);
  lua_pushboolean(L, host->current != host->script && !njl_is_followed(host));
  return 1;
}

/* session.cancel_background() cancels all children of the program's task. */
static int cancel_background(lua_State *L) {
  njl_host *host = njl_host_of(L);
  for (njl_task *task = host->script != NULL ? host->script->first_child : NULL; task != NULL; task = task->next) {
    task->is_observed = true;
    njl_task_cancel(task);
  }
  return 0;
}

/* session.step(number) assigns later exchanges of clients to the step with this number */
static int step(lua_State *L) {
  njl_session_step(njl_host_of(L)->engine, luaL_checkinteger(L, 1));
  return 0;
}

/* session.cassettes(selection) -> the replayable exchanges of the selected steps. njl_sessions.h describes the
 * selection and the result. */
static int cassettes(lua_State *L) {
  njl_host *host = njl_host_of(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  njl_json_encode(L, 1, "selection");
  njl_bytes requested;
  requested.data = lua_tolstring(L, 2, &requested.length);
  njl_loan *loan = njl_loan_push(L);
  njl_reply *error = njl_error_push(L);
  loan->text = njl_session_cassettes(host->engine, requested, &error->wait.call);
  if (loan->text == NULL) return lua_error(L);
  njl_loan_push_json(L, loan, "the cassettes");
  return 1;
}

/* Passes the njl_session_state at index 1 to the progress function. */
static int show_state(lua_State *L) {
  const njl_session_state *state = lua_touserdata(L, 1);
  if (lua_getfield(L, LUA_REGISTRYINDEX, "nightjar.follower") != LUA_TFUNCTION) return 0;
  lua_createtable(L, 0, 6);
  njl_set_count(L, state->sent, "sent");
  njl_set_count(L, state->sent_total, "sent_total");
  njl_set_count(L, state->received, "received");
  njl_set_count(L, state->received_total, "received_total");
  lua_pushinteger(L, (lua_Integer)state->calls);
  lua_setfield(L, -2, "calls");
  lua_pushnumber(L, state->seconds);
  lua_setfield(L, -2, "seconds");
  lua_call(L, 1, 0);
  return 0;
}

/* Calls the progress function if the progress has changed. If the function raises an error, discards the error, which
 * is unrelated to the running task, and does not call the function again. */
static void show_progress(lua_State *L, njl_host *host) {
  njl_session_state state;
  if (host->engine == NULL || !lua_checkstack(L, LUA_MINSTACK) || !njl_session_progress(host->engine, &state)) return;
  lua_State *outer_thread = host->running;
  bool outer_yields = host->yields;
  host->running = L;
  host->yields = false;
  host->follows = false; /* The progress function's own calls are not reported. */
  lua_pushcfunction(L, show_state);
  lua_pushlightuserdata(L, &state);
  host->follows = lua_pcall(L, 1, 0, 0) == LUA_OK;
  if (!host->follows) lua_pop(L, 1);
  host->running = outer_thread;
  host->yields = outer_yields;
}

/* session.follow(f): f receives the progress of the foreground calls as a table with the members of
 * njl_session_state. */
static int follow(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, "nightjar.follower");
  njl_host_of(L)->show_progress = show_progress;
  njl_host_of(L)->follows = true;
  return 0;
}

int njl_open_session(lua_State *L) {
  static const luaL_Reg functions[] = {{"begin", begin},
                                       {"follow", follow},
                                       {"step", step},
                                       {"cassettes", cassettes},
                                       {"foreground", set_foreground},
                                       {"release", release},
                                       {"attend", attend},
                                       {"await_input", await_input},
                                       {"was_interrupted", was_interrupted},
                                       {"failures", failures},
                                       {"background", background},
                                       {"is_background", is_background},
                                       {"cancel_background", cancel_background},
                                       {"is_secret", njl_is_secret},
                                       {"redact", njl_redact},
                                       {NULL, NULL}};
  luaL_newlibtable(L, functions);
  njl_add_functions(L, -1, functions);
  return 1;
}
