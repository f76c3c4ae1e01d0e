/* log.c - the log option of a client: a function that receives each line, on the thread that runs the script. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/names.h"
#include "core/task.h"
#include "bindings/bindings.h"
#include "njl_engine.h"

/* The names of the levels, by increasing verbosity. The indices equal the numbers of LogSink.Level. */
static const char *const levels[] = {"off", "error", "warning", "info", "debug", NULL};

static int read_level(lua_State *L, int index) {
  int level = njl_find_name(L, index, levels);
  if (level >= 0) return level;
  const char *name = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : luaL_typename(L, index);
  return luaL_error(L, "client: log.level must be \"error\", \"warning\", \"info\" or \"debug\", got %s", name);
}

/* Reads log = function(level, line) end, or log = { level = "debug", write = function(level, line) end }. */
int njl_read_log(lua_State *L, int options) {
  static const char *const known[] = {"level", "write", NULL};
  int level = 3;
  if (lua_getfield(L, options, "log") == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  if (lua_istable(L, -1)) {
    int table = lua_gettop(L);
    njl_check_options(L, table, "client", "log.", known);
    if (lua_getfield(L, table, "level") != LUA_TNIL) level = read_level(L, -1);
    lua_pop(L, 1);
    lua_getfield(L, table, "write");
    lua_replace(L, table);
  }
  if (!njl_is_callable(L, -1)) {
    return luaL_error(L, "client: log must be a function or { level = ..., write = FUNCTION }, got %s",
                      luaL_typename(L, -1));
  }
  if (level == 0) lua_pop(L, 1);
  return level;
}

/* Passes the line at index 1, a njl_line, to its function. */
static int write_line(lua_State *L) {
  const njl_line *line = lua_touserdata(L, 1);
  if (!njl_push_numbered(L, line->log)) return 0;
  lua_getiuservalue(L, -1, NJL_CLIENT_LOG);
  lua_pushstring(L, levels[line->level]);
  lua_pushlstring(L, line->text.data, line->text.length);
  lua_call(L, 2, 0);
  return 0;
}

/* Calls the log functions for all lines that have arrived. An error of a log function becomes a warning, because the
 * error is unrelated to the running task. */
void njl_write_log(lua_State *L, njl_host *host) {
  njl_line line;
  lua_State *outer_thread = host->running;
  bool outer_yields = host->yields;
  if (host->is_logging || !lua_checkstack(L, LUA_MINSTACK)) return;
  host->is_logging = true;
  host->running = L;
  host->yields = false; /* Waits of log functions block. */
  while (host->engine != NULL && njl_engine_next_line(host->engine, &line)) {
    lua_pushcfunction(L, write_line);
    lua_pushlightuserdata(L, &line);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK) continue;
    const char *message = lua_tostring(L, -1);
    lua_warning(L, "nightjar: the log function failed: ", 1);
    lua_warning(L, message != NULL ? message : "(error object is not a string)", 0);
    lua_pop(L, 1);
  }
  host->running = outer_thread;
  host->yields = outer_yields;
  host->is_logging = false;
}
