/* uuid.c - nightjar.uuid: UUIDs, RFC 9562. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>
#include <time.h>

#include "core/failure.h"
#include "modules/modules.h"
#include "njl_future.h"
#include "njl_hashes.h"

enum { TEXT_LENGTH = 36 };

/* The UUIDs that v7 creates for the current time are in the order of creation: section 6.2, method 1, with the 12 bits
 * after the time as a counter. In each new millisecond, the counter starts at a random value in the lower half of its
 * range. */
typedef struct sequence {
  uint64_t milliseconds;
  uint32_t counter;
} sequence;

static void push_text(lua_State *L, uint8_t bytes[16], uint8_t version) {
  static const char digits[] = "0123456789abcdef";
  char text[TEXT_LENGTH];
  size_t at = 0;
  bytes[6] = (uint8_t)((bytes[6] & 0x0F) | version << 4);
  bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80);
  for (size_t place = 0; place < 16; place++) {
    if (place == 4 || place == 6 || place == 8 || place == 10) text[at++] = '-';
    text[at++] = digits[bytes[place] >> 4];
    text[at++] = digits[bytes[place] & 15];
  }
  lua_pushlstring(L, text, sizeof text);
}

/* uuid.v4() -> a random UUID */
static int v4(lua_State *L) {
  uint8_t bytes[16];
  njl_random(bytes, sizeof bytes);
  push_text(L, bytes, 4);
  return 1;
}

static void put_time(uint8_t bytes[16], uint64_t milliseconds) {
  for (int place = 5; place >= 0; place--, milliseconds >>= 8) bytes[place] = (uint8_t)milliseconds;
}

/* uuid.v7(seconds) -> a UUID of the current or the given time; UUIDs of version 7 sort by time */
static int v7(lua_State *L) {
  static const uint64_t most = (1ull << 48) - 1;
  uint8_t bytes[16];
  if (!lua_isnoneornil(L, 1)) {
    lua_Number milliseconds = luaL_checknumber(L, 1) * 1000;
    bool is_in_range = milliseconds >= 0 && milliseconds <= (lua_Number)most;
    luaL_argcheck(L, is_in_range, 1, "a time between 1970 and 10889 expected");
    njl_random(bytes, sizeof bytes);
    put_time(bytes, (uint64_t)milliseconds);
    push_text(L, bytes, 7);
    return 1;
  }
  sequence *last = lua_touserdata(L, lua_upvalueindex(1));
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t milliseconds = now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
  njl_random(bytes, sizeof bytes);
  uint32_t start = ((uint32_t)bytes[6] << 8 | bytes[7]) & 0x7FF;
  if (milliseconds > last->milliseconds) {
    *last = (sequence){milliseconds, start};
  } else if (++last->counter > 0xFFF) { /* Counter overflow: advances to the next millisecond. */
    *last = (sequence){last->milliseconds + 1, start};
  }
  put_time(bytes, last->milliseconds & most);
  bytes[6] = (uint8_t)(last->counter >> 8);
  bytes[7] = (uint8_t)last->counter;
  push_text(L, bytes, 7);
  return 1;
}

static int value_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

static bool read(const char *text, size_t length, uint8_t bytes[16]) {
  if (length != TEXT_LENGTH) return false;
  size_t digits = 0;
  for (size_t at = 0; at < length; at++) {
    if (at == 8 || at == 13 || at == 18 || at == 23) {
      if (text[at] != '-') return false;
      continue;
    }
    int value = value_of(text[at]);
    if (value < 0) return false;
    if (digits % 2 == 0) bytes[digits / 2] = (uint8_t)(value << 4);
    else bytes[digits / 2] |= (uint8_t)value;
    digits++;
  }
  return true;
}

/* uuid.parse(text) -> the UUID in lower case, its version and, for version 7, the seconds since 1970; raises
 * `decoding` */
static int parse(lua_State *L) {
  size_t length;
  uint8_t bytes[16];
  luaL_checktype(L, 1, LUA_TSTRING);
  const char *text = lua_tolstring(L, 1, &length);
  if (!read(text, length, bytes)) {
    return njl_raise(L, NJL_KIND_DECODING, 0,
                     "UUID parsing failed: expected 32 hexadecimal digits in the form 8-4-4-4-12");
  }
  char small[TEXT_LENGTH];
  for (size_t at = 0; at < length; at++) {
    small[at] = text[at] >= 'A' && text[at] <= 'F' ? (char)(text[at] | 0x20) : text[at];
  }
  lua_pushlstring(L, small, length);
  /* Only the RFC 9562 variant has a version (section 4.1). */
  if ((bytes[8] & 0xC0) != 0x80) return 1;
  lua_pushinteger(L, bytes[6] >> 4);
  if (bytes[6] >> 4 != 7) return 2;
  uint64_t milliseconds = 0;
  for (int place = 0; place < 6; place++) milliseconds = milliseconds << 8 | bytes[place];
  lua_pushnumber(L, (lua_Number)milliseconds / 1000);
  return 3;
}

/* uuid.is_valid(text) -> boolean */
static int is_valid(lua_State *L) {
  uint8_t bytes[16];
  size_t length = 0;
  luaL_checkany(L, 1);
  const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tolstring(L, 1, &length) : NULL;
  lua_pushboolean(L, text != NULL && read(text, length, bytes));
  return 1;
}

int njl_open_uuid(lua_State *L) {
  static const luaL_Reg functions[] = {{"v4", v4}, {"parse", parse}, {"is_valid", is_valid}, {NULL, NULL}};
  luaL_newlib(L, functions);
  sequence *last = lua_newuserdatauv(L, sizeof *last, 0);
  *last = (sequence){0, 0};
  lua_pushcclosure(L, v7, 1);
  lua_setfield(L, -2, "v7");
  return 1;
}
