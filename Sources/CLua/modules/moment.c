/* moment.c - the C part of nightjar.time: clocks, and parsing and formatting of times. A time is a number of seconds
 * since 1970 in UTC. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <time.h>

#include "core/timers.h"
#include "bindings/bindings.h"
#include "modules/modules.h"
#include "njl_timestamps.h"

/* now() -> seconds, rounded down to the microsecond */
static int now(lua_State *L) {
  struct timespec time = {0};
  clock_gettime(CLOCK_REALTIME, &time);
  lua_pushnumber(L, (lua_Number)time.tv_sec + (lua_Number)(time.tv_nsec / 1000) / 1e6);
  return 1;
}

/* monotonic() -> seconds of the monotonic clock, since an arbitrary start */
static int monotonic(lua_State *L) {
  lua_pushnumber(L, (lua_Number)njl_now() * 1e-9);
  return 1;
}

static njl_timestamp_form check_form(lua_State *L, int index) {
  static const char *const forms[] = {"iso", "http", NULL};
  return (njl_timestamp_form)luaL_checkoption(L, index, NULL, forms);
}

/* parse(text, form) -> seconds, an integer if the time has no fraction; nil if the text is invalid */
static int parse(lua_State *L) {
  njl_bytes text;
  text.data = luaL_checklstring(L, 1, &text.length);
  njl_timestamp moment;
  enum { LONGEST = 256 }; /* A valid time is longer only if it is padded with zeros. */
  if (text.length > LONGEST || !njl_timestamp_parse(text, check_form(L, 2), (int64_t)time(NULL), &moment)) return 0;
  if (moment.nanoseconds == 0) lua_pushinteger(L, (lua_Integer)moment.seconds);
  else lua_pushnumber(L, (lua_Number)moment.seconds + (lua_Number)moment.nanoseconds * 1e-9);
  return 1;
}

/* format(seconds, form, minutes_east, digits) -> text; nil if the time cannot be represented */
static int format(lua_State *L) {
  njl_timestamp moment = {0};
  luaL_checknumber(L, 1);
  if (lua_isinteger(L, 1)) moment.seconds = (int64_t)lua_tointeger(L, 1);
  else if (!njl_timestamp_of(lua_tonumber(L, 1), &moment)) return 0;
  njl_timestamp_form form = check_form(L, 2);
  lua_Integer minutes = luaL_optinteger(L, 3, 0), digits = luaL_optinteger(L, 4, -1);
  if (minutes < -1440 || minutes > 1440 || digits > 9) return 0;
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_timestamp_format(moment, form, (int)minutes, digits < 0 ? -1 : (int)digits);
  if (loan->text == NULL) return 0;
  njl_loan_push_text(L, loan);
  return 1;
}

int njl_open_time(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"now", now}, {"monotonic", monotonic}, {"parse", parse}, {"format", format}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  return 0;
}
