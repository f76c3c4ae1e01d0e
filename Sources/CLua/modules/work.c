/* work.c - runs blocking work (files) on other threads while the calling coroutine waits.
 *
 *   work(name, ...)            runs the work of that name, see Files.swift
 *                              -> its result: a value and optionally a resource, or a list
 *   resource:read(most)        the next bytes of an open file, at most `most`; nil at the end
 *   resource:close()           closes the file, or removes the temporary file or folder; also called by <close> and by
 *                              the collector
 *   resource:stream()          the pipe (pipe.c) of an open named pipe or device; the resource is then closed */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/gate.h"
#include "core/host.h"
#include "core/memory.h"
#include "core/metatable.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "modules/modules.h"
#include "njl_future.h"
#include "njl_types.h"
#include "njl_work.h"

/* The maximum number of arguments after the name of the work. */
enum { MOST_ARGUMENTS = 8 };

typedef struct resource {
  njl_host *host;
  njl_resource *handle; /* owned; NULL: closed */
} resource;

static resource *check_resource(lua_State *L) {
  resource *self = njl_check(L, 1, NJL_RESOURCE);
  if (self->handle == NULL) njl_raise(L, NJL_KIND_CLOSED, 0, "the file is closed");
  return self;
}

static void push_result(lua_State *L, const njl_wait *wait, size_t index) {
  njl_value value = {.kind = NJL_NIL};
  njl_work_value(wait->call, index, &value);
  njl_push_value(L, &value);
}

/* Releases the outcome. Its results are already on the Lua stack. */
static int forget_work(njl_wait *wait) {
  njl_future_release(wait->call);
  wait->call = NULL;
  return 1;
}

static int finished(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_wait *wait = (njl_wait *)context;
  njl_check_work(L, wait);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  size_t count = njl_work_count(wait->call);
  bool is_list = njl_work_is_list(wait->call);
  if (!is_list) {
    push_result(L, wait, 0);
    if (!njl_work_has_resource(wait->call)) return forget_work(wait);
    resource *made = lua_newuserdatauv(L, sizeof *made, 0);
    *made = (resource){.host = wait->host};
    njl_set_type(L, NJL_RESOURCE);
    njl_own(L);
    made->handle = njl_work_take_resource(wait->call);
    return 2;
  }
  lua_createtable(L, count < INT32_MAX ? (int)count : 0, 0);
  for (size_t index = 0; index < count; index++) {
    push_result(L, wait, index);
    lua_rawseti(L, -2, (lua_Integer)index + 1);
  }
  return forget_work(wait);
}

/* Waits for the work, or raises the error object on top of the stack if `call` is NULL. `wait` is below the error
 * object. */
static int await_work(lua_State *L, njl_wait *wait, njl_future *call) {
  wait->call = call;
  if (call == NULL) return lua_error(L);
  wait->host->calls++;
  lua_pop(L, 1);
  return njl_await(L, wait, finished);
}

static int work(lua_State *L) {
  njl_host *host = njl_host_of(L);
  njl_bytes name;
  name.data = luaL_checklstring(L, 1, &name.length);
  int count = lua_gettop(L) - 1;
  if (count > MOST_ARGUMENTS) return luaL_error(L, "too many arguments");
  njl_value arguments[MOST_ARGUMENTS];
  for (int index = 0; index < count; index++) arguments[index] = njl_value_at(L, index + 2);
  njl_wait *wait = njl_wait_push(L, host);
  njl_reply *error = njl_error_push(L);
  return await_work(
      L, wait, njl_work_start(host->engine, name, arguments, (size_t)count, wait, &error->wait.call));
}

static int read_resource(lua_State *L) {
  resource *self = check_resource(L);
  lua_Integer most = luaL_checkinteger(L, 2);
  njl_wait *wait = njl_wait_push(L, self->host);
  njl_reply *error = njl_error_push(L);
  return await_work(L, wait, njl_resource_read(self->host->engine, self->handle, most, wait, &error->wait.call));
}

static int close_resource(lua_State *L) {
  resource *self = njl_check(L, 1, NJL_RESOURCE);
  njl_resource *handle = self->handle;
  self->handle = NULL;
  njl_resource_release(handle);
  return 0;
}

static int stream_of(lua_State *L) {
  resource *self = check_resource(L);
  njl_pipe_push(L, self->host);
  njl_pipe_set_stream(L, -1, njl_resource_take_descriptor(self->handle));
  njl_resource *handle = self->handle;
  self->handle = NULL;
  njl_resource_release(handle);
  return 1;
}

/* open_outbox(client, options) -> an outbox as a resource, and its number for work. `options` is a JSON text. */
static int open_outbox(lua_State *L) {
  njl_client *client = njl_check_client(L);
  njl_bytes options;
  options.data = luaL_checklstring(L, 2, &options.length);
  njl_host *host = njl_host_of(L);
  resource *made = lua_newuserdatauv(L, sizeof *made, 1);
  *made = (resource){.host = host};
  njl_set_type(L, NJL_RESOURCE);
  njl_own(L);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1); /* the outbox keeps its client */
  njl_reply *error = njl_error_push(L);
  int64_t number = 0;
  made->handle = njl_outbox_open(host->engine, client, options, &number, &error->wait.call);
  if (made->handle == NULL) return lua_error(L);
  lua_pop(L, 1);
  lua_pushinteger(L, (lua_Integer)number);
  return 2;
}

/* api:outbox(options): calls nightjar.outboxes.open(api, options). */
int njl_client_outbox(lua_State *L) {
  njl_check_client(L);
  lua_settop(L, 2);
  if (!njl_push_module(L, "nightjar.outboxes")) return luaL_error(L, "outbox: not available in a sandbox");
  lua_getfield(L, -1, "open");
  lua_replace(L, -2);
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* memory_left() -> the bytes left under the script's memory limit; nil if there is none */
static int memory_left(lua_State *L) {
  size_t left = njl_memory_left(L);
  if (left > LUA_MAXINTEGER) return 0;
  lua_pushinteger(L, (lua_Integer)left);
  return 1;
}

static void add_work(lua_State *L, int table) {
  static const luaL_Reg functions[] = {{"work", work}, {"memory_left", memory_left}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", close_resource}, {"__close", close_resource}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"read", read_resource}, {"stream", stream_of}, {"close", close_resource}, {NULL, NULL}};
  njl_add_type(L, NJL_RESOURCE, meta, methods, NULL);
  njl_add_functions(L, table, functions);
}

/* Adds the C functions of nightjar.fs to the table at index 1. */
int njl_open_fs(lua_State *L) {
  njl_add_gates(L, 1);
  njl_add_pipes(L, 1);
  add_work(L, 1);
  njl_add_reader(L, 1);
  return 0;
}

/* graphql_key(client, path) -> a text that identifies the URL */
static int graphql_key(lua_State *L) {
  njl_client *client = njl_check_client(L);
  njl_bytes path;
  path.data = luaL_checklstring(L, 2, &path.length);
  char key[NJL_DIGEST_TEXT + 1];
  njl_reply *error = njl_error_push(L);
  if (!njl_graphql_key(client, path, key, &error->wait.call)) return lua_error(L);
  lua_pushlstring(L, key, NJL_DIGEST_TEXT);
  return 1;
}

/* graphql_complete(key, document, kind) -> the names that can follow the document, one per line */
static int graphql_complete(lua_State *L) {
  njl_bytes texts[3];
  for (int index = 0; index < 3; index++) texts[index].data = luaL_checklstring(L, index + 1, &texts[index].length);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_graphql_complete(njl_host_open(L)->engine, texts[0], texts[1], texts[2]);
  return njl_loan_return_text(L, loan);
}

/* Adds the C functions of nightjar.graphql to the table at index 1. */
int njl_open_graphql(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"graphql_key", graphql_key}, {"graphql_complete", graphql_complete}, {NULL, NULL}};
  njl_add_gates(L, 1);
  add_work(L, 1);
  njl_add_functions(L, 1, functions);
  return 0;
}

/* Adds the C functions of nightjar.outboxes to the table at index 1. */
int njl_open_outboxes(lua_State *L) {
  static const luaL_Reg functions[] = {{"open_outbox", open_outbox}, {NULL, NULL}};
  njl_add_gates(L, 1);
  add_work(L, 1);
  njl_add_functions(L, 1, functions);
  return 0;
}

/* Adds the C functions of nightjar.transfers to the table at index 1. */
int njl_open_transfers(lua_State *L) {
  njl_add_gates(L, 1);
  add_work(L, 1);
  return 0;
}
