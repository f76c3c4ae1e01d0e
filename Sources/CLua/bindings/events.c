/* events.c - api:events(path, options): an event stream (server-sent events) that connects again by itself.
 *
 * The object makes each connection as a call of the client, so that hooks, logins and limits apply. Swift decides when
 * to connect and how long to wait. One task at a time reads a stream, and nothing happens while no task reads. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/timers.h"
#include "core/wait.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_events.h"
#include "njl_future.h"

/* The user values of a stream: the client, the table of its request, the response in progress, and the wait. */
enum { CLIENT = 1, REQUEST, RESPONSE, WAIT, VALUES = WAIT };

typedef struct stream {
  njl_events *handle; /* NULL: closed */
  njl_host *host;
  njl_wait *wait; /* the user value; NULL: none */
  bool is_connecting;
  double seconds; /* the wait before the next connection */
} stream;

static int next_event(lua_State *L) NJL_YIELDS;

static stream *check_stream(lua_State *L) {
  stream *self = njl_check(L, 1, NJL_EVENTS);
  return self;
}

/* --- Events --- */

/* event.json, decoded on each access */
static int event_field(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "json") != 0) return 0;
  lua_getfield(L, 1, "data");
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  if (text == NULL) return 0;
  njl_json_decode(L, "the data of the event", text, length);
  return 1;
}

static void push_event(lua_State *L, const njl_event *event) {
  static const luaL_Reg meta[] = {{"__index", event_field}, {NULL, NULL}};
  lua_createtable(L, 0, 3);
  lua_pushlstring(L, event->data.data, event->data.length);
  lua_setfield(L, -2, "data");
  if (event->type.length == 0) lua_pushliteral(L, "message");
  else lua_pushlstring(L, event->type.data, event->type.length);
  lua_setfield(L, -2, "type");
  lua_pushlstring(L, event->id.length == 0 ? "" : event->id.data, event->id.length);
  lua_setfield(L, -2, "id");
  njl_push_metatable(L, NJL_EVENT, meta);
  lua_setmetatable(L, -2);
}

/* --- Connecting --- */

static int end_of_stream(lua_State *L) {
  lua_pushnil(L);
  return 1;
}

static int connected(lua_State *L, int status, lua_KContext context) {
  (void)context;
  stream *self = lua_touserdata(L, 1);
  bool has_failed = status != LUA_OK && status != LUA_YIELD;
  self->is_connecting = false;
  njl_reply *reply = njl_test(L, -1, has_failed ? NJL_ERROR : NJL_RESPONSE);
  if (reply == NULL) return lua_error(L); /* an error of a hook, or a wrong option */
  if (has_failed) {
    if (self->handle == NULL) return lua_error(L);
    njl_events_failed(self->handle, reply->wait.call);
    return next_event(L);
  }
  if (self->handle == NULL) { /* The stream was closed meanwhile. */
    njl_call_cancel(reply->wait.call);
    return end_of_stream(L);
  }
  lua_setiuservalue(L, 1, RESPONSE);
  njl_events_opened(self->handle, reply->wait.call);
  return next_event(L);
}

static int connect(lua_State *L, stream *self) {
  lua_getiuservalue(L, 1, REQUEST);
  njl_push_request(L, 2);
  lua_replace(L, 2);
  njl_bytes cursor = njl_events_cursor(self->handle);
  if (cursor.data != NULL) njl_set_header(L, 2, "Last-Event-ID", cursor, true);
  lua_pushcfunction(L, njl_send_request);
  lua_getiuservalue(L, 1, CLIENT);
  lua_pushvalue(L, 2);
  self->is_connecting = true;
  return connected(L, lua_pcallk(L, 2, 1, 0, 0, connected), 0);
}

/* --- Reading --- */

static int has_waited(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  stream *self = lua_touserdata(L, 1);
  if (self->handle != NULL) njl_events_waited(self->handle);
  return next_event(L);
}

static njl_wait *new_wait(lua_State *L, stream *self) {
  njl_wait *wait = njl_wait_push(L, self->host);
  self->wait = wait;
  lua_setiuservalue(L, 1, WAIT);
  return wait;
}

static int await_time(lua_State *L, stream *self) {
  njl_wait *wait = new_wait(L, self);
  wait->deadline = njl_host_deadline_after(self->host, self->seconds);
  njl_timer_add(wait);
  return njl_await(L, wait, has_waited);
}

static int part_came(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return next_event(L);
}

/* Returns the wait for the response in progress. */
static njl_wait *response_wait(lua_State *L, stream *self) {
  lua_getiuservalue(L, 1, RESPONSE);
  njl_reply *reply = njl_test(L, -1, NJL_RESPONSE);
  njl_future *call = reply == NULL ? NULL : reply->wait.call;
  lua_pop(L, 1);
  if (self->wait != NULL && self->wait->call == call) return self->wait;
  njl_wait *wait = new_wait(L, self);
  wait->state = NJL_DONE;
  if (call != NULL) njl_future_retain(call);
  wait->call = call;
  return wait;
}

static int await_part(lua_State *L, stream *self) {
  self->wait->state = NJL_PENDING;
  self->host->calls++;
  return njl_await(L, self->wait, part_came);
}

/* Pushes the next event and returns NJL_PART_READY, or returns why there is none. */
static njl_part read_event(lua_State *L, stream *self) {
  njl_event event;
  njl_part part = njl_events_next(self->handle, response_wait(L, self), &event);
  if (part != NJL_PART_READY) return part;
  push_event(L, &event);
  njl_events_take(self->handle);
  return part;
}

static int raise_failure(lua_State *L, stream *self) {
  njl_reply *error = njl_error_push(L);
  error->wait.call = njl_events_error(self->handle);
  return lua_error(L);
}

/* stream() -> the next event, or nil at the end. The continuations call this function last, so that the C stack does not
 * grow with the number of connections. */
static int next_event(lua_State *L) {
  stream *self = check_stream(L);
  for (;;) {
    lua_settop(L, 1);
    if (self->handle == NULL) return end_of_stream(L);
    if (self->is_connecting || (self->wait != NULL && self->wait->state == NJL_PENDING)) {
      return luaL_error(L, "another task already reads this event stream");
    }
    switch (njl_events_step_of(self->handle, &self->seconds)) {
    case NJL_EVENTS_CONNECT: return connect(L, self);
    case NJL_EVENTS_WAIT: return await_time(L, self);
    case NJL_EVENTS_END: return end_of_stream(L);
    case NJL_EVENTS_FAILED: return raise_failure(L, self);
    case NJL_EVENTS_READ:
      switch (read_event(L, self)) {
      case NJL_PART_READY: return 1;
      case NJL_PART_LATER: return await_part(L, self);
      case NJL_PART_BUSY: return luaL_error(L, "another task already reads this response");
      case NJL_PART_END:
      case NJL_PART_FAILED: continue;
      }
    }
  }
}

/* stream:close(), also called by <close>, at the end of a loop and by the collector. Closes the connection. */
static int close_stream(lua_State *L) {
  stream *self = check_stream(L);
  njl_events *handle = self->handle;
  self->handle = NULL;
  if (handle == NULL) return 0;
  njl_events_close(handle);
  njl_events_release(handle);
  return 0;
}

/* stream:explain() -> the changes of the state and their reasons */
static int explain(lua_State *L) {
  stream *self = check_stream(L);
  if (self->handle == NULL) {
    lua_pushliteral(L, "the stream is closed");
    return 1;
  }
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_events_explanation(self->handle);
  njl_loan_push_text(L, loan);
  return 1;
}

static int describe(lua_State *L) {
  stream *self = check_stream(L);
  const char *state = self->handle == NULL ? "closed" : njl_events_state_name(self->handle);
  lua_pushfstring(L, "%s: %p (%s)", NJL_EVENTS, (void *)self, state);
  return 1;
}

/* Looks up stream.NAME. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"close", "explain", "last_event_id", "state", NULL};
  stream *self = check_stream(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(name, "state") == 0) {
    lua_pushstring(L, self->handle == NULL ? "closed" : njl_events_state_name(self->handle));
    return 1;
  }
  if (strcmp(name, "last_event_id") == 0) {
    njl_bytes id = {0};
    if (self->handle != NULL) id = njl_events_last_id(self->handle);
    lua_pushlstring(L, id.length == 0 ? "" : id.data, id.length);
    return 1;
  }
  return njl_unknown_field(L, "event stream", luaL_tolstring(L, 2, NULL), names);
}

/* --- Creating --- */

/* Moves the options of the stream from the table at `options` to a new table, which it pushes as JSON text. */
static void part_options(lua_State *L, int options) {
  static const char *const known[] = {"last_event_id", "idle_timeout", "reconnect", "reconnection_time", "max_event",
                                      NULL};
  lua_newtable(L);
  for (int index = 0; known[index] != NULL; index++) {
    if (lua_getfield(L, options, known[index]) == LUA_TBOOLEAN && index == 1 && !lua_toboolean(L, -1)) {
      lua_pop(L, 1); /* idle_timeout = false: no timeout */
      lua_pushinteger(L, 0);
    }
    lua_setfield(L, -2, known[index]);
    lua_pushnil(L);
    lua_setfield(L, options, known[index]);
  }
  if (lua_rawlen(L, -1) == 0 && (lua_pushnil(L), lua_next(L, -2) == 0)) {
    lua_pop(L, 1);
    lua_pushliteral(L, "{}");
    return;
  }
  lua_pop(L, 2);
  njl_json_encode(L, -1, "events");
  lua_remove(L, -2);
}

/* Sets the timeouts of the calls: the idle timeout of the stream, and no total timeout unless the script has set one. */
static void set_timeouts(lua_State *L, int request, double idle) {
  lua_getfield(L, request, "timeout");
  lua_createtable(L, 0, 3);
  if (lua_istable(L, -2)) {
    lua_pop(L, 1);
    njl_push_copy(L, lua_gettop(L));
  } else {
    if (lua_isnil(L, -2)) lua_pushboolean(L, 0);
    else lua_pushvalue(L, -2);
    lua_setfield(L, -2, "total");
  }
  if (lua_getfield(L, -1, "total") == LUA_TNIL) {
    lua_pushboolean(L, 0);
    lua_setfield(L, -3, "total");
  }
  lua_pop(L, 1);
  if (idle > 0) lua_pushnumber(L, idle);
  else lua_pushboolean(L, 0);
  lua_setfield(L, -2, "idle");
  lua_setfield(L, request, "timeout");
  lua_pop(L, 1);
}

static void set_default(lua_State *L, int request, const char *name, bool value) {
  if (lua_getfield(L, request, name) == LUA_TNIL) {
    lua_pushboolean(L, value);
    lua_setfield(L, request, name);
  }
  lua_pop(L, 1);
}

/* The method of the request at `request`. Keeps the string on the stack. */
static njl_bytes method_of(lua_State *L, int request) {
  njl_bytes method = {"GET", 3};
  if (lua_getfield(L, request, "method") == LUA_TSTRING) method.data = lua_tolstring(L, -1, &method.length);
  return method;
}

/* Gives all connections the same idempotency key. Returns whether there is one. */
static bool fix_key(lua_State *L, int request) {
  int type = lua_getfield(L, request, "idempotency_key");
  bool has_key = type == LUA_TSTRING || (type == LUA_TBOOLEAN && lua_toboolean(L, -1));
  if (has_key && type == LUA_TBOOLEAN) {
    char text[NJL_KEY_LENGTH];
    njl_idempotency_key(text);
    lua_pushlstring(L, text, sizeof text);
    lua_setfield(L, request, "idempotency_key");
  }
  lua_pop(L, 1);
  return has_key;
}

/* The stack of njl_client_events. */
enum { PATH_AT = 2, OPTIONS_AT, REQUEST_AT, SETTINGS_AT, STREAM_AT };

/* api:events(path, options) -> a stream that can be called for the next event. For a loop, also returns two nils and the
 * stream as the value to close. */
int njl_client_events(lua_State *L) {
  njl_check_client(L);
  if (lua_type(L, PATH_AT) != LUA_TSTRING) {
    return luaL_error(L, "events: path must be a string, got %s", luaL_typename(L, PATH_AT));
  }
  if (!lua_isnoneornil(L, OPTIONS_AT) && !lua_istable(L, OPTIONS_AT)) {
    return luaL_error(L, "events: options must be a table, got %s", luaL_typename(L, OPTIONS_AT));
  }
  lua_settop(L, OPTIONS_AT);
  njl_push_request(L, OPTIONS_AT);
  part_options(L, REQUEST_AT);
  njl_check_option_names(L, REQUEST_AT, "events");
  static const char *const given[] = {"path", "stream"};
  for (int index = 0; index < 2; index++) {
    if (lua_getfield(L, REQUEST_AT, given[index]) != LUA_TNIL) {
      return luaL_error(L, "events: %s is not allowed in the options", given[index]);
    }
    lua_pop(L, 1);
  }
  lua_pushvalue(L, PATH_AT);
  lua_setfield(L, REQUEST_AT, "path");
  stream *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (stream){.host = njl_host_open(L)};
  njl_set_type(L, NJL_EVENTS);
  njl_own(L);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, STREAM_AT, CLIENT);
  lua_pushvalue(L, REQUEST_AT);
  lua_setiuservalue(L, STREAM_AT, REQUEST);
  bool has_key = fix_key(L, REQUEST_AT);
  bool is_replayable = lua_getfield(L, REQUEST_AT, "body") != LUA_TFUNCTION;
  njl_bytes method = method_of(L, REQUEST_AT), options;
  options.data = lua_tolstring(L, SETTINGS_AT, &options.length);
  njl_reply *error = njl_error_push(L);
  self->handle = njl_events_new(options, method, has_key, is_replayable, &error->wait.call);
  if (self->handle == NULL) return lua_error(L);
  lua_settop(L, STREAM_AT);
  set_timeouts(L, REQUEST_AT, njl_events_idle_timeout(self->handle));
  set_default(L, REQUEST_AT, "stream", true);
  set_default(L, REQUEST_AT, "cache", false);
  set_default(L, REQUEST_AT, "coalesce", false);
  njl_set_header(L, REQUEST_AT, "Accept", (njl_bytes){"text/event-stream", 17}, false);
  njl_set_header(L, REQUEST_AT, "Cache-Control", (njl_bytes){"no-store", 8}, false);
  lua_settop(L, STREAM_AT);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushvalue(L, STREAM_AT);
  return 4;
}

void njl_open_events(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", close_stream},
                                  {"__close", close_stream},
                                  {"__call", next_event},
                                  {"__tostring", describe},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {{"close", close_stream}, {"explain", explain}, {NULL, NULL}};
  njl_push_metatable(L, NJL_EVENTS, meta);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
