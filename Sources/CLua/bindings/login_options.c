/* login_options.c - reads the option auth of a client. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/names.h"
#include "core/task.h"
#include "bindings/bindings.h"

/* Moves the function `name` from the table `auth`, which messages call `prefix`, to the top of the stack. Returns
 * false if there is none. */
static bool take_function(lua_State *L, int auth, const char *prefix, const char *name) {
  lua_pushstring(L, name);
  if (lua_rawget(L, auth) == LUA_TNIL) {
    lua_pop(L, 1);
    return false;
  }
  if (!njl_is_callable(L, -1)) {
    luaL_error(L, "client: %s%s must be a function, got %s", prefix, name, luaL_typename(L, -1));
  }
  lua_pushstring(L, name);
  lua_pushnil(L);
  lua_rawset(L, auth);
  return true;
}

static void set_text(lua_State *L, int table, const char *name, const char *text) {
  lua_pushstring(L, name);
  lua_pushstring(L, text);
  lua_rawset(L, table);
}

/* Describes a token function as a login in the option schema, because its tokens are stored and refreshed like the
 * tokens of a login. The client never sends a login request. */
static void describe_provided(lua_State *L, int auth, const char *prefix) {
  static const char *const known[] = {"type", "access_token", "expires_in", "skew", "refresh_timeout", "refresh_limit",
                                      NULL};
  njl_check_options(L, auth, "client", prefix, known);
  static const char *const types[] = {"bearer", NULL};
  lua_pushliteral(L, "type");
  lua_rawget(L, auth);
  if (njl_find_name(L, -1, types) < 0) luaL_error(L, "client: %sprovider requires the type \"bearer\"", prefix);
  lua_pop(L, 1);
  set_text(L, auth, "type", "login");
  set_text(L, auth, "url", "");
  lua_pushliteral(L, "json");
  lua_newtable(L);
  lua_rawset(L, auth);
}

/* Appends the provider function of the credentials at `auth`, if there is one, to the list at `providers`. */
static bool take_provider(lua_State *L, int auth, int providers, const char *prefix) {
  if (!take_function(L, auth, prefix, "provider")) return false;
  lua_rawseti(L, providers, (lua_Integer)lua_rawlen(L, providers) + 1);
  describe_provided(L, auth, prefix);
  return true;
}

/* Appends the provider functions of all schemes to the list at `providers`. The copy of the option auth.schemes is on
 * top of the stack. Writes the names of the schemes to `names`, which must have room for all of them; the copy keeps
 * the strings alive. */
static size_t take_scheme_providers(lua_State *L, int providers, njl_bytes *names) {
  size_t count = 0;
  int schemes = lua_gettop(L), name = schemes + 1;
  for (lua_pushnil(L); lua_next(L, schemes) != 0; lua_settop(L, name)) {
    if (lua_type(L, name) != LUA_TSTRING || !lua_istable(L, -1)) continue;
    const char *prefix = lua_pushfstring(L, "auth.schemes.%s.", lua_tostring(L, name));
    njl_push_copy(L, name + 1);
    if (!take_provider(L, lua_gettop(L), providers, prefix)) continue;
    names[count].data = lua_tolstring(L, name, &names[count].length);
    count++;
    lua_pushvalue(L, name);
    lua_insert(L, -2);
    lua_rawset(L, schemes);
  }
  return count;
}

static size_t count_members(lua_State *L, int table) {
  size_t count = 0;
  table = lua_absindex(L, table);
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) count++;
  return count;
}

void njl_read_login(lua_State *L, int options, int client, njl_listener *listener) {
  int top = lua_gettop(L);
  lua_pushliteral(L, "auth");
  if (lua_rawget(L, options) != LUA_TTABLE) return lua_settop(L, top);
  njl_push_copy(L, -1);
  int auth = lua_gettop(L);
  listener->reports_logins = take_function(L, auth, "auth.", "on_login_required");
  if (listener->reports_logins) lua_setiuservalue(L, client, NJL_CLIENT_LOGIN_REQUIRED);
  lua_newtable(L);
  int providers = lua_gettop(L);
  lua_pushliteral(L, "schemes");
  bool has_schemes = lua_rawget(L, auth) == LUA_TTABLE;
  /* Copies the schemes before counting them: an allocation may run a finalizer that changes the script's table. */
  if (has_schemes) {
    njl_push_copy(L, -1);
    lua_replace(L, -2);
  }
  njl_bytes *names = lua_newuserdatauv(L, (has_schemes ? count_members(L, -1) + 1 : 1) * sizeof *names, 0);
  lua_rawseti(L, providers, 0); /* keeps the array alive */
  listener->provided = names;
  if (take_provider(L, auth, providers, "auth.")) {
    *names = (njl_bytes){0};
    listener->provided_count = 1;
  } else if (has_schemes) {
    listener->provided_count = take_scheme_providers(L, providers, names);
    lua_pushliteral(L, "schemes");
    lua_insert(L, -2);
    lua_rawset(L, auth);
  }
  lua_pushvalue(L, providers);
  lua_setiuservalue(L, client, NJL_CLIENT_PROVIDERS);
  if (listener->provided_count > 0 || listener->reports_logins) {
    njl_push_copy(L, options);
    lua_pushliteral(L, "auth");
    lua_pushvalue(L, auth);
    lua_rawset(L, -3);
    lua_replace(L, options);
  }
  lua_settop(L, top);
}
