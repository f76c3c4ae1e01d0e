/* resource.c - api:resource(path, options): data of an API that is loaded, kept current and observed. Swift loads it.
 *
 *   resource.snapshot               { phase =, data =, error =, stale =, mutation =, generation =, updated_at = }
 *   resource:get(timeout)           the data, when it is current
 *   resource:reload(timeout)        loads the data again, past the cache, and returns it
 *   resource:changes()              an iterator over the snapshots, which observes the resource
 *   resource:set_path(path, { query =, params = })
 *   resource:mutate { ... }         sends a request that changes the resource
 *   resource:close() */
#include "bindings/resource.h"

#include <lua5.4/lauxlib.h>
#include <string.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/timers.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_future.h"

resource *njl_check_resource(lua_State *L) { return njl_check(L, 1, NJL_API_RESOURCE); }

/* --- Loading --- */

/* The stack of the functions that wait: the resource and its caller. */
enum { RESOURCE = 1, TURN };

/* Returns the data after a wait, or raises the error, which may be that of a hook. */
static int loaded(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_wait *wait = (njl_wait *)context;
  if (wait->state == NJL_EXPIRED) return njl_raise(L, NJL_KIND_TIMEOUT, 0, "the resource was not loaded in time");
  njl_reply *reply = (njl_reply *)njl_reply_push(L, NULL);
  reply->wait.state = NJL_DONE;
  reply->wait.call = wait->call;
  wait->call = NULL;
  if (njl_future_failure(reply->wait.call, NULL)) {
    njl_set_type(L, NJL_ERROR);
    return njl_caller_raise(L, TURN);
  }
  njl_set_type(L, NJL_RESPONSE);
  njl_push_data(L);
  return 1;
}

static int load(lua_State *L, bool is_reload, const char *function) {
  resource *self = njl_check_resource(L);
  njl_check_owner(L, RESOURCE, OWNER);
  double seconds = lua_isnoneornil(L, 2) ? 0 : njl_check_limit(L, 2, function, "timeout");
  lua_settop(L, RESOURCE);
  lua_getiuservalue(L, RESOURCE, CALLER);
  if (njl_caller_is_running(L, TURN, self->host)) {
    return luaL_error(L, "%s: not available in a hook of a request of this resource", function);
  }
  njl_reply *error = njl_error_push(L);
  njl_wait *wait = njl_wait_push(L, self->host);
  wait->caller = njl_caller_number(L, TURN);
  wait->needs_tasks = wait->caller != 0;
  wait->call = njl_api_resource_load(self->handle, is_reload, wait, &error->wait.call);
  if (wait->call == NULL) {
    lua_pop(L, 1);
    return lua_error(L);
  }
  self->host->calls++;
  if (seconds > 0) wait->deadline = njl_host_deadline_after(self->host, seconds);
  njl_timer_add(wait);
  return njl_await(L, wait, loaded);
}

/* resource:get(timeout) -> the data */
static int get(lua_State *L) { return load(L, false, "get"); }

/* resource:reload(timeout) -> the data */
static int reload(lua_State *L) { return load(L, true, "reload"); }

/* --- The path --- */

/* resource:set_path(path, { query =, params = }) */
static int set_path(lua_State *L) {
  static const char *const known[] = {"query", "params", NULL};
  enum { NEW_PATH = 2, GIVEN };
  resource *self = njl_check_resource(L);
  if (lua_type(L, NEW_PATH) != LUA_TSTRING) {
    return luaL_error(L, "set_path: path must be a string, got %s", luaL_typename(L, NEW_PATH));
  }
  lua_settop(L, GIVEN);
  if (lua_isnil(L, GIVEN)) lua_newtable(L);
  else if (lua_istable(L, GIVEN)) njl_push_copy(L, GIVEN);
  else return luaL_error(L, "set_path: options must be a table, got %s", luaL_typename(L, GIVEN));
  lua_replace(L, GIVEN);
  njl_check_options(L, GIVEN, "set_path", "", known);
  lua_pushvalue(L, NEW_PATH);
  lua_setfield(L, GIVEN, "path");
  njl_reply *error = njl_error_push(L);
  int top = lua_gettop(L);
  njl_request request = {.method = {"GET", 3}};
  njl_read_options(L, GIVEN, "set_path", false, &request);
  bool is_set = njl_api_resource_set_path(self->handle, &request, &error->wait.call);
  lua_settop(L, top);
  if (!is_set) return lua_error(L);
  lua_pushvalue(L, NEW_PATH);
  lua_setiuservalue(L, RESOURCE, PATH);
  return 0;
}

/* --- Properties --- */

static njl_observed read_snapshot(void *object, njl_snapshot *snapshot) {
  njl_api_resource_read(((const resource *)object)->handle, snapshot);
  return NJL_OBSERVED_READY;
}

/* Looks up resource.NAME. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"snapshot", "get", "reload", "changes", "set_path", "mutate", "close", NULL};
  resource *self = njl_check_resource(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(name, "snapshot") == 0) {
    njl_push_snapshot(L, read_snapshot, self);
    return 1;
  }
  return njl_unknown_field(L, "resource", luaL_tolstring(L, 2, NULL), names);
}

/* resource:close(), also called by <close> */
static int close_resource(lua_State *L) {
  njl_api_resource_close(njl_check_resource(L)->handle);
  return 0;
}

static int collect(lua_State *L) {
  resource *self = lua_touserdata(L, 1);
  njl_api_resource *handle = self->handle;
  self->handle = NULL;
  njl_api_resource_close(handle);
  njl_api_resource_release(handle);
  return 0;
}

static int describe(lua_State *L) {
  resource *self = njl_check_resource(L);
  lua_pushfstring(L, "resource: %p", (void *)self);
  return 1;
}

/* --- Creating --- */

/* api:resource(path, options) -> a resource */
int njl_client_resource(lua_State *L) {
  static const char *const known[] = {"debounce", "reload_on", "tags", "keep_previous", NULL};
  enum { CLIENT = 1, TARGET, CALL_OPTIONS, REQUEST_TABLE, SETTINGS, OBJECT };
  njl_push_stream_request(L, CALL_OPTIONS, "resource");
  njl_take_options(L, REQUEST_TABLE, known, "", "resource");
  njl_check_option_names(L, REQUEST_TABLE, "resource");
  njl_client *client = njl_check_client(L);
  resource *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (resource){.host = njl_host_open(L)};
  njl_set_type(L, NJL_API_RESOURCE);
  njl_own(L);
  lua_pushvalue(L, CLIENT);
  lua_setiuservalue(L, OBJECT, OWNER);
  lua_pushvalue(L, TARGET);
  lua_setiuservalue(L, OBJECT, PATH);
  lua_Integer caller = njl_caller_push(L, self->host, REQUEST_TABLE);
  lua_setiuservalue(L, OBJECT, CALLER);
  njl_reply *error = njl_error_push(L);
  int top = lua_gettop(L);
  njl_request request = {.method = {"GET", 3}};
  njl_read_options(L, REQUEST_TABLE, "resource", false, &request);
  if (request.endpoint.data != NULL) request.catalog = njl_endpoints_of(L);
  njl_bytes options;
  options.data = lua_tolstring(L, SETTINGS, &options.length);
  self->handle = njl_api_resource_new(self->host->engine, client, &request, options, caller, &error->wait.call);
  lua_settop(L, top);
  if (self->handle == NULL) return lua_error(L);
  lua_settop(L, OBJECT);
  return 1;
}

/* api:invalidate(tag): the data of the resources with this tag is loaded again */
int njl_client_invalidate(lua_State *L) {
  njl_client *client = njl_check_client(L);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L, "invalidate: tag must be a string, got %s", luaL_typename(L, 2));
  }
  njl_bytes tag;
  tag.data = lua_tolstring(L, 2, &tag.length);
  njl_reply *error = njl_error_push(L);
  if (!njl_client_invalidate_tag(client, tag, &error->wait.call)) return lua_error(L);
  return 0;
}

void njl_open_resource(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__gc", collect}, {"__close", close_resource}, {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"get", get},
                                     {"reload", reload},
                                     {"changes", njl_resource_changes},
                                     {"set_path", set_path},
                                     {"mutate", njl_resource_mutate},
                                     {"close", close_resource},
                                     {NULL, NULL}};
  njl_push_metatable(L, NJL_API_RESOURCE, meta);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  njl_open_resource_changes(L);
}
