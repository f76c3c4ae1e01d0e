/* resource_changes.c - the snapshots of a resource. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/metatable.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "bindings/resource.h"

/* --- Snapshots --- */

void njl_push_data(lua_State *L) {
  int response = lua_gettop(L);
  const njl_reply *reply = lua_touserdata(L, response);
  bool is_json = njl_api_resource_is_json(reply->wait.call);
  lua_getfield(L, response, "body");
  if (lua_rawlen(L, -1) == 0) {
    lua_pop(L, 1);
    lua_pushnil(L);
  } else if (is_json) {
    lua_pop(L, 1);
    lua_getfield(L, response, "json");
  }
}

/* snapshot.data, decoded at the first access. */
static int snapshot_field(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "data") != 0) return 0;
  lua_settop(L, 1);
  lua_pushliteral(L, "response");
  if (lua_rawget(L, 1) == LUA_TNIL || njl_test(L, -1, NJL_RESPONSE) == NULL) return 0;
  njl_push_data(L);
  lua_pushliteral(L, "data");
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

static void set_snapshot_fields(lua_State *L, int table, const njl_snapshot *snapshot) {
  lua_pushstring(L, snapshot->phase);
  lua_setfield(L, table, "phase");
  lua_pushboolean(L, snapshot->is_stale);
  lua_setfield(L, table, "stale");
  lua_pushinteger(L, (lua_Integer)snapshot->generation);
  lua_setfield(L, table, "generation");
  if (snapshot->mutation != NULL) {
    lua_pushstring(L, snapshot->mutation);
    lua_setfield(L, table, "mutation");
  }
  if (snapshot->updated_at >= 0) {
    lua_pushnumber(L, snapshot->updated_at);
    lua_setfield(L, table, "updated_at");
  }
}

/* Sets the field of the table to the reply at `index`, if it has an outcome. */
static void set_reply(lua_State *L, int table, int index, const char *type, const char *name) {
  const njl_reply *reply = lua_touserdata(L, index);
  if (reply->wait.call == NULL) return;
  lua_pushvalue(L, index);
  njl_set_type(L, type);
  lua_setfield(L, table, name);
}

njl_observed njl_push_snapshot(lua_State *L, njl_snapshot_reader read, void *object) {
  static const luaL_Reg meta[] = {{"__index", snapshot_field}, {NULL, NULL}};
  lua_createtable(L, 0, 8);
  int table = lua_gettop(L), data = table + 1, error = table + 2;
  njl_push_metatable(L, NJL_SNAPSHOT, meta);
  lua_setmetatable(L, table);
  /* The replies exist before the outcomes, so that they own the outcomes at once. */
  njl_wait *waits[] = {njl_reply_push(L, NULL), njl_reply_push(L, NULL)};
  waits[0]->state = waits[1]->state = NJL_DONE;
  njl_snapshot snapshot = {0};
  njl_observed observed = read(object, &snapshot);
  if (observed != NJL_OBSERVED_READY) {
    lua_settop(L, table - 1);
    return observed;
  }
  waits[0]->call = snapshot.data;
  waits[1]->call = snapshot.error;
  set_snapshot_fields(L, table, &snapshot);
  set_reply(L, table, data, NJL_RESPONSE, "response");
  set_reply(L, table, error, NJL_ERROR, "error");
  lua_settop(L, table);
  return observed;
}

/* --- Changes --- */

typedef struct changes {
  njl_host *host;
  njl_observer *handle; /* owned; NULL: closed */
} changes;

/* resource:changes() -> an iterator. For a loop, also returns two nils and the iterator as the value to close. */
int njl_resource_changes(lua_State *L) {
  resource *observed = njl_check_resource(L);
  changes *self = lua_newuserdatauv(L, sizeof *self, 1);
  *self = (changes){.host = observed->host};
  njl_set_type(L, NJL_OBSERVER);
  njl_own(L);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  self->handle = njl_observer_new(observed->handle);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushvalue(L, -3);
  return 4;
}

static int close_changes(lua_State *L) {
  changes *self = njl_check(L, 1, NJL_OBSERVER);
  njl_observer *handle = self->handle;
  self->handle = NULL;
  njl_observer_free(handle);
  return 0;
}

static njl_observed take_snapshot(void *object, njl_snapshot *snapshot) {
  return njl_observer_take(((const changes *)object)->handle, snapshot);
}

static int next_change(lua_State *L) NJL_YIELDS;

static int changed(lua_State *L, int result, lua_KContext context) {
  (void)result;
  njl_check_work(L, (njl_wait *)context);
  return next_change(L);
}

/* changes() -> the newest snapshot, when there is one that was not returned; nil when the resource is closed */
static int next_change(lua_State *L) {
  enum { CHANGES = 1, OBSERVED, CALLS };
  changes *self = njl_check(L, CHANGES, NJL_OBSERVER);
  lua_settop(L, CHANGES);
  switch (njl_push_snapshot(L, take_snapshot, self)) {
  case NJL_OBSERVED_READY: return 1;
  case NJL_OBSERVED_END: return 0;
  case NJL_OBSERVED_LATER: break;
  }
  lua_getiuservalue(L, CHANGES, 1);
  lua_getiuservalue(L, OBSERVED, CALLER);
  if (njl_caller_is_running(L, CALLS, self->host)) {
    return luaL_error(L, "changes: not available in a hook of a request of this resource");
  }
  njl_wait *wait = njl_wait_push(L, self->host);
  njl_reply *error = njl_error_push(L);
  wait->call = njl_observer_await(self->handle, wait, &error->wait.call);
  if (wait->call == NULL) return lua_error(L);
  wait->caller = njl_caller_number(L, CALLS);
  wait->needs_tasks = wait->caller != 0;
  self->host->calls++;
  lua_pop(L, 1);
  return njl_await(L, wait, changed);
}

void njl_open_resource_changes(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__gc", close_changes}, {"__close", close_changes}, {"__call", next_change}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"close", close_changes}, {"next", next_change}, {NULL, NULL}};
  njl_add_type(L, NJL_OBSERVER, meta, methods, NULL);
}
