/* json_pointer.c - nightjar.json.pointer: JSON Pointers, RFC 6901. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "json/json.h"
#include "njl_future.h"

static int refuse(lua_State *L, const char *why) {
  return njl_raise(L, NJL_KIND_INVALID_ARGUMENT, 0, "json.pointer: the JSON Pointer '%s' %s", lua_tostring(L, 2), why);
}

/* Pushes the token with ~0 and ~1 replaced by ~ and /. */
static void push_token(lua_State *L, const char *token, size_t length) {
  if (memchr(token, '~', length) == NULL) {
    lua_pushlstring(L, token, length);
    return;
  }
  luaL_Buffer plain;
  luaL_buffinit(L, &plain);
  for (size_t at = 0; at < length; at++) {
    if (token[at] != '~') {
      luaL_addchar(&plain, token[at]);
      continue;
    }
    char escape = ++at < length ? token[at] : 0;
    if (escape != '0' && escape != '1') refuse(L, "has a ~ that is not followed by 0 or 1; write ~ as ~0 and / as ~1");
    luaL_addchar(&plain, escape == '0' ? '~' : '/');
  }
  luaL_pushresult(&plain);
}

/* Returns the Lua index of an array index token (section 4: digits without a leading zero, zero-based), or 0 if the
 * token is not an index. */
static lua_Integer index_of(const char *token, size_t length) {
  if (length == 0 || length > 18 || (length > 1 && token[0] == '0')) return 0;
  lua_Integer index = 0;
  for (size_t at = 0; at < length; at++) {
    if (token[at] < '0' || token[at] > '9') return 0;
    index = index * 10 + (token[at] - '0');
  }
  return index + 1;
}

/* json.pointer(value, "/items/0/name") -> the value that the pointer refers to; nil if the value does not exist */
int njl_json_pointer(lua_State *L) {
  luaL_checkany(L, 1);
  luaL_checktype(L, 2, LUA_TSTRING);
  lua_settop(L, 2);
  size_t length;
  const char *pointer = lua_tolstring(L, 2, &length), *end = pointer + length;
  if (length > 0 && *pointer != '/') return refuse(L, "must be empty or begin with /, as in \"/items/0\"");
  lua_pushvalue(L, 1);
  while (pointer < end) {
    const char *token = pointer + 1;
    const char *stop = memchr(token, '/', (size_t)(end - token));
    if (stop == NULL) stop = end;
    push_token(L, token, (size_t)(stop - token));
    pointer = stop;
    if (!lua_istable(L, 3)) { /* The remaining tokens are still checked for errors. */
      lua_pop(L, 1);
      lua_pushnil(L);
      lua_replace(L, 3);
      continue;
    }
    lua_Integer index = index_of(token, (size_t)(stop - token));
    if (lua_rawget(L, 3) == LUA_TNIL && index > 0) {
      lua_pop(L, 1);
      lua_rawgeti(L, 3, index);
    }
    lua_replace(L, 3);
  }
  return 1;
}
