/* cache.c - api.cache: direct access to a client's cache. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "bindings/bindings.h"
#include "njl_caches.h"
#include "njl_future.h"
#include "njl_request.h"

/* The only user value. */
enum { CLIENT = 1 };

typedef struct cache {
  njl_cache *handle; /* owned */
} cache;

static cache *check_cache(lua_State *L) {
  cache *self = njl_test(L, 1, NJL_CACHE);
  if (self != NULL && self->handle != NULL) return self;
  luaL_error(L, "cache expected, got %s; call methods with a colon, as in api.cache:get(\"/path\")",
             luaL_typename(L, 1));
  return NULL;
}

int njl_cache_push(lua_State *L) {
  njl_check_client(L);
  cache *self = lua_newuserdatauv(L, sizeof *self, CLIENT);
  *self = (cache){0};
  njl_set_type(L, NJL_CACHE);
  njl_own(L);
  self->handle = njl_client_cache(njl_check_client(L)); /* finalizers may have closed the client */
  if (self->handle == NULL) {
    lua_pop(L, 1);
    lua_pushnil(L);
    return 1;
  }
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, CLIENT);
  return 1;
}

/* Replaces the cache at index 1 by its client. */
static void become_client(lua_State *L) {
  lua_getiuservalue(L, 1, CLIENT);
  lua_replace(L, 1);
  njl_check_client(L);
}

static void check_names(lua_State *L, int table, const char *function, const char *what, const char *const known[]) {
  if (!lua_istable(L, table)) luaL_error(L, "%s: %s must be a table, got %s", function, what, luaL_typename(L, table));
  njl_check_options(L, table, function, "", known);
}

/* Reads the path at index 2 and the options at `options` into the request. Only `timeout` and the options that select a
 * cache entry are allowed. */
static void read_request(lua_State *L, const char *function, int options, njl_request *request) {
  static const char *const known[] = {"query", "params", "headers", "auth", "cookies", "decompress", "timeout",
                                      "cache_partition", NULL};
  if (lua_type(L, 2) != LUA_TSTRING) luaL_error(L, "%s: path must be a string, got %s", function, luaL_typename(L, 2));
  bool has_options = !lua_isnoneornil(L, options);
  if (has_options) check_names(L, options, function, "options", known);
  *request = (njl_request){.method = {"GET", 3}};
  request->target.data = lua_tolstring(L, 2, &request->target.length);
  njl_read_options(L, has_options ? options : 0, function, false, request);
}

static int looked_up(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_wait *wait = (njl_wait *)context;
  njl_failure failure;
  if (njl_future_is_response(wait->call) || njl_future_failure(wait->call, &failure)) return njl_reply_finish(L, 2);
  lua_pushnil(L);
  return 1;
}

/* cache:get(path, options) -> the cached response that the policy cache_only allows, or nil. Sends no request. */
static int get(lua_State *L) {
  check_cache(L);
  lua_settop(L, 3);
  become_client(L);
  njl_request request;
  read_request(L, "get", 3, &request);
  request.is_cache_lookup = true;
  return njl_send(L, &request, 3, looked_up);
}

static int was_put(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_wait *wait = (njl_wait *)context;
  njl_failure failure;
  return njl_future_failure(wait->call, &failure) ? njl_reply_finish(L, 2) : 0;
}

/* cache:put(path, { status =, headers =, body = | json = }, options) stores a response as if a server had sent it. */
static int put(lua_State *L) {
  static const char *const known[] = {"status", "headers", "body", "json", NULL};
  check_cache(L);
  lua_settop(L, 4);
  become_client(L);
  njl_request request, entry = {0};
  read_request(L, "put", 4, &request);
  check_names(L, 3, "put", "response", known);
  lua_pushliteral(L, "body");
  int body = lua_rawget(L, 3);
  if (body != LUA_TNIL && body != LUA_TSTRING) {
    return luaL_error(L, "put: body must be a string, got %s", luaL_typename(L, -1));
  }
  njl_push_copy(L, 3);
  int copy = lua_gettop(L);
  njl_cache_insertion insertion = {.status = 200};
  lua_pushliteral(L, "status");
  if (lua_rawget(L, copy) != LUA_TNIL) {
    lua_Integer status = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
    if (status < 100 || status > 999) return luaL_error(L, "put: status must be a number from 100 to 999");
    insertion.status = (int)status;
    lua_pushliteral(L, "status");
    lua_pushnil(L);
    lua_rawset(L, copy);
  }
  njl_read_options(L, copy, "put", false, &entry);
  insertion.headers = entry.headers;
  insertion.header_count = entry.header_count;
  insertion.body = entry.body;
  insertion.is_json = entry.implied_type == NJL_TYPE_JSON;
  request.insertion = &insertion;
  return njl_send(L, &request, 4, was_put);
}

/* cache:delete(path, options), cache:delete{ prefix = } -> the number of removed cache entries. Raises an error if
 * entries on disk could not be removed. */
static int delete(lua_State *L) {
  static const char *const known[] = {"prefix", NULL};
  check_cache(L);
  lua_settop(L, 3);
  become_client(L);
  bool is_prefix = lua_istable(L, 2);
  if (is_prefix) {
    check_names(L, 2, "delete", "options", known);
    lua_pushliteral(L, "prefix");
    if (lua_rawget(L, 2) == LUA_TNIL) return luaL_error(L, "delete: prefix is missing; clear() deletes all");
    if (lua_type(L, -1) != LUA_TSTRING) {
      return luaL_error(L, "delete: prefix must be a string, got %s", luaL_typename(L, -1));
    }
    lua_replace(L, 2);
  } else if (lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L, "delete: a path or { prefix = PATH } expected, got %s", luaL_typename(L, 2));
  }
  njl_request request;
  read_request(L, "delete", 3, &request);
  size_t count = 0;
  njl_reply *error = njl_error_push(L);
  njl_client *client = njl_check_client(L);
  if (!njl_client_remove_cached(client, &request, is_prefix, &count, &error->wait.call)) return lua_error(L);
  lua_pushinteger(L, (lua_Integer)count);
  return 1;
}

/* cache:clear() -> the number of removed cache entries. Raises an error if entries on disk could not be removed. */
static int clear(lua_State *L) {
  njl_cache *handle = check_cache(L)->handle;
  size_t count = 0;
  njl_reply *error = njl_error_push(L);
  if (!njl_cache_clear(handle, &count, &error->wait.call)) return lua_error(L);
  lua_pushinteger(L, (lua_Integer)count);
  return 1;
}

/* cache:flush() waits until all changes are on disk. Raises an error if an invalidation or a removal could not be
 * written. */
static int flush(lua_State *L) {
  njl_cache *handle = check_cache(L)->handle;
  njl_reply *error = njl_error_push(L);
  if (!njl_cache_flush(handle, &error->wait.call)) return lua_error(L);
  return 0;
}

/* cache:stats() -> { hits =, stale =, misses =, validations =, bytes_saved =, memory_entries =, ... } */
static int stats(lua_State *L) {
  njl_cache_statistics now = njl_cache_count(check_cache(L)->handle);
  const struct {
    const char *name;
    int64_t count;
  } numbers[] = {{"hits", now.hits},
                 {"stale", now.stale},
                 {"misses", now.misses},
                 {"validations", now.validations},
                 {"bytes_saved", now.bytes_saved},
                 {"memory_entries", now.memory_entries},
                 {"memory_bytes", now.memory_bytes},
                 {"disk_entries", now.disk_entries},
                 {"disk_bytes", now.disk_bytes}};
  int count = sizeof numbers / sizeof *numbers;
  lua_createtable(L, 0, count);
  for (int index = 0; index < count; index++) {
    lua_pushinteger(L, (lua_Integer)numbers[index].count);
    lua_setfield(L, -2, numbers[index].name);
  }
  return 1;
}

static int collect(lua_State *L) {
  cache *self = lua_touserdata(L, 1);
  njl_cache *handle = self->handle;
  self->handle = NULL;
  njl_cache_release(handle);
  return 0;
}

static int describe(lua_State *L) {
  lua_pushfstring(L, "%s: %p", NJL_CACHE, lua_touserdata(L, 1));
  return 1;
}

static int unknown(lua_State *L) {
  static const char *const names[] = {"get", "put", "delete", "clear", "stats", "flush", NULL};
  return njl_unknown_field(L, "cache", luaL_tolstring(L, 2, NULL), names);
}

void njl_open_cache(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", collect}, {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"get", get},     {"put", put},     {"delete", delete}, {"clear", clear},
                                     {"stats", stats}, {"flush", flush}, {NULL, NULL}};
  njl_add_type(L, NJL_CACHE, meta, methods, unknown);
}
