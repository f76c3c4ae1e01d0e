/* download.c - api:download and api:start_download. Swift transfers the bytes and writes the file. */
#include "bindings/download.h"

#include <lua5.4/lauxlib.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/names.h"
#include "bindings/bindings.h"
#include "njl_future.h"

download *njl_check_download(lua_State *L) { return njl_check(L, 1, NJL_DOWNLOAD); }

static void set_number(lua_State *L, double number, const char *name) {
  if (number < 0) return;
  lua_pushnumber(L, number);
  lua_setfield(L, -2, name);
}

void njl_push_download_progress(lua_State *L, const njl_download_progress *progress) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, progress->state);
  lua_setfield(L, -2, "state");
  njl_set_count(L, progress->received, "received");
  njl_set_count(L, progress->total, "total");
  set_number(L, progress->rate, "rate");
  set_number(L, progress->time_left, "time_left");
}

/* --- Methods and properties --- */

static int pause_download(lua_State *L) {
  njl_download_pause(njl_check_download(L)->handle);
  return 0;
}

static int resume(lua_State *L) {
  njl_download_resume(njl_check_download(L)->handle);
  return 0;
}

/* download:cancel({ keep = true }) */
static int cancel(lua_State *L) {
  static const char *const names[] = {"keep", NULL};
  bool keeps_part = true;
  bool *const flags[] = {&keeps_part};
  download *self = njl_check_download(L);
  if (!lua_isnoneornil(L, 2)) njl_read_flags(L, 2, "cancel", names, flags);
  njl_download_cancel(self->handle, keeps_part);
  return 0;
}

/* The end of a variable's scope: cancels a download in progress. */
static int close_variable(lua_State *L) {
  njl_download_cancel(njl_check_download(L)->handle, true);
  return 0;
}

static int collect(lua_State *L) {
  download *self = lua_touserdata(L, 1);
  njl_download *handle = self->handle;
  self->handle = NULL;
  njl_download_release(handle);
  return 0;
}

/* download:state() -> the text for the option `resume` */
static int state(lua_State *L) {
  const download *self = njl_check_download(L);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_download_state(self->handle);
  return njl_loan_return_text(L, loan);
}

static int describe(lua_State *L) {
  download *self = njl_check_download(L);
  lua_pushfstring(L, "%s: %p (%s)", NJL_DOWNLOAD, (void *)self, njl_download_get_progress(self->handle).state);
  return 1;
}

/* Looks up download.NAME. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"wait", "pause",    "resume",  "cancel",  "state", "progress", "path",
                                      "size", "received", "resumed", "attempts", NULL};
  enum { PROGRESS = 5, PATH, SIZE, RECEIVED, RESUMED, ATTEMPTS };
  download *self = njl_check_download(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  int position = njl_find_name(L, 2, names);
  if (position < PROGRESS) return njl_unknown_field(L, "download", luaL_tolstring(L, 2, NULL), names);
  if (position == PROGRESS) {
    njl_download_progress progress = njl_download_get_progress(self->handle);
    njl_push_download_progress(L, &progress);
    return 1;
  }
  njl_loan *loan = njl_loan_push(L);
  njl_downloaded_file file = {0};
  loan->text = njl_download_file(self->handle, &file);
  if (loan->text == NULL) {
    lua_pushnil(L);
    return 1;
  }
  switch (position) {
  case PATH: njl_loan_push_text(L, loan); return 1;
  case SIZE: lua_pushinteger(L, file.size); return 1;
  case RECEIVED: lua_pushinteger(L, file.received); return 1;
  case RESUMED: lua_pushinteger(L, file.resumed); return 1;
  default: lua_pushinteger(L, file.attempts); return 1;
  }
}

/* --- Starting --- */

static bool connect(void *object, njl_client *client, const njl_request *request, njl_future **error) {
  const download *self = object;
  return njl_download_connect(self->handle, self->host->engine, client, request, error);
}

const njl_connector njl_download_connector = {"download", connect};

/* The stack of the functions that start a download. */
enum {
  CLIENT = 1, TARGET = 3, CALL_OPTIONS, REQUEST_TABLE, HEAD_HANDLER, PROGRESS_HANDLER, SETTINGS, PREPARED, RESULT
};
/* A bit of the context of `start`: the function returns when the file is complete. */
enum { WAITS = 2 };

static int has_downloaded(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_pushvalue(L, RESULT);
  return 1;
}

/* Pushes the download without its handle. */
static download *push_download(lua_State *L) {
  download *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (download){.host = njl_host_open(L), .reports_heads = !lua_isnil(L, HEAD_HANDLER)};
  njl_set_type(L, NJL_DOWNLOAD);
  njl_own(L);
  static const struct {
    int source, value;
  } values[] = {{HEAD_HANDLER, ON_HEAD}, {PROGRESS_HANDLER, ON_PROGRESS}, {CLIENT, OWNER}, {REQUEST_TABLE, REQUEST}};
  for (size_t index = 0; index < sizeof values / sizeof *values; index++) {
    lua_pushvalue(L, values[index].source);
    lua_setiuservalue(L, RESULT, values[index].value);
  }
  return self;
}

static int start(lua_State *L, int status, lua_KContext context) {
  (void)status;
  lua_settop(L, PREPARED);
  njl_client *client = njl_check_client(L);
  download *self = push_download(L);
  njl_reply *error = njl_error_push(L);
  njl_request request;
  njl_read_connector_request(L, PREPARED, &njl_download_connector, &request);
  njl_download_options options = {.reports_heads = self->reports_heads,
                                  .reports_progress = !lua_isnil(L, PROGRESS_HANDLER),
                                  .prepares_requests = (context & NJL_HAS_BEFORE) != 0};
  options.path.data = lua_tolstring(L, TARGET, &options.path.length);
  options.settings.data = lua_tolstring(L, SETTINGS, &options.settings.length);
  self->handle = njl_download_start(self->host->engine, client, &request, &options, &error->wait.call);
  lua_settop(L, RESULT + 1); /* the error */
  if (self->handle == NULL) return lua_error(L);
  lua_settop(L, RESULT);
  if ((context & WAITS) == 0) return 1;
  /* A cancel of the task cancels the download. */
  lua_toclose(L, RESULT);
  lua_pushcfunction(L, njl_wait_for_download);
  lua_pushvalue(L, RESULT);
  lua_callk(L, 1, 0, 0, has_downloaded);
  return has_downloaded(L, LUA_OK, 0);
}

static int begin(lua_State *L, const char *function, lua_KContext context) {
  static const char *const known[] = {"resume",   "checksum", "connections", "restart",  "overwrite",   "mode",
                                      "keep_time", "max_rate", "max_size",    "attempts", "retry_delay", NULL};
  njl_check_client(L);
  if (njl_host_open(L)->is_sandboxed) luaL_error(L, "%s: not available in a sandbox", function);
  if (lua_type(L, TARGET) != LUA_TSTRING) {
    luaL_error(L, "%s: file must be a string, got %s", function, luaL_typename(L, TARGET));
  }
  njl_push_stream_request(L, CALL_OPTIONS, function);
  njl_take_function(L, REQUEST_TABLE, "on_head", function);
  njl_take_function(L, REQUEST_TABLE, "on_progress", function);
  njl_take_options(L, REQUEST_TABLE, known, "", function);
  njl_check_option_names(L, REQUEST_TABLE, function);
  return njl_prepare_first_request(L, REQUEST_TABLE, start, context);
}

/* api:download(path, file, options) -> a download whose file is complete */
int njl_client_download(lua_State *L) { return begin(L, "download", WAITS); }

/* api:start_download(path, file, options) -> a download in progress */
int njl_client_start_download(lua_State *L) { return begin(L, "start_download", 0); }

void njl_open_download(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__gc", collect}, {"__close", close_variable}, {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"wait", njl_wait_for_download}, {"pause", pause_download}, {"resume", resume},
                                     {"cancel", cancel},     {"state", state},          {NULL, NULL}};
  njl_push_metatable(L, NJL_DOWNLOAD, meta);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
