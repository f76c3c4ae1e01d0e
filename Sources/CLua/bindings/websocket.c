/* websocket.c - api:websocket(path, options): messages in both directions over one connection.
 *
 * Swift opens the connections. A function that must wait, waits for the next event of the WebSocket and then tries
 * again. The function on_open runs in the task that receives, sends or closes next. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/task.h"
#include "core/timers.h"
#include "core/wait.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_future.h"
#include "njl_websocket.h"
#include "njl_work.h"

/* The user values of a WebSocket. It keeps its client open. */
enum { ON_OPEN = 1, OWNER, VALUES = OWNER };

typedef struct websocket {
  njl_websocket *handle; /* released by the collector, because a finalizer may close the WebSocket while it is used */
  njl_host *host;
  bool is_opening; /* on_open is running */
  lua_State *opener; /* the coroutine that runs on_open */
  bool is_reading; /* a message is being copied; finalizers may run meanwhile */
} websocket;

static websocket *check_socket(lua_State *L) { return njl_check(L, 1, NJL_WEBSOCKET); }

static int raise_error(lua_State *L, njl_future *error) {
  njl_reply *reply = njl_error_push(L);
  reply->wait.call = error;
  return lua_error(L);
}

static int raise_failure(lua_State *L, websocket *self) {
  njl_reply *reply = njl_error_push(L);
  reply->wait.call = njl_websocket_error(self->handle);
  return lua_error(L);
}

/* --- Messages --- */

/* message.json, decoded on each access */
static int message_field(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "json") != 0) return 0;
  if (lua_getfield(L, 1, "text") == LUA_TNIL) lua_getfield(L, 1, "binary");
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  if (text == NULL) return 0;
  njl_json_decode(L, "the message", text, length);
  return 1;
}

/* Pushes the message at the address in the argument as a table. */
static int copy_message(lua_State *L) {
  static const luaL_Reg meta[] = {{"__index", message_field}, {NULL, NULL}};
  const njl_message *message = lua_touserdata(L, 1);
  lua_createtable(L, 0, 1);
  lua_pushlstring(L, message->bytes.length == 0 ? "" : message->bytes.data, message->bytes.length);
  lua_setfield(L, -2, message->is_text ? "text" : "binary");
  njl_push_metatable(L, NJL_MESSAGE_OF_SOCKET, meta);
  lua_setmetatable(L, -2);
  return 1;
}

/* --- Waiting --- */

/* A function that may have to wait. `attempt` returns true if it must not: its result is then on top of the stack.
 * Stack: the WebSocket, two arguments, the operation, and the deadline. */
enum { SOCKET = 1, FIRST, SECOND, OPERATION, DEADLINE, TOP = DEADLINE };

typedef struct operation {
  bool (*attempt)(lua_State *L, websocket *self);
  const char *late; /* the message of the error `timeout` */
} operation;

static int proceed(lua_State *L) NJL_YIELDS;

static int has_waited(lua_State *L, int status, lua_KContext context) {
  (void)status;
  const njl_wait *wait = (const njl_wait *)context;
  const operation *self = lua_touserdata(L, OPERATION);
  if (wait->state == NJL_EXPIRED) return njl_raise(L, NJL_KIND_TIMEOUT, 0, "%s", self->late);
  return proceed(L);
}

static void end_opening(websocket *self) {
  self->is_opening = false;
  njl_websocket_handled_open(self->handle);
}

static int has_opened(lua_State *L, int status, lua_KContext context) {
  (void)context;
  websocket *self = lua_touserdata(L, SOCKET);
  end_opening(self);
  if (status != LUA_OK && status != LUA_YIELD) return lua_error(L);
  return proceed(L);
}

/* Calls on_open(socket) for a new connection. */
static void call_on_open(lua_State *L, websocket *self) {
  self->is_opening = true;
  self->opener = L;
  lua_getiuservalue(L, SOCKET, ON_OPEN);
  lua_pushvalue(L, SOCKET);
  int status = lua_pcallk(L, 1, 0, 0, 0, has_opened);
  end_opening(self);
  if (status != LUA_OK) lua_error(L);
}

static njl_wait *push_wait(lua_State *L, websocket *self) {
  njl_wait *wait = njl_wait_push(L, self->host);
  wait->call = njl_websocket_await(self->handle, wait);
  self->host->calls++;
  wait->deadline = lua_isinteger(L, DEADLINE) ? (njl_moment)lua_tointeger(L, DEADLINE) : NJL_NEVER;
  njl_timer_add(wait);
  return wait;
}

static int proceed(lua_State *L) {
  websocket *self = lua_touserdata(L, SOCKET);
  const operation *operation = lua_touserdata(L, OPERATION);
  for (;;) {
    lua_settop(L, TOP);
    if (!self->is_opening && njl_websocket_take_open(self->handle)) {
      call_on_open(L, self);
      continue;
    }
    if (operation->attempt(L, self)) return 1;
    njl_wait *wait = push_wait(L, self);
    if (njl_may_yield(L, self->host)) return njl_await(L, wait, has_waited);
    njl_await_here(L, wait);
    if (wait->state == NJL_EXPIRED) return njl_raise(L, NJL_KIND_TIMEOUT, 0, "%s", operation->late);
  }
}

/* Begins an operation whose arguments are on the stack. `timeout` is the index of the timeout; 0: none. */
static int begin(lua_State *L, const operation *operation, int timeout, const char *function) {
  websocket *self = check_socket(L);
  double seconds = 0;
  if (timeout != 0 && !lua_isnoneornil(L, timeout)) seconds = njl_check_limit(L, timeout, function, "timeout");
  lua_settop(L, SECOND);
  lua_pushlightuserdata(L, (void *)operation);
  if (seconds > 0) lua_pushinteger(L, (lua_Integer)njl_host_deadline_after(self->host, seconds));
  else lua_pushnil(L);
  return proceed(L);
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
static int receive(lua_State *L) { return begin(L, &receiving, FIRST, "receive"); }

static int next_message(lua_State *L) {
  lua_settop(L, SOCKET);
  return begin(L, &receiving, 0, "messages");
}

/* socket:messages() -> an iterator of the messages */
static int messages(lua_State *L) {
  check_socket(L);
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
  check_socket(L);
  if (lua_type(L, FIRST) != LUA_TSTRING) {
    return luaL_error(L, "%s: a string expected, got %s", function, luaL_typename(L, FIRST));
  }
  return begin(L, operation, SECOND, function);
}

/* socket:send(text, timeout) */
static int send_text(lua_State *L) { return begin_sending(L, &sending_text, "send"); }

/* socket:send_binary(bytes, timeout) */
static int send_binary(lua_State *L) { return begin_sending(L, &sending_binary, "send_binary"); }

/* socket:send_json(value, timeout) */
static int send_json(lua_State *L) {
  check_socket(L);
  lua_settop(L, SECOND);
  njl_json_encode(L, FIRST, "send_json");
  lua_replace(L, FIRST);
  return begin(L, &sending_text, SECOND, "send_json");
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
  websocket *self = check_socket(L);
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

/* --- Opening and closing --- */

static bool is_connected(lua_State *L, websocket *self) {
  if (njl_websocket_is_connected(self->handle)) {
    lua_pushvalue(L, SOCKET);
    return true;
  }
  if (!njl_websocket_is_ended(self->handle)) return false;
  njl_future *error = njl_websocket_error(self->handle);
  if (error != NULL) raise_error(L, error);
  njl_raise(L, NJL_KIND_CLOSED, 0, "the WebSocket is closed; open another one");
  return false;
}

static const operation connecting = {is_connected, "the WebSocket is not open yet; the client still tries to open it"};

/* socket:connect(timeout) -> socket, when it is open */
static int connect(lua_State *L) { return begin(L, &connecting, FIRST, "connect"); }

static bool has_ended(lua_State *L, websocket *self) {
  if (!njl_websocket_is_ended(self->handle)) return false;
  lua_pushnil(L);
  return true;
}

static const operation closing = {has_ended, ""};

/* socket:close(code, reason): waits for the response of the server */
static int close_socket(lua_State *L) {
  websocket *self = check_socket(L);
  lua_Integer code = luaL_optinteger(L, FIRST, 1000);
  if (code < 0 || code > 65535) luaL_error(L, "close: code must be between 0 and 65535, got %I", (LUAI_UACINT)code);
  njl_bytes reason = {0};
  if (!lua_isnoneornil(L, SECOND)) {
    if (lua_type(L, SECOND) != LUA_TSTRING) {
      return luaL_error(L, "close: reason must be a string, got %s", luaL_typename(L, SECOND));
    }
    reason.data = lua_tolstring(L, SECOND, &reason.length);
  }
  njl_reply *error = njl_error_push(L);
  if (!njl_websocket_close(self->handle, (int)code, reason, &error->wait.call)) return lua_error(L);
  return begin(L, &closing, 0, "close");
}

/* The end of a variable's scope: closes with 1000. */
static int close_variable(lua_State *L) {
  lua_settop(L, SOCKET);
  return close_socket(L);
}

static int collect(lua_State *L) {
  websocket *self = lua_touserdata(L, 1);
  njl_websocket *handle = self->handle;
  self->handle = NULL;
  njl_websocket_release(handle);
  return 0;
}

/* --- Properties --- */

static int push_text(lua_State *L, njl_text *text) {
  if (text == NULL) {
    lua_pushnil(L);
    return 1;
  }
  njl_loan *loan = njl_loan_push(L);
  loan->text = text;
  njl_loan_push_text(L, loan);
  return 1;
}

/* socket:explain() -> the changes of the state and their reasons */
static int explain(lua_State *L) { return push_text(L, njl_websocket_explanation(check_socket(L)->handle)); }

static int describe(lua_State *L) {
  websocket *self = check_socket(L);
  lua_pushfstring(L, "%s: %p (%s)", NJL_WEBSOCKET, (void *)self, njl_websocket_state_name(self->handle));
  return 1;
}

/* Looks up socket.NAME. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"send",        "send_binary", "send_json",    "receive", "messages",
                                      "ping",        "connect",     "close",        "explain", "state",
                                      "subprotocol", "close_code",  "close_reason", NULL};
  websocket *self = check_socket(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(name, "state") == 0) {
    lua_pushstring(L, njl_websocket_state_name(self->handle));
    return 1;
  }
  if (strcmp(name, "subprotocol") == 0) return push_text(L, njl_websocket_subprotocol(self->handle));
  if (strcmp(name, "close_reason") == 0) return push_text(L, njl_websocket_close_reason(self->handle));
  if (strcmp(name, "close_code") == 0) {
    int code = njl_websocket_close_code(self->handle);
    if (code == 0) lua_pushnil(L);
    else lua_pushinteger(L, code);
    return 1;
  }
  return njl_unknown_field(L, "WebSocket", luaL_tolstring(L, 2, NULL), names);
}

/* --- Creating --- */

/* The stack of the function that opens a WebSocket. */
enum { CLIENT = 1, REQUEST_TABLE = 4, HANDLER, SETTINGS, RESULT };

static int open_socket(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_settop(L, SETTINGS);
  njl_client *client = njl_check_client(L);
  websocket *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (websocket){.host = njl_host_open(L)};
  njl_set_type(L, NJL_WEBSOCKET);
  njl_own(L);
  lua_pushvalue(L, HANDLER);
  lua_setiuservalue(L, RESULT, ON_OPEN);
  lua_pushvalue(L, CLIENT);
  lua_setiuservalue(L, RESULT, OWNER);
  njl_reply *error = njl_error_push(L);
  njl_request request = {.method = {"GET", 3}};
  njl_read_options(L, REQUEST_TABLE, "websocket", false, &request);
  if (request.endpoint.data != NULL) request.catalog = njl_endpoints_of(L);
  njl_bytes options;
  options.data = lua_tolstring(L, SETTINGS, &options.length);
  self->handle = njl_websocket_open(self->host->engine, client, &request, options, !lua_isnil(L, HANDLER),
                                    &error->wait.call);
  lua_settop(L, RESULT + 1); /* the error */
  if (self->handle == NULL) return lua_error(L);
  lua_settop(L, RESULT);
  return 1;
}

/* Takes the function on_open from the options. */
static void take_handler(lua_State *L) {
  lua_getfield(L, REQUEST_TABLE, "on_open");
  if (!lua_isnil(L, -1) && !njl_is_callable(L, -1)) {
    luaL_error(L, "websocket: on_open must be a function, got %s", luaL_typename(L, -1));
  }
  lua_pushnil(L);
  lua_setfield(L, REQUEST_TABLE, "on_open");
}

/* api:websocket(path, options) -> a WebSocket that is being opened */
int njl_client_websocket(lua_State *L) {
  static const char *const known[] = {"protocols",     "compress",  "max_message",     "max_queued",         "ping",
                                      "pong_timeout",  "reconnect", "reconnect_codes", "reconnect_attempts", "keep_unsent",
                                      "close_timeout", NULL};
  njl_push_stream_request(L, "websocket");
  take_handler(L);
  njl_take_options(L, REQUEST_TABLE, known, "ping", "websocket");
  njl_check_option_names(L, REQUEST_TABLE, "websocket");
  if (!njl_client_has_hooks(L)) return open_socket(L, LUA_OK, 0);
  if (lua_getiuservalue(L, CLIENT, NJL_CLIENT_BEFORE) == LUA_TNIL) return open_socket(L, LUA_OK, 0);
  lua_pushliteral(L, "GET");
  lua_setfield(L, REQUEST_TABLE, "method");
  lua_pushvalue(L, REQUEST_TABLE);
  lua_callk(L, 1, 0, 0, open_socket);
  return open_socket(L, LUA_OK, 0);
}

void njl_open_websocket(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__gc", collect}, {"__close", close_variable}, {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"send", send_text},   {"send_binary", send_binary}, {"send_json", send_json},
                                     {"receive", receive},  {"messages", messages},       {"ping", ping},
                                     {"connect", connect},  {"close", close_socket},      {"explain", explain},
                                     {NULL, NULL}};
  njl_push_metatable(L, NJL_WEBSOCKET, meta);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
