/* network.c - nightjar.network: the status of the network and its changes.
 *
 *   status()                { online =, metered =, captive =, constrained =, interface =, kind = }
 *   changes()               an iterator over the status: first the current status, then the status after each change
 *   set_constrained(flag)   requests low data usage from all clients of the process */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "modules/modules.h"
#include "njl_network.h"

typedef struct changes {
  njl_host *host;
  njl_changes *handle; /* owned; NULL: closed */
} changes;

static void set_flag(lua_State *L, int flag, const char *name) {
  if (flag < 0) return;
  lua_pushboolean(L, flag);
  lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *text, const char *name) {
  if (*text == 0) return;
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

static int push_status(lua_State *L, const njl_network *status) {
  lua_createtable(L, 0, 6);
  set_flag(L, status->is_online, "online");
  set_flag(L, status->is_metered, "metered");
  set_flag(L, status->is_captive, "captive");
  set_flag(L, status->is_constrained, "constrained");
  set_text(L, status->interface, "interface");
  set_text(L, status->kind, "kind");
  return 1;
}

static int status(lua_State *L) {
  njl_network status;
  njl_network_read(&status);
  return push_status(L, &status);
}

static int set_constrained(lua_State *L) {
  luaL_checktype(L, 1, LUA_TBOOLEAN);
  njl_network_set_constrained(lua_toboolean(L, 1));
  return 0;
}

/* Returns the iterator and, for the generic `for`, the value that closes it. */
static int open_changes(lua_State *L) {
  njl_host *host = njl_host_of(L);
  changes *self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = (changes){.host = host};
  njl_set_type(L, NJL_CHANGES);
  njl_own(L);
  self->handle = njl_changes_new(host->engine);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushvalue(L, -3);
  return 4;
}

static int close_changes(lua_State *L) {
  changes *self = njl_check(L, 1, NJL_CHANGES);
  njl_changes *handle = self->handle;
  self->handle = NULL;
  njl_changes_free(handle);
  return 0;
}

static int changed(lua_State *L, int result, lua_KContext context) {
  (void)result;
  njl_check_work(L, (njl_wait *)context);
  changes *self = njl_check(L, 1, NJL_CHANGES);
  njl_network status;
  if (self->handle == NULL || !njl_changes_take(self->handle, &status)) return 0;
  return push_status(L, &status);
}

static int next_change(lua_State *L) {
  changes *self = njl_check(L, 1, NJL_CHANGES);
  lua_settop(L, 1);
  njl_network status;
  if (self->handle == NULL) return 0;
  if (njl_changes_take(self->handle, &status)) return push_status(L, &status);
  njl_wait *wait = njl_wait_push(L, self->host);
  njl_reply *error = njl_error_push(L);
  wait->call = njl_changes_await(self->host->engine, self->handle, wait, &error->wait.call);
  if (wait->call == NULL) return lua_error(L);
  self->host->calls++;
  lua_pop(L, 1);
  return njl_await(L, wait, changed);
}

/* Pushes the module nightjar.network. */
int njl_open_network(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"status", status}, {"changes", open_changes}, {"set_constrained", set_constrained}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__gc", close_changes}, {"__close", close_changes}, {"__call", next_change}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"close", close_changes}, {"next", next_change}, {NULL, NULL}};
  njl_add_type(L, NJL_CHANGES, meta, methods, NULL);
  lua_newtable(L);
  njl_add_functions(L, lua_gettop(L), functions);
  return 1;
}
