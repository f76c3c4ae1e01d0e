/* stopping.c - ends runs at limits and interrupts.
 *
 * A count hook checks the limits. A coroutine that can yield is ended by a yield, which no pcall catches. The loop then
 * closes its task, and its <close> variables run with the hook on. Inside a C function that cannot yield, the hook
 * raises an error. Lua then keeps hooks off in that coroutine until a pcall has caught the error. Therefore message
 * handlers of the script are not called (bounded.c), and a coroutine that failed with the error is never closed.
 *
 * C functions of a sandbox whose work grows with their input count the work with njl_spend. */
#include <limits.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdatomic.h>

#include "core/interrupt.h"
#include "core/state.h"
#include "core/stopping.h"
#include "core/timers.h"
#include "njl_engine.h"
#include "njl_script.h"

/* The number of instructions between two checks of the limits. */
enum { HOOK_STEP = 1000 };
/* The number of instructions for the closers of each coroutine that is closed after the stop, and for all closers
 * together. */
enum { CLOSING_STEP = 1000, CLOSING_TOTAL = 1000 * 1000 };

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

static njl_script *script_of(lua_State *L) { return *(njl_script **)lua_getextraspace(L); }

/* Returns the number of instructions until the next check. The number is smaller if large blocks exist, because one
 * instruction may copy, compare or search a whole block. */
static int hook_step(const njl_script *script) {
  if (!script->options.is_sandboxed || script->large == 0) return HOOK_STEP;
  size_t step = HOOK_STEP * 4 / (script->large / LARGE_BLOCK + 1);
  return step > HOOK_STEP ? HOOK_STEP : step > 0 ? (int)step : 1;
}

/* Checks the limits and interrupts. The hook yields only to end the run: scripts may rely on not being suspended
 * between two waits. */
static void hook(lua_State *L, lua_Debug *record) {
  (void)record;
  njl_script *script = script_of(L);
  njl_host *host = script->host;
  njl_charge(host, (uint64_t)lua_gethookcount(L));
  bool was_taken = njl_take_interrupt(host, true);
  int step = hook_step(script);
  if (njl_is_stopped(host)) {
    njl_raise_stopped(L, host);
  } else if (was_taken && host->was_interrupted && !host->attends) {
    host->was_interrupted = false; /* The program computes and does not wait: the error below notifies it. */
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted");
  } else if (lua_gethookcount(L) != step) {
    if (script->options.is_interruptible) lua_sethook(L, hook, LUA_MASKCOUNT, step);
    else lua_sethook(L, NULL, 0, 0);
  }
}

void njl_watch(njl_script *script, lua_State *L) {
  if (script->options.is_interruptible) lua_sethook(L, hook, LUA_MASKCOUNT, HOOK_STEP);
}

/* Sets the hook for the next instruction. Setting the hook resets its count, so the instructions since the last check
 * are counted as HOOK_STEP. */
void njl_poll_soon(njl_script *script, uint64_t steps) {
  njl_host *host = script->host;
  if (!script->options.is_sandboxed || !script->options.is_interruptible) return;
  if (host == NULL || host->running == NULL) return;
  if (lua_gethook(host->running) != hook) return;
  host->instructions += HOOK_STEP + steps;
  host->burst += HOOK_STEP + steps;
  lua_sethook(host->running, hook, LUA_MASKCOUNT, 1);
}

/* Ends the running code by a yield, or by an error if the coroutine cannot yield. If a pcall catches the error, the
 * hook raises it again at the next instruction. */
int njl_raise_stopped(lua_State *L, njl_host *host) {
  lua_sethook(L, hook, LUA_MASKCOUNT, 1);
  if (atomic_load(&host->is_stopped) && lua_isyieldable(L)) return lua_yield(L, 0);
  return luaL_error(L, "%s", atomic_load(&host->stop_reason));
}

void njl_arm_stopped(njl_host *host, lua_State *L) {
  bool has_time = host->closing < CLOSING_TOTAL;
  if (has_time) host->closing += CLOSING_STEP;
  lua_sethook(L, hook, LUA_MASKCOUNT, has_time ? CLOSING_STEP : 1);
}

void njl_disarm(lua_State *L) { lua_sethook(L, NULL, 0, 0); }

/* Does nothing. A coroutine with this hook failed while the host was stopped. */
static void no_hook(lua_State *L, lua_Debug *record) { (void)L, (void)record; }

void njl_abandon(lua_State *L) { lua_sethook(L, no_hook, LUA_MASKCOUNT, INT_MAX); }

bool njl_is_abandoned(lua_State *L) { return lua_gethook(L) == no_hook; }

/* --- C functions with unbounded work --- */

void njl_spend(lua_State *L, njl_host *host, uint64_t steps) {
  enum { STEP = 1000 };
  host->unchecked += steps;
  if (host->unchecked >= STEP) {
    uint64_t all = host->unchecked;
    host->unchecked = 0;
    njl_charge(host, all);
  }
  if (atomic_load_explicit(&host->is_stopped, memory_order_relaxed)) njl_raise_stopped(L, host);
}

/* --- Interrupts --- */

void njl_script_wake(njl_script *script) { njl_engine_wake(script->host->engine); }

void njl_script_interrupt(njl_script *script) {
  njl_stop(script->host, "interrupted");
  njl_engine_wake(script->host->engine);
}

void njl_script_interrupt_from_signal(njl_script *script) {
  if (script->host->is_session) atomic_store(&script->host->is_interrupted, true);
  else njl_stop(script->host, "interrupted");
  lua_State *running = script->host->running;
  if (running != NULL) lua_sethook(running, hook, LUA_MASKCOUNT, 1);
}
