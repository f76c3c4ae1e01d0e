/* coroutine.c - coroutine.resume, wrap, yield and close that support waits.
 *
 * A generator that waits yields the host's token to its resumer. The resumer passes the token on to its own resumer,
 * down to the loop. When the loop resumes the task, each resumer resumes the next coroutine, up to the generator. So
 * a script's own coroutines can do I/O.
 *
 * The token stays on the stack of each coroutine that passed it, and on the stack of the task's coroutine. While the
 * token is on a coroutine's stack, a script can neither resume nor close the coroutine: the wait belongs to the task.
 */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdatomic.h>

#include "core/coroutine.h"
#include "core/host.h"
#include "core/interrupt.h"
#include "core/metatable.h"
#include "core/stopping.h"
#include "core/wait.h"

int njl_close_coroutine(njl_host *host, lua_State *co) {
  if (njl_is_abandoned(co)) return LUA_OK;
  lua_State *outer = host->running;
  bool outer_yields = host->yields;
  host->running = co;
  host->yields = false;
  if (atomic_load(&host->is_stopped)) njl_arm_stopped(host, co);
  else if (host->is_session) njl_disarm(co);
  njl_enter(host);
  int status = lua_resetthread(co);
  njl_leave(host);
  host->running = outer;
  host->yields = outer_yields;
  return status;
}

static void check_depth(lua_State *L, njl_host *host) {
  if (njl_is_deeper(host, NJL_DEEPEST)) luaL_error(L, "too many nested coroutine closes");
}

/* Returns from coroutine.resume: true and the results, or false and the error. */
static int finish_resume(lua_State *L, bool succeeded, int results) {
  lua_pushboolean(L, succeeded);
  lua_insert(L, -results - 1);
  return results + 1;
}

/* Returns the results from coroutine.wrap, or raises the error. Adds a position to an error that is a string. */
static int finish_wrap(lua_State *L, bool succeeded, int results) {
  if (succeeded) return results;
  njl_host *host = njl_host_of(L);
  lua_State *co = lua_tothread(L, 1);
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) {
    check_depth(L, host);
    status = njl_close_coroutine(host, co);
    if (lua_checkstack(co, 1) && status != LUA_OK) {
      lua_pop(L, 1);
      lua_xmove(co, L, 1);
    }
  }
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

/* --- Closing a waiting generator with its task --- */

static const char NJL_GUARD[] = "nightjar.guard";

/* A to-be-closed value at index 2 of a resumer while the resumed coroutine waits. Its user value is that coroutine. */
typedef struct guard {
  njl_host *host;
  bool is_armed;
} guard;

static int guard_close(lua_State *L) {
  guard *self = njl_check(L, 1, NJL_GUARD);
  if (!self->is_armed) return 0;
  self->is_armed = false;
  lua_getiuservalue(L, 1, 1);
  lua_State *co = lua_tothread(L, -1);
  int status = lua_status(co);
  if (status != LUA_YIELD) return 0;
  check_depth(L, self->host);
  if (njl_close_coroutine(self->host, co) == LUA_OK) return 0;
  lua_xmove(co, L, 1);
  return lua_error(L);
}

/* Pushes a guard. Without the guard, the <close> variables of a generator would not be closed when its task is
 * cancelled. */
static void push_guard(lua_State *L, njl_host *host) {
  static const luaL_Reg meta[] = {{"__close", guard_close}, {NULL, NULL}};
  guard *self = lua_newuserdatauv(L, sizeof *self, 1);
  *self = (guard){.host = host, .is_armed = true};
  njl_push_metatable(L, NJL_GUARD, meta);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_toclose(L, -1);
}

/* --- Resuming --- */

#define WAITS "this coroutine waits for nightjar and cannot be "

static int after_resume(lua_State *L, int status, lua_KContext context);

/* Resumes the coroutine at index 1 with the values above it. `context` is 0 for resume, 1 for wrap. */
static int go(lua_State *L, int arguments, lua_KContext context) {
  njl_host *host = njl_host_of(L);
  lua_State *co = lua_tothread(L, 1);
  bool succeeded = false;
  int results = 1;
  if (njl_is_waiting(co)) {
    lua_pushliteral(L, WAITS "resumed");
  } else if (!lua_checkstack(co, arguments)) {
    lua_pushliteral(L, "too many arguments to resume");
  } else {
    lua_xmove(L, co, arguments);
    lua_State *outer = host->running;
    bool outer_yields = host->yields;
    /* Waits in the coroutine may yield through this function only if the function itself may yield. */
    bool yields = outer_yields && L == outer && lua_isyieldable(L);
    host->running = co;
    host->yields = yields;
    /* This call must follow the assignment to `running`. Otherwise a signal between the two would be lost. */
    njl_charge(host, lua_status(co) == LUA_OK ? NJL_START_CHARGE : 0);
    int status = LUA_OK;
    if (!njl_is_stopped(host)) status = lua_resume(co, L, arguments, &results);
    host->running = outer;
    host->yields = outer_yields;
    succeeded = status == LUA_OK || status == LUA_YIELD;
    if (!succeeded && atomic_load(&host->is_stopped)) njl_abandon(co);
    if (status == LUA_YIELD && yields && results == 1 && njl_is_token(co, -1)) {
      lua_settop(L, 1);
      push_guard(L, host);
      njl_push_token(L);
      return lua_yieldk(L, 1, context, after_resume);
    }
    if (njl_is_stopped(host)) return njl_raise_stopped(L, host);
    if (!succeeded) {
      results = 1;
      lua_xmove(co, L, 1);
    } else if (!lua_checkstack(L, results + 1)) {
      lua_pop(co, results);
      lua_pushliteral(L, "too many results to resume");
      results = 1;
      succeeded = false;
    } else {
      lua_xmove(co, L, results);
    }
  }
  return context == 0 ? finish_resume(L, succeeded, results) : finish_wrap(L, succeeded, results);
}

static int after_resume(lua_State *L, int status, lua_KContext context) {
  (void)status;
  guard *self = lua_touserdata(L, 2);
  self->is_armed = false;
  lua_closeslot(L, 2); /* Not lua_settop: in Lua 5.4.4 it fails if closing reallocates the stack. */
  lua_settop(L, 1);
  lua_State *co = lua_tothread(L, 1);
  if (njl_is_waiting(co)) lua_pop(co, 1);
  return go(L, 0, context);
}

static int co_resume(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTHREAD);
  return go(L, lua_gettop(L) - 1, 0);
}

static int call_wrapped(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_insert(L, 1);
  return go(L, lua_gettop(L) - 1, 1);
}

static int co_wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, call_wrapped, 2);
  return 1;
}

/* Returns whether the coroutine is suspended or dead, as coroutine.status reports it. */
static bool can_be_closed(lua_State *L, lua_State *co) {
  lua_Debug frame;
  if (L == co) return false;
  if (lua_status(co) != LUA_OK) return true;
  return lua_getstack(co, 0, &frame) == 0;
}

/* coroutine.close(co) -> true, or false and the error */
static int co_close(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTHREAD);
  lua_State *co = lua_tothread(L, 1);
  if (!can_be_closed(L, co)) return luaL_error(L, "cannot close a running coroutine");
  if (njl_is_waiting(co)) return luaL_error(L, WAITS "closed; cancel its task");
  if (njl_is_abandoned(co)) {
    lua_pushboolean(L, false);
    lua_pushliteral(L, "the coroutine was ended by a limit or an interrupt");
    return 2;
  }
  njl_host *host = njl_host_of(L);
  check_depth(L, host);
  bool succeeded = njl_close_coroutine(host, co) == LUA_OK;
  lua_pushboolean(L, succeeded);
  if (succeeded) return 1;
  lua_xmove(co, L, 1);
  return 2;
}

/* coroutine.yield. Raises an error in a task's own coroutine, because no script code can resume it. */
static int co_yield(lua_State *L) {
  njl_task *task = njl_host_of(L)->current;
  if (L == task->thread) return luaL_error(L, "attempt to yield from outside a coroutine");
  return lua_yield(L, lua_gettop(L));
}

void njl_open_coroutine(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"resume", co_resume}, {"wrap", co_wrap}, {"yield", co_yield}, {"close", co_close}, {NULL, NULL}};
  if (lua_getglobal(L, LUA_COLIBNAME) == LUA_TTABLE) njl_add_functions(L, -1, functions);
  lua_pop(L, 1);
}
