/* explain.c - explains calls: the decisions made, the errors of failed attempts, and the idempotency key. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_calls.h"
#include "njl_future.h"

/* res:explain(), err:explain() -> {{decision =, attempt =, at =, text =, ...}, ..., connection =}. The list prints as one
 * sentence per line. */
int njl_explain(lua_State *L) {
  njl_reply *reply = njl_test(L, 1, NJL_RESPONSE);
  if (reply == NULL) reply = njl_check(L, 1, NJL_ERROR);
  size_t length = 0;
  njl_field field = njl_host_open(L)->is_sandboxed ? NJL_DECISIONS_OF_SANDBOX : NJL_DECISIONS;
  const char *json = njl_future_text(reply->wait.call, field, &length);
  if (json == NULL) lua_newtable(L);
  else njl_json_decode(L, "the decisions", json, length);
  const char *connection = njl_future_text(reply->wait.call, NJL_CONNECTION_SUMMARY, &length);
  if (connection != NULL) {
    lua_pushlstring(L, connection, length);
    lua_setfield(L, -2, "connection");
  }
  njl_set_type(L, NJL_DECISION_LIST);
  return 1;
}

static int describe(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer count = (lua_Integer)lua_rawlen(L, 1);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  if (count == 0) luaL_addstring(&text, "no decisions: the first result was returned");
  for (lua_Integer place = 1; place <= count; place++) {
    if (place > 1) luaL_addchar(&text, '\n');
    lua_rawgeti(L, 1, place);
    if (lua_istable(L, -1)) {
      lua_pushliteral(L, "text");
      lua_rawget(L, -2);
      lua_remove(L, -2);
    }
    if (lua_type(L, -1) == LUA_TSTRING) luaL_addvalue(&text);
    else lua_pop(L, 1);
  }
  lua_pushliteral(L, "connection");
  lua_rawget(L, 1);
  if (lua_type(L, -1) == LUA_TSTRING) {
    luaL_addchar(&text, '\n');
    luaL_addvalue(&text);
  } else {
    lua_pop(L, 1);
  }
  luaL_pushresult(&text);
  return 1;
}

int njl_push_earlier(lua_State *L, const njl_future *future) {
  lua_newtable(L);
  for (size_t index = 0;; index++) {
    njl_reply *error = njl_error_push(L);
    error->wait.call = njl_future_earlier(future, index);
    if (error->wait.call == NULL) break;
    lua_rawseti(L, -2, (lua_Integer)index + 1);
  }
  lua_pop(L, 1);
  return 1;
}

/* nightjar.idempotency_key() -> a new key */
int njl_new_idempotency_key(lua_State *L) {
  char text[NJL_KEY_LENGTH];
  njl_idempotency_key(text);
  lua_pushlstring(L, text, sizeof text);
  return 1;
}

void njl_open_explain(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", describe}, {NULL, NULL}};
  njl_push_metatable(L, NJL_DECISION_LIST, meta);
  lua_pop(L, 1);
}
