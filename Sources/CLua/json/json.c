/* json.c - the table nightjar.json, nightjar.null and nightjar.array. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/names.h"
#include "json/json.h"

/* Registry keys of nightjar.null and of the metatable of nightjar.array. */
static const char null_key = 0, mark_key = 0;

void njl_json_push_null(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &null_key); }

bool njl_json_is_null(lua_State *L, int index) {
  index = lua_absindex(L, index);
  njl_json_push_null(L);
  bool is_null = lua_rawequal(L, index, -1);
  lua_pop(L, 1);
  return is_null;
}

void njl_json_push_array_mark(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &mark_key); }

static int null_to_string(lua_State *L) {
  lua_pushliteral(L, "null");
  return 1;
}

void njl_json_prepare(lua_State *L) {
  bool is_ready = lua_rawgetp(L, LUA_REGISTRYINDEX, &mark_key) != LUA_TNIL;
  lua_pop(L, 1);
  if (is_ready) return;
  njl_json_open_decode(L);
  njl_json_open_encode(L);
  lua_newuserdatauv(L, 0, 0);
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "nightjar.null");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, null_to_string);
  lua_setfield(L, -2, "__tostring");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &null_key);

  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "nightjar.array");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "nightjar.array");
  lua_setfield(L, -2, "__metatable");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &mark_key);
}

/* nightjar.array(table) -> the same table, marked as an array */
int njl_json_array(lua_State *L) {
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, 0);
    lua_newtable(L);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  njl_json_push_array_mark(L);
  if (lua_getmetatable(L, 1)) {
    luaL_argcheck(L, lua_rawequal(L, 2, 3), 1, "the table already has a metatable");
    lua_pop(L, 1);
  }
  lua_setmetatable(L, 1);
  return 1;
}

/* nightjar.json.decode(text) -> value */
static int decode(lua_State *L) {
  size_t length;
  luaL_checktype(L, 1, LUA_TSTRING);
  const char *text = lua_tolstring(L, 1, &length);
  njl_json_decode(L, "the text", text, length);
  return 1;
}

static int check_indent(lua_State *L) {
  enum { MOST = 16 };
  lua_Integer spaces = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : -1;
  luaL_argcheck(L, spaces >= 0 && spaces <= MOST, 2, "option 'indent' must be an integer from 0 to 16");
  return (int)spaces;
}

/* Reads the options of encode at index 2. */
static njl_json_style read_style(lua_State *L) {
  static const char *const names[] = {"pretty", "sorted", "indent", NULL};
  enum { PRETTY, SORTED, INDENT };
  njl_json_style style = {.is_sorted = true, .indent = 2};
  bool has_pretty = false, has_indent = false;
  if (lua_isnoneornil(L, 2)) return style;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
    int option = njl_find_name(L, -2, names);
    if (option < 0) {
      luaL_argerror(L, 2, lua_pushfstring(L, "unknown option '%s'; the options are pretty, indent and sorted", name));
    } else if (option == INDENT) {
      style.indent = check_indent(L);
      has_indent = true;
    } else if (!lua_isboolean(L, -1)) {
      luaL_argerror(L, 2, lua_pushfstring(L, "option '%s' must be a boolean, got %s", name, luaL_typename(L, -1)));
    } else if (option == PRETTY) {
      style.is_pretty = lua_toboolean(L, -1);
      has_pretty = true;
    } else {
      style.is_sorted = lua_toboolean(L, -1);
    }
    lua_pop(L, 1);
  }
  if (has_indent && !has_pretty) style.is_pretty = true;
  return style;
}

/* nightjar.json.encode(value, {pretty = false, indent = 2, sorted = true}) -> text. `pretty` is true by default if
 * `indent` is set. */
static int encode(lua_State *L) {
  luaL_checkany(L, 1);
  njl_json_style style = read_style(L);
  size_t length;
  const char *text = njl_json_write(L, 1, "value", style, &length);
  lua_pushlstring(L, text, length);
  return 1;
}

void njl_json_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"decode", decode}, {"encode", encode}, {"pointer", njl_json_pointer}, {NULL, NULL}};
  njl_json_prepare(L);
  luaL_newlib(L, functions);
}
