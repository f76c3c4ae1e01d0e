/* mock.c - nightjar.mock{...}: responses in place of servers, optionally from functions of the script.
 *
 * When a request arrives for a route with a function, the function runs in its own task, on the thread that runs the
 * script. The function may wait. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_callbacks.h"
#include "njl_mocks.h"

typedef struct mock {
  njl_mock *handle;
} mock;

/* The user value: a table of the functions by number. */
enum { FUNCTIONS = 1 };

/* --- Creating a mock --- */

/* Replaces the route on top of the stack by a copy with numbers in place of its functions. The functions go into the
 * table at `functions`. */
static void number_functions(lua_State *L, int functions) {
  njl_push_copy(L, -1);
  lua_replace(L, -2);
  lua_pushliteral(L, "response");
  if (lua_rawget(L, -2) == LUA_TFUNCTION) {
    lua_Integer number = (lua_Integer)lua_rawlen(L, functions) + 1;
    lua_rawseti(L, functions, number);
    lua_pushliteral(L, "response");
    lua_createtable(L, 0, 1);
    lua_pushinteger(L, number);
    lua_setfield(L, -2, "function");
    lua_rawset(L, -3);
  } else {
    lua_pop(L, 1);
  }
}

/* Pushes the routes at `index`, a list that may also contain options, in a form that can be encoded as JSON. */
static void push_routes(lua_State *L, int index, int functions) {
  lua_newtable(L);
  int result = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) continue;
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, result);
  }
  int source = index;
  lua_pushliteral(L, "routes");
  if (lua_rawget(L, index) == LUA_TTABLE) source = lua_gettop(L);
  lua_newtable(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, source);
  for (lua_Integer place = 1; place <= count; place++) {
    if (lua_rawgeti(L, source, place) == LUA_TTABLE) number_functions(L, functions);
    lua_rawseti(L, -2, place);
  }
  lua_setfield(L, result, "routes");
  lua_settop(L, result);
}

void njl_mock_push(lua_State *L, njl_host *host, int index) {
  index = lua_absindex(L, index);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  mock *self = lua_newuserdatauv(L, sizeof *self, 1);
  *self = (mock){0};
  njl_set_type(L, NJL_MOCK);
  njl_own(L);
  int place = lua_gettop(L);
  lua_newtable(L);
  push_routes(L, index, place + 1);
  njl_json_encode(L, place + 2, "mock");
  njl_bytes routes;
  routes.data = lua_tolstring(L, -1, &routes.length);
  lua_Integer number = njl_number(L, host, place);
  njl_reply *error = njl_error_push(L);
  self->handle = njl_mock_new(routes, host->engine, number, &error->wait.call);
  if (self->handle == NULL) lua_error(L);
  lua_pushvalue(L, place + 1);
  lua_setiuservalue(L, place, FUNCTIONS);
  lua_settop(L, place);
}

/* nightjar.mock{ { method =, path =, response = }, ..., passthrough = } */
int njl_mock_open(lua_State *L) {
  njl_host *host = njl_host_of(L);
  if (host->is_sandboxed) return luaL_error(L, "nightjar.mock: not available in a sandbox");
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  njl_mock_push(L, host, 1);
  return 1;
}

const njl_mock *njl_mock_at(lua_State *L, int index) {
  const mock *self = njl_test(L, index, NJL_MOCK);
  return self == NULL ? NULL : self->handle;
}

/* --- Functions of a mock --- */

/* Responds to the request at index 2 with the response at index 1. */
static int deliver(lua_State *L) {
  njl_callback *callback = lua_touserdata(L, 2);
  njl_bytes response = {0}, body = {0};
  lua_settop(L, 2);
  switch (lua_type(L, 1)) {
  case LUA_TNUMBER: break;
  case LUA_TTABLE: /* The body may be binary data, which JSON cannot represent. */
    njl_push_copy(L, 1);
    lua_pushliteral(L, "body");
    if (lua_rawget(L, 3) == LUA_TSTRING) {
      body.data = lua_tolstring(L, 4, &body.length);
      lua_pushliteral(L, "body");
      lua_pushliteral(L, "");
      lua_rawset(L, 3);
    }
    lua_settop(L, 4);
    lua_pushvalue(L, 3);
    lua_replace(L, 1);
    break;
  default: return luaL_error(L, "a mock's function must return a response or a status, got %s", luaL_typename(L, 1));
  }
  njl_json_encode(L, 1, "response");
  response.data = lua_tolstring(L, -1, &response.length);
  njl_callback_respond(callback, response, body);
  return 0;
}

static const njl_responder responder = {.results = 1, .respond = deliver};

static int response(lua_State *L) { return njl_call_and_respond(L, &responder); }

int njl_mock_push_call(lua_State *L, njl_callback *callback) {
  lua_getiuservalue(L, -1, FUNCTIONS);
  lua_remove(L, -2);
  lua_rawgeti(L, -1, njl_callback_function(callback));
  lua_remove(L, -2);
  lua_pushcfunction(L, response);
  lua_insert(L, -2);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_callback_request(callback);
  njl_loan_push_json(L, loan, "the request");
  lua_replace(L, -2);
  loan = njl_loan_push(L);
  loan->text = njl_callback_body(callback);
  njl_loan_push_text(L, loan);
  lua_setfield(L, -3, "body");
  lua_pop(L, 1);
  return 2;
}

/* --- Recorded requests --- */

static njl_mock *check_mock(lua_State *L) {
  mock *self = njl_test(L, 1, NJL_MOCK);
  if (self == NULL || self->handle == NULL) {
    luaL_error(L, "mock expected, got %s; call methods with a colon, as in mock:calls()", luaL_typename(L, 1));
    return NULL;
  }
  return self->handle;
}

/* mock:calls([route]) -> the last requests received, at most 1000, in order; with `route`, only those of the named
 * route */
static int calls(lua_State *L) {
  njl_mock *handle = check_mock(L);
  luaL_optstring(L, 2, NULL);
  lua_settop(L, 2);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_mock_calls(handle);
  njl_loan_push_json(L, loan, "the calls");
  if (lua_isnil(L, 2)) return 1;
  lua_newtable(L);
  lua_Integer kept = 0, count = (lua_Integer)lua_rawlen(L, 4);
  for (lua_Integer place = 1; place <= count; place++) {
    lua_rawgeti(L, 4, place);
    lua_getfield(L, -1, "route");
    bool is_meant = lua_rawequal(L, -1, 2);
    lua_pop(L, 1);
    if (is_meant) lua_rawseti(L, 5, ++kept);
    else lua_pop(L, 1);
  }
  return 1;
}

/* mock:uses([route]) -> the number of requests of the named route, or of all routes */
static int uses(lua_State *L) {
  njl_mock *handle = check_mock(L);
  njl_bytes name = {0};
  if (!lua_isnoneornil(L, 2)) name.data = luaL_checklstring(L, 2, &name.length);
  int64_t count = njl_mock_uses(handle, name);
  if (count < 0) return luaL_error(L, "the mock has no route \"%s\"", name.data);
  lua_pushinteger(L, count);
  return 1;
}

/* mock:reset() clears the recorded requests, sets all counts to zero, and restarts each sequence of responses. */
static int reset(lua_State *L) {
  njl_mock_reset(check_mock(L));
  return 0;
}

/* mock:verify() raises an error if a route that is not optional was not used as often as required, or if a request
 * matched no route. */
static int verify(lua_State *L) {
  njl_mock *handle = check_mock(L);
  njl_reply *error = njl_error_push(L);
  if (!njl_mock_verify(handle, &error->wait.call)) return lua_error(L);
  return 0;
}

static int release(lua_State *L) {
  mock *self = njl_check(L, 1, NJL_MOCK);
  njl_mock *handle = self->handle;
  self->handle = NULL;
  njl_mock_release(handle);
  return 0;
}

static int describe(lua_State *L) {
  lua_pushfstring(L, "%s: %p", NJL_MOCK, njl_check(L, 1, NJL_MOCK));
  return 1;
}

static int unknown(lua_State *L) {
  static const char *const names[] = {"calls", "uses", "reset", "verify", NULL};
  return njl_unknown_field(L, "mock", luaL_tolstring(L, 2, NULL), names);
}

void njl_open_mock(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"calls", calls}, {"uses", uses}, {"reset", reset}, {"verify", verify}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", release}, {"__tostring", describe}, {NULL, NULL}};
  njl_add_type(L, NJL_MOCK, meta, methods, unknown);
}
