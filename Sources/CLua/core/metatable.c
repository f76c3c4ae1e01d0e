/* metatable.c - the metatables of the host's userdata. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/host.h"
#include "core/metatable.h"

const char NJL_CLIENT[] = "nightjar.client";
const char NJL_CALLER[] = "nightjar.caller";
const char NJL_LIST[] = "nightjar.list";
const char NJL_PAGE[] = "nightjar.page";
const char NJL_DECISION[] = "nightjar.decision";
const char NJL_COOKIES[] = "nightjar.cookies";
const char NJL_MOCK[] = "nightjar.mock";
const char NJL_TOKEN_STORE[] = "nightjar.token_store";
const char NJL_CACHE[] = "nightjar.cache";
const char NJL_ENDPOINTS[] = "nightjar.endpoints";
const char NJL_ENDPOINT[] = "nightjar.endpoint";
const char NJL_LOAN[] = "nightjar.loan";
const char NJL_REPLY[] = "nightjar.reply";
const char NJL_DECISION_LIST[] = "nightjar.decisions";
const char NJL_DEBOUNCED[] = "nightjar.debounced";
const char NJL_THROTTLED[] = "nightjar.throttled";
const char NJL_RESPONSE[] = "nightjar.response";
const char NJL_HEADERS[] = "nightjar.headers";
const char NJL_ERROR[] = "nightjar.error";
const char NJL_TASK[] = "nightjar.task";
const char NJL_WAIT[] = "nightjar.wait";
const char NJL_GROUP[] = "nightjar.group";
const char NJL_DIGEST[] = "nightjar.digest";
const char NJL_GATE[] = "nightjar.gate";
const char NJL_CLOCK[] = "nightjar.clock";
const char NJL_PIPE[] = "nightjar.pipe";
const char NJL_PROCESS[] = "nightjar.child";
const char NJL_RESOURCE[] = "nightjar.native";
const char NJL_API_RESOURCE[] = "nightjar.resource";
const char NJL_OBSERVER[] = "nightjar.resource_changes";
const char NJL_SNAPSHOT[] = "nightjar.snapshot";
const char NJL_EVENTS[] = "nightjar.events";
const char NJL_EVENT[] = "nightjar.event";
const char NJL_WEBSOCKET[] = "nightjar.websocket";
const char NJL_DOWNLOAD[] = "nightjar.download";
const char NJL_UPLOAD[] = "nightjar.upload";
const char NJL_MESSAGE_OF_SOCKET[] = "nightjar.message";
const char NJL_RECORDS[] = "nightjar.records";
const char NJL_CHANGES[] = "nightjar.network_changes";

/* Each metatable is in the registry twice. The host looks it up by the address of its name, which takes a third of the
 * time of a lookup by name. Debuggers find it by name. */
static int push(lua_State *L, const char *type) { return lua_rawgetp(L, LUA_REGISTRYINDEX, type); }

/* Pushes the metatable of a type. Returns true if it is new. keep() registers it when it is complete: if memory runs
 * out before, the incomplete metatable is never used. `__metatable` hides it from scripts, because a change would
 * affect all objects of the type, and because finalizers rely on the type of their argument. */
static bool begin(lua_State *L, const char *type, const luaL_Reg *meta) {
  if (push(L, type) == LUA_TTABLE) return false;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushstring(L, type);
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "__metatable");
  luaL_setfuncs(L, meta, 0);
  return true;
}

static void keep(lua_State *L, const char *type) {
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, type);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, type);
}

void njl_set_type(lua_State *L, const char *type) {
  push(L, type);
  lua_setmetatable(L, -2);
}

void *njl_test(lua_State *L, int index, const char *type) {
  void *data = lua_touserdata(L, index);
  if (data == NULL || !lua_getmetatable(L, index)) return NULL;
  push(L, type);
  bool is_one = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is_one ? data : NULL;
}

void *njl_check(lua_State *L, int index, const char *type) {
  void *data = njl_test(L, index, type);
  if (data == NULL) luaL_typeerror(L, index, type);
  return data;
}

void njl_push_metatable(lua_State *L, const char *type, const luaL_Reg *meta) {
  if (begin(L, type, meta)) keep(L, type);
}

void njl_add_type(lua_State *L, const char *type, const luaL_Reg *meta, const luaL_Reg *methods,
                  lua_CFunction unknown) {
  if (begin(L, type, meta)) {
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    if (unknown != NULL) {
      lua_createtable(L, 0, 1);
      lua_pushcfunction(L, unknown);
      lua_setfield(L, -2, "__index");
      lua_setmetatable(L, -2);
    }
    lua_setfield(L, -2, "__index");
    keep(L, type);
  }
  lua_pop(L, 1);
}

void njl_make_weak(lua_State *L, const char *mode) {
  lua_createtable(L, 0, 1);
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

void njl_add_functions(lua_State *L, int table, const luaL_Reg *functions) {
  lua_pushvalue(L, table);
  lua_pushlightuserdata(L, njl_host_open(L));
  luaL_setfuncs(L, functions, 1);
  lua_pop(L, 1);
}
