/* download.c - api:download and api:start_download. Swift transfers the bytes and writes the file.
 *
 * The hook `before` and the functions on_head and on_progress run in a task that waits for the download. */
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
#include "njl_downloads.h"
#include "njl_future.h"

/* The user values of a download: the functions on_head and on_progress, its client, and the table of its request. */
enum { ON_HEAD = 1, ON_PROGRESS, OWNER, REQUEST, VALUES = REQUEST };

typedef struct download {
  njl_download *handle; /* released by the collector, because a finalizer may cancel the download while it is used */
  njl_host *host;
  bool is_calling;    /* a function of the script is running */
  bool reports_heads; /* the script has a function on_head */
} download;

/* The stack of download:wait. A guard is above it while a function of the script runs. */
enum { DOWNLOAD = 1, DEADLINE, TOP = DEADLINE };

static int proceed(lua_State *L) NJL_YIELDS;

static download *check_download(lua_State *L) { return njl_check(L, 1, NJL_DOWNLOAD); }

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

/* --- Functions of the script --- */

/* Ends the state of a function that is running, also if its task is cancelled. */
static int close_guard(lua_State *L) {
  download *self = *(download **)lua_touserdata(L, 1);
  self->is_calling = false;
  /* If the hook has not made the request, for example because its task was cancelled, another task calls the hook. */
  njl_download_notify(self->handle);
  return 0;
}

static void push_guard(lua_State *L, download *self) {
  static const char type[] = "nightjar.download_guard";
  static const luaL_Reg meta[] = {{"__close", close_guard}, {NULL, NULL}};
  *(download **)lua_newuserdatauv(L, sizeof self, 1) = self;
  lua_pushvalue(L, DOWNLOAD);
  lua_setiuservalue(L, -2, 1); /* keeps the download alive */
  njl_push_metatable(L, type, meta);
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  self->is_calling = true;
}

/* Closes the guard. The error of a function cancels the download, and is raised. */
static void end_function(lua_State *L, int status) {
  if (status == LUA_OK || status == LUA_YIELD) {
    lua_settop(L, TOP);
    return;
  }
  download *self = lua_touserdata(L, DOWNLOAD);
  njl_download_cancel(self->handle, true);
  lua_replace(L, DEADLINE);
  lua_settop(L, DEADLINE);
  lua_error(L);
}

static int has_returned(lua_State *L, int status, lua_KContext context) {
  (void)context;
  end_function(L, status);
  return proceed(L);
}

static void set_number(lua_State *L, double number, const char *name) {
  if (number < 0) return;
  lua_pushnumber(L, number);
  lua_setfield(L, -2, name);
}

static void push_progress(lua_State *L, const njl_download_progress *progress) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, progress->state);
  lua_setfield(L, -2, "state");
  njl_set_count(L, progress->received, "received");
  njl_set_count(L, progress->total, "total");
  set_number(L, progress->rate, "rate");
  set_number(L, progress->time_left, "time_left");
}

/* Calls on_progress(progress, download). */
static void report(lua_State *L, download *self, const njl_download_progress *progress) {
  push_guard(L, self);
  lua_getiuservalue(L, DOWNLOAD, ON_PROGRESS);
  push_progress(L, progress);
  lua_pushvalue(L, DOWNLOAD);
  end_function(L, lua_pcallk(L, 2, 0, 0, 0, has_returned));
}

/* Pushes the head of a response. Returns false if there is no new one. */
static bool push_head(lua_State *L, download *self) {
  njl_wait *wait = njl_reply_push(L, NULL);
  wait->state = NJL_DONE;
  wait->call = njl_download_take_head(self->handle);
  if (wait->call != NULL) njl_set_type(L, NJL_RESPONSE);
  return wait->call != NULL;
}

/* Calls on_head(response, download) for the head above TOP. */
static void report_head(lua_State *L, download *self) {
  push_guard(L, self);
  lua_getiuservalue(L, DOWNLOAD, ON_HEAD);
  lua_pushvalue(L, TOP + 1);
  lua_pushvalue(L, DOWNLOAD);
  end_function(L, lua_pcallk(L, 2, 0, 0, 0, has_returned));
}

static void read_request(lua_State *L, int index, njl_request *request) {
  request->method = (njl_bytes){"GET", 3};
  njl_read_options(L, index, "download", false, request);
  if (request->endpoint.data != NULL) request->catalog = njl_endpoints_of(L);
}

/* The stack of the functions below. */
enum { CLIENT = 1, OBJECT, OPTIONS };

static int connect(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_settop(L, OPTIONS);
  njl_client *client = njl_check_client(L);
  download *self = lua_touserdata(L, OBJECT);
  njl_reply *error = njl_error_push(L);
  int top = lua_gettop(L);
  njl_request request = {0};
  read_request(L, OPTIONS, &request);
  bool is_made = njl_download_connect(self->handle, self->host->engine, client, &request, &error->wait.call);
  lua_settop(L, top);
  return is_made ? 0 : lua_error(L);
}

/* Calls before(request) for the next request, and sends it. Arguments: the client and the download. */
static int make_request(lua_State *L) {
  lua_getiuservalue(L, OBJECT, REQUEST);
  njl_push_request(L, OPTIONS);
  lua_replace(L, OPTIONS);
  lua_getiuservalue(L, CLIENT, NJL_CLIENT_BEFORE);
  lua_pushvalue(L, OPTIONS);
  lua_callk(L, 1, 0, 0, connect);
  return connect(L, LUA_OK, 0);
}

static void prepare(lua_State *L, download *self) {
  push_guard(L, self);
  lua_pushcfunction(L, make_request);
  lua_getiuservalue(L, DOWNLOAD, OWNER);
  lua_pushvalue(L, DOWNLOAD);
  end_function(L, lua_pcallk(L, 2, 0, 0, 0, has_returned));
}

/* --- Waiting --- */

static int has_waited(lua_State *L, int status, lua_KContext context) {
  (void)status;
  if (((const njl_wait *)context)->state == NJL_EXPIRED) {
    return njl_raise(L, NJL_KIND_TIMEOUT, 0, "the download has not ended in time; it continues");
  }
  return proceed(L);
}

static njl_wait *push_wait(lua_State *L, download *self) {
  njl_wait *wait = njl_wait_push(L, self->host);
  wait->call = njl_download_await(self->handle, wait);
  self->host->calls++;
  wait->deadline = lua_isinteger(L, DEADLINE) ? (njl_moment)lua_tointeger(L, DEADLINE) : NJL_NEVER;
  njl_timer_add(wait);
  return wait;
}

/* Runs functions of the script until the download has ended. Returns the download, or raises its error. */
static int proceed(lua_State *L) {
  download *self = lua_touserdata(L, DOWNLOAD);
  for (;;) {
    lua_settop(L, TOP);
    if (!self->is_calling && njl_download_wants_request(self->handle)) {
      prepare(L, self);
      continue;
    }
    if (!self->is_calling && self->reports_heads && push_head(L, self)) {
      report_head(L, self);
      continue;
    }
    lua_settop(L, TOP);
    njl_download_progress progress;
    if (!self->is_calling && njl_download_take_progress(self->handle, &progress)) {
      report(L, self, &progress);
      continue;
    }
    if (njl_download_is_ended(self->handle)) break;
    njl_wait *wait = push_wait(L, self);
    if (njl_may_yield(L, self->host)) return njl_await(L, wait, has_waited);
    njl_await_here(L, wait);
    if (wait->state == NJL_EXPIRED) return has_waited(L, LUA_OK, (lua_KContext)wait);
  }
  njl_reply *error = njl_error_push(L);
  error->wait.call = njl_download_error(self->handle);
  if (error->wait.call != NULL) return lua_error(L);
  lua_settop(L, DOWNLOAD);
  return 1;
}

/* download:wait(timeout) -> download, when the file is complete */
static int wait_for_end(lua_State *L) {
  download *self = check_download(L);
  double seconds = 0;
  if (!lua_isnoneornil(L, DEADLINE)) seconds = njl_check_limit(L, DEADLINE, "wait", "timeout");
  lua_settop(L, DOWNLOAD);
  if (seconds > 0) lua_pushinteger(L, (lua_Integer)njl_host_deadline_after(self->host, seconds));
  else lua_pushnil(L);
  return proceed(L);
}

/* --- Methods and properties --- */

static int pause_download(lua_State *L) {
  njl_download_pause(check_download(L)->handle);
  return 0;
}

static int resume(lua_State *L) {
  njl_download_resume(check_download(L)->handle);
  return 0;
}

/* download:cancel({ keep = true }) */
static int cancel(lua_State *L) {
  static const char *const names[] = {"keep", NULL};
  bool keeps_part = true;
  bool *const flags[] = {&keeps_part};
  download *self = check_download(L);
  if (!lua_isnoneornil(L, 2)) njl_read_flags(L, 2, "cancel", names, flags);
  njl_download_cancel(self->handle, keeps_part);
  return 0;
}

/* The end of a variable's scope: cancels a download in progress. */
static int close_variable(lua_State *L) {
  njl_download_cancel(check_download(L)->handle, true);
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
static int state(lua_State *L) { return push_text(L, njl_download_state(check_download(L)->handle)); }

static int describe(lua_State *L) {
  download *self = check_download(L);
  lua_pushfstring(L, "%s: %p (%s)", NJL_DOWNLOAD, (void *)self, njl_download_get_progress(self->handle).state);
  return 1;
}

/* Looks up download.NAME. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"wait", "pause",    "resume",  "cancel",  "state", "progress", "path",
                                      "size", "received", "resumed", "attempts", NULL};
  enum { PROGRESS = 5, PATH, SIZE, RECEIVED, RESUMED, ATTEMPTS };
  download *self = check_download(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  int position = njl_find_name(L, 2, names);
  if (position < PROGRESS) return njl_unknown_field(L, "download", luaL_tolstring(L, 2, NULL), names);
  if (position == PROGRESS) {
    njl_download_progress progress = njl_download_get_progress(self->handle);
    push_progress(L, &progress);
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

/* The stack of the functions that start a download. */
enum { REQUEST_TABLE = 4, TARGET, HEAD_HANDLER, PROGRESS_HANDLER, SETTINGS, PREPARED, RESULT };
/* Bits of the context of their continuations. */
enum { HAS_BEFORE = 1, WAITS = 2 };

static int has_downloaded(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_pushvalue(L, RESULT);
  return 1;
}

static int start(lua_State *L, int status, lua_KContext context) {
  (void)status;
  lua_settop(L, PREPARED);
  njl_client *client = njl_check_client(L);
  download *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (download){.host = njl_host_open(L), .reports_heads = !lua_isnil(L, HEAD_HANDLER)};
  njl_set_type(L, NJL_DOWNLOAD);
  njl_own(L);
  lua_pushvalue(L, HEAD_HANDLER);
  lua_setiuservalue(L, RESULT, ON_HEAD);
  lua_pushvalue(L, PROGRESS_HANDLER);
  lua_setiuservalue(L, RESULT, ON_PROGRESS);
  lua_pushvalue(L, CLIENT);
  lua_setiuservalue(L, RESULT, OWNER);
  lua_pushvalue(L, REQUEST_TABLE);
  lua_setiuservalue(L, RESULT, REQUEST);
  njl_reply *error = njl_error_push(L);
  njl_request request = {0};
  read_request(L, PREPARED, &request);
  njl_download_options options = {.reports_heads = self->reports_heads,
                                  .reports_progress = !lua_isnil(L, PROGRESS_HANDLER),
                                  .prepares_requests = (context & HAS_BEFORE) != 0};
  options.path.data = lua_tolstring(L, TARGET, &options.path.length);
  options.settings.data = lua_tolstring(L, SETTINGS, &options.settings.length);
  self->handle = njl_download_start(self->host->engine, client, &request, &options, &error->wait.call);
  lua_settop(L, RESULT + 1); /* the error */
  if (self->handle == NULL) return lua_error(L);
  lua_settop(L, RESULT);
  if ((context & WAITS) == 0) return 1;
  /* A cancel of the task cancels the download. */
  lua_toclose(L, RESULT);
  lua_pushcfunction(L, wait_for_end);
  lua_pushvalue(L, RESULT);
  lua_callk(L, 1, 0, 0, has_downloaded);
  return has_downloaded(L, LUA_OK, 0);
}

/* Pushes a function in the options, or nil, and removes it from them. */
static void take_function(lua_State *L, const char *name, const char *function) {
  lua_getfield(L, REQUEST_TABLE, name);
  if (!lua_isnil(L, -1) && !njl_is_callable(L, -1)) {
    luaL_error(L, "%s: %s must be a function, got %s", function, name, luaL_typename(L, -1));
  }
  lua_pushnil(L);
  lua_setfield(L, REQUEST_TABLE, name);
}

/* Moves the path of the file, which is the third argument, to TARGET, and replaces the options at REQUEST_TABLE by a
 * copy without the options of the download. Pushes on_head, on_progress and these options as JSON. */
static void take_arguments(lua_State *L, const char *function) {
  static const char *const known[] = {"resume",   "checksum", "connections", "restart",  "overwrite",   "mode",
                                      "keep_time", "max_rate", "max_size",    "attempts", "retry_delay", NULL};
  enum { FILE_ARGUMENT = 3, OPTIONS_ARGUMENT };
  njl_check_client(L);
  if (njl_host_open(L)->is_sandboxed) luaL_error(L, "%s: not available in a sandbox", function);
  if (lua_type(L, FILE_ARGUMENT) != LUA_TSTRING) {
    luaL_error(L, "%s: file must be a string, got %s", function, luaL_typename(L, FILE_ARGUMENT));
  }
  lua_settop(L, OPTIONS_ARGUMENT);
  /* The options, or an empty table, hold the file while the arguments are read. */
  if (lua_isnil(L, OPTIONS_ARGUMENT)) lua_newtable(L);
  else if (lua_istable(L, OPTIONS_ARGUMENT)) njl_push_copy(L, OPTIONS_ARGUMENT);
  else luaL_error(L, "%s: options must be a table, got %s", function, luaL_typename(L, OPTIONS_ARGUMENT));
  lua_pushvalue(L, FILE_ARGUMENT);
  lua_rawseti(L, -2, 1);
  lua_replace(L, FILE_ARGUMENT);
  lua_settop(L, FILE_ARGUMENT);
  njl_push_stream_request(L, function);
  lua_rawgeti(L, REQUEST_TABLE, 1);
  lua_pushnil(L);
  lua_rawseti(L, REQUEST_TABLE, 1);
  take_function(L, "on_head", function);
  take_function(L, "on_progress", function);
  njl_take_options(L, REQUEST_TABLE, known, "", function);
  njl_check_option_names(L, REQUEST_TABLE, function);
  lua_pushvalue(L, REQUEST_TABLE);
}

static int begin(lua_State *L, const char *function, lua_KContext context) {
  take_arguments(L, function);
  bool has_before = njl_client_has_hooks(L) && lua_getiuservalue(L, CLIENT, NJL_CLIENT_BEFORE) != LUA_TNIL;
  lua_settop(L, PREPARED);
  if (!has_before) return start(L, LUA_OK, context);
  context |= HAS_BEFORE;
  if (lua_getfield(L, REQUEST_TABLE, "method") == LUA_TNIL && lua_getfield(L, REQUEST_TABLE, "endpoint") == LUA_TNIL) {
    lua_pushliteral(L, "GET");
    lua_setfield(L, REQUEST_TABLE, "method");
  }
  /* The hook runs again for each request, with a new copy. */
  njl_push_request(L, REQUEST_TABLE);
  lua_replace(L, PREPARED);
  lua_settop(L, PREPARED);
  lua_getiuservalue(L, CLIENT, NJL_CLIENT_BEFORE);
  lua_pushvalue(L, PREPARED);
  lua_callk(L, 1, 0, context, start);
  return start(L, LUA_OK, context);
}

/* api:download(path, file, options) -> a download whose file is complete */
int njl_client_download(lua_State *L) { return begin(L, "download", WAITS); }

/* api:start_download(path, file, options) -> a download in progress */
int njl_client_start_download(lua_State *L) { return begin(L, "start_download", 0); }

void njl_open_download(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__gc", collect}, {"__close", close_variable}, {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"wait", wait_for_end}, {"pause", pause_download}, {"resume", resume},
                                     {"cancel", cancel},     {"state", state},          {NULL, NULL}};
  njl_push_metatable(L, NJL_DOWNLOAD, meta);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
