/* websocket.c - api:websocket(path, options): messages in both directions over one connection. Swift opens the
 * connections. */
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
#include "bindings/connector.h"
#include "bindings/websocket.h"
#include "njl_future.h"
#include "njl_work.h"

websocket *njl_check_websocket(lua_State *L) { return njl_check(L, 1, NJL_WEBSOCKET); }

static int raise_error(lua_State *L, njl_future *error) {
  njl_reply *reply = njl_error_push(L);
  reply->wait.call = error;
  return lua_error(L);
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
static int connect(lua_State *L) { return njl_websocket_begin(L, &connecting, FIRST, "connect"); }

static bool has_ended(lua_State *L, websocket *self) {
  if (!njl_websocket_is_ended(self->handle)) return false;
  lua_pushnil(L);
  return true;
}

static const operation closing = {has_ended, ""};

/* socket:close(code, reason): waits for the response of the server */
static int close_socket(lua_State *L) {
  websocket *self = njl_check_websocket(L);
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
  return njl_websocket_begin(L, &closing, 0, "close");
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

/* Pushes a text of the WebSocket, or nil. */
static int push_text(lua_State *L, njl_text *get(const njl_websocket *socket)) {
  const websocket *self = njl_check_websocket(L);
  njl_loan *loan = njl_loan_push(L);
  loan->text = get(self->handle);
  return njl_loan_return_text(L, loan);
}

/* socket:explain() -> the changes of the state and their reasons */
static int explain(lua_State *L) { return push_text(L, njl_websocket_explanation); }

static int describe(lua_State *L) {
  websocket *self = njl_check_websocket(L);
  lua_pushfstring(L, "%s: %p (%s)", NJL_WEBSOCKET, (void *)self, njl_websocket_state_name(self->handle));
  return 1;
}

/* Looks up socket.NAME. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"send",        "send_binary", "send_json",    "receive", "messages",
                                      "ping",        "connect",     "close",        "explain", "state",
                                      "subprotocol", "close_code",  "close_reason", "response", NULL};
  websocket *self = njl_check_websocket(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(name, "state") == 0) {
    lua_pushstring(L, njl_websocket_state_name(self->handle));
    return 1;
  }
  if (strcmp(name, "response") == 0) {
    njl_wait *reply = njl_reply_push(L, NULL);
    return njl_reply_respond(L, reply, njl_websocket_response(self->handle));
  }
  if (strcmp(name, "subprotocol") == 0) return push_text(L, njl_websocket_subprotocol);
  if (strcmp(name, "close_reason") == 0) return push_text(L, njl_websocket_close_reason);
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
enum { CLIENT = 1, CALL_OPTIONS = 3, REQUEST_TABLE, HANDLER, SETTINGS, PREPARED, RESULT };

static bool reconnect(void *object, njl_client *client, const njl_request *request, njl_future **error) {
  const websocket *self = object;
  return njl_websocket_reconnect(self->handle, self->host->engine, client, request, error);
}

const njl_connector njl_websocket_connector = {"websocket", reconnect};

static int open_socket(lua_State *L, int status, lua_KContext context) {
  (void)status;
  lua_settop(L, PREPARED);
  njl_client *client = njl_check_client(L);
  websocket *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (websocket){.host = njl_host_open(L)};
  njl_set_type(L, NJL_WEBSOCKET);
  njl_own(L);
  lua_pushvalue(L, HANDLER);
  lua_setiuservalue(L, RESULT, ON_OPEN);
  lua_pushvalue(L, CLIENT);
  lua_setiuservalue(L, RESULT, OWNER);
  lua_pushvalue(L, REQUEST_TABLE);
  lua_setiuservalue(L, RESULT, REQUEST);
  njl_reply *error = njl_error_push(L);
  njl_request request;
  njl_read_connector_request(L, PREPARED, &njl_websocket_connector, &request);
  njl_bytes options;
  options.data = lua_tolstring(L, SETTINGS, &options.length);
  self->handle = njl_websocket_open(self->host->engine, client, &request, options, !lua_isnil(L, HANDLER),
                                    (context & NJL_HAS_BEFORE) != 0, &error->wait.call);
  lua_settop(L, RESULT + 1); /* the error */
  if (self->handle == NULL) return lua_error(L);
  lua_settop(L, RESULT);
  return 1;
}

/* api:websocket(path, options) -> a WebSocket that is being opened */
int njl_client_websocket(lua_State *L) {
  static const char *const known[] = {"protocols",    "compress",      "max_message", "pieces",
                                      "max_queued",   "ping",          "pong_timeout", "close_timeout",
                                      "reconnect",    "reconnect_codes", "reconnect_attempts", "keep_unsent",
                                      "graphql", NULL};
  njl_push_stream_request(L, CALL_OPTIONS, "websocket");
  njl_take_function(L, REQUEST_TABLE, "on_open", "websocket");
  njl_take_options(L, REQUEST_TABLE, known, "ping", "websocket");
  njl_check_option_names(L, REQUEST_TABLE, "websocket");
  return njl_prepare_first_request(L, REQUEST_TABLE, open_socket, 0);
}

void njl_open_websocket(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__gc", collect}, {"__close", close_variable}, {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"connect", connect}, {"close", close_socket}, {"explain", explain}, {NULL, NULL}};
  njl_push_metatable(L, NJL_WEBSOCKET, meta);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  njl_add_message_methods(L);
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
