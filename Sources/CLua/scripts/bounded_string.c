/* bounded_string.c - string.rep, find, match, gmatch and gsub for sandboxed scripts. They behave as Lua's manual
 * describes, and their work counts as instructions. */
#define _GNU_SOURCE
#include <limits.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <string.h>

#include "core/host.h"
#include "core/stopping.h"
#include "scripts/scripts.h"

static njl_bytes bytes_at(lua_State *L, int index) {
  njl_bytes bytes;
  bytes.data = luaL_checklstring(L, index, &bytes.length);
  return bytes;
}

/* string.rep(s, n, separator) */
static int repeat(lua_State *L) {
  enum { SLICE = 64 * 1024 };
  njl_host *host = njl_host_of(L);
  njl_bytes text = bytes_at(L, 1), separator = {"", 0};
  lua_Integer times = luaL_checkinteger(L, 2);
  if (!lua_isnoneornil(L, 3)) separator = bytes_at(L, 3);
  size_t unit = text.length + separator.length;
  if (times <= 0 || unit == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  if (unit < text.length || unit > (size_t)INT_MAX / (size_t)times) return luaL_error(L, "resulting string too large");
  size_t total = (size_t)times * unit - separator.length;
  luaL_Buffer result;
  char *bytes = luaL_buffinitsize(L, &result, total);
  size_t first = total < unit ? total : unit;
  memcpy(bytes, text.data, text.length);
  memcpy(bytes + text.length, separator.data, first - text.length);
  for (size_t made = first; made < total;) {
    size_t more = made < SLICE ? made : unit > SLICE ? unit : SLICE - SLICE % unit; /* a multiple of the unit */
    if (more > total - made) more = total - made;
    memcpy(bytes + made, bytes, more);
    made += more;
    njl_spend(L, host, more / 64 + 1);
  }
  luaL_pushresultsize(&result, total);
  return 1;
}

/* --- Finding --- */

/* Returns the zero-based offset at which the search begins. The offset is greater than `length` if the argument is
 * beyond the end of the string. */
static size_t start_at(lua_State *L, int index, size_t length) {
  lua_Integer place = luaL_optinteger(L, index, 1);
  if (place > 0) return (size_t)place - 1;
  if (place == 0 || place < -(lua_Integer)length) return 0;
  return length - (size_t)-place;
}

static bool is_plain(njl_bytes pattern) {
  for (size_t index = 0; index < pattern.length; index++) {
    if (pattern.data[index] != 0 && strchr("^$*+?.([%-", pattern.data[index]) != NULL) return false;
  }
  return true;
}

static int find(lua_State *L, bool finds) {
  njl_host *host = njl_host_of(L);
  njl_bytes text = bytes_at(L, 1), pattern = bytes_at(L, 2);
  size_t start = start_at(L, 3, text.length);
  if (start > text.length) {
    lua_pushnil(L);
    return 1;
  }
  njl_spend(L, host, pattern.length / 64);
  if (finds && (lua_toboolean(L, 4) || is_plain(pattern))) {
    njl_spend(L, host, (text.length - start) / 64);
    const char *found = memmem(text.data + start, text.length - start, pattern.data, pattern.length);
    if (found == NULL) {
      lua_pushnil(L);
      return 1;
    }
    lua_pushinteger(L, found - text.data + 1);
    lua_pushinteger(L, found - text.data + (lua_Integer)pattern.length);
    return 2;
  }
  njl_matcher matcher;
  njl_matcher_init(&matcher, L, host, text, pattern);
  bool is_anchored = pattern.length > 0 && pattern.data[0] == '^';
  const char *place = text.data + start, *items = pattern.data + (is_anchored ? 1 : 0);
  do {
    matcher.count = 0;
    const char *end = njl_match(&matcher, place, items);
    if (end == NULL) continue;
    if (!finds) return njl_push_captures(&matcher, place, end);
    lua_pushinteger(L, place - text.data + 1);
    lua_pushinteger(L, end - text.data);
    return njl_push_captures(&matcher, NULL, NULL) + 2;
  } while (place++ < matcher.text_end && !is_anchored);
  lua_pushnil(L);
  return 1;
}

/* string.find(s, pattern, start, is_plain) */
static int find_place(lua_State *L) { return find(L, true); }

/* string.match(s, pattern, start) */
static int find_captures(lua_State *L) { return find(L, false); }

/* --- Each match --- */

/* Returns the captures of the next match. The upvalues are the host, the text, the pattern, the offset at which the
 * search continues, and the offset at which the last match ended, or -1 before the first match. Offsets count from
 * 0. */
static int next_match(lua_State *L) {
  njl_bytes text, pattern;
  text.data = lua_tolstring(L, lua_upvalueindex(2), &text.length);
  pattern.data = lua_tolstring(L, lua_upvalueindex(3), &pattern.length);
  lua_Integer last = lua_tointeger(L, lua_upvalueindex(5));
  njl_matcher matcher;
  njl_matcher_init(&matcher, L, njl_host_of(L), text, pattern);
  njl_spend(L, matcher.host, 1);
  const char *place = text.data + lua_tointeger(L, lua_upvalueindex(4));
  for (; place <= matcher.text_end; place++) {
    matcher.count = 0;
    const char *end = njl_match(&matcher, place, pattern.data);
    if (end == NULL || end - text.data == last) continue;
    lua_pushinteger(L, end - text.data);
    lua_pushvalue(L, -1);
    lua_replace(L, lua_upvalueindex(4));
    lua_replace(L, lua_upvalueindex(5));
    return njl_push_captures(&matcher, place, end);
  }
  lua_pushinteger(L, place - text.data); /* beyond the end */
  lua_replace(L, lua_upvalueindex(4));
  return 0;
}

/* string.gmatch(s, pattern, start) */
static int each_match(lua_State *L) {
  njl_bytes text = bytes_at(L, 1);
  bytes_at(L, 2);
  size_t start = start_at(L, 3, text.length);
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_pushinteger(L, (lua_Integer)(start > text.length ? text.length + 1 : start));
  lua_pushinteger(L, -1);
  lua_pushcclosure(L, next_match, 5);
  return 1;
}

/* --- Replacing --- */

/* Appends the replacement string at index 3, with its captures inserted. */
static void add_string(njl_matcher *m, luaL_Buffer *result, const char *start, const char *end) {
  lua_State *L = m->L;
  size_t length;
  const char *text = lua_tolstring(L, 3, &length), *text_end = text + length;
  while (text < text_end) {
    const char *mark = memchr(text, '%', (size_t)(text_end - text));
    const char *plain_end = mark != NULL ? mark : text_end;
    luaL_addlstring(result, text, (size_t)(plain_end - text));
    njl_spend(L, m->host, (uint64_t)(plain_end - text) / 64 + 1);
    if (mark == NULL) return;
    char c = mark + 1 < text_end ? mark[1] : 0;
    if (c == '%') {
      luaL_addchar(result, '%');
    } else if (c == '0') {
      luaL_addlstring(result, start, (size_t)(end - start));
    } else if (c >= '1' && c <= '9') {
      njl_push_capture(m, c - '1', start, end);
      luaL_tolstring(L, -1, NULL);
      lua_remove(L, -2);
      luaL_addvalue(result);
    } else {
      luaL_error(L, "invalid use of '%%' in replacement string");
    }
    text = mark + 2;
  }
}

/* Appends the replacement of a match. Returns false if the match itself was appended. */
static bool add_replacement(njl_matcher *m, luaL_Buffer *result, const char *start, const char *end, int type) {
  lua_State *L = m->L;
  if (type == LUA_TFUNCTION) {
    lua_pushvalue(L, 3);
    lua_call(L, njl_push_captures(m, start, end), 1);
  } else if (type == LUA_TTABLE) {
    njl_push_capture(m, 0, start, end);
    lua_gettable(L, 3);
  } else {
    add_string(m, result, start, end);
    return true;
  }
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    luaL_addlstring(result, start, (size_t)(end - start));
    return false;
  }
  if (!lua_isstring(L, -1)) luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  luaL_addvalue(result);
  return true;
}

/* string.gsub(s, pattern, replacement, most) */
static int replace(lua_State *L) {
  njl_bytes text = bytes_at(L, 1), pattern = bytes_at(L, 2);
  int type = lua_type(L, 3);
  bool is_known = type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE;
  if (!is_known) return luaL_typeerror(L, 3, "string/function/table");
  lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)text.length + 1), times = 0;
  bool is_anchored = pattern.length > 0 && pattern.data[0] == '^', has_changed = false;
  const char *place = text.data, *items = pattern.data + (is_anchored ? 1 : 0), *last = NULL;
  njl_matcher matcher;
  njl_matcher_init(&matcher, L, njl_host_of(L), text, pattern);
  luaL_Buffer result;
  luaL_buffinit(L, &result);
  while (times < most) {
    matcher.count = 0;
    const char *end = njl_match(&matcher, place, items);
    if (end != NULL && end != last) {
      njl_spend(L, matcher.host, 1);
      times++;
      has_changed |= add_replacement(&matcher, &result, place, end, type);
      place = last = end;
    } else if (place < matcher.text_end) {
      luaL_addchar(&result, *place++);
    } else {
      break;
    }
    if (is_anchored) break;
  }
  if (has_changed) {
    luaL_addlstring(&result, place, (size_t)(matcher.text_end - place));
    luaL_pushresult(&result);
  } else {
    lua_pushvalue(L, 1);
  }
  lua_pushinteger(L, times);
  return 2;
}

void njl_bound_strings(lua_State *L, njl_host *host) {
  static const luaL_Reg functions[] = {{"rep", repeat},         {"find", find_place}, {"match", find_captures},
                                       {"gmatch", each_match}, {"gsub", replace},    {NULL, NULL}};
  lua_getglobal(L, LUA_STRLIBNAME);
  for (const luaL_Reg *function = functions; function->name != NULL; function++) {
    njl_bound(L, host, function->name, function->func);
  }
  lua_pop(L, 1);
}
