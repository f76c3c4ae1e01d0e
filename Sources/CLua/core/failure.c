/* failure.c - replies, which become a response or an error, and how errors are raised. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/task.h"
#include "core/wait.h"
#include "njl_calls.h"
#include "njl_future.h"

njl_wait *njl_reply_push(lua_State *L, njl_host *host) {
  njl_reply *reply = lua_newuserdatauv(L, sizeof *reply, NJL_REPLY_VALUES);
  njl_wait_init(&reply->wait, host);
  reply->decides_redirects = reply->decides_retries = false;
  reply->reports_refresh = reply->reports_progress = reply->reports_waiting = reply->has_upload = false;
  reply->place = 0;
  njl_set_type(L, NJL_REPLY);
  njl_own(L);
  return &reply->wait;
}

int njl_reply_respond(lua_State *L, njl_wait *reply, njl_future *call) {
  reply->state = NJL_DONE;
  reply->call = call;
  if (call == NULL) lua_pushnil(L);
  else njl_set_type(L, NJL_RESPONSE);
  return 1;
}

void njl_reply_close(njl_reply *reply) {
  njl_response response;
  bool is_response = reply->wait.call != NULL && njl_future_response(reply->wait.call, &response);
  if (is_response && response.is_streamed) njl_call_cancel(reply->wait.call);
}

/* A reply becomes a response when its task continues. If the task is cancelled after the head of a streamed response has
 * arrived, and before it continues, only the collector can end the call. */
int njl_reply_gc(lua_State *L) {
  njl_reply *reply = lua_touserdata(L, 1);
  njl_reply_close(reply);
  njl_wait_drop(&reply->wait);
  return 0;
}

/* An estimate of the memory in bytes that an unread streamed response holds: its unread parts and a connection. */
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
  if (njl_future_response(reply->wait.call, &response)) {
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
  reply->wait.call = njl_future_failed(kind, phase, (njl_bytes){message, strlen(message)});
}

int njl_push_field(lua_State *L, njl_future *future, njl_field field) {
  size_t length = 0;
  const char *text = njl_future_text(future, field, &length);
  if (text == NULL) lua_pushnil(L);
  else lua_pushlstring(L, text, length);
  return 1;
}

void njl_push_message(lua_State *L, int index) {
  if (njl_test(L, index, NJL_ERROR) != NULL) lua_getfield(L, index, "message");
  else luaL_tolstring(L, index, NULL);
}

int njl_raise(lua_State *L, njl_kind kind, int phase, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *message = lua_pushvfstring(L, format, arguments);
  va_end(arguments);
  njl_push_failure(L, kind, phase, message);
  return lua_error(L);
}

void njl_number_error(lua_State *L, lua_Integer place) {
  njl_reply *reply = njl_test(L, -1, NJL_ERROR);
  if (reply != NULL) {
    reply->place = place;
  } else if (lua_type(L, -1) == LUA_TSTRING) {
    lua_pushfstring(L, NJL_BATCH_PREFIX, (LUAI_UACINT)place);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
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

char *njl_copy_text(const char *text, size_t length) {
  char *bytes = malloc(length + 1);
  if (bytes == NULL) return NULL;
  memcpy(bytes, text, length);
  bytes[length] = 0;
  return bytes;
}

/* Copies the text of the error at index 2 to the pointer at index 1. */
static int copy_error(lua_State *L) {
  char **text = lua_touserdata(L, 1);
  size_t length;
  const char *message = luaL_tolstring(L, 2, &length);
  *text = njl_copy_text(message, length);
  return 0;
}

char *njl_take_error(lua_State *L) {
  char *text = NULL;
  if (!lua_checkstack(L, 2)) {
    lua_pop(L, 1);
    return NULL;
  }
  lua_pushcfunction(L, copy_error);
  lua_insert(L, -2);
  lua_pushlightuserdata(L, &text);
  lua_insert(L, -2);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) lua_pop(L, 1);
  return text;
}
