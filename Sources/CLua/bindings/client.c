/* client.c - nightjar.client{...} and the methods of clients. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_calls.h"
#include "njl_clients.h"
#include "njl_future.h"

typedef struct client {
  njl_host *host;
  njl_client *handle; /* NULL: closed */
  bool is_shared;     /* owned by the host program, which closes it */
  bool has_hooks;     /* before or after functions in the user values */
  bool has_exclusive; /* functions in the user values that must not use the client */
  lua_Integer number; /* of the listener; 0: none */
  lua_Integer store;  /* the number of the token store; 0: none */
} client;

/* Checks that the running task may wait for the client. */
static void check_use(lua_State *L, const client *self) {
  if (self->has_exclusive) njl_check_caller(L, self->host, self->number, self->store);
}

static client *check_client(lua_State *L) {
  client *self = njl_test(L, 1, NJL_CLIENT);
  if (self == NULL) {
    luaL_error(L, "client expected, got %s; call methods with a colon, as in api:get(\"/path\")", luaL_typename(L, 1));
    return NULL;
  }
  if (self->handle == NULL) njl_raise(L, NJL_KIND_CLOSED, 0, "the client is closed");
  check_use(L, self);
  return self;
}

void njl_check_owner(lua_State *L, int object, int value) {
  lua_getiuservalue(L, object, value);
  const client *owner = njl_test(L, -1, NJL_CLIENT);
  if (owner != NULL) check_use(L, owner);
  lua_pop(L, 1);
}

njl_client *njl_check_client(lua_State *L) { return check_client(L)->handle; }

bool njl_client_is_shared(lua_State *L) { return check_client(L)->is_shared; }

bool njl_client_has_hooks(lua_State *L) { return check_client(L)->has_hooks; }

static client *push_client(lua_State *L, njl_host *host) {
  client *self = lua_newuserdatauv(L, sizeof *self, NJL_CLIENT_VALUES);
  *self = (client){.host = host};
  njl_set_type(L, NJL_CLIENT);
  njl_own(L);
  return self;
}

/* Reads the option `mock` (an object of nightjar.mock, or routes) of the options at index 1 into the listener. The
 * client at index 2 keeps the mock alive. */
static void take_mock(lua_State *L, njl_host *host, njl_listener *listener) {
  if (lua_isnil(L, 1)) return;
  lua_pushliteral(L, "mock");
  int type = lua_rawget(L, 1);
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  if (type == LUA_TTABLE) njl_mock_push(L, host, lua_gettop(L));
  listener->mock = njl_mock_at(L, -1);
  if (listener->mock == NULL) {
    luaL_error(L, "client: mock must be a mock or a table of routes, got %s", luaL_typename(L, -1));
  }
  lua_setiuservalue(L, 2, NJL_CLIENT_MOCK);
  lua_settop(L, 2);
}

/* nightjar.client(options) creates a client. Without options, returns the client of the host program if there is
 * one. */
int njl_client_open(lua_State *L) {
  if (!lua_isnoneornil(L, 1)) luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  njl_host *host = njl_host_of(L);
  if (lua_isnil(L, 1) && host->client != NULL) {
    client *shared = push_client(L, host);
    shared->handle = host->client;
    shared->is_shared = true;
    njl_client_retain(shared->handle);
    return 1;
  }
  if (host->is_sandboxed) {
    return luaL_error(L, "nightjar.client: %s", host->client == NULL
                             ? "the host program provides no client to this script"
                             : "a sandboxed script has only the host's client; call nightjar.client() without options");
  }
  client *self = push_client(L, host);
  njl_listener listener = {.level = lua_isnil(L, 1) ? 0 : njl_read_log(L, 1)};
  if (listener.level > 0) lua_setiuservalue(L, 2, NJL_CLIENT_LOG);
  if (!lua_isnil(L, 1)) {
    self->has_hooks = njl_read_hooks(L, 1, 2);
    njl_read_login(L, 1, 2, &listener);
    njl_read_pinning(L, 1, 2, &listener);
    njl_read_decisions(L, 1, 2, &listener);
    listener.observes_steps = njl_read_function(L, 1, 2, "observer", NJL_CLIENT_OBSERVER);
    njl_read_address_functions(L, 1, 2, &listener);
    self->store = njl_read_token_store(L, host, 1, 2, &listener);
  }
  take_mock(L, host, &listener);
  self->has_exclusive = listener.resolves_names || listener.decides_addresses || self->store != 0;
  if (listener.level > 0 || listener.provided_count > 0 || listener.reports_logins || listener.reports_pins ||
      listener.observes_steps || listener.decides_challenges || listener.decides_requests || listener.decides_storing ||
      self->has_exclusive) {
    listener.number = self->number = njl_number(L, host, 2);
  }
  njl_encode_client_options(L);
  njl_bytes options;
  options.data = lua_tolstring(L, 3, &options.length);
  njl_reply *reply = njl_error_push(L);
  self->handle = njl_client_new(options, host->engine, &listener, &reply->wait.call);
  if (self->handle == NULL) return lua_error(L);
  lua_pushvalue(L, 2);
  return 1;
}

int njl_responded(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_wait *wait = (njl_wait *)context;
  njl_reply *reply = (njl_reply *)wait;
  if (!reply->has_upload && njl_call_needs_body(wait->call)) return njl_pull_body(L, wait);
  if (reply->decides_redirects && njl_call_redirect_status(wait->call) != 0) return njl_decide_redirect(L, reply);
  if (reply->decides_retries && njl_call_attempt(wait->call, NULL)) return njl_decide_retry(L, reply);
  if (reply->reports_progress) {
    njl_progress progress;
    if (njl_call_progress(wait->call, &progress)) return njl_report_progress(L, reply, &progress);
  }
  if (reply->reports_waiting) {
    const char *reason = njl_call_waits(wait->call);
    if (reason != NULL) return njl_report_waiting(L, reply, reason);
  }
  if (reply->reports_refresh) njl_watch_refresh(L, 2);
  if (reply->has_upload) njl_check_upload(L, wait);
  return njl_reply_finish(L, 2);
}

int njl_send(lua_State *L, const njl_request *request, int options, lua_KFunction then) {
  client *self = check_client(L);
  njl_host *host = self->host;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  njl_make_room(L);
  njl_wait *wait = njl_reply_push(L, host);
  int reply = lua_gettop(L);
  if (request->is_streamed) {
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, reply, NJL_REPLY_CLIENT);
  }
  ((njl_reply *)wait)->top = request->streams_body ? NJL_BODY_TOP : 2;
  if (request->decides_redirects) {
    ((njl_reply *)wait)->decides_redirects = true;
    lua_getfield(L, options, "on_redirect");
    lua_setiuservalue(L, reply, NJL_REPLY_REDIRECT);
  }
  if (request->decides_retries) {
    ((njl_reply *)wait)->decides_retries = true;
    lua_getfield(L, options, "on_retry");
    lua_setiuservalue(L, reply, NJL_REPLY_RETRY);
  }
  if (request->reports_refresh) {
    ((njl_reply *)wait)->reports_refresh = true;
    lua_getfield(L, options, "on_refresh");
    lua_setiuservalue(L, reply, NJL_REPLY_REFRESH);
  }
  if (request->reports_progress) {
    ((njl_reply *)wait)->reports_progress = true;
    lua_getfield(L, options, "on_progress");
    lua_setiuservalue(L, reply, NJL_REPLY_PROGRESS);
  }
  if (request->reports_waiting) {
    ((njl_reply *)wait)->reports_waiting = true;
    lua_getfield(L, options, "on_waiting");
    lua_setiuservalue(L, reply, NJL_REPLY_WAITING);
  }
  njl_request followed;
  if (host->follows && njl_is_followed(host)) {
    followed = *request;
    followed.is_followed = true;
    followed.is_bare = false;
    request = &followed;
  }
  njl_future *refusal = NULL;
  wait->call = njl_call_start(host->engine, self->handle, request, wait, &refusal);
  if (wait->call == NULL) {
    wait->call = refusal;
    wait->state = NJL_DONE;
    return njl_reply_finish(L, reply);
  }
  host->calls++;
  if (request->streams_body) {
    lua_getfield(L, options, "body");
    int body = lua_gettop(L);
    lua_pushvalue(L, reply);
    lua_replace(L, 2);
    njl_guard_body(L, wait, body);
    if (request->is_streamed) {
      njl_start_upload(L, wait);
      ((njl_reply *)wait)->has_upload = true;
      wait->needs_tasks = true;
    }
  } else {
    lua_pushvalue(L, reply);
    lua_replace(L, 2);
    lua_settop(L, 2);
  }
  return njl_await(L, wait, then);
}

static void check_options(lua_State *L, int index, const char *function) {
  if (lua_isnoneornil(L, index) || lua_istable(L, index)) return;
  luaL_error(L, "%s: options must be a table, got %s", function, luaL_typename(L, index));
}

/* api:request{ method = "GET", path = "/articles", ... } */
static int plain_request(lua_State *L) {
  client *self = check_client(L);
  if (!lua_istable(L, 2)) return luaL_error(L, "request: a table expected, got %s", luaL_typename(L, 2));
  lua_settop(L, 2);
  njl_request request = {.method = {"GET", 3}};
  njl_read_options(L, 2, "request", !self->host->is_sandboxed, &request);
  if (request.endpoint.data != NULL) request.catalog = njl_endpoints_of(L);
  else if (request.target.data == NULL) return luaL_error(L, "request: path is missing");
  return njl_send(L, &request, 2, njl_responded);
}

/* Sends the request for a client with hooks. The hooks receive the request in the form of api:request. */
static int hooked_verb(lua_State *L, const char *name) {
  njl_push_request(L, 3);
  static const char *const given[] = {"method", "path"};
  for (int index = 0; index < 2; index++) {
    lua_pushstring(L, given[index]);
    if (lua_rawget(L, -2) != LUA_TNIL) return luaL_error(L, "%s: %s is not allowed in the options", name, given[index]);
    lua_pop(L, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_setfield(L, -2, "method");
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "path");
  lua_replace(L, 2);
  lua_settop(L, 2);
  return njl_call_hooked(L, plain_request);
}

/* api:get(path, options). The upvalues are the method and the name for messages. */
static int verb(lua_State *L) {
  client *self = check_client(L);
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  if (lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L, "%s: path must be a string, got %s", name, luaL_typename(L, 2));
  }
  check_options(L, 3, name);
  lua_settop(L, 3);
  if (self->has_hooks) return hooked_verb(L, name);
  njl_request request = {0};
  request.target.data = lua_tolstring(L, 2, &request.target.length);
  request.method.data = lua_tolstring(L, lua_upvalueindex(1), &request.method.length);
  request.is_bare = lua_isnil(L, 3);
  njl_bytes method = request.method, target = request.target;
  njl_read_options(L, lua_isnil(L, 3) ? 0 : 3, name, !self->host->is_sandboxed, &request);
  if (request.method.data != method.data) {
    return luaL_error(L, "%s: the method is always %s; use api:request for other methods", name, method.data);
  }
  if (request.target.data != target.data) {
    return luaL_error(L, "%s: path must be the first argument, not an option", name);
  }
  return njl_send(L, &request, 3, njl_responded);
}

int njl_send_request(lua_State *L) {
  client *self = check_client(L);
  if (!self->has_hooks || !lua_istable(L, 2)) return plain_request(L);
  lua_settop(L, 2);
  njl_push_request(L, 2);
  lua_pushliteral(L, "endpoint");
  bool has_endpoint = lua_rawget(L, 3) != LUA_TNIL;
  lua_pushliteral(L, "method");
  if (lua_rawget(L, 3) == LUA_TNIL && !has_endpoint) {
    lua_pushliteral(L, "GET");
    lua_setfield(L, 3, "method");
  }
  lua_settop(L, 3);
  lua_replace(L, 2);
  return njl_call_hooked(L, plain_request);
}

/* api:close(), also called by <close> and by the collector. Cancels the calls in flight, unless the client belongs to
 * the host program. Closing a closed client does nothing. */
static int close(lua_State *L) {
  client *self = njl_check(L, 1, NJL_CLIENT);
  njl_client *handle = self->handle;
  self->handle = NULL;
  if (handle != NULL && !self->is_shared) njl_client_close(handle);
  njl_client_release(handle);
  return 0;
}

static int describe(lua_State *L) {
  client *self = njl_check(L, 1, NJL_CLIENT);
  lua_pushfstring(L, "%s: %p%s", NJL_CLIENT, (void *)self, self->handle == NULL ? " (closed)" : "");
  return 1;
}

/* Pushes api.cookies: always the same object, or nil if the client has no cookie jar. Pushes nil in a sandbox, because
 * the cookies belong to the host program. */
static int push_cookies(lua_State *L) {
  client *self = check_client(L);
  if (lua_getiuservalue(L, 1, NJL_CLIENT_COOKIES) != LUA_TNIL) return 1;
  if (self->host->is_sandboxed) return 1;
  njl_cookies_push(L);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, NJL_CLIENT_COOKIES);
  return 1;
}

/* Pushes api.cache: always the same object, or nil if the client has no cache. Pushes nil in a sandbox, because the
 * host program would use responses that a script stored. */
static int push_cache(lua_State *L) {
  client *self = check_client(L);
  if (lua_getiuservalue(L, 1, NJL_CLIENT_CACHE) != LUA_TNIL) return 1;
  if (self->host->is_sandboxed) return 1;
  njl_cache_push(L);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, NJL_CLIENT_CACHE);
  return 1;
}

/* Looks up api.NAME: a method, or a field of the client. The upvalue is the table of methods. */
static int field(lua_State *L) {
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(name, "cookies") == 0) return push_cookies(L);
  if (strcmp(name, "cache") == 0) return push_cache(L);
  if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "endpoints") == 0) return njl_endpoints_push(L);
  return njl_unknown_field(L, "client", luaL_tolstring(L, 2, NULL), njl_client_names);
}

void njl_open_client(lua_State *L) {
  static const struct {
    const char *name, *method;
  } verbs[] = {{"get", "GET"},     {"post", "POST"},     {"put", "PUT"},
               {"patch", "PATCH"}, {"delete", "DELETE"}, {"head", "HEAD"}};
  static const luaL_Reg meta[] = {{"__gc", close}, {"__close", close}, {"__tostring", describe}, {NULL, NULL}};
  njl_push_metatable(L, NJL_CLIENT, meta);
  lua_newtable(L);
  for (size_t index = 0; index < sizeof verbs / sizeof *verbs; index++) {
    lua_pushstring(L, verbs[index].method);
    lua_pushstring(L, verbs[index].name);
    lua_pushcclosure(L, verb, 2);
    lua_setfield(L, -2, verbs[index].name);
  }
  lua_pushcfunction(L, close);
  lua_setfield(L, -2, "close");
  luaL_setfuncs(L, njl_client_methods, 0);
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
