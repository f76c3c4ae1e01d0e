/* globals.c - sets and reads the globals of a script. Values that are not scalars are exchanged as JSON. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/state.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "scripts/scripts.h"
#include "njl_script.h"

typedef struct global {
  const char *name;
  njl_function *function; /* NULL: the global is `value` */
  const njl_value *value;
  char *text, *message; /* the value, or the reason why it could not be read */
} global;

/* Sets a global. Bypasses a metatable that the script may have set on its globals. */
static int set_global(lua_State *L) {
  const global *global = lua_touserdata(L, 1);
  lua_pushglobaltable(L);
  lua_pushstring(L, global->name);
  if (global->function != NULL) njl_push_function(L, global->function);
  else njl_push_value(L, global->value);
  lua_rawset(L, -3);
  return 0;
}

/* Reads a global as JSON. Bypasses the metatable of the globals; the encoder bypasses those of tables. */
static int get_global(lua_State *L) {
  global *global = lua_touserdata(L, 1);
  njl_open_values(L);
  lua_pushglobaltable(L);
  lua_pushstring(L, global->name);
  lua_rawget(L, -2);
  size_t length;
  const char *text = njl_json_write(L, -1, global->name, (njl_json_style){.is_sorted = true}, &length);
  global->text = njl_copy_text(text, length);
  if (global->text == NULL) return luaL_error(L, "not enough memory");
  return 0;
}

/* Calls `function` with the global. Keeps the stack unchanged, because the running script may have called the host
 * function that uses the global. Without a run, the limits of a run apply to the call. */
static bool use(njl_script *script, lua_CFunction function, global *global) {
  lua_State *L = script->L;
  njl_host *host = script->host;
  if (!lua_checkstack(L, 6)) return false;
  int top = lua_gettop(L);
  bool is_running = script->is_running;
  if (!is_running) {
    njl_script_prepare(script);
    host->running = L;
  }
  njl_enter(host);
  lua_pushcfunction(L, function);
  lua_pushlightuserdata(L, global);
  bool is_done = lua_pcall(L, 1, 0, 0) == LUA_OK;
  if (!is_done) global->message = njl_take_error(L);
  njl_leave(host);
  if (!is_running) njl_script_end_run(script);
  lua_settop(L, top);
  return is_done;
}

bool njl_script_set_function(njl_script *script, const char *name, njl_function *function) {
  global global = {.name = name, .function = function};
  bool is_set = use(script, set_global, &global);
  njl_script_free_text(global.message);
  return is_set;
}

bool njl_script_set_value(njl_script *script, const char *name, const njl_value *value) {
  global global = {.name = name, .value = value};
  bool is_set = use(script, set_global, &global);
  njl_script_free_text(global.message);
  return is_set;
}

char *njl_script_get_json(njl_script *script, const char *name, char **message) {
  global global = {.name = name};
  bool is_read = use(script, get_global, &global);
  *message = global.message;
  if (is_read) return global.text;
  njl_script_free_text(global.text);
  return NULL;
}
