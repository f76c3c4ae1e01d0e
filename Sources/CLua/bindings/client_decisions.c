/* client_decisions.c - the options on_challenge, on_request and on_store of a client: functions that decide for its calls.
 *
 * A function runs in a child of the root task, because several calls may wait for the same decision. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/task.h"
#include "bindings/bindings.h"
#include "njl_callbacks.h"
#include "njl_clients.h"

void njl_read_decisions(lua_State *L, int options, int client, njl_listener *listener) {
  listener->decides_challenges = njl_read_function(L, options, client, "on_challenge", NJL_CLIENT_CHALLENGE);
  listener->decides_requests = njl_read_function(L, options, client, "on_request", NJL_CLIENT_REQUEST);
  listener->decides_storing = njl_read_function(L, options, client, "on_store", NJL_CLIENT_STORE);
}

/* Responds with the results of the function `name`: nil; false and a message; or a table. */
static int respond(lua_State *L, const char *name) {
  if (lua_isnil(L, NJL_FIRST_RESULT)) return njl_respond_default(L);
  if (lua_istable(L, NJL_FIRST_RESULT)) return njl_respond_table(L);
  if (!lua_isboolean(L, NJL_FIRST_RESULT) || lua_toboolean(L, NJL_FIRST_RESULT)) {
    return luaL_error(L, "%s must return nil, false or a table, got %s", name, luaL_tolstring(L, NJL_FIRST_RESULT, NULL));
  }
  if (!lua_isnil(L, NJL_SECOND_RESULT) && lua_type(L, NJL_SECOND_RESULT) != LUA_TSTRING) {
    return luaL_error(L, "%s: the message must be a string, got %s", name, luaL_typename(L, NJL_SECOND_RESULT));
  }
  return njl_respond_failure(L);
}

void njl_push_decision_call(lua_State *L, njl_callback *callback, int slot, lua_CFunction decide, const char *what) {
  lua_getiuservalue(L, -1, slot);
  lua_remove(L, -2);
  lua_pushcfunction(L, decide);
  lua_insert(L, -2);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_callback_request(callback);
  njl_loan_push_json(L, loan, what);
  lua_replace(L, -2);
}

/* --- Challenges --- */

static int respond_to_challenge(lua_State *L) { return respond(L, "on_challenge"); }

static const njl_responder challenges = {.results = 2, .respond = respond_to_challenge};

static int decide_challenge(lua_State *L) { return njl_call_and_respond(L, &challenges); }

int njl_push_challenge_call(lua_State *L, njl_callback *callback) {
  njl_push_decision_call(L, callback, NJL_CLIENT_CHALLENGE, decide_challenge, "the challenge");
  return 2;
}

/* --- Requests --- */

static int respond_to_request(lua_State *L) { return respond(L, "on_request"); }

static const njl_responder requests = {.results = 2, .respond = respond_to_request};

static int decide_request(lua_State *L) { return njl_call_and_respond(L, &requests); }

int njl_push_request_call(lua_State *L, njl_callback *callback) {
  njl_push_decision_call(L, callback, NJL_CLIENT_REQUEST, decide_request, "the request");
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_callback_body(callback);
  if (loan->text != NULL) {
    njl_loan_push_text(L, loan);
    lua_setfield(L, -3, "body");
  }
  lua_pop(L, 1);
  return 2;
}

/* --- Stored responses --- */

/* Responds to the decision request at index 2 with the result at index 1: nil or true to store the response, or false. */
static int respond_to_response(lua_State *L) {
  if (!lua_isnil(L, 1) && !lua_isboolean(L, 1)) {
    return luaL_error(L, "on_store must return nil, true or false, got %s", luaL_tolstring(L, 1, NULL));
  }
  bool is_stored = lua_isnil(L, 1) || lua_toboolean(L, 1);
  njl_callback_decide(lua_touserdata(L, 2), is_stored ? NJL_CHOOSE_DEFAULT : NJL_CHOOSE_CANCEL, (njl_bytes){0});
  return 0;
}

static const njl_responder responses = {.results = 1, .respond = respond_to_response};

static int decide_response(lua_State *L) { return njl_call_and_respond(L, &responses); }

int njl_push_store_call(lua_State *L, njl_callback *callback) {
  njl_push_decision_call(L, callback, NJL_CLIENT_STORE, decide_response, "the response");
  return 2;
}
