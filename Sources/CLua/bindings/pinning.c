/* pinning.c - certificate pinning: the options tls.pins and tls.on_pin_mismatch, and set_pinning. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/task.h"
#include "bindings/bindings.h"
#include "njl_callbacks.h"
#include "njl_clients.h"

/* Replaces the table on top of the stack, { "sha256/...", report_only_after = }, by a copy of the form { pins = {...},
 * report_only_after = }, which can be encoded as JSON. Keeps a table that is only a list or has no list. */
static void separate_list(lua_State *L) {
  int mixed = lua_gettop(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, mixed);
  if (count == 0) return;
  lua_newtable(L);
  bool has_names = false;
  for (lua_pushnil(L); lua_next(L, mixed) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) continue;
    has_names = true;
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, mixed + 1);
  }
  if (!has_names) return lua_settop(L, mixed);
  lua_pushliteral(L, "pins");
  if (lua_rawget(L, mixed + 1) != LUA_TNIL) {
    luaL_error(L, "client: tls.pins: write the pins of a host either as list items or as pins = {...}, not both");
  }
  lua_settop(L, mixed + 1);
  lua_createtable(L, count < 64 ? (int)count : 64, 0);
  for (lua_Integer place = 1; place <= count; place++) {
    lua_rawgeti(L, mixed, place);
    lua_rawseti(L, mixed + 2, place);
  }
  lua_pushliteral(L, "pins");
  lua_insert(L, -2);
  lua_rawset(L, mixed + 1);
  lua_replace(L, mixed);
}

/* Replaces the pins on top of the stack by a copy that can be encoded as JSON. */
static void copy_pins(lua_State *L) {
  int pins = lua_gettop(L);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, pins) != 0; lua_settop(L, pins + 2)) {
    if (lua_istable(L, -1)) separate_list(L);
    lua_pushvalue(L, pins + 2);
    lua_insert(L, -2);
    lua_rawset(L, pins + 1);
  }
  lua_replace(L, pins);
}

void njl_read_pinning(lua_State *L, int options, int client, njl_listener *listener) {
  int top = lua_gettop(L);
  lua_pushliteral(L, "tls");
  if (lua_rawget(L, options) != LUA_TTABLE) return lua_settop(L, top);
  njl_push_copy(L, -1);
  int tls = lua_gettop(L);
  lua_pushliteral(L, "on_pin_mismatch");
  if (lua_rawget(L, tls) != LUA_TNIL) {
    if (!njl_is_callable(L, -1)) {
      luaL_error(L, "client: tls.on_pin_mismatch must be a function, got %s", luaL_typename(L, -1));
    }
    lua_setiuservalue(L, client, NJL_CLIENT_PIN_MISMATCH);
    lua_pushliteral(L, "on_pin_mismatch");
    lua_pushnil(L);
    lua_rawset(L, tls);
    listener->reports_pins = true;
  }
  lua_settop(L, tls);
  lua_pushliteral(L, "pins");
  bool has_pins = lua_rawget(L, tls) == LUA_TTABLE;
  if (has_pins) {
    copy_pins(L);
    lua_pushliteral(L, "pins");
    lua_insert(L, -2);
    lua_rawset(L, tls);
  }
  if (has_pins || listener->reports_pins) {
    njl_push_copy(L, options);
    lua_pushliteral(L, "tls");
    lua_pushvalue(L, tls);
    lua_rawset(L, -3);
    lua_replace(L, options);
  }
  lua_settop(L, top);
}

void njl_push_pin_report(lua_State *L, njl_callback *callback) {
  lua_getiuservalue(L, -1, NJL_CLIENT_PIN_MISMATCH);
  lua_replace(L, -2);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_callback_request(callback);
  njl_loan_push_json(L, loan, "the report");
  lua_replace(L, -2);
}

/* api:set_pinning(mode) raises in a sandbox, because a script must not loosen the pins of the host program. */
int njl_set_pinning(lua_State *L) {
  njl_check_client(L);
  if (njl_host_open(L)->is_sandboxed) {
    return luaL_error(L, "set_pinning: not available in a sandbox; the pins belong to the host program");
  }
  if (lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L, "set_pinning: mode must be \"enforce\", \"report\" or \"off\", got %s", luaL_typename(L, 2));
  }
  lua_settop(L, 2);
  njl_bytes mode;
  mode.data = lua_tolstring(L, 2, &mode.length);
  njl_reply *error = njl_error_push(L);
  /* Finalizers may have closed the client. */
  if (!njl_client_set_pinning(njl_check_client(L), mode, &error->wait.call)) return lua_error(L);
  return 0;
}
