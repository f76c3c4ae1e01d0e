/* clock.c - nightjar.testing.clock: a virtual clock for tests.
 *
 * While a clock exists, all waits with a deadline use it: sleep, timeout, debounce, throttle, after, every and the
 * timeouts of gates. The clock advances only when all tasks wait and no call is in flight, and at most to the next
 * deadline. The tasks that are due then run. Timers therefore expire in the same order in each run. Calls to servers,
 * files and processes take real time, during which the clock stands still. Delays inside a client, such as the delay
 * before a retry, and the time limit of a script's run also use real time. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/clock.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/timers.h"
#include "core/wait.h"

struct njl_clock {
  njl_wait wait; /* the wait of the task that advances the clock */
  njl_host *host;
  njl_moment start, now, target;
  bool is_auto;
  bool is_advancing;
};

static njl_clock *check_clock(lua_State *L) {
  njl_clock *self = njl_check(L, 1, NJL_CLOCK);
  if (self->host == NULL) luaL_error(L, "the clock is closed");
  return self;
}

njl_moment njl_clock_now(const njl_clock *self) { return self->now; }

bool njl_clock_step(njl_host *host) {
  njl_clock *self = host->clock;
  njl_moment next = host->timers != NULL ? host->timers->deadline : NJL_NEVER;
  if (self->is_advancing && self->wait.state == NJL_PENDING) {
    if (next <= self->target) {
      self->now = next;
    } else {
      self->now = self->target;
      self->is_advancing = false;
      njl_wait_end(&self->wait, NJL_DONE);
    }
    return true;
  }
  self->is_advancing = false;
  if (!self->is_auto || next == NJL_NEVER) return false;
  self->now = next;
  return true;
}

static int advanced(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 0;
}

/* clock:advance(seconds) advances the time and returns when all timers due by the new time have expired and all tasks
 * wait. */
static int advance(lua_State *L) {
  njl_clock *self = check_clock(L);
  lua_Number seconds = luaL_checknumber(L, 2);
  luaL_argcheck(L, seconds >= 0 && seconds <= 1e9, 2, "seconds from 0 to 1e9 expected");
  if (self->is_advancing && self->wait.state == NJL_PENDING) {
    return luaL_error(L, "another task is already advancing this clock");
  }
  njl_moment span = (njl_moment)(seconds * 1e9);
  self->target = span < NJL_NEVER - 1 - self->now ? self->now + span : NJL_NEVER - 1;
  self->is_advancing = true;
  njl_wait_init(&self->wait, self->host);
  lua_settop(L, 1);
  return njl_await(L, &self->wait, advanced);
}

/* clock:now() -> seconds since the clock was created */
static int now(lua_State *L) {
  const njl_clock *self = check_clock(L);
  lua_pushnumber(L, (lua_Number)(self->now - self->start) / 1e9);
  return 1;
}

/* Registry key of the current clock. The registry keeps the clock alive after its variable has gone out of scope. */
static char clock_key;

static void close_it(lua_State *L, njl_clock *self) {
  njl_host *host = self->host;
  if (host == NULL) return;
  self->host = NULL;
  host->clock = NULL;
  self->is_advancing = false;
  njl_wait_end(&self->wait, NJL_DONE);
  njl_timers_shift(host, (int64_t)(njl_now() - self->now));
  lua_pushnil(L); /* Removing an existing key cannot raise. */
  lua_rawsetp(L, LUA_REGISTRYINDEX, &clock_key);
}

/* clock:close(), also called by <close>. Remaining waits keep their remaining time and continue in real time. */
static int close_clock(lua_State *L) {
  close_it(L, njl_check(L, 1, NJL_CLOCK));
  return 0;
}

static int describe(lua_State *L) {
  const njl_clock *self = njl_check(L, 1, NJL_CLOCK);
  if (self->host == NULL) lua_pushfstring(L, "%s: closed", NJL_CLOCK);
  else lua_pushfstring(L, "%s: %f s", NJL_CLOCK, (lua_Number)(self->now - self->start) / 1e9);
  return 1;
}

static int unknown(lua_State *L) {
  static const char *const names[] = {"advance", "now", "close", NULL};
  return njl_unknown_field(L, "clock", luaL_tolstring(L, 2, NULL), names);
}

static bool read_auto(lua_State *L) {
  static const char *const known[] = {"auto", NULL};
  if (lua_isnoneornil(L, 1)) return false;
  luaL_checktype(L, 1, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
    if (njl_find_name(L, -2, known) >= 0) continue;
    return njl_unknown_option(L, "testing.clock", "", luaL_tolstring(L, -2, NULL), known);
  }
  lua_pushliteral(L, "auto");
  if (lua_rawget(L, 1) != LUA_TNIL && !lua_isboolean(L, -1)) {
    luaL_error(L, "testing.clock: option 'auto' must be a boolean, got %s", luaL_typename(L, -1));
  }
  return lua_toboolean(L, -1);
}

/* testing.clock{auto = false} stops the time. With `auto`, the clock advances to the next deadline whenever all
 * tasks wait and no call is in flight. */
static int make(lua_State *L) {
  njl_host *host = njl_host_of(L);
  bool is_auto = read_auto(L);
  if (host->clock != NULL) return luaL_error(L, "testing.clock: a clock already exists; close it first");
  njl_clock *self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = (njl_clock){.is_auto = is_auto};
  njl_wait_init(&self->wait, host);
  self->wait.state = NJL_DONE;
  njl_set_type(L, NJL_CLOCK);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &clock_key);
  self->host = host;
  self->start = self->now = njl_now();
  host->clock = self;
  return 1;
}

void njl_add_clock(lua_State *L) {
  static const luaL_Reg functions[] = {{"clock", make}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__tostring", describe}, {"__close", close_clock}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"advance", advance}, {"now", now}, {"close", close_clock}, {NULL, NULL}};
  njl_add_type(L, NJL_CLOCK, meta, methods, unknown);
  njl_add_functions(L, -1, functions);
}
