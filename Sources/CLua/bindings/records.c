/* records.c - the lines and the JSON values of a response: api:lines(), api:ndjson(), res:lines() and res:ndjson().
 *
 * A reader of records is an object that can be called for the next record, so that a loop can use it directly. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/wait.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_calls.h"
#include "njl_future.h"
#include "njl_records.h"

/* The user values of a reader. */
enum { RESPONSE = 1, WAIT, VALUES = WAIT };

typedef struct reader {
  njl_records *handle; /* NULL: closed */
  njl_future *response; /* owned by the user value */
  njl_wait *wait;       /* the user value; NULL before the first wait */
  njl_host *host;
  njl_record_format format;
} reader;

static const char *const names[] = {"lines", "ndjson"};

/* --- Reading --- */

static int next_record(lua_State *L) NJL_YIELDS;

static int record_came(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_settop(L, 1);
  return next_record(L);
}

/* Replaces the record on top of the stack, which is JSON, by its value. */
static void decode(lua_State *L, reader *self) {
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  if (njl_json_try_decode(L, text, length)) {
    lua_remove(L, -2);
    return;
  }
  njl_bytes problem;
  problem.data = lua_tolstring(L, -1, &problem.length);
  njl_reply *error = njl_error_push(L);
  /* A finalizer may have closed the reader. */
  if (self->handle == NULL) njl_raise(L, NJL_KIND_CLOSED, 0, "the response was closed");
  error->wait.call = njl_records_reject(self->handle, problem);
  lua_error(L);
}

static njl_wait *waiting(lua_State *L, reader *self) {
  if (self->wait != NULL) return self->wait;
  njl_wait *wait = njl_wait_push(L, self->host);
  wait->state = NJL_DONE;
  njl_future_retain(self->response);
  wait->call = self->response;
  self->wait = wait;
  lua_setiuservalue(L, 1, WAIT);
  return wait;
}

/* Reads until there is a result. Returns false if the function must wait for the next part; otherwise pushes the record,
 * or nil at the end. */
static bool read_record(lua_State *L, reader *self) {
  for (;;) {
    lua_settop(L, 1);
    njl_bytes record;
    switch (njl_records_next(self->handle, self->wait, &record, NULL)) {
    case NJL_PART_READY:
      lua_pushlstring(L, record.data, record.length);
      if (!njl_records_take(self->handle)) continue; /* A finalizer has read this record meanwhile. */
      if (self->format == NJL_JSON_VALUES) decode(L, self);
      return true;
    case NJL_PART_LATER: return false;
    case NJL_PART_BUSY: luaL_error(L, "another task already reads this response"); return false;
    case NJL_PART_END: lua_pushnil(L); return true;
    case NJL_PART_FAILED: break;
    }
    njl_reply *error = njl_error_push(L);
    njl_records_next(self->handle, self->wait, &record, &error->wait.call);
    lua_error(L);
  }
}

/* reader() -> the next record, or nil at the end */
static int next_record(lua_State *L) {
  reader *self = njl_check(L, 1, NJL_RECORDS);
  lua_settop(L, 1);
  njl_wait *wait = waiting(L, self);
  if (wait->state == NJL_PENDING) return luaL_error(L, "another task already reads this response");
  while (!read_record(L, self)) {
    wait->state = NJL_PENDING;
    self->host->calls++;
    if (njl_may_yield(L, self->host)) return njl_await(L, wait, record_came);
    njl_await_here(L, wait);
  }
  return 1;
}

/* reader:close(), also called by <close>, at the end of a loop and by the collector. Cancels a streamed response that
 * was not read to its end. */
static int close_reader(lua_State *L) {
  reader *self = njl_check(L, 1, NJL_RECORDS);
  njl_records *handle = self->handle;
  self->handle = NULL;
  if (handle == NULL) return 0;
  njl_records_release(handle);
  lua_getiuservalue(L, 1, RESPONSE);
  if (njl_test(L, -1, NJL_RESPONSE) == NULL) return 0;
  lua_replace(L, 1);
  lua_settop(L, 1);
  return njl_close_response(L);
}

static int collect(lua_State *L) {
  reader *self = lua_touserdata(L, 1);
  njl_records *handle = self->handle;
  self->handle = NULL;
  njl_records_release(handle);
  return 0;
}

static int describe(lua_State *L) {
  reader *self = njl_check(L, 1, NJL_RECORDS);
  lua_pushfstring(L, "%s: %p%s", NJL_RECORDS, (void *)self, self->handle == NULL ? " (closed)" : "");
  return 1;
}

/* --- Creating readers --- */

/* Pushes a reader of the response at `index`. */
static void push_reader(lua_State *L, int index, njl_record_format format, lua_Integer maximum) {
  njl_reply *reply = njl_check(L, index, NJL_RESPONSE);
  reader *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (reader){.host = reply->wait.host == NULL ? njl_host_open(L) : reply->wait.host, .format = format};
  njl_set_type(L, NJL_RECORDS);
  njl_own(L);
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, RESPONSE);
  self->response = reply->wait.call;
  self->handle = njl_records_new(reply->wait.call, format, (size_t)maximum);
}

/* Returns the reader and, for a loop, two nils and the reader as the value to close. */
static int return_reader(lua_State *L) {
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushvalue(L, -3);
  return 4;
}

/* The maximum of max_line, as for nj_request_set_max_line. */
enum { MOST_BYTES = 2147483646 };

/* Returns the option max_line of the table at `options`, and removes it. 0: the default. */
static lua_Integer take_maximum(lua_State *L, int options, const char *function) {
  lua_pushliteral(L, "max_line");
  if (lua_rawget(L, options) == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1 || lua_tointeger(L, -1) > MOST_BYTES) {
    return luaL_error(L, "%s: max_line must be between 1 and %d bytes, got %s", function, MOST_BYTES,
                      luaL_tolstring(L, -1, NULL));
  }
  lua_Integer maximum = lua_tointeger(L, -1);
  lua_pop(L, 1);
  lua_pushliteral(L, "max_line");
  lua_pushnil(L);
  lua_rawset(L, options);
  return maximum;
}

static void check_response_options(lua_State *L, int options, const char *function) {
  static const char *const known[] = {"max_line", NULL};
  if (lua_isnoneornil(L, options)) return;
  if (!lua_istable(L, options)) {
    luaL_error(L, "%s: options must be a table, got %s", function, luaL_typename(L, options));
  }
  njl_check_options(L, options, function, "", known);
}

static int response_records(lua_State *L, njl_record_format format) {
  njl_check(L, 1, NJL_RESPONSE);
  check_response_options(L, 2, names[format]);
  lua_settop(L, 2);
  lua_Integer maximum = 0;
  if (lua_istable(L, 2)) {
    njl_push_copy(L, 2);
    maximum = take_maximum(L, 3, names[format]);
  }
  push_reader(L, 1, format, maximum);
  return return_reader(L);
}

/* res:lines({ max_line = }) -> a reader of the lines */
int njl_response_lines(lua_State *L) { return response_records(L, NJL_LINES); }

/* res:ndjson({ max_line = }) -> a reader of the JSON values */
int njl_response_ndjson(lua_State *L) { return response_records(L, NJL_JSON_VALUES); }

/* The stack of the functions below. */
enum { CLIENT = 1, CALL_OPTIONS = 3, REQUEST, REPLY };

static int opened(lua_State *L, int status, lua_KContext context) {
  (void)status;
  push_reader(L, REPLY, (njl_record_format)(context & 1), (lua_Integer)(context >> 1));
  return return_reader(L);
}

/* Sends a request whose response is streamed, and returns a reader of its body. */
static int client_records(lua_State *L, njl_record_format format) {
  njl_push_stream_request(L, CALL_OPTIONS, names[format]);
  lua_Integer maximum = take_maximum(L, REQUEST, names[format]);
  njl_check_option_names(L, REQUEST, names[format]);
  lua_pushboolean(L, true);
  lua_setfield(L, REQUEST, "stream");
  if (format == NJL_JSON_VALUES) njl_set_default_header(L, REQUEST, "Accept", njl_accepted_json());
  lua_pushcfunction(L, njl_send_request);
  lua_pushvalue(L, CLIENT);
  lua_pushvalue(L, REQUEST);
  lua_KContext context = (lua_KContext)maximum << 1 | (lua_KContext)format; /* MOST_BYTES fits. */
  lua_callk(L, 2, 1, context, opened);
  return opened(L, LUA_OK, context);
}

int njl_client_lines(lua_State *L) { return client_records(L, NJL_LINES); }

int njl_client_ndjson(lua_State *L) { return client_records(L, NJL_JSON_VALUES); }

void njl_open_records(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", collect},
                                  {"__close", close_reader},
                                  {"__call", next_record},
                                  {"__tostring", describe},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {{"close", close_reader}, {NULL, NULL}};
  njl_add_type(L, NJL_RECORDS, meta, methods, NULL);
}
