/* function.c - functions of the host program as globals of a script. */
#include <limits.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/host.h"
#include "core/metatable.h"
#include "bindings/bindings.h"
#include "njl_functions.h"
#include "njl_types.h"

/* The results of a call. The userdata is created before the call, so that the results are released if pushing them
 * raises. */
typedef struct results {
  njl_results *handle;
} results;

static const char NJL_RESULTS[] = "nightjar.results";

static int results_gc(lua_State *L) {
  results *self = lua_touserdata(L, 1);
  njl_results_release(self->handle);
  self->handle = NULL;
  return 0;
}

njl_value njl_value_at(lua_State *L, int index) {
  njl_value value = {.kind = NJL_OTHER};
  switch (lua_type(L, index)) {
  case LUA_TNIL: value.kind = NJL_NIL; break;
  case LUA_TBOOLEAN:
    value.kind = NJL_BOOLEAN;
    value.boolean = lua_toboolean(L, index);
    break;
  case LUA_TNUMBER:
    value.kind = lua_isinteger(L, index) ? NJL_INTEGER : NJL_NUMBER;
    value.integer = lua_tointeger(L, index);
    value.number = lua_tonumber(L, index);
    break;
  case LUA_TSTRING:
    value.kind = NJL_STRING;
    value.bytes.data = lua_tolstring(L, index, &value.bytes.length);
    break;
  }
  return value;
}

void njl_push_value(lua_State *L, const njl_value *value) {
  switch (value->kind) {
  case NJL_BOOLEAN: lua_pushboolean(L, value->boolean); break;
  case NJL_INTEGER: lua_pushinteger(L, value->integer); break;
  case NJL_NUMBER: lua_pushnumber(L, value->number); break;
  case NJL_STRING: lua_pushlstring(L, value->bytes.data, value->bytes.length); break;
  case NJL_NIL:
  case NJL_OTHER: lua_pushnil(L); break;
  }
}

/* Calls the function in the upvalue. */
static int call(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", results_gc}, {NULL, NULL}};
  int count = lua_gettop(L);
  njl_value *arguments = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *arguments, 0);
  for (int index = 0; index < count; index++) arguments[index] = njl_value_at(L, index + 1);
  results *made = lua_newuserdatauv(L, sizeof *made, 0);
  made->handle = NULL;
  njl_push_metatable(L, NJL_RESULTS, meta);
  lua_setmetatable(L, -2);
  njl_own(L);

  njl_value failure;
  size_t returned = 0;
  njl_function *function = lua_touserdata(L, lua_upvalueindex(1));
  made->handle = njl_function_call(function, arguments, (size_t)count, &returned, &failure);
  if (failure.kind == NJL_STRING) {
    luaL_where(L, 1);
    njl_push_value(L, &failure);
    lua_concat(L, 2);
    return lua_error(L);
  }
  if (returned > INT_MAX / 2) return luaL_error(L, "too many results");
  luaL_checkstack(L, (int)returned, "too many results");
  for (size_t index = 0; index < returned; index++) {
    njl_value value = njl_results_value(made->handle, index);
    njl_push_value(L, &value);
  }
  return (int)returned;
}

void njl_push_function(lua_State *L, njl_function *function) {
  lua_pushlightuserdata(L, function);
  lua_pushcclosure(L, call, 1);
}
