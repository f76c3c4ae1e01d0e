/* script_log.c - the C part of nightjar.log: writes its lines to the log of the host program's client. If there is no
 * such log, the lines of a sandboxed script are discarded and the lines of other scripts go to standard error. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/host.h"
#include "core/stopping.h"
#include "core/timers.h"
#include "modules/modules.h"
#include "njl_clients.h"

/* The log budget of a sandboxed script, in lines and bytes: a token bucket with a burst size (MOST_*) and a refill
 * rate per second. Without this budget, a script could fill the disk that holds the host's log. */
enum { MOST_LINES = 10000, LINES_A_SECOND = 100, MOST_BYTES = 4 << 20, BYTES_A_SECOND = 64 << 10 };

typedef struct budget {
  njl_moment last;
  double lines, bytes;
} budget;

/* Subtracts one line of `bytes` bytes from the budget. Returns false if the budget is exceeded. */
static bool spend(budget *budget, size_t bytes) {
  njl_moment now = njl_now();
  double seconds = (double)(now - budget->last) * 1e-9;
  budget->last = now;
  budget->lines += seconds * LINES_A_SECOND;
  budget->bytes += seconds * BYTES_A_SECOND;
  if (budget->lines > MOST_LINES) budget->lines = MOST_LINES;
  if (budget->bytes > MOST_BYTES) budget->bytes = MOST_BYTES;
  if (budget->lines < 1 || budget->bytes < (double)bytes) return false;
  budget->lines--;
  budget->bytes -= (double)bytes;
  return true;
}

/* write(level, text for a log, line for standard error). Upvalue 2 is the budget. */
static int write(lua_State *L) {
  static const char *const levels[] = {"off", "error", "warn", "info", "debug", NULL};
  njl_host *host = njl_host_of(L);
  int level = luaL_checkoption(L, 1, NULL, levels);
  njl_bytes text;
  size_t length;
  text.data = luaL_checklstring(L, 2, &text.length);
  const char *line = luaL_checklstring(L, 3, &length);
  if (host->is_sandboxed && !spend(lua_touserdata(L, lua_upvalueindex(2)), text.length)) {
    njl_stop(host, "the script exceeded its log limit: 10000 lines or 4 MiB at once, 100 lines or 64 KiB per second");
    return njl_raise_stopped(L, host);
  }
  if (host->client != NULL && njl_client_log_level(host->client) > 0) njl_client_log(host->client, level, text);
  else if (!host->is_sandboxed) fwrite(line, 1, length, stderr);
  return 0;
}

/* level() -> the name of the level set by the host or the environment, if any */
static int level(lua_State *L) {
  static const char *const names[] = {"off", "error", "warn", "info", "debug"};
  njl_host *host = njl_host_of(L);
  int most = host->client != NULL ? njl_client_log_level(host->client) : 0;
  if (most > 0 && most <= 4) lua_pushstring(L, names[most]);
  else if (host->is_sandboxed) lua_pushnil(L);
  else lua_pushstring(L, getenv("NIGHTJAR_LOG"));
  return 1;
}

int njl_open_log(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  budget *whole = lua_newuserdatauv(L, sizeof *whole, 0);
  *whole = (budget){njl_now(), MOST_LINES, MOST_BYTES};
  lua_pushcclosure(L, write, 2);
  lua_setfield(L, 1, "write");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, level, 1);
  lua_setfield(L, 1, "level");
  lua_pushcfunction(L, njl_is_secret);
  lua_setfield(L, 1, "is_secret");
  lua_pushcfunction(L, njl_redact);
  lua_setfield(L, 1, "redact");
  return 0;
}
