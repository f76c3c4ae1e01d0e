/* interpreter.c - the parts of the command that behave like the stand-alone lua: arguments, warnings, -l. Also starts
 * the command's programs. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdio.h>
#include <string.h>

#include "core/state.h"
#include "scripts/scripts.h"

typedef struct arguments {
  int count, first;
  char *const *values;
} arguments;

static int set_arguments(lua_State *L) {
  arguments *given = lua_touserdata(L, 1);
  lua_createtable(L, given->count - given->first, given->first + 1);
  for (int index = 0; index < given->count; index++) {
    lua_pushstring(L, given->values[index]);
    lua_rawseti(L, -2, index - given->first);
  }
  lua_setglobal(L, "arg");
  return 0;
}

bool njl_set_arguments(lua_State *L, int count, char *const *values, int first) {
  arguments given = {count, first, values};
  lua_pushcfunction(L, set_arguments);
  lua_pushlightuserdata(L, &given);
  bool is_set = lua_pcall(L, 1, 0, 0) == LUA_OK;
  lua_settop(L, 0);
  return is_set;
}

void njl_warn(void *context, const char *piece, int continues) {
  njl_warnings *warnings = context;
  bool is_first = !warnings->continues;
  warnings->continues = continues;
  if (is_first && !continues && *piece == '@') {
    if (strcmp(piece, "@on") == 0) warnings->are_on = true;
    else if (strcmp(piece, "@off") == 0) warnings->are_on = false;
  } else if (warnings->are_on) {
    fprintf(stderr, "%s%s%s", is_first ? "Lua warning: " : "", piece, continues ? "" : "\n");
    fflush(stderr);
  }
}

static int required(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_settop(L, 2);
  lua_pushglobaltable(L);
  lua_insert(L, 1);
  lua_settable(L, 1);
  return 0;
}

/* Requires a module and stores it in a global. The upvalues are the names of the global and the module. */
static int require_global(lua_State *L) {
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_getglobal(L, "require");
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_callk(L, 1, 1, 0, required);
  return required(L, LUA_OK, 0);
}

void njl_push_requirer(lua_State *L, const char *name) {
  const char *equals = strchr(name, '=');
  const char *module = equals != NULL ? equals + 1 : name;
  /* As in lua, "a.b-v2" sets the global "a.b". */
  const char *dash = equals != NULL ? equals : strchr(name, '-');
  lua_pushlstring(L, name, dash != NULL ? (size_t)(dash - name) : strlen(name));
  lua_pushstring(L, module);
  lua_pushcclosure(L, require_global, 2);
}

static int returned(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 1;
}

/* Requires a program and calls it. The upvalues are the program's name and its arguments, each followed by a NUL. */
static int run_program(lua_State *L) {
  lua_settop(L, 0);
  size_t length;
  const char *arguments = lua_tolstring(L, lua_upvalueindex(2), &length);
  lua_getglobal(L, "require");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_call(L, 1, 1);
  int count = 0;
  for (size_t place = 0; place < length; place += strlen(arguments + place) + 1, count++) {
    luaL_checkstack(L, 2, "too many arguments to the program");
    lua_pushstring(L, arguments + place);
  }
  lua_callk(L, count, 1, 0, returned);
  return 1;
}

void njl_push_program(lua_State *L, const char *name, njl_bytes arguments) {
  lua_pushstring(L, name);
  lua_pushlstring(L, arguments.data, arguments.length);
  lua_pushcclosure(L, run_program, 2);
}
