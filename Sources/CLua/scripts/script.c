/* script.c - creates the host's own Lua states. run.c runs chunks in them, globals.c exchanges values with them. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <stdlib.h>
#include <string.h>

#include "core/coroutine.h"
#include "core/failure.h"
#include "core/host.h"
#include "core/state.h"
#include "bindings/bindings.h"
#include "modules/modules.h"
#include "scripts/scripts.h"
#include "njl_script.h"

/* --- Creating --- */

static void open_library(lua_State *L, const char *name, lua_CFunction open) {
  luaL_requiref(L, name, open, 1);
  lua_pop(L, 1);
}

static int open_state(lua_State *L) {
  njl_script *script = lua_touserdata(L, 1);
  if (!script->options.is_sandboxed) {
    luaL_openlibs(L);
    /* Generational mode, as in lua: a response that a script discards soon is collected while it is still in the
     * processor's cache. */
    lua_gc(L, LUA_GCGEN, 0, 0);
  }
  script->host = njl_host_open(L);
  script->host->is_sandboxed = script->options.is_sandboxed;
  if (script->options.is_sandboxed) njl_open_sandbox(L, script->host);
  njl_open_coroutine(L); /* Each resume then checks limits and interrupts. */
  if (script->options.is_sandboxed) {
    open_library(L, "nightjar", luaopen_nightjar);
  } else {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_nightjar);
    lua_setfield(L, -2, "nightjar");
    njl_preload_modules(L);
    njl_open_require(L);
    njl_open_exit(L);
  }
  return 0;
}

njl_script *njl_script_new(const njl_script_options *options) {
  njl_script *script = calloc(1, sizeof *script);
  if (script == NULL) return NULL;
  script->options = *options;
  bool is_limited = options->instructions != 0 || options->burst != 0 || options->seconds > 0;
  if (is_limited) script->options.is_interruptible = true;
  if (njl_open_budget(script)) script->L = lua_newstate(njl_allocate, script);
  if (script->L != NULL) {
    *(njl_script **)lua_getextraspace(script->L) = script;
    if (options->warns) lua_setwarnf(script->L, njl_warn, &script->warnings);
    lua_pushcfunction(script->L, open_state);
    lua_pushlightuserdata(script->L, script);
    if (lua_pcall(script->L, 1, 0, 0) == LUA_OK) {
      njl_watch(script, script->L);
      return script;
    }
  }
  njl_script_free(script);
  return NULL;
}

void njl_script_free(njl_script *script) {
  if (script == NULL) return;
  if (script->L != NULL) lua_close(script->L);
  njl_budget_release(script->budget);
  free(script);
}

void njl_script_free_text(char *text) { free(text); }

int njl_script_exit_status(const njl_script *script) { return script->exit_status; }

bool njl_script_open(njl_script *script, lua_CFunction open, char **message) {
  lua_State *L = script->L;
  lua_settop(L, 0);
  lua_pushcfunction(L, open);
  bool is_open = lua_pcall(L, 0, 0, 0) == LUA_OK;
  size_t length = 0;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : NULL;
  *message = !is_open && text != NULL ? njl_copy_text(text, length) : NULL;
  lua_settop(L, 0);
  return is_open;
}

uint64_t njl_script_allocations(const njl_script *script) { return script->allocations; }

const char *njl_lua_version(void) { return LUA_VERSION; }

bool njl_script_set_arguments(njl_script *script, int count, char *const *arguments, int first) {
  script->has_arguments = true;
  return njl_set_arguments(script->L, count, arguments, first);
}

void njl_script_set_client(njl_script *script, njl_client *client) { script->host->client = client; }

njl_engine *njl_script_engine(const njl_script *script) { return script->host->engine; }
