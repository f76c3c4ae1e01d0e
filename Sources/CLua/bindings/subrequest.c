/* subrequest.c - runs the calls of paginated lists and document loads through the hooks of their client.
 *
 * If a client has before or after hooks, its lists and document loads do not send their requests directly but create
 * subrequests. Each subrequest runs in a child of the root task. Several tasks may wait for a page: cancelling one of
 * these tasks must not cancel the page for the others. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>
#include <strings.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/task.h"
#include "bindings/bindings.h"
#include "njl_future.h"
#include "njl_subrequests.h"

/* User values of a caller, which makes the calls of one list or one load: its client, the options of each call, and
 * the errors that hooks raised, by number. */
enum { CLIENT = 1, OPTIONS, RAISED, VALUES = RAISED };

/* The number of hook errors kept for njl_caller_raise. A document load has at most six calls in flight. */
enum { MOST_RAISED = 8 };

typedef struct caller {
  lua_Integer number;
  int raised; /* number of errors raised so far */
} caller;

static void run_subrequests(lua_State *L, njl_host *host);

lua_Integer njl_caller_push(lua_State *L, njl_host *host, int options) {
  static const luaL_Reg meta[] = {{NULL, NULL}};
  if (!njl_client_has_hooks(L)) {
    lua_pushnil(L);
    return 0;
  }
  caller *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (caller){0};
  njl_push_metatable(L, NJL_CALLER, meta);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, CLIENT);
  if (options != 0) {
    lua_pushvalue(L, options);
    lua_setiuservalue(L, -2, OPTIONS);
  }
  lua_newtable(L);
  lua_setiuservalue(L, -2, RAISED);
  self->number = njl_number(L, host, -1);
  host->run_subrequests = run_subrequests;
  return self->number;
}

lua_Integer njl_caller_number(lua_State *L, int index) {
  const caller *self = njl_test(L, index, NJL_CALLER);
  return self == NULL ? 0 : self->number;
}

bool njl_caller_is_running(lua_State *L, int index, const njl_host *host) {
  const caller *self = njl_test(L, index, NJL_CALLER);
  if (self == NULL) return false;
  for (const njl_task *task = host->current; task != NULL; task = task->parent) {
    if (task->subrequest != NULL && njl_subrequest_caller(task->subrequest) == self->number) return true;
  }
  return false;
}

/* --- Errors raised by hooks --- */

int njl_caller_raise(lua_State *L, int index) {
  index = lua_absindex(L, index);
  const njl_reply *error = njl_test(L, -1, NJL_ERROR);
  njl_failure failure = {0};
  if (error == NULL || njl_test(L, index, NJL_CALLER) == NULL) return lua_error(L);
  size_t length = 0;
  const char *kind = njl_future_text(error->wait.call, NJL_KIND, &length);
  if (kind == NULL || strcmp(kind, "script") != 0) return lua_error(L);
  if (!njl_future_failure(error->wait.call, &failure) || failure.code == 0) return lua_error(L);
  lua_getiuservalue(L, index, RAISED);
  if (lua_rawgeti(L, -1, failure.code) == LUA_TNIL) lua_pop(L, 2);
  return lua_error(L);
}

/* Makes the subrequest fail with the error value on top of the stack. */
static void fail(lua_State *L, njl_subrequest *subrequest) {
  int value = lua_gettop(L), number = 0;
  if (njl_push_numbered(L, (lua_Integer)njl_subrequest_caller(subrequest))) {
    caller *self = lua_touserdata(L, -1);
    self->raised = number = self->raised % INT32_MAX + 1;
    lua_getiuservalue(L, -1, RAISED);
    lua_pushvalue(L, value);
    lua_rawseti(L, -2, number);
    lua_pushnil(L);
    lua_rawseti(L, -2, number - MOST_RAISED);
  }
  njl_push_message(L, value);
  njl_bytes message;
  message.data = lua_tolstring(L, -1, &message.length);
  njl_subrequest_fail(subrequest, message, number);
}

/* --- One call --- */

/* Sets a header in the table at stack index `headers` and removes other headers of the same name, ignoring case. The
 * name and the value are on top of the stack. */
static void set_header(lua_State *L, int headers) {
  int value = lua_gettop(L), name = value - 1;
  const char *wanted = lua_tostring(L, name);
  if (lua_rawlen(L, headers) == 0) { /* { name = value } */
    for (lua_pushnil(L); lua_next(L, headers) != 0; lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING || strcasecmp(lua_tostring(L, -2), wanted) != 0) continue;
      lua_pushvalue(L, -2);
      lua_pushnil(L);
      lua_rawset(L, headers);
    }
    lua_rawset(L, headers);
    return;
  }
  lua_Integer kept = 0, count = (lua_Integer)lua_rawlen(L, headers); /* { {name, value}, ... } */
  for (lua_Integer place = 1; place <= count; place++) {
    lua_rawgeti(L, headers, place);
    bool stays = true;
    if (lua_istable(L, -1)) {
      stays = lua_rawgeti(L, -1, 1) != LUA_TSTRING || strcasecmp(lua_tostring(L, -1), wanted) != 0;
      lua_pop(L, 1);
    }
    if (stays) lua_rawseti(L, headers, ++kept);
    else lua_pop(L, 1);
  }
  for (lua_Integer place = kept + 1; place <= count; place++) {
    lua_pushnil(L);
    lua_rawseti(L, headers, place);
  }
  lua_createtable(L, 2, 0);
  lua_insert(L, name);
  lua_rawseti(L, name, 2);
  lua_rawseti(L, name, 1);
  lua_rawseti(L, headers, kept + 1);
}

/* Pushes the request as the hooks see it: the options of the caller at `caller`, overridden by the subrequest's
 * request. */
static void push_request(lua_State *L, int caller, const njl_subrequest *subrequest) {
  lua_getiuservalue(L, caller, OPTIONS);
  njl_push_request(L, lua_gettop(L));
  lua_replace(L, -2);
  int request = lua_gettop(L);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_subrequest_request(subrequest);
  if (loan->text == NULL) luaL_error(L, "not enough memory");
  njl_loan_push_json(L, loan, "the request");
  int own = lua_gettop(L);
  static const char *const names[] = {"method", "path", "max_body", "cache", "coalesce"};
  for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
    if (lua_getfield(L, own, names[index]) == LUA_TNIL) lua_pop(L, 1);
    else lua_setfield(L, request, names[index]);
  }
  /* The query is part of the path. */
  lua_newtable(L);
  lua_setfield(L, request, "query");
  lua_pushnil(L);
  lua_setfield(L, request, "params");
  lua_getfield(L, request, "headers");
  int headers = lua_gettop(L);
  lua_getfield(L, own, "headers");
  int fields = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, fields) != 0;) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    set_header(L, headers);
  }
  lua_settop(L, request);
}

/* Sends the request at index 2 for the subrequest of the running task, as api:request does. */
static int send(lua_State *L) {
  njl_host *host = njl_host_open(L);
  njl_request request = {.method = {"GET", 3}, .subrequest = host->current->subrequest};
  njl_read_options(L, 2, "request", !host->is_sandboxed, &request);
  if (request.is_streamed) return luaL_error(L, "request: stream is not supported for pages and documents");
  if (request.endpoint.data != NULL) request.catalog = njl_endpoints_of(L);
  if (request.target.data == NULL) return luaL_error(L, "request: path is missing");
  return njl_send(L, &request, 2, njl_responded);
}

static int sent(lua_State *L, int status, lua_KContext context) {
  njl_subrequest *subrequest = ((njl_task *)context)->subrequest;
  bool succeeded = status == LUA_OK || status == LUA_YIELD;
  const njl_reply *reply = njl_test(L, -1, succeeded ? NJL_RESPONSE : NJL_ERROR);
  if (reply != NULL && njl_subrequest_finish(subrequest, reply->wait.call)) return 0;
  if (!succeeded) fail(L, subrequest);
  return 0;
}

static int call(lua_State *L) { return njl_call_hooked(L, send); }

/* Runs as the task of a subrequest: makes the call. The stack: the client and the request. */
static int carry_out(lua_State *L) {
  lua_KContext task = (lua_KContext)njl_host_open(L)->current;
  lua_pushcfunction(L, call);
  lua_insert(L, 1);
  return sent(L, lua_pcallk(L, 2, 1, 0, task, sent), task);
}

/* --- Tasks --- */

/* A subrequest, passed to begin(). */
typedef struct arrival {
  njl_subrequest *handle; /* NULL: the task owns it */
  int64_t caller;
} arrival;

/* Spawns the task for the arrival at index 1. */
static int begin(lua_State *L) {
  arrival *arrival = lua_touserdata(L, 1);
  if (!njl_push_numbered(L, arrival->caller)) return 0; /* The caller was collected: nothing needs the subrequest. */
  int caller = lua_gettop(L);
  lua_pushcfunction(L, carry_out);
  lua_getiuservalue(L, caller, CLIENT);
  push_request(L, caller, arrival->handle);
  njl_task *task = njl_task_spawn(L, njl_host_open(L), 2);
  task->is_observed = true;
  task->subrequest = arrival->handle;
  task->host->subrequests++;
  njl_subrequest_begin(arrival->handle, task);
  arrival->handle = NULL;
  return 0;
}

/* Starts a task for each subrequest that has arrived, and cancels the tasks of calls that are no longer needed. */
static void run_subrequests(lua_State *L, njl_host *host) {
  if (host->engine == NULL) return;
  for (njl_task *task; (task = njl_engine_next_cancelled(host->engine)) != NULL;) njl_task_cancel(task);
  while (host->engine != NULL && lua_checkstack(L, LUA_MINSTACK)) {
    arrival arrival = {0};
    arrival.handle = njl_engine_next_subrequest(host->engine, &arrival.caller);
    if (arrival.handle == NULL) return;
    njl_task_begin(L, host, begin, &arrival);
    if (arrival.handle != NULL) njl_subrequest_end(arrival.handle);
  }
}
