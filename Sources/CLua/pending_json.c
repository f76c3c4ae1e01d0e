/* pending_json.c - makes way for json_*.c of branch json. */
#include "njl.h"
void njl_json_encode(lua_State *L, int index) {
  if (lua_getfield(L, index, "base_url") == LUA_TNIL) { lua_pop(L, 1); lua_pushliteral(L, "{}"); return; }
  lua_pushfstring(L, "{\"base_url\":\"%s\"}", lua_tostring(L, -1));
  lua_replace(L, -2);
}
int njl_push_json(lua_State *L, const njl_response *response, int slot) {
  (void)response, (void)slot;
  return luaL_error(L, "JSON is on another branch");
}
