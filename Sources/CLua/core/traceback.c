/* traceback.c - tracebacks of failed tasks. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/host.h"
#include "core/metatable.h"
#include "core/task.h"
#include "core/traceback.h"

/* The value NJL_HOST_REPORTED of the host: the error last passed to another task (a weak reference), and its
 * traceback. */
enum { REPORTED_ERROR = 1, REPORTED_TRACEBACK };

void njl_push_reported(lua_State *L) {
  lua_createtable(L, REPORTED_TRACEBACK, 0);
  njl_make_weak(L, "v");
}

/* In bytes. Longer tracebacks of joined tasks are left out. Lua shortens the traceback of one task to 22 lines. */
#define LONGEST_TRACEBACK (16 * 1024)

/* Pushes the task's traceback. If its error came from a joined task, the traceback of the joined task comes first. */
static void push_traceback(lua_State *L, const njl_task *task) {
  static const char title[] = "stack traceback:";
  luaL_traceback(L, task->thread, NULL, 0);
  size_t length;
  const char *own = lua_tostring(L, -1);
  njl_push_host_value(L, NJL_HOST_REPORTED);
  lua_rawgeti(L, -1, REPORTED_ERROR);
  if (lua_gettop(task->thread) == 0) {
    lua_pop(L, 2);
    return;
  }
  lua_pushvalue(task->thread, -1);
  lua_xmove(task->thread, L, 1);
  bool is_reported = !lua_isnil(L, -1) && lua_rawequal(L, -1, -2);
  lua_rawgeti(L, -3, REPORTED_TRACEBACK);
  const char *reported = lua_tolstring(L, -1, &length);
  if (is_reported && reported != NULL && length < LONGEST_TRACEBACK && strncmp(own, title, sizeof title - 1) == 0) {
    lua_pushfstring(L, "%s\nawaited by:%s", reported, own + sizeof title - 1);
    lua_replace(L, -6);
  }
  lua_pop(L, 4);
}

static int make_traceback(lua_State *L) {
  njl_task *task = lua_touserdata(L, 1);
  if (!lua_checkstack(task->thread, 1)) return 0;
  njl_push_host_value(L, NJL_HOST_ANCHORS);
  lua_rawgetp(L, -1, task);
  push_traceback(L, task);
  lua_setiuservalue(L, -2, NJL_TASK_TRACEBACK);
  return 0;
}

/* Allocates nothing: both slots of the table exist. */
void njl_remember_reported(lua_State *L, int index) {
  index = lua_absindex(L, index);
  njl_push_host_value(L, NJL_HOST_REPORTED);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, REPORTED_ERROR);
  lua_getiuservalue(L, index, NJL_TASK_TRACEBACK);
  lua_rawseti(L, -2, REPORTED_TRACEBACK);
  lua_pop(L, 1);
}

void njl_keep_traceback(lua_State *L, njl_task *task) {
  lua_pushcfunction(L, make_traceback);
  lua_pushlightuserdata(L, task);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1); /* Out of memory: there is no traceback. */
}
