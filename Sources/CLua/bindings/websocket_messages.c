/* websocket_messages.c - the messages of a WebSocket: receiving, sending, and Pings. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/task.h"
#include "core/timers.h"
#include "core/wait.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "bindings/websocket.h"
#include "njl_future.h"
#include "njl_work.h"

/* --- Messages --- */

/* message.json, decoded on each access, and message.is_first and message.is_last, which are stored only if false */
static int message_field(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(name, "is_last") == 0 || strcmp(name, "is_first") == 0) {
    lua_pushboolean(L, true);
    return 1;
  }
  if (strcmp(name, "json") != 0) return 0;
  if (lua_getfield(L, 1, "text") == LUA_TNIL) lua_getfield(L, 1, "binary");
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  if (text == NULL) return 0;
  njl_json_decode(L, "the message", text, length);
  return 1;
}

static void set_false(lua_State *L, const char *name) {
  lua_pushboolean(L, false);
  lua_setfield(L, -2, name);
}

/* Pushes the message at the address in the argument as a table. */
static int copy_message(lua_State *L) {
  static const luaL_Reg meta[] = {{"__index", message_field}, {NULL, NULL}};
  const njl_message *message = lua_touserdata(L, 1);
  lua_createtable(L, 0, 1);
  lua_pushlstring(L, message->bytes.length == 0 ? "" : message->bytes.data, message->bytes.length);
  lua_setfield(L, -2, message->is_text ? "text" : "binary");
  if (!message->is_first) set_false(L, "is_first");
  if (!message->is_last) set_false(L, "is_last");
  njl_push_metatable(L, NJL_MESSAGE_OF_SOCKET, meta);
  lua_setmetatable(L, -2);
  return 1;
}

static int raise_failure(lua_State *L, websocket *self) {
  njl_reply *reply = njl_error_push(L);
  reply->wait.call = njl_websocket_error(self->handle);
  return lua_error(L);
}

/* --- Receiving --- */

static bool receive_message(lua_State *L, websocket *self) {
  if (self->is_reading) luaL_error(L, "a message of this WebSocket is being received");
  lua_pushcfunction(L, copy_message);
  njl_message message;
  switch (njl_websocket_next(self->handle, &message)) {
  case NJL_PART_READY: break;
  case NJL_PART_END: lua_pushnil(L); return true;
  case NJL_PART_FAILED: raise_failure(L, self); return false;
  case NJL_PART_LATER:
  case NJL_PART_BUSY: return false;
  }
  lua_pushlightuserdata(L, &message);
  /* A finalizer that receives meanwhile gets an error, because it could release the message. */
  self->is_reading = true;
  int status = lua_pcall(L, 1, 1, 0);
  self->is_reading = false;
  if (status != LUA_OK) lua_error(L);
  njl_websocket_take(self->handle);
  return true;
}

static const operation receiving = {receive_message, "no message arrived in time; the WebSocket is still open"};

/* socket:receive(timeout) -> the next message; nil at the end */
static int receive(lua_State *L) { return njl_websocket_begin(L, &receiving, FIRST, "receive"); }

static int next_message(lua_State *L) {
  lua_settop(L, SOCKET);
  return njl_websocket_begin(L, &receiving, 0, "messages");
}

/* socket:messages() -> an iterator of the messages */
static int messages(lua_State *L) {
  njl_check_websocket(L);
  lua_settop(L, SOCKET);
  lua_pushcfunction(L, next_message);
  lua_insert(L, 1);
  return 2;
}

/* --- Sending --- */

static bool send_message(lua_State *L, websocket *self, bool is_text) {
  njl_bytes bytes;
  bytes.data = lua_tolstring(L, FIRST, &bytes.length);
  njl_reply *error = njl_error_push(L);
  /* The messages of other tasks follow the kept messages. */
  bool is_first = self->is_opening && self->opener == L;
  switch (njl_websocket_send(self->handle, is_text, bytes, is_first, &error->wait.call)) {
  case NJL_SENT: lua_pushnil(L); return true;
  case NJL_SEND_LATER: return false;
  case NJL_SEND_FAILED: lua_error(L); break;
  }
  return false;
}

static bool send_as_text(lua_State *L, websocket *self) { return send_message(L, self, true); }
static bool send_as_binary(lua_State *L, websocket *self) { return send_message(L, self, false); }

static const char sending_is_late[] = "the send queue stayed full; the server reads too slowly";
static const operation sending_text = {send_as_text, sending_is_late};
static const operation sending_binary = {send_as_binary, sending_is_late};

static int begin_sending(lua_State *L, const operation *operation, const char *function) {
  njl_check_websocket(L);
  if (lua_type(L, FIRST) != LUA_TSTRING) {
    return luaL_error(L, "%s: a string expected, got %s", function, luaL_typename(L, FIRST));
  }
  return njl_websocket_begin(L, operation, SECOND, function);
}

/* socket:send(text, timeout) */
static int send_text(lua_State *L) { return begin_sending(L, &sending_text, "send"); }

/* socket:send_binary(bytes, timeout) */
static int send_binary(lua_State *L) { return begin_sending(L, &sending_binary, "send_binary"); }

/* socket:send_json(value, timeout) */
static int send_json(lua_State *L) {
  njl_check_websocket(L);
  lua_settop(L, SECOND);
  njl_json_encode(L, FIRST, "send_json");
  lua_replace(L, FIRST);
  return njl_websocket_begin(L, &sending_text, SECOND, "send_json");
}

/* Pushes the seconds until the Pong. */
static int ponged(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_wait *wait = (njl_wait *)context;
  if (wait->state == NJL_EXPIRED) return njl_raise(L, NJL_KIND_TIMEOUT, 0, "no Pong arrived in time");
  njl_check_work(L, wait);
  njl_value value;
  lua_pushnumber(L, njl_work_value(wait->call, 0, &value) ? value.number : 0);
  return 1;
}

/* socket:ping(timeout) -> the seconds until the server responded */
static int ping(lua_State *L) {
  websocket *self = njl_check_websocket(L);
  double seconds = lua_isnoneornil(L, FIRST) ? 0 : njl_check_limit(L, FIRST, "ping", "timeout");
  lua_settop(L, SOCKET);
  njl_reply *error = njl_error_push(L);
  njl_wait *wait = njl_wait_push(L, self->host);
  wait->call = njl_websocket_ping(self->handle, wait, &error->wait.call);
  if (wait->call == NULL) {
    lua_pop(L, 1);
    return lua_error(L);
  }
  self->host->calls++;
  if (seconds > 0) wait->deadline = njl_host_deadline_after(self->host, seconds);
  njl_timer_add(wait);
  return njl_await(L, wait, ponged);
}

void njl_add_message_methods(lua_State *L) {
  static const luaL_Reg methods[] = {{"send", send_text}, {"send_binary", send_binary}, {"send_json", send_json},
                                     {"receive", receive}, {"messages", messages},      {"ping", ping},
                                     {NULL, NULL}};
  luaL_setfuncs(L, methods, 0);
}
