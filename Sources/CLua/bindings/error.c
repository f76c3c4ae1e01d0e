/* error.c - the fields of error objects. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/wait.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_future.h"

/* The user values of a reply that is an error: fields that were computed on their first use. */
enum { CACHED_RESPONSE = 1, CACHED_DETAILS, CACHED_EARLIER };

static int push_response(lua_State *L, njl_future *future, bool is_there) {
  if (!is_there) {
    lua_pushnil(L);
    return 1;
  }
  if (lua_getiuservalue(L, 1, CACHED_RESPONSE) != LUA_TNIL) return 1;
  lua_pop(L, 1);
  njl_wait *reply = njl_reply_push(L, NULL);
  njl_reply_respond(L, reply, njl_future_error_response(future));
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, CACHED_RESPONSE);
  return 1;
}

/* Pushes { title =, message =, detail =, code =, type =, fields = {{ name =, message = }, ...} }. */
static int push_details(lua_State *L, njl_future *future) {
  if (lua_getiuservalue(L, 1, CACHED_DETAILS) != LUA_TNIL) return 1;
  lua_pop(L, 1);
  size_t length = 0;
  const char *json = njl_future_text(future, NJL_DETAILS, &length);
  if (json == NULL) {
    lua_pushnil(L);
    return 1;
  }
  njl_json_decode(L, "the error details", json, length);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, CACHED_DETAILS);
  return 1;
}

static int push_earlier(lua_State *L, njl_future *future) {
  if (lua_getiuservalue(L, 1, CACHED_EARLIER) != LUA_TNIL) return 1;
  njl_push_earlier(L, future);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, CACHED_EARLIER);
  return 1;
}

static const char *const field_names[] = {"kind",      "phase", "message",  "user_message", "status",
                                          "retryable", "url",   "attempts", "response",     "retry_after",
                                          "code",      "curl",  "may_have_been_processed", "details",
                                          "explain",   "earlier", "idempotency_key", "index", "reason", "delivered", "tls",
                                          "call_id",
                                          NULL};
enum {
  KIND,
  PHASE,
  MESSAGE,
  USER_MESSAGE,
  STATUS,
  RETRYABLE,
  URL,
  ATTEMPTS,
  RESPONSE,
  RETRY_AFTER,
  CODE,
  CURL,
  MAY_HAVE_BEEN_PROCESSED,
  DETAILS,
  EXPLAIN,
  EARLIER,
  IDEMPOTENCY_KEY,
  INDEX,
  REASON,
  DELIVERED,
  TLS,
  CALL_ID,
};

/* Looks up a field of an error. Unknown fields are nil, so that error handlers can read any field of any caught
 * error. */
static int error_index(lua_State *L) {
  njl_reply *reply = njl_check(L, 1, NJL_ERROR);
  njl_future *future = reply->wait.call;
  njl_failure failure = {0};
  njl_future_failure(future, &failure);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) return 1;
  switch (lua_tointeger(L, -1)) {
  case KIND: return njl_push_field(L, future, NJL_KIND);
  case PHASE: return njl_push_field(L, future, NJL_PHASE);
  case MESSAGE: return njl_push_field(L, future, NJL_MESSAGE);
  case USER_MESSAGE: return njl_push_field(L, future, NJL_USER_MESSAGE);
  case URL: return njl_push_field(L, future, NJL_URL);
  case RETRYABLE: lua_pushboolean(L, failure.is_retryable); return 1;
  case ATTEMPTS: lua_pushinteger(L, failure.attempts); return 1;
  case DETAILS: return push_details(L, future);
  case RESPONSE: return push_response(L, future, failure.has_response);
  case CURL: lua_pushcfunction(L, njl_curl); return 1;
  case EXPLAIN: lua_pushcfunction(L, njl_explain); return 1;
  case EARLIER: return push_earlier(L, future);
  case IDEMPOTENCY_KEY: return njl_push_field(L, future, NJL_IDEMPOTENCY_KEY);
  case TLS: return njl_push_tls(L, future);
  case CALL_ID:
    lua_pushinteger(L, (lua_Integer)njl_future_call_id(future));
    return 1;
  case REASON: return njl_push_field(L, future, NJL_OFFLINE_REASON);
  case MAY_HAVE_BEEN_PROCESSED: lua_pushboolean(L, failure.may_have_been_processed); return 1;
  case INDEX:
    if (reply->place == 0) lua_pushnil(L);
    else lua_pushinteger(L, reply->place);
    return 1;
  case DELIVERED:
    if (failure.delivered < 0) lua_pushnil(L);
    else lua_pushinteger(L, (lua_Integer)failure.delivered);
    return 1;
  case CODE:
    if (failure.code == 0) lua_pushnil(L);
    else lua_pushinteger(L, failure.code);
    return 1;
  case RETRY_AFTER:
    if (failure.retry_after < 0) lua_pushnil(L);
    else lua_pushnumber(L, failure.retry_after);
    return 1;
  default:
    if (failure.status == 0) lua_pushnil(L);
    else lua_pushinteger(L, failure.status);
    return 1;
  }
}

static int error_describe(lua_State *L) {
  njl_reply *reply = njl_check(L, 1, NJL_ERROR);
  if (reply->place == 0) return njl_push_field(L, reply->wait.call, NJL_SENTENCE);
  lua_pushfstring(L, NJL_BATCH_PREFIX, (LUAI_UACINT)reply->place);
  njl_push_field(L, reply->wait.call, NJL_SENTENCE);
  lua_concat(L, 2);
  return 1;
}

/* Concatenates an error and a text: "failed: " .. err. */
static int error_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

void njl_open_error(lua_State *L) {
  static const luaL_Reg reply[] = {{"__gc", njl_reply_gc}, {NULL, NULL}};
  static const luaL_Reg error[] = {
      {"__tostring", error_describe}, {"__concat", error_concat}, {"__gc", njl_reply_gc}, {NULL, NULL}};
  njl_push_metatable(L, NJL_REPLY, reply);
  njl_push_metatable(L, NJL_ERROR, error);
  njl_push_field_numbers(L, field_names);
  lua_pushcclosure(L, error_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 2);
}
