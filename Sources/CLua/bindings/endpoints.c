/* endpoints.c - api.endpoints: an API's endpoints by name; api:load_openapi. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_endpoints.h"
#include "njl_future.h"

/* The user value of the endpoints object, and the user values of an endpoint object. */
enum { CLIENT = 1 };
enum { ENDPOINTS = 1, NAME, DESCRIPTION };

/* The endpoints object. An endpoint object has only user values. */
typedef struct endpoints {
  njl_catalog *handle; /* owned */
} endpoints;

static endpoints *check_endpoints(lua_State *L, int index) {
  endpoints *self = njl_test(L, index, NJL_ENDPOINTS);
  if (self != NULL && self->handle != NULL) return self;
  luaL_error(L, "endpoints expected, got %s", luaL_typename(L, index));
  return NULL;
}

/* Pushes the endpoints object of the client at index 1, without a catalog. */
static endpoints *push_endpoints(lua_State *L) {
  endpoints *self = lua_newuserdatauv(L, sizeof *self, CLIENT);
  *self = (endpoints){0};
  njl_set_type(L, NJL_ENDPOINTS);
  njl_own(L);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, CLIENT);
  return self;
}

/* Stores the endpoints object on top of the stack in the client at index 1. */
static int keep_endpoints(lua_State *L, const endpoints *self) {
  if (self->handle == NULL) return luaL_error(L, "not enough memory");
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, NJL_CLIENT_ENDPOINTS);
  return 1;
}

int njl_endpoints_push(lua_State *L) {
  njl_check_client(L);
  if (lua_getiuservalue(L, 1, NJL_CLIENT_ENDPOINTS) != LUA_TNIL) return 1;
  endpoints *self = push_endpoints(L);
  self->handle = njl_client_catalog(njl_check_client(L)); /* finalizers may have closed the client */
  return keep_endpoints(L, self);
}

const njl_catalog *njl_endpoints_of(lua_State *L) {
  njl_endpoints_push(L);
  const endpoints *self = njl_test(L, -1, NJL_ENDPOINTS);
  return self == NULL ? NULL : self->handle;
}

/* Replaces the name on top of the stack by an endpoint object with this name. `index` is the stack index of the
 * endpoints object. */
static void become_endpoint(lua_State *L, int index) {
  index = lua_absindex(L, index);
  lua_newuserdatauv(L, 0, DESCRIPTION);
  njl_set_type(L, NJL_ENDPOINT);
  lua_pushvalue(L, index);
  lua_setiuservalue(L, -2, ENDPOINTS);
  lua_insert(L, -2);
  lua_setiuservalue(L, -2, NAME);
}

static njl_bytes bytes_at(lua_State *L, int index) {
  njl_bytes bytes;
  bytes.data = lua_tolstring(L, index, &bytes.length);
  return bytes;
}

/* api.endpoints.NAME -> the endpoint of this name */
static int find(lua_State *L) {
  endpoints *self = check_endpoints(L, 1);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L, "an endpoint's name must be a string, got %s", luaL_typename(L, 2));
  }
  lua_settop(L, 2);
  njl_reply *error = njl_error_push(L);
  if (!njl_catalog_check(self->handle, bytes_at(L, 2), &error->wait.call)) return lua_error(L);
  lua_settop(L, 2);
  become_endpoint(L, 1);
  return 1;
}

static int count(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)njl_catalog_count(check_endpoints(L, 1)->handle));
  return 1;
}

/* Returns the next name and endpoint, for pairs. The upvalues are the endpoints object and the number of endpoints
 * already returned. */
static int next(lua_State *L) {
  endpoints *self = check_endpoints(L, lua_upvalueindex(1));
  lua_Integer index = lua_tointeger(L, lua_upvalueindex(2));
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_catalog_name(self->handle, (size_t)index);
  if (loan->text == NULL) return 0;
  njl_loan_push_text(L, loan);
  lua_pushvalue(L, -1);
  become_endpoint(L, lua_upvalueindex(1));
  lua_pushinteger(L, index + 1);
  lua_replace(L, lua_upvalueindex(2));
  return 2;
}

/* pairs(api.endpoints): name, endpoint, in the order of the API description */
static int each(lua_State *L) {
  check_endpoints(L, 1);
  lua_settop(L, 1);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next, 2);
  return 1;
}

static int collect(lua_State *L) {
  endpoints *self = lua_touserdata(L, 1);
  njl_catalog *handle = self->handle;
  self->handle = NULL;
  njl_catalog_release(handle);
  return 0;
}

static int describe(lua_State *L) {
  endpoints *self = check_endpoints(L, 1);
  lua_pushfstring(L, "%s: %I", NJL_ENDPOINTS, (LUAI_UACINT)njl_catalog_count(self->handle));
  return 1;
}

/* --- One endpoint --- */

/* Pushes the endpoints object of the endpoint at index 1, then its name. */
static endpoints *push_parts(lua_State *L) {
  njl_check(L, 1, NJL_ENDPOINT);
  lua_getiuservalue(L, 1, ENDPOINTS);
  lua_getiuservalue(L, 1, NAME);
  return check_endpoints(L, -2);
}

/* tostring(api.endpoints.article) -> the endpoint's signature and description */
static int help(lua_State *L) {
  endpoints *self = push_parts(L);
  njl_bytes name = bytes_at(L, -1);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_catalog_help(self->handle, name);
  njl_loan_push_text(L, loan);
  return 1;
}

static int paginate(lua_State *L);

/* api.endpoints.article.path -> a member of the endpoint's description, named as in nj_catalog_endpoint_json; or the
 * method paginate */
static int detail(lua_State *L) {
  njl_check(L, 1, NJL_ENDPOINT);
  lua_settop(L, 2);
  if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "paginate") == 0) {
    lua_pushcfunction(L, paginate);
    return 1;
  }
  if (lua_getiuservalue(L, 1, DESCRIPTION) != LUA_TTABLE) {
    lua_settop(L, 2);
    endpoints *self = push_parts(L);
    njl_bytes name = bytes_at(L, -1);
    njl_loan *loan = njl_loan_push(L);
    loan->text = njl_catalog_endpoint(self->handle, name);
    njl_loan_push_json(L, loan, "the endpoint");
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, DESCRIPTION);
  }
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}

/* Moves body options (json, form and so on) from the parameters at `parameters` to the options at `options`. */
static void take_body(lua_State *L, const endpoints *self, njl_bytes name, int parameters, int options) {
  static const char *const ways[] = {"json", "form", "multipart", "body", "file", NULL};
  for (int way = 0; ways[way] != NULL; way++) {
    lua_pushstring(L, ways[way]);
    njl_bytes key = {ways[way], strlen(ways[way])};
    if (lua_rawget(L, parameters) == LUA_TNIL || njl_catalog_has_parameter(self->handle, name, key)) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushstring(L, ways[way]);
    if (lua_rawget(L, options) != LUA_TNIL) {
      luaL_error(L, "%s: %s is set twice, in the parameters and in the options", name.data, ways[way]);
    }
    lua_pop(L, 1);
    lua_setfield(L, options, ways[way]);
    lua_pushnil(L);
    lua_setfield(L, parameters, ways[way]);
  }
}

/* Replaces the endpoint, its parameters and its options on the stack by the client and the options of
 * api:request{ endpoint = "article", arguments = { id = 42 }, ... }. */
static void become_request(lua_State *L) {
  enum { PARAMETERS = 2, OPTIONS, PARTS, NAMED, REQUEST, VALUES };
  lua_settop(L, OPTIONS);
  endpoints *self = push_parts(L);
  njl_bytes name = bytes_at(L, NAMED);
  for (int index = PARAMETERS; index <= OPTIONS; index++) {
    if (lua_isnil(L, index) || lua_istable(L, index)) continue;
    luaL_error(L, "%s: %s must be a table, got %s", name.data, index == PARAMETERS ? "parameters" : "options",
               luaL_typename(L, index));
  }
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (lua_isnil(L, OPTIONS)) lua_newtable(L);
  else njl_push_copy(L, OPTIONS);
  if (lua_isnil(L, PARAMETERS)) lua_newtable(L);
  else njl_push_copy(L, PARAMETERS);
  take_body(L, self, name, VALUES, REQUEST);
  lua_setfield(L, REQUEST, "arguments");
  lua_pushvalue(L, NAMED);
  lua_setfield(L, REQUEST, "endpoint");
  lua_getiuservalue(L, PARTS, CLIENT);
  lua_replace(L, 1);
  lua_pushvalue(L, REQUEST);
  lua_replace(L, PARAMETERS);
  lua_settop(L, PARAMETERS);
}

/* api.endpoints.article({ id = 42 }, { timeout = 3 }) */
static int call(lua_State *L) {
  become_request(L);
  return njl_send_request(L);
}

/* api.endpoints.articles:paginate({ tag = "lua" }, { prefetch = 2 }). Options override the pagination style of the
 * endpoint. */
static int paginate(lua_State *L) {
  become_request(L);
  lua_pushnil(L);
  lua_insert(L, 2);
  return njl_paginate(L);
}

/* --- OpenAPI --- */

/* The stack of api:load_openapi. */
enum { LOADING = 2, CALLER };

static int loaded(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_reply *reply = (njl_reply *)context;
  njl_failure failure;
  if (njl_future_failure(reply->wait.call, &failure)) {
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    lua_settop(L, CALLER);
    njl_reply *error = njl_error_push(L);
    error->wait.call = reply->wait.call;
    reply->wait.call = NULL;
    return njl_caller_raise(L, CALLER);
  }
  const njl_catalog *former = njl_endpoints_of(L);
  endpoints *self = push_endpoints(L);
  self->handle = njl_future_catalog(reply->wait.call, former);
  return keep_endpoints(L, self);
}

/* api:load_openapi(location) -> the endpoints of the client, including the endpoints of the document, which replace
 * existing endpoints of the same name */
int njl_load_openapi(lua_State *L) {
  njl_check_client(L);
  njl_host *host = njl_host_open(L);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L, "load_openapi: a file path or URL expected, got %s", luaL_typename(L, 2));
  }
  /* A sandboxed script could otherwise load more and larger documents than the host allows. */
  if (host->is_sandboxed) return luaL_error(L, "load_openapi: not available in a sandbox");
  lua_settop(L, 2);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_Integer caller = njl_caller_push(L, host, 0);
  njl_reply *reply = (njl_reply *)njl_reply_push(L, host);
  njl_future *refusal = NULL;
  reply->wait.call = njl_catalog_start(host->engine, njl_check_client(L), bytes_at(L, LOADING), caller, &reply->wait,
                                       &refusal);
  reply->wait.needs_tasks = caller != 0;
  reply->wait.caller = caller;
  lua_replace(L, LOADING);
  if (reply->wait.call == NULL) {
    reply->wait.call = refusal;
    reply->wait.state = NJL_DONE;
    return njl_reply_finish(L, LOADING);
  }
  host->calls++;
  return njl_await(L, &reply->wait, loaded);
}

void njl_open_endpoints(lua_State *L) {
  static const luaL_Reg all[] = {{"__index", find},  {"__pairs", each},        {"__len", count},
                                 {"__gc", collect},  {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg one[] = {{"__call", call}, {"__index", detail}, {"__tostring", help}, {NULL, NULL}};
  njl_push_metatable(L, NJL_ENDPOINTS, all);
  lua_pop(L, 1);
  njl_push_metatable(L, NJL_ENDPOINT, one);
  lua_pop(L, 1);
}
