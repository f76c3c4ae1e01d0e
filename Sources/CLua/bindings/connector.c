/* connector.c - requests of objects whose connections Swift makes. */
#include "bindings/connector.h"

#include <lua5.4/lauxlib.h>

#include "core/failure.h"
#include "bindings/bindings.h"

void njl_read_connector_request(lua_State *L, int index, const njl_connector *connector, njl_request *request) {
  *request = (njl_request){.method = {"GET", 3}};
  njl_read_options(L, index, connector->function, false, request);
  if (request->endpoint.data != NULL) request->catalog = njl_endpoints_of(L);
}

/* --- The first request --- */

int njl_prepare_first_request(lua_State *L, int options, lua_KFunction start, lua_KContext context) {
  enum { CLIENT = 1 };
  lua_pushvalue(L, options);
  int prepared = lua_gettop(L);
  bool has_before = njl_client_has_hooks(L) && lua_getiuservalue(L, CLIENT, NJL_CLIENT_BEFORE) != LUA_TNIL;
  lua_settop(L, prepared);
  if (!has_before) return start(L, LUA_OK, context);
  context |= NJL_HAS_BEFORE;
  if (lua_getfield(L, options, "method") == LUA_TNIL && lua_getfield(L, options, "endpoint") == LUA_TNIL) {
    lua_pushliteral(L, "GET");
    lua_setfield(L, options, "method");
  }
  /* The hook runs again for each request, with a new copy. */
  njl_push_request(L, options);
  lua_replace(L, prepared);
  lua_settop(L, prepared);
  lua_getiuservalue(L, CLIENT, NJL_CLIENT_BEFORE);
  lua_pushvalue(L, prepared);
  lua_callk(L, 1, 0, context, start);
  return start(L, LUA_OK, context);
}

/* --- Later requests --- */

/* The stack of the functions below. */
enum { CLIENT = 1, OBJECT, OPTIONS, CONNECTOR, PREPARED };

static int connect(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_settop(L, PREPARED);
  njl_client *client = njl_check_client(L);
  const njl_connector *connector = lua_touserdata(L, CONNECTOR);
  njl_reply *error = njl_error_push(L);
  int top = lua_gettop(L);
  njl_request request;
  njl_read_connector_request(L, PREPARED, connector, &request);
  bool is_sent = connector->connect(lua_touserdata(L, OBJECT), client, &request, &error->wait.call);
  lua_settop(L, top);
  return is_sent ? 0 : lua_error(L);
}

static int prepare(lua_State *L) {
  njl_push_request(L, OPTIONS);
  lua_getiuservalue(L, CLIENT, NJL_CLIENT_BEFORE);
  lua_pushvalue(L, PREPARED);
  lua_callk(L, 1, 0, 0, connect);
  return connect(L, LUA_OK, 0);
}

void njl_push_preparation(lua_State *L, const njl_connector *connector, int object, int client, int options) {
  lua_pushcfunction(L, prepare);
  lua_pushvalue(L, client);
  lua_pushvalue(L, object);
  lua_pushvalue(L, options);
  lua_pushlightuserdata(L, (void *)connector);
}
