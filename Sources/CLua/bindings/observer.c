/* observer.c - the option observer of a client: a function that receives the steps of the client's calls.
 *
 * One task passes all waiting steps to the function, so that the steps arrive in order even if the function waits. The task
 * is a child of the root task and owns the notification, from which it takes the steps. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/interrupt.h"
#include "core/task.h"
#include "bindings/bindings.h"
#include "json/json.h"
#include "njl_callbacks.h"

/* Reports the error on top of the stack as a warning, because it is unrelated to the tasks of the script. Raises the
 * error if the task must end. */
static void report(lua_State *L, const njl_host *host) {
  if (host->current->is_cancelled || njl_is_stopped(host)) lua_error(L);
  njl_push_message(L, -1);
  lua_warning(L, "nightjar: the observer failed: ", 1);
  lua_warning(L, lua_tostring(L, -1), 0);
}

/* Passes the waiting steps to the observer at index 1. Also the continuation of the observer. */
static int pass_steps(lua_State *L, int status, lua_KContext context) {
  njl_host *host = njl_host_open(L);
  for (;;) {
    if (status != LUA_OK && status != LUA_YIELD) report(L, host);
    lua_settop(L, 1);
    njl_loan *loan = njl_loan_push(L);
    loan->text = njl_callback_take_step(host->current->callback);
    if (loan->text == NULL) return 0;
    lua_pushvalue(L, 1);
    njl_loan_push_json(L, loan, "the step");
    status = lua_pcallk(L, 1, 0, 0, context, pass_steps);
  }
}

/* Runs as a task with the observer as its argument. */
static int observe(lua_State *L) { return pass_steps(L, LUA_OK, 0); }

int njl_push_observer_call(lua_State *L) {
  lua_getiuservalue(L, -1, NJL_CLIENT_OBSERVER);
  lua_pushcfunction(L, observe);
  lua_replace(L, -3);
  return 1;
}
