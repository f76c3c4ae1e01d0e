/* gate.c - gates: waits that Lua code ends. Channels and other synchronization objects in modules/lua/ use gates.
 *
 *   gate = gate()                creates a closed gate, a userdata
 *   gate:wait(moment or nil)     waits until the gate is open, closes it and returns true; returns false at `moment`
 *   gate:open()                  ends the current wait, or the next one; opening an open gate does nothing
 *
 * This file also contains the other functions that this Lua code needs: now, sleep_until and raise. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/gate.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/timers.h"
#include "core/wait.h"
#include "njl_future.h"

static njl_wait *check_gate(lua_State *L) { return njl_check(L, 1, NJL_GATE); }

static int waited(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_wait *gate = (njl_wait *)context;
  lua_pushboolean(L, gate->state == NJL_DONE);
  njl_host *host = gate->host;
  njl_wait_init(gate, host);
  gate->needs_tasks = true;
  return 1;
}

static int wait_at(lua_State *L) {
  njl_wait *gate = check_gate(L);
  lua_Integer moment = luaL_optinteger(L, 2, -1);
  if (gate->task != NULL) return luaL_error(L, "gate:wait: another task is already waiting for this gate");
  if (gate->state != NJL_PENDING && gate->state != NJL_DONE) {
    njl_wait_init(gate, gate->host);
    gate->needs_tasks = true;
  }
  if (gate->state == NJL_PENDING && moment >= 0) {
    gate->deadline = (njl_moment)moment;
    njl_timer_add(gate);
  }
  lua_settop(L, 1);
  return njl_await(L, gate, waited);
}

static int open_gate(lua_State *L) {
  njl_wait_end(check_gate(L), NJL_DONE);
  return 0;
}

static int gate_gc(lua_State *L) {
  njl_wait_drop(lua_touserdata(L, 1));
  return 0;
}

static int make(lua_State *L) {
  njl_wait *gate = lua_newuserdatauv(L, sizeof *gate, 0);
  njl_wait_init(gate, njl_host_of(L));
  gate->needs_tasks = true;
  njl_set_type(L, NJL_GATE);
  njl_own(L);
  return 1;
}

/* now() -> nanoseconds of the clock that waits use, since an arbitrary start */
static int now(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)njl_host_now(njl_host_of(L)));
  return 1;
}

static int woke(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 0;
}

/* sleep_until(moment) waits until now() reaches `moment`. */
static int sleep_until(lua_State *L) {
  lua_Integer moment = luaL_checkinteger(L, 1);
  lua_settop(L, 1);
  njl_wait *wait = njl_wait_push(L, njl_host_of(L));
  wait->deadline = moment > 0 ? (njl_moment)moment : 0;
  njl_timer_add(wait);
  return njl_await(L, wait, woke);
}

/* raise(kind, message): raises an error object. */
static int raise(lua_State *L) {
  static const char *const names[] = {"closed", "timeout", "too_large", "storage", "script", "invalid_argument", NULL};
  static const njl_kind kinds[] = {NJL_KIND_CLOSED,  NJL_KIND_TIMEOUT, NJL_KIND_TOO_LARGE,
                                   NJL_KIND_STORAGE, NJL_KIND_SCRIPT,  NJL_KIND_INVALID_ARGUMENT};
  int kind = luaL_checkoption(L, 1, NULL, names);
  int phase = kinds[kind] == NJL_KIND_TIMEOUT ? NJL_PHASE_TOTAL : 0;
  return njl_raise(L, kinds[kind], phase, "%s", luaL_checkstring(L, 2));
}

void njl_add_gates(lua_State *L, int table) {
  static const luaL_Reg functions[] = {
      {"gate", make}, {"now", now}, {"sleep_until", sleep_until}, {"raise", raise}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", gate_gc}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"wait", wait_at}, {"open", open_gate}, {NULL, NULL}};
  njl_add_type(L, NJL_GATE, meta, methods, NULL);
  njl_add_functions(L, table, functions);
}
