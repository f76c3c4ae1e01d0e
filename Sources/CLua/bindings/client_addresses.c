/* client_addresses.c - the options resolver and on_addresses of a client: functions that resolve names and that decide to
 * which addresses the client may connect. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "bindings/bindings.h"
#include "json/json.h"
#include "njl_callbacks.h"
#include "njl_clients.h"

void njl_read_address_functions(lua_State *L, int options, int client, njl_listener *listener) {
  listener->resolves_names = njl_read_function(L, options, client, "resolver", NJL_CLIENT_RESOLVER);
  listener->decides_addresses = njl_read_function(L, options, client, "on_addresses", NJL_CLIENT_ADDRESSES);
}

/* The stack of the functions below: the two results of the script's function, and the decision request. */
enum { RESULT = 1, MESSAGE, CALLBACK };

/* Responds with the addresses in the table RESULT. */
static int respond_with_list(lua_State *L) {
  njl_bytes text;
  njl_json_encode(L, RESULT, "response");
  text.data = lua_tolstring(L, -1, &text.length);
  njl_callback_decide(lua_touserdata(L, CALLBACK), NJL_CHOOSE_TABLE, text);
  return 0;
}

/* Fails the waiting calls with MESSAGE, which may be any value; nil: no message. */
static int refuse(lua_State *L) {
  njl_bytes text = {0};
  if (!lua_isnil(L, MESSAGE)) text.data = luaL_tolstring(L, MESSAGE, &text.length);
  njl_callback_decide(lua_touserdata(L, CALLBACK), NJL_CHOOSE_CANCEL, text);
  return 0;
}

static int use_default(lua_State *L) {
  njl_callback_decide(lua_touserdata(L, CALLBACK), NJL_CHOOSE_DEFAULT, (njl_bytes){0});
  return 0;
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
  if (lua_istable(L, RESULT)) return respond_with_list(L);
  if (lua_isnil(L, RESULT)) return lua_isnil(L, MESSAGE) ? use_default(L) : refuse(L);
  return luaL_error(L, "resolver must return a table of addresses, nil, or nil and a message, got %s",
                    luaL_typename(L, RESULT));
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
  if (lua_istable(L, RESULT)) return respond_with_list(L);
  if (lua_isboolean(L, RESULT)) return lua_toboolean(L, RESULT) ? use_default(L) : refuse(L);
  return luaL_error(L, "on_addresses must return a table of addresses, true or false, got %s",
                    luaL_typename(L, RESULT));
}

static const njl_responder addresses = {.results = 2, .respond = respond_to_addresses};

static int decide_addresses(lua_State *L) { return njl_call_and_respond(L, &addresses); }

int njl_push_addresses_call(lua_State *L, njl_callback *callback) {
  static const char *const fields[] = {"host", "addresses", "port"};
  return push_call(L, callback, NJL_CLIENT_ADDRESSES, decide_addresses, fields);
}
