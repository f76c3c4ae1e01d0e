/* client_addresses.c - the options resolver and on_addresses of a client. The function resolver resolves names. The function
 * on_addresses allows or denies connections to addresses. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "bindings/bindings.h"
#include "njl_callbacks.h"
#include "njl_clients.h"

void njl_read_address_functions(lua_State *L, int options, int client, njl_listener *listener) {
  listener->resolves_names = njl_read_function(L, options, client, "resolver", NJL_CLIENT_RESOLVER);
  listener->decides_addresses = njl_read_function(L, options, client, "on_addresses", NJL_CLIENT_ADDRESSES);
}

/* Pushes the call of the function in the slot with the named fields of the request as its arguments. */
static int push_call(lua_State *L, njl_callback *callback, int slot, lua_CFunction decide,
                     const char *const fields[3]) {
  njl_push_decision_call(L, callback, slot, decide, "the address request");
  int request = lua_gettop(L);
  for (int index = 0; index < 3; index++) lua_getfield(L, request, fields[index]);
  lua_remove(L, request);
  return 4;
}

/* --- Names --- */

/* nil: the system resolves the name; nil and a message: an error; a table: the addresses. */
static int respond_to_name(lua_State *L) {
  if (lua_istable(L, NJL_FIRST_RESULT)) return njl_respond_table(L);
  if (lua_isnil(L, NJL_FIRST_RESULT)) return lua_isnil(L, NJL_SECOND_RESULT) ? njl_respond_default(L) : njl_respond_failure(L);
  return luaL_error(L, "resolver must return a table of addresses, nil, or nil and a message, got %s",
                    luaL_typename(L, NJL_FIRST_RESULT));
}

static const njl_responder names = {.results = 2, .respond = respond_to_name};

static int decide_name(lua_State *L) { return njl_call_and_respond(L, &names); }

int njl_push_name_call(lua_State *L, njl_callback *callback) {
  static const char *const fields[] = {"host", "port", "proxy"};
  return push_call(L, callback, NJL_CLIENT_RESOLVER, decide_name, fields);
}

/* --- Addresses --- */

/* true: all addresses; false and an optional message: none; a table: these addresses. Other results are errors, so that a
 * function without a return statement allows nothing. */
static int respond_to_addresses(lua_State *L) {
  if (lua_istable(L, NJL_FIRST_RESULT)) return njl_respond_table(L);
  if (lua_isboolean(L, NJL_FIRST_RESULT)) return lua_toboolean(L, NJL_FIRST_RESULT) ? njl_respond_default(L) : njl_respond_failure(L);
  return luaL_error(L, "on_addresses must return a table of addresses, true or false, got %s",
                    luaL_typename(L, NJL_FIRST_RESULT));
}

static const njl_responder addresses = {.results = 2, .respond = respond_to_addresses};

static int decide_addresses(lua_State *L) { return njl_call_and_respond(L, &addresses); }

int njl_push_addresses_call(lua_State *L, njl_callback *callback) {
  static const char *const fields[] = {"host", "addresses", "port"};
  return push_call(L, callback, NJL_CLIENT_ADDRESSES, decide_addresses, fields);
}
