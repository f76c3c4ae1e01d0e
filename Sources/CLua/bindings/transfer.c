/* transfer.c - the common functions of downloads and uploads of a script. */
#include "bindings/transfer.h"

#include "core/failure.h"
#include "core/metatable.h"
#include "core/names.h"
#include "bindings/bindings.h"
#include "njl_future.h"

transfer *njl_check_transfer(lua_State *L) {
  const transfer_kind *kind = lua_touserdata(L, lua_upvalueindex(1));
  return njl_check(L, 1, kind->type);
}

static void set_number(lua_State *L, double number, const char *name) {
  if (number < 0) return;
  lua_pushnumber(L, number);
  lua_setfield(L, -2, name);
}

void njl_push_transfer_progress(lua_State *L, const transfer *self, const njl_transfer_progress *progress) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, progress->state);
  lua_setfield(L, -2, "state");
  njl_set_count(L, progress->count, self->kind->count);
  njl_set_count(L, progress->total, "total");
  set_number(L, progress->rate, "rate");
  set_number(L, progress->time_left, "time_left");
  njl_set_count(L, progress->expires, "expires");
}

/* --- Methods and properties --- */

static int pause_transfer(lua_State *L) {
  njl_transfer_pause(njl_check_transfer(L)->handle);
  return 0;
}

static int resume(lua_State *L) {
  njl_transfer_resume(njl_check_transfer(L)->handle);
  return 0;
}

/* transfer:cancel({ keep = true }) */
static int cancel(lua_State *L) {
  static const char *const names[] = {"keep", NULL};
  bool keeps = true;
  bool *const flags[] = {&keeps};
  transfer *self = njl_check_transfer(L);
  if (!lua_isnoneornil(L, 2)) njl_read_flags(L, 2, "cancel", names, flags);
  njl_transfer_cancel(self->handle, keeps);
  return 0;
}

/* The end of a variable's scope: cancels a transfer in progress. */
static int close_variable(lua_State *L) {
  const transfer *self = lua_touserdata(L, 1);
  if (self != NULL) njl_transfer_cancel(self->handle, true);
  return 0;
}

static int collect(lua_State *L) {
  transfer *self = lua_touserdata(L, 1);
  njl_transfer *handle = self->handle;
  self->handle = NULL;
  njl_transfer_release(handle);
  return 0;
}

int njl_push_transfer_text(lua_State *L, njl_text *(*text)(const njl_transfer *), const transfer *self) {
  njl_loan *loan = njl_loan_push(L);
  loan->text = text(self->handle);
  return njl_loan_return_text(L, loan);
}

/* transfer:state() -> the text for the option `resume` */
static int state(lua_State *L) { return njl_push_transfer_text(L, njl_transfer_state, njl_check_transfer(L)); }

static int describe(lua_State *L) {
  const transfer *self = lua_touserdata(L, 1);
  lua_pushfstring(L, "%s: %p (%s)", self->kind->type, (const void *)self, njl_transfer_get_progress(self->handle).state);
  return 1;
}

bool njl_push_method(lua_State *L) {
  lua_pushvalue(L, 2);
  return lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL;
}

int njl_push_result(lua_State *L, const transfer *self, int position) {
  njl_transfer_result result = {0};
  if (!njl_transfer_get_result(self->handle, &result)) {
    lua_pushnil(L);
    return 1;
  }
  const int64_t values[] = {result.size, result.count, result.resumed, result.attempts};
  lua_pushinteger(L, (lua_Integer)values[position]);
  return 1;
}

/* --- Starting --- */

bool njl_connect_transfer(void *object, njl_client *client, const njl_request *request, njl_future **error) {
  const transfer *self = object;
  return njl_transfer_connect(self->handle, self->host->engine, client, request, error);
}

/* The stack of the functions that start a transfer. */
enum {
  CLIENT = 1, CONTENT = 3, CALL_OPTIONS, REQUEST_TABLE, HEAD_HANDLER, PROGRESS_HANDLER, SETTINGS, KIND, PREPARED, RESULT
};
/* A bit of the context of `start`: the function returns when the transfer is complete. */
enum { WAITS = 2 };

static int has_ended(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_pushvalue(L, RESULT);
  return 1;
}

/* Pushes the transfer without its handle. */
static transfer *push_transfer(lua_State *L, const transfer_kind *kind) {
  transfer *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (transfer){.kind = kind, .host = njl_host_open(L), .reports_heads = !lua_isnil(L, HEAD_HANDLER)};
  njl_set_type(L, kind->type);
  njl_own(L);
  static const struct {
    int source, value;
  } values[] = {{HEAD_HANDLER, ON_HEAD}, {PROGRESS_HANDLER, ON_PROGRESS}, {CONTENT, ON_READ}, {CLIENT, OWNER},
                {REQUEST_TABLE, REQUEST}};
  for (size_t index = 0; index < sizeof values / sizeof *values; index++) {
    lua_pushvalue(L, values[index].source);
    lua_setiuservalue(L, RESULT, values[index].value);
  }
  return self;
}

/* Returns the transfer, or waits for its end. The error is on top of the stack if it could not be started. */
static int started(lua_State *L, const transfer *self, bool waits) {
  lua_settop(L, RESULT + 1); /* the error */
  if (self->handle == NULL) return lua_error(L);
  lua_settop(L, RESULT);
  if (!waits) return 1;
  /* A cancel of the task cancels the transfer. */
  lua_toclose(L, RESULT);
  lua_pushlightuserdata(L, (void *)self->kind);
  lua_pushcclosure(L, njl_wait_for_transfer, 1);
  lua_pushvalue(L, RESULT);
  lua_callk(L, 1, 0, 0, has_ended);
  return has_ended(L, LUA_OK, 0);
}

static int start(lua_State *L, int status, lua_KContext context) {
  (void)status;
  lua_settop(L, PREPARED);
  njl_client *client = njl_check_client(L);
  const transfer_kind *kind = lua_touserdata(L, KIND);
  transfer *self = push_transfer(L, kind);
  njl_reply *error = njl_error_push(L);
  njl_request request;
  njl_read_connector_request(L, PREPARED, &kind->connector, &request);
  njl_transfer_options options = {.reports_heads = self->reports_heads,
                                  .reports_progress = !lua_isnil(L, PROGRESS_HANDLER),
                                  .prepares_requests = (context & NJL_HAS_BEFORE) != 0};
  if (lua_type(L, CONTENT) == LUA_TSTRING) options.path.data = lua_tolstring(L, CONTENT, &options.path.length);
  options.settings.data = lua_tolstring(L, SETTINGS, &options.settings.length);
  self->handle = kind->start(self->host->engine, client, &request, &options, &error->wait.call);
  return started(L, self, (context & WAITS) != 0);
}

int njl_start_transfer(lua_State *L, const transfer_kind *kind, const char *function, bool waits) {
  njl_check_client(L);
  if (njl_host_open(L)->is_sandboxed) luaL_error(L, "%s: not available in a sandbox", function);
  lua_settop(L, CALL_OPTIONS);
  bool is_stream = !kind->has_heads && lua_isfunction(L, CONTENT);
  if (!is_stream && lua_type(L, CONTENT) != LUA_TSTRING) {
    luaL_error(L, "%s: file must be a string%s, got %s", function, kind->has_heads ? "" : " or a function",
               luaL_typename(L, CONTENT));
  }
  njl_push_stream_request(L, CALL_OPTIONS, function);
  if (kind->has_heads) njl_take_function(L, REQUEST_TABLE, "on_head", function);
  else lua_pushnil(L);
  njl_take_function(L, REQUEST_TABLE, "on_progress", function);
  njl_take_options(L, REQUEST_TABLE, kind->options, "", function);
  njl_check_option_names(L, REQUEST_TABLE, function);
  lua_pushlightuserdata(L, (void *)kind);
  return njl_prepare_first_request(L, REQUEST_TABLE, start, waits ? WAITS : 0);
}

/* api:remove_transfer(id): removes the entry of a transfer from the journal. */
int njl_client_remove_transfer(lua_State *L) {
  njl_client *client = njl_check_client(L);
  if (njl_host_open(L)->is_sandboxed) return luaL_error(L, "remove_transfer: not available in a sandbox");
  if (lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L, "remove_transfer: id must be a string, got %s", luaL_typename(L, 2));
  }
  njl_bytes id;
  id.data = lua_tolstring(L, 2, &id.length);
  njl_reply *error = njl_error_push(L);
  if (!njl_client_remove_transfer_entry(client, id, &error->wait.call)) return lua_error(L);
  return 0;
}

int njl_transfer_response_to_file(lua_State *L, const transfer_kind *kind, const char *function, bool waits) {
  static const char *const known[] = {"checksum", "restart", "overwrite",   "mode",        "keep_time", "max_rate",
                                      "max_size", "attempts", "retry_delay", "on_progress", NULL};
  enum { RESPONSE = 1, PATH, GIVEN };
  const njl_reply *reply = njl_check(L, RESPONSE, NJL_RESPONSE);
  if (njl_host_open(L)->is_sandboxed) return luaL_error(L, "%s: not available in a sandbox", function);
  if (lua_type(L, PATH) != LUA_TSTRING) {
    return luaL_error(L, "%s: file must be a string, got %s", function, luaL_typename(L, PATH));
  }
  if (!lua_isnoneornil(L, GIVEN)) {
    if (!lua_istable(L, GIVEN)) {
      return luaL_error(L, "%s: options must be a table, got %s", function, luaL_typename(L, GIVEN));
    }
    njl_check_options(L, GIVEN, function, "", known);
  }
  lua_settop(L, GIVEN);
  lua_pushvalue(L, PATH);
  lua_insert(L, CONTENT); /* the given options are now at CALL_OPTIONS */
  if (lua_isnil(L, CALL_OPTIONS)) lua_newtable(L);
  else njl_push_copy(L, CALL_OPTIONS);
  lua_pushnil(L); /* HEAD_HANDLER */
  njl_take_function(L, REQUEST_TABLE, "on_progress", function);
  njl_take_options(L, REQUEST_TABLE, kind->options, "", function);
  lua_settop(L, PREPARED);
  transfer *self = push_transfer(L, kind);
  njl_reply *error = njl_error_push(L);
  njl_transfer_options options = {.reports_progress = !lua_isnil(L, PROGRESS_HANDLER)};
  options.path.data = lua_tolstring(L, CONTENT, &options.path.length);
  options.settings.data = lua_tolstring(L, SETTINGS, &options.settings.length);
  self->handle = njl_download_response(self->host->engine, reply->wait.call, &options, &error->wait.call);
  return started(L, self, waits);
}

void njl_open_transfer(lua_State *L, const transfer_kind *kind, lua_CFunction field) {
  static const luaL_Reg meta[] = {
      {"__gc", collect}, {"__close", close_variable}, {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"wait", njl_wait_for_transfer}, {"pause", pause_transfer}, {"resume", resume},
                                     {"cancel", cancel}, {"state", state}, {NULL, NULL}};
  njl_push_metatable(L, kind->type, meta);
  lua_newtable(L);
  lua_pushlightuserdata(L, (void *)kind);
  luaL_setfuncs(L, methods, 1);
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
