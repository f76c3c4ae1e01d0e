/* numbers.c - numbers by which Swift names the userdata whose functions it calls. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/host.h"
#include "core/metatable.h"
#include "bindings/bindings.h"

/* Registry key of a weak table from numbers to userdata. The functions of a client are user values of its userdata, so
 * a function that refers to its own client is collected together with the client. */
static char numbers_key;

lua_Integer njl_number(lua_State *L, njl_host *host, int index) {
  index = lua_absindex(L, index);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &numbers_key) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    njl_make_weak(L, "v");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &numbers_key);
  }
  lua_pushvalue(L, index);
  lua_rawseti(L, -2, (lua_Integer)host->listeners + 1);
  lua_pop(L, 1);
  host->run_callbacks = njl_handle_callbacks;
  host->write_log = njl_write_log;
  return (lua_Integer)++host->listeners;
}

bool njl_push_numbered(lua_State *L, lua_Integer number) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &numbers_key) == LUA_TTABLE) {
    int type = lua_rawgeti(L, -1, number);
    lua_remove(L, -2);
    if (type == LUA_TUSERDATA) return true;
  }
  lua_pop(L, 1);
  return false;
}
