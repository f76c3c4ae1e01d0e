/* failure.c - the results of calls, and error objects: kind, message, phase, status and so on. */
#include <stdarg.h>
#include <string.h>

#include "json.h"
#include "njl.h"

/* The user values of a reply that is an error: fields that were already created. */
enum { CACHED_RESPONSE = 1, CACHED_DETAILS, CACHED_EARLIER };

njl_wait *njl_reply_push(lua_State *L, njl_host *host) {
  njl_reply *reply = lua_newuserdatauv(L, sizeof *reply, NJL_REPLY_VALUES);
  njl_wait_init(&reply->wait, host);
  reply->asks_redirects = reply->asks_retries = reply->hears_of_refresh = reply->hears_of_progress = false;
  reply->place = 0;
  njl_set_type(L, NJL_REPLY);
  njl_own(L);
  return &reply->wait;
}

int njl_reply_gc(lua_State *L) {
  njl_reply *reply = lua_touserdata(L, 1);
  njl_wait_drop(&reply->wait);
  return 0;
}

/* The memory that an unread streamed response keeps: the task's window and a connection. */
enum { STREAM_COST = 256 * 1024 };

void njl_account(lua_State *L, size_t bytes) {
  enum { SMALL = 16 * 1024, MOST = 1 << 30 };
  if (bytes < SMALL || !lua_gc(L, LUA_GCISRUNNING)) return;
  lua_gc(L, LUA_GCSTEP, (int)((bytes < MOST ? bytes : MOST) / 1024));
}

int njl_reply_finish(lua_State *L, int index) {
  njl_reply *reply = lua_touserdata(L, index);
  lua_pushvalue(L, index);
  njl_response response;
  if (njl_outcome_response(reply->wait.call, &response)) {
    njl_set_type(L, NJL_RESPONSE);
    njl_account(L, response.is_streamed ? STREAM_COST : response.body.length);
    return 1;
  }
  njl_set_type(L, NJL_ERROR);
  return lua_error(L);
}

njl_reply *njl_error_push(lua_State *L) {
  njl_wait *wait = njl_reply_push(L, NULL);
  wait->state = NJL_DONE;
  njl_set_type(L, NJL_ERROR);
  return (njl_reply *)wait;
}

void njl_push_failure(lua_State *L, njl_kind kind, int phase, const char *message) {
  njl_reply *reply = njl_error_push(L);
  reply->wait.call = njl_outcome_failed(kind, phase, (njl_bytes){message, strlen(message)});
}

int njl_raise(lua_State *L, njl_kind kind, int phase, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *message = lua_pushvfstring(L, format, arguments);
  va_end(arguments);
  njl_push_failure(L, kind, phase, message);
  return lua_error(L);
}

#define BATCH_PREFIX "request %I of the batch: "

void njl_number_error(lua_State *L, lua_Integer place) {
  njl_reply *reply = njl_test(L, -1, NJL_ERROR);
  if (reply != NULL) {
    reply->place = place;
  } else if (lua_type(L, -1) == LUA_TSTRING) {
    lua_pushfstring(L, BATCH_PREFIX, (LUAI_UACINT)place);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
}

static int push_text(lua_State *L, njl_outcome *outcome, njl_field field) {
  size_t length = 0;
  const char *text = njl_outcome_text(outcome, field, &length);
  if (text == NULL) lua_pushnil(L);
  else lua_pushlstring(L, text, length);
  return 1;
}

static int push_response(lua_State *L, njl_outcome *outcome, bool is_there) {
  if (!is_there) {
    lua_pushnil(L);
    return 1;
  }
  if (lua_getiuservalue(L, 1, CACHED_RESPONSE) != LUA_TNIL) return 1;
  lua_pop(L, 1);
  njl_wait *wait = njl_reply_push(L, NULL);
  wait->state = NJL_DONE;
  wait->call = njl_outcome_error_response(outcome);
  njl_set_type(L, NJL_RESPONSE);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, CACHED_RESPONSE);
  return 1;
}

/* { title =, message =, detail =, code =, type =, fields = {{ name =, message = }, ...} } */
static int push_details(lua_State *L, njl_outcome *outcome) {
  if (lua_getiuservalue(L, 1, CACHED_DETAILS) != LUA_TNIL) return 1;
  lua_pop(L, 1);
  size_t length = 0;
  const char *json = njl_outcome_text(outcome, NJL_DETAILS, &length);
  if (json == NULL) {
    lua_pushnil(L);
    return 1;
  }
  njl_json_decode(L, "the error details", json, length);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, CACHED_DETAILS);
  return 1;
}

static int push_earlier(lua_State *L, njl_outcome *outcome) {
  if (lua_getiuservalue(L, 1, CACHED_EARLIER) != LUA_TNIL) return 1;
  njl_push_earlier(L, outcome);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, CACHED_EARLIER);
  return 1;
}

static const char *const field_names[] = {"kind",      "phase", "message",  "user_message", "status",
                                          "retryable", "url",   "attempts", "response",     "retry_after",
                                          "code",      "curl",  "may_have_been_processed", "details",
                                          "explain",   "earlier", "idempotency_key", "index", NULL};
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
};

/* Unknown fields are nil, so that error handlers can read any field of any caught error. */
static int error_index(lua_State *L) {
  njl_reply *reply = njl_check(L, 1, NJL_ERROR);
  njl_outcome *outcome = reply->wait.call;
  njl_failure failure = {0};
  njl_outcome_failure(outcome, &failure);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) return 1;
  switch (lua_tointeger(L, -1)) {
  case KIND: return push_text(L, outcome, NJL_KIND);
  case PHASE: return push_text(L, outcome, NJL_PHASE);
  case MESSAGE: return push_text(L, outcome, NJL_MESSAGE);
  case USER_MESSAGE: return push_text(L, outcome, NJL_USER_MESSAGE);
  case URL: return push_text(L, outcome, NJL_URL);
  case RETRYABLE: lua_pushboolean(L, failure.is_retryable); return 1;
  case ATTEMPTS: lua_pushinteger(L, failure.attempts); return 1;
  case DETAILS: return push_details(L, outcome);
  case RESPONSE: return push_response(L, outcome, failure.has_response);
  case CURL: lua_pushcfunction(L, njl_curl); return 1;
  case EXPLAIN: lua_pushcfunction(L, njl_explain); return 1;
  case EARLIER: return push_earlier(L, outcome);
  case IDEMPOTENCY_KEY: return push_text(L, outcome, NJL_IDEMPOTENCY_KEY);
  case MAY_HAVE_BEEN_PROCESSED: lua_pushboolean(L, failure.may_have_been_processed); return 1;
  case INDEX:
    if (reply->place == 0) lua_pushnil(L);
    else lua_pushinteger(L, reply->place);
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
  if (reply->place == 0) return push_text(L, reply->wait.call, NJL_SENTENCE);
  lua_pushfstring(L, BATCH_PREFIX, (LUAI_UACINT)reply->place);
  push_text(L, reply->wait.call, NJL_SENTENCE);
  lua_concat(L, 2);
  return 1;
}

/* "failed: " .. err */
static int error_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

void njl_open_failure(lua_State *L) {
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

/* --- nightjar.try --- */

static int tried(lua_State *L, int status, lua_KContext context) {
  (void)context;
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

/* nightjar.try(f, ...) -> what f returns, or nil and the error */
int njl_try(lua_State *L) {
  njl_check_callable(L, 1, "function");
  return tried(L, lua_pcallk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, 0, tried), 0);
}
