/* challenge.c - the option on_challenge of a client: its function decides challenges of servers.
 *
 * The function runs in a child of the root task, because several calls may wait for the same decision. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/task.h"
#include "bindings/bindings.h"
#include "json/json.h"
#include "njl_callbacks.h"
#include "njl_clients.h"

void njl_read_challenge(lua_State *L, int options, int client, njl_listener *listener) {
  int top = lua_gettop(L);
  lua_pushliteral(L, "on_challenge");
  if (lua_rawget(L, options) == LUA_TNIL) return lua_settop(L, top);
  if (!njl_is_callable(L, -1)) {
    luaL_error(L, "client: on_challenge must be a function, got %s", luaL_typename(L, -1));
  }
  lua_setiuservalue(L, client, NJL_CLIENT_CHALLENGE);
  listener->decides_challenges = true;
}

/* Responds to the challenge at index 3 with the results at the indexes 1 and 2: nil; false and a message; or a table. */
static int respond(lua_State *L) {
  njl_callback *callback = lua_touserdata(L, 3);
  njl_bytes text = {0};
  switch (lua_type(L, 1)) {
  case LUA_TNIL: njl_callback_decide(callback, NJL_CHOOSE_DEFAULT, text); return 0;
  case LUA_TTABLE:
    njl_json_encode(L, 1, "response");
    text.data = lua_tolstring(L, -1, &text.length);
    njl_callback_decide(callback, NJL_CHOOSE_CREDENTIALS, text);
    return 0;
  case LUA_TBOOLEAN:
    if (!lua_toboolean(L, 1)) {
      if (lua_type(L, 2) == LUA_TSTRING) text.data = lua_tolstring(L, 2, &text.length);
      else if (!lua_isnil(L, 2)) luaL_error(L, "on_challenge: the message must be a string, got %s", luaL_typename(L, 2));
      njl_callback_decide(callback, NJL_CHOOSE_CANCEL, text);
      return 0;
    } /* fall through */
  default: return luaL_error(L, "on_challenge must return nil, false or a table, got %s", luaL_tolstring(L, 1, NULL));
  }
}

static const njl_responder responder = {.results = 2, .respond = respond};

static int decide(lua_State *L) { return njl_call_and_respond(L, &responder); }

int njl_push_challenge_call(lua_State *L, njl_callback *callback) {
  lua_getiuservalue(L, -1, NJL_CLIENT_CHALLENGE);
  lua_remove(L, -2);
  lua_pushcfunction(L, decide);
  lua_insert(L, -2);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_callback_request(callback);
  njl_loan_push_json(L, loan, "the challenge");
  lua_replace(L, -2);
  return 2;
}
