/* host.c - the host of a Lua state: its creation and end, finalizers, anchors of tasks, the depth of the C stack. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/host.h"
#include "core/metatable.h"
#include "core/task.h"
#include "core/timers.h"
#include "core/traceback.h"
#include "njl_clients.h"
#include "njl_engine.h"

/* Registry key of the host. */
static char host_key;

/* Returns whether a finalizer is running: lua_gc then returns -1. */
bool njl_is_finalizing(lua_State *L) { return lua_gc(L, LUA_GCCOUNT) < 0; }

void njl_own(lua_State *L) {
  if (!njl_is_finalizing(L)) return;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key) == LUA_TUSERDATA &&
      lua_getiuservalue(L, -1, NJL_HOST_LATE) == LUA_TTABLE) {
    lua_pushvalue(L, -3);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int end_late(lua_State *L) {
  lua_getiuservalue(L, 1, NJL_HOST_LATE);
  for (lua_pushnil(L); lua_next(L, 2) != 0;) {
    lua_pop(L, 1);
    if (luaL_getmetafield(L, 3, "__gc") == LUA_TNIL) continue;
    lua_pushvalue(L, 3);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  }
  return 0;
}

/* Frees the host. Its userdata is created first, so Lua finalizes it last when the state closes. */
static int host_gc(lua_State *L) {
  njl_host *host = lua_touserdata(L, 1);
  lua_pushcfunction(L, end_late);
  lua_pushvalue(L, 1);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  njl_engine *engine = host->engine;
  host->engine = NULL;
  njl_engine_free(engine);
  njl_client_release(host->client);
  host->client = NULL;
  return 0;
}

bool njl_host_is_open(lua_State *L) {
  bool is_open = lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key) == LUA_TUSERDATA;
  lua_pop(L, 1);
  return is_open;
}

njl_host *njl_host_open(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key) == LUA_TUSERDATA) {
    njl_host *known = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return known;
  }
  lua_pop(L, 1);
  njl_host *host = lua_newuserdatauv(L, sizeof *host, NJL_HOST_VALUES);
  *host = (njl_host){.stop_reason = "interrupted", .limit = NJL_NEVER};
  host->root.host = host;
  host->root.state = NJL_RUNNING;
  host->current = &host->root;
  lua_newtable(L);
  lua_setiuservalue(L, -2, NJL_HOST_ANCHORS);
  njl_push_reported(L);
  lua_setiuservalue(L, -2, NJL_HOST_REPORTED);
  lua_newtable(L);
  njl_make_weak(L, "k");
  lua_setiuservalue(L, -2, NJL_HOST_LATE);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, host_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  host->engine = njl_engine_new();
  if (host->engine == NULL) luaL_error(L, "not enough memory");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &host_key);
  return host;
}

void njl_enter(njl_host *host) {
  if (host->nested++ == 0) host->base = (uintptr_t)__builtin_frame_address(0);
}

void njl_leave(njl_host *host) { host->nested--; }

bool njl_is_deeper(const njl_host *host, size_t bytes) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  return host->nested > 0 && here < host->base && host->base - here > bytes;
}

njl_host *njl_host_of(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

void njl_push_host_value(lua_State *L, int place) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key);
  lua_getiuservalue(L, -1, place);
  lua_replace(L, -2);
}

static void push_anchors(lua_State *L) { njl_push_host_value(L, NJL_HOST_ANCHORS); }

void njl_anchor(lua_State *L, njl_task *task, int index) {
  index = lua_absindex(L, index);
  push_anchors(L);
  lua_pushvalue(L, index);
  lua_rawsetp(L, -2, task);
  lua_pop(L, 1);
}

/* Removes the task's anchor. Removing an existing key allocates nothing. */
void njl_release_anchor(lua_State *L, njl_task *task) {
  push_anchors(L);
  lua_pushnil(L);
  lua_rawsetp(L, -2, task);
  lua_pop(L, 1);
}

bool njl_push_anchored(lua_State *L, njl_task *task) {
  push_anchors(L);
  bool is_anchored = lua_rawgetp(L, -1, task) == LUA_TUSERDATA;
  lua_remove(L, -2);
  if (!is_anchored) lua_pop(L, 1);
  return is_anchored;
}
