/* resource_mutation.c - resource:mutate: a request of the client that changes a resource. The resource shows the progress
 * and an optimistic value, and is loaded again at the end. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <strings.h>

#include "core/failure.h"
#include "core/guard.h"
#include "core/metatable.h"
#include "core/wait.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "bindings/resource.h"

/* A mutation in progress. Its user value is the resource. */
typedef struct mutation {
  const resource *owner;
  int64_t number; /* 0: ended */
} mutation;

/* The stack of the functions below. RESULT is the response or the error of the request. */
enum { RESOURCE = 1, REQUEST_TABLE, OPTIMISTIC, MUTATION, GUARD, RESULT };

static void end(mutation *self, const njl_future *result) {
  int64_t number = self->number;
  self->number = 0;
  if (number != 0) njl_api_resource_end_mutation(self->owner->handle, number, result);
}

/* Called if the task is cancelled. */
static void give_up(void *object) { end(object, NULL); }

/* Returns the response, or raises the error. */
static int settled(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  lua_settop(L, RESULT);
  return njl_test(L, RESULT, NJL_RESPONSE) == NULL ? lua_error(L) : 1;
}

/* Ends the mutation with the result on top of the stack, and waits until the snapshot shows the end. */
static int finish(lua_State *L) {
  lua_replace(L, RESULT);
  lua_settop(L, RESULT);
  mutation *self = lua_touserdata(L, MUTATION);
  const njl_reply *reply = njl_test(L, RESULT, NJL_RESPONSE);
  if (reply == NULL) reply = njl_test(L, RESULT, NJL_ERROR);
  end(self, reply == NULL ? NULL : reply->wait.call);
  njl_wait *wait = njl_wait_push(L, self->owner->host);
  wait->call = njl_api_resource_settle(self->owner->handle, wait);
  if (wait->call == NULL) return settled(L, LUA_OK, 0);
  self->owner->host->calls++;
  return njl_await(L, wait, settled);
}

static int sent(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return finish(L);
}

static bool is_deleting(lua_State *L) {
  lua_getfield(L, REQUEST_TABLE, "method");
  bool is = lua_type(L, -1) == LUA_TSTRING && strcasecmp(lua_tostring(L, -1), "DELETE") == 0;
  lua_pop(L, 1);
  return is;
}

/* Copies the argument, takes out the optimistic value as JSON, and adds the default method and path. */
static void read_request(lua_State *L) {
  luaL_checktype(L, REQUEST_TABLE, LUA_TTABLE);
  lua_settop(L, REQUEST_TABLE);
  njl_push_copy(L, REQUEST_TABLE);
  lua_replace(L, REQUEST_TABLE);
  if (lua_getfield(L, REQUEST_TABLE, "optimistic") != LUA_TNIL) {
    njl_json_encode(L, OPTIMISTIC, "mutate");
    lua_replace(L, OPTIMISTIC);
    lua_pushnil(L);
    lua_setfield(L, REQUEST_TABLE, "optimistic");
  }
  if (lua_getfield(L, REQUEST_TABLE, "stream") != LUA_TNIL) luaL_error(L, "mutate: stream is not supported");
  if (lua_getfield(L, REQUEST_TABLE, "endpoint") == LUA_TNIL) {
    if (lua_getfield(L, REQUEST_TABLE, "method") == LUA_TNIL) {
      lua_pushliteral(L, "PUT");
      lua_setfield(L, REQUEST_TABLE, "method");
    }
    if (lua_getfield(L, REQUEST_TABLE, "path") == LUA_TNIL) {
      lua_getiuservalue(L, RESOURCE, PATH);
      lua_setfield(L, REQUEST_TABLE, "path");
    }
  }
  lua_settop(L, OPTIMISTIC);
}

/* resource:mutate { method = "PUT", path =, optimistic =, ... } -> the response */
int njl_resource_mutate(lua_State *L) {
  const resource *owner = njl_check_resource(L);
  read_request(L);
  mutation *self = lua_newuserdatauv(L, sizeof *self, 1);
  *self = (mutation){.owner = owner};
  lua_pushvalue(L, RESOURCE);
  lua_setiuservalue(L, MUTATION, 1);
  njl_guard *guard = njl_guard_push(L, MUTATION);
  njl_reply *error = njl_error_push(L); /* at RESULT */
  njl_bytes optimistic = {0};
  if (!lua_isnil(L, OPTIMISTIC)) optimistic.data = lua_tolstring(L, OPTIMISTIC, &optimistic.length);
  self->number = njl_api_resource_begin_mutation(owner->handle, is_deleting(L), optimistic, &error->wait.call);
  if (self->number == 0) return lua_error(L);
  guard->end = give_up;
  lua_pushcfunction(L, njl_send_request);
  lua_getiuservalue(L, RESOURCE, OWNER);
  lua_pushvalue(L, REQUEST_TABLE);
  lua_pcallk(L, 2, 1, 0, 0, sent);
  return finish(L);
}
