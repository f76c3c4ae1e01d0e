/* interpreter.c - what the command does as lua does it: arguments, warnings, -l, and lines typed at the prompt. */
#include <stdio.h>
#include <string.h>

#include "njl.h"

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

/* By the upvalues: global, module. */
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
  /* As lua has it, "a.b-v2" goes to the global "a.b". */
  const char *dash = equals != NULL ? equals : strchr(name, '-');
  lua_pushlstring(L, name, dash != NULL ? (size_t)(dash - name) : strlen(name));
  lua_pushstring(L, module);
  lua_pushcclosure(L, require_global, 2);
}

bool njl_load_line(lua_State *L, njl_bytes text) {
  lua_pushliteral(L, "return ");
  lua_pushlstring(L, text.data, text.length);
  lua_concat(L, 2);
  size_t length;
  const char *expression = lua_tolstring(L, -1, &length);
  if (luaL_loadbufferx(L, expression, length, "=stdin", "t") == LUA_OK) {
    lua_remove(L, -2);
    return true;
  }
  lua_pop(L, 2);
  return luaL_loadbufferx(L, text.data, text.length, "=stdin", "t") == LUA_OK;
}

/* The syntax error is then that the text ended too early. */
static int check_incomplete(lua_State *L) {
  const njl_bytes *text = lua_touserdata(L, 1);
  if (njl_load_line(L, *text)) return 0;
  size_t length;
  const char *message = lua_tolstring(L, -1, &length);
  lua_pushboolean(L, message != NULL && length >= 5 && strcmp(message + length - 5, "<eof>") == 0);
  return 1;
}

bool njl_is_incomplete(lua_State *L, njl_bytes text) {
  lua_pushcfunction(L, check_incomplete);
  lua_pushlightuserdata(L, &text);
  bool is_incomplete = lua_pcall(L, 1, 1, 0) == LUA_OK && lua_toboolean(L, -1);
  lua_settop(L, 0);
  return is_incomplete;
}

int njl_print_results(lua_State *L, njl_task *task) {
  int count = njl_task_push_results(L, task);
  if (count == 0) return 0;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_getglobal(L, "print");
  lua_insert(L, -count - 1);
  lua_call(L, count, 0);
  return 0;
}
