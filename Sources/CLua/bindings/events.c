/* events.c - event streams (server-sent events): api:events(path, options), which connects again by itself, and
 * res:events(options), which reads one response.
 *
 * The object makes each connection as a call of the client, so that hooks, logins and limits apply. Swift decides when
 * to connect and how long to wait. One task at a time reads a stream, and nothing happens while no task reads. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/guard.h"
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
  njl_events *handle; /* released by the collector, because a finalizer may close the stream while an event is read */
  bool is_closed;
  njl_host *host;
  njl_wait *wait; /* the user value; NULL: none */
  bool is_connecting;
  bool is_reading; /* an event is being copied; finalizers may run meanwhile */
} stream;

static int next_event(lua_State *L) NJL_YIELDS;

static stream *check_stream(lua_State *L) { return njl_check(L, 1, NJL_EVENTS); }

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

/* Pushes the event at the address in the argument as a table. */
static int copy_event(lua_State *L) {
  static const luaL_Reg meta[] = {{"__index", event_field}, {NULL, NULL}};
  const njl_event *event = lua_touserdata(L, 1);
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
  return 1;
}

/* --- Connecting --- */

/* The stack of the functions below while a connection is made: the stream, and a value whose __close ends the state
 * "connecting", also if the task is cancelled. */
enum { STREAM = 1, GUARD };

static void stop_connecting(void *object) { ((stream *)object)->is_connecting = false; }

static void begin_connecting(lua_State *L, stream *self) {
  njl_guard *guard = njl_guard_push(L, STREAM);
  self->is_connecting = true;
  guard->end = stop_connecting;
}

/* Handles the result of the call, on top of the stack. Leaves only the stream on the stack. */
static void end_connecting(lua_State *L, bool has_failed) {
  stream *self = lua_touserdata(L, STREAM);
  njl_reply *reply = njl_test(L, -1, has_failed ? NJL_ERROR : NJL_RESPONSE);
  if (reply == NULL) lua_error(L); /* an error of a hook, or a wrong option */
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, STREAM, RESPONSE);
  lua_settop(L, STREAM); /* closes the guard; the stream keeps the result */
  if (has_failed) njl_events_failed(self->handle, reply->wait.call);
  else if (self->is_closed) njl_call_cancel(reply->wait.call);
  else njl_events_opened(self->handle, reply->wait.call);
}

static int connected(lua_State *L, int status, lua_KContext context) {
  (void)context;
  end_connecting(L, status != LUA_YIELD);
  return next_event(L);
}

/* Makes a connection. Returns when its response or error has arrived, unless the coroutine yields: it then continues in
 * `connected`. */
static void connect(lua_State *L, stream *self) {
  begin_connecting(L, self);
  lua_getiuservalue(L, STREAM, REQUEST);
  njl_push_request(L, GUARD + 1);
  lua_pushvalue(L, STREAM);
  lua_setfield(L, -2, "stream");
  lua_pushcfunction(L, njl_send_request);
  lua_getiuservalue(L, STREAM, CLIENT);
  lua_pushvalue(L, -3);
  end_connecting(L, lua_pcallk(L, 2, 1, 0, 0, connected) != LUA_OK);
}

/* --- Reading --- */

static njl_wait *new_wait(lua_State *L, stream *self) {
  njl_wait *wait = njl_wait_push(L, self->host);
  self->wait = wait;
  lua_setiuservalue(L, STREAM, WAIT);
  return wait;
}

/* Returns the wait for the response in progress. */
static njl_wait *response_wait(lua_State *L, stream *self) {
  lua_getiuservalue(L, STREAM, RESPONSE);
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

/* Pushes the next event and returns NJL_PART_READY, or returns why there is none. */
static njl_part read_event(lua_State *L, stream *self) {
  njl_wait *wait = response_wait(L, self);
  lua_pushcfunction(L, copy_event);
  njl_event event;
  njl_part part = njl_events_next(self->handle, wait, &event);
  if (part != NJL_PART_READY) return part;
  lua_pushlightuserdata(L, &event);
  /* A finalizer that reads the stream meanwhile gets an error, because it could release the event. */
  self->is_reading = true;
  int status = lua_pcall(L, 1, 1, 0);
  self->is_reading = false;
  if (status != LUA_OK) lua_error(L);
  njl_events_take(self->handle);
  return part;
}

static int raise_failure(lua_State *L, stream *self) {
  njl_reply *error = njl_error_push(L);
  error->wait.call = njl_events_error(self->handle);
  return lua_error(L);
}

/* Takes the steps of the stream until the function must wait. Returns true if it must not: an event, or nil at the end,
 * is then on top of the stack. */
static bool step(lua_State *L, stream *self) {
  for (;;) {
    lua_settop(L, STREAM);
    double seconds = 0;
    switch (self->is_closed ? NJL_EVENTS_END : njl_events_step_of(self->handle, &seconds)) {
    case NJL_EVENTS_CONNECT: connect(L, self); continue;
    case NJL_EVENTS_WAIT:
      new_wait(L, self)->deadline = njl_host_deadline_after(self->host, seconds);
      njl_timer_add(self->wait);
      return false;
    case NJL_EVENTS_FAILED: raise_failure(L, self); continue;
    case NJL_EVENTS_END: lua_pushnil(L); return true;
    case NJL_EVENTS_READ: break;
    }
    switch (read_event(L, self)) {
    case NJL_PART_READY: return true;
    case NJL_PART_LATER:
      self->wait->state = NJL_PENDING;
      self->host->calls++;
      return false;
    case NJL_PART_BUSY: luaL_error(L, "another task already reads this response"); continue;
    case NJL_PART_END:
    case NJL_PART_FAILED: continue;
    }
  }
}

/* Handles the end of a wait: only the wait for the next connection has no call. */
static void waited(stream *self) {
  if (self->wait->call == NULL) njl_events_waited(self->handle);
}

static int has_waited(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  waited(lua_touserdata(L, STREAM));
  return next_event(L);
}

/* stream() -> the next event, or nil at the end */
static int next_event(lua_State *L) {
  stream *self = check_stream(L);
  if (self->is_connecting || self->is_reading || (self->wait != NULL && self->wait->state == NJL_PENDING)) {
    return luaL_error(L, "another task already reads this event stream");
  }
  while (!step(L, self)) {
    if (njl_may_yield(L, self->host)) return njl_await(L, self->wait, has_waited);
    njl_await_here(L, self->wait);
    waited(self);
  }
  return 1;
}

/* stream:close(), also called by <close> and at the end of a loop. Closes the connection. */
static int close_stream(lua_State *L) {
  stream *self = check_stream(L);
  self->is_closed = true;
  njl_events_close(self->handle);
  /* Ends the wait for the next connection. A task that waits for a response or an event is notified by its call. */
  if (self->wait != NULL && self->wait->call == NULL) njl_wait_end(self->wait, NJL_DONE);
  return 0;
}

static int collect(lua_State *L) {
  stream *self = lua_touserdata(L, 1);
  njl_events *handle = self->handle;
  self->handle = NULL;
  self->is_closed = true;
  njl_events_close(handle);
  njl_events_release(handle);
  return 0;
}

/* stream:explain() -> the changes of the state and their reasons */
static int explain(lua_State *L) {
  stream *self = check_stream(L);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_events_explanation(self->handle);
  return njl_loan_return_text(L, loan);
}

static int describe(lua_State *L) {
  stream *self = check_stream(L);
  lua_pushfstring(L, "%s: %p (%s)", NJL_EVENTS, (void *)self, njl_events_state_name(self->handle));
  return 1;
}

/* Looks up stream.NAME. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"close", "explain", "last_event_id", "reconnection_time", "response", "state", NULL};
  stream *self = check_stream(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(name, "state") == 0) {
    lua_pushstring(L, njl_events_state_name(self->handle));
    return 1;
  }
  if (strcmp(name, "response") == 0) {
    njl_wait *reply = njl_reply_push(L, NULL);
    return njl_reply_respond(L, reply, njl_events_response(self->handle));
  }
  if (strcmp(name, "last_event_id") == 0) {
    njl_bytes id = njl_events_last_id(self->handle);
    lua_pushlstring(L, id.length == 0 ? "" : id.data, id.length);
    return 1;
  }
  if (strcmp(name, "reconnection_time") == 0) {
    lua_pushnumber(L, njl_events_reconnection_time(self->handle));
    return 1;
  }
  return njl_unknown_field(L, "event stream", luaL_tolstring(L, 2, NULL), names);
}

/* --- Creating --- */

/* Replaces the settings on top of the stack, which are JSON, by a new stream. */
static stream *push_stream(lua_State *L) {
  int settings = lua_gettop(L);
  stream *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (stream){.host = njl_host_open(L)};
  njl_set_type(L, NJL_EVENTS);
  njl_own(L);
  njl_reply *error = njl_error_push(L);
  njl_bytes options;
  options.data = lua_tolstring(L, settings, &options.length);
  self->handle = njl_events_new(options, &error->wait.call);
  if (self->handle == NULL) lua_error(L);
  lua_pop(L, 1);
  lua_replace(L, settings);
  return self;
}

/* Returns the stream on top of the stack, which can be called for the next event. For a loop, also returns two nils and
 * the stream as the value to close. */
static int return_stream(lua_State *L) {
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushvalue(L, -3);
  return 4;
}

/* api:events(path, options) -> a stream that connects again */
int njl_client_events(lua_State *L) {
  static const char *const known[] = {"last_event_id", "idle_timeout", "reconnect", "reconnection_time", "max_event",
                                      NULL};
  enum { CALL_OPTIONS = 3, REQUEST_TABLE, STREAM_OBJECT };
  njl_push_stream_request(L, CALL_OPTIONS, "events");
  njl_take_options(L, REQUEST_TABLE, known, "idle_timeout", "events");
  njl_check_option_names(L, REQUEST_TABLE, "events");
  push_stream(L);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, STREAM_OBJECT, CLIENT);
  lua_pushvalue(L, REQUEST_TABLE);
  lua_setiuservalue(L, STREAM_OBJECT, REQUEST);
  return return_stream(L);
}

/* res:events({ max_event = }) -> a stream of the events in the body, which does not connect again */
int njl_response_events(lua_State *L) {
  static const char *const known[] = {"max_event", NULL};
  enum { OBJECT = 1, OPTIONS };
  njl_reply *reply = njl_check(L, OBJECT, NJL_RESPONSE);
  lua_settop(L, OPTIONS);
  if (lua_isnil(L, OPTIONS)) lua_newtable(L);
  else if (lua_istable(L, OPTIONS)) njl_push_copy(L, OPTIONS);
  else return luaL_error(L, "events: options must be a table, got %s", luaL_typename(L, OPTIONS));
  lua_replace(L, OPTIONS);
  njl_check_options(L, OPTIONS, "events", "", known);
  njl_take_options(L, OPTIONS, known, "", "events");
  stream *self = push_stream(L);
  lua_pushvalue(L, OBJECT);
  lua_setiuservalue(L, -2, RESPONSE);
  njl_events_opened(self->handle, reply->wait.call);
  return return_stream(L);
}

njl_events *njl_events_at(lua_State *L, int index) {
  stream *self = njl_test(L, index, NJL_EVENTS);
  return self == NULL ? NULL : self->handle;
}

void njl_open_events(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", collect},
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
