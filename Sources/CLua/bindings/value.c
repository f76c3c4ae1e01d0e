/* value.c - converts values between Lua and the host program. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_functions.h"
#include "njl_types.h"

void njl_open_values(lua_State *L) {
  njl_json_prepare(L);
  bool has_errors = lua_rawgetp(L, LUA_REGISTRYINDEX, NJL_ERROR) != LUA_TNIL;
  lua_pop(L, 1);
  if (!has_errors) njl_open_error(L);
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
  case NJL_JSON:
    njl_open_values(L);
    njl_json_decode(L, "the value", value->bytes.data, value->bytes.length);
    if (njl_json_is_null(L, -1)) {
      lua_pop(L, 1);
      lua_pushnil(L);
    }
    break;
  case NJL_NIL:
  case NJL_OTHER: lua_pushnil(L); break;
  }
}

/* --- Arguments as JSON --- */

typedef struct reading {
  int index;
  char *text;
} reading;

/* Encodes the value at index 2 for the reading at index 1. */
static int encode(lua_State *L) {
  reading *reading = lua_touserdata(L, 1);
  char name[32];
  size_t length;
  snprintf(name, sizeof name, "argument %d", reading->index);
  njl_open_values(L);
  const char *text = njl_json_write(L, 2, name, (njl_json_style){.is_sorted = true}, &length);
  reading->text = njl_copy_text(text, length);
  return reading->text != NULL ? 0 : luaL_error(L, "not enough memory");
}

/* The calls are protected, so that no error crosses the frames of the host program. */
char *njl_arguments_json(njl_arguments *arguments, size_t index, char **message) {
  lua_State *L = (lua_State *)arguments;
  reading reading = {.index = (int)index + 1};
  if (!lua_checkstack(L, 4)) return NULL;
  lua_pushcfunction(L, encode);
  lua_pushlightuserdata(L, &reading);
  lua_pushvalue(L, reading.index);
  *message = lua_pcall(L, 2, 0, 0) != LUA_OK ? njl_take_error(L) : NULL;
  return reading.text;
}
