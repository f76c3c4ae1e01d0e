/* batch.c - api:batch{...}: many requests, a few at a time. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/group.h"
#include "bindings/bindings.h"

/* Returns whether the table on top of the stack has a true value in the field. */
static bool has(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  lua_rawget(L, -2);
  bool is_there = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_there;
}

/* Checks the option names of the request on top of the stack, before any request of the batch is sent. The option
 * values are checked when the request is started. */
static void check_request(lua_State *L, lua_Integer place) {
  const char *function = lua_pushfstring(L, "batch: request %I", (LUAI_UACINT)place);
  lua_insert(L, -2);
  switch (lua_type(L, -1)) {
  case LUA_TSTRING: break;
  case LUA_TTABLE:
    njl_check_option_names(L, lua_gettop(L), function);
    if (!has(L, "path") && !has(L, "endpoint")) luaL_error(L, "%s: path is missing", function);
    if (has(L, "stream")) {
      luaL_error(L, "%s: stream is not supported in a batch; use nightjar.map", function);
    }
    break;
  case LUA_TFUNCTION: luaL_error(L, "%s is a function; use nightjar.map or nightjar.all", function); break;
  default: luaL_error(L, "%s must be a table or the path of a GET, got %s", function, luaL_typename(L, -1));
  }
  lua_pop(L, 2);
}

/* Checks the table at `list`: requests at 1, 2, ..., and options by name. */
static njl_group_options read_batch(lua_State *L, int list) {
  njl_group_options read = {.concurrency = NJL_CONCURRENCY};
  lua_Integer count = (lua_Integer)lua_rawlen(L, list), places = 0;
  for (lua_pushnil(L); lua_next(L, list) != 0; lua_pop(L, 1)) {
    if (lua_isinteger(L, -2)) places++;
    else njl_read_group_option(L, "batch", &read);
  }
  if (places != count) luaL_error(L, "batch: the list of requests contains nil");
  for (lua_Integer place = 1; place <= count; place++) {
    lua_rawgeti(L, list, place);
    check_request(L, place);
  }
  return read;
}

/* Sends one request with the client in the upvalue. */
static int call(lua_State *L) {
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_createtable(L, 0, 1);
    lua_insert(L, 2);
    lua_setfield(L, 2, "path");
  }
  return njl_send_request(L);
}

/* api:batch{request, ..., concurrency = 6, collect_errors = false} -> responses in the order of the requests; with
 * collect_errors also a table of errors by index. */
int njl_batch(lua_State *L) {
  njl_check_client(L);
  if (!lua_istable(L, 2)) return luaL_error(L, "batch: a list of requests expected, got %s", luaL_typename(L, 2));
  lua_settop(L, 2);
  njl_group_options read = read_batch(L, 2);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, call, 1);
  lua_remove(L, 1);
  read.numbers_errors = true;
  return njl_run_map(L, &read);
}
