/* cookies.c - api.cookies: a client's cookie jar. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "bindings/bindings.h"
#include "njl_cookies.h"

typedef struct cookies {
  njl_cookies *handle; /* owned */
} cookies;

static cookies *check_cookies(lua_State *L) {
  cookies *self = njl_test(L, 1, NJL_COOKIES);
  if (self != NULL && self->handle != NULL) return self;
  luaL_error(L, "cookies expected, got %s; call methods with a colon, as in api.cookies:list()", luaL_typename(L, 1));
  return NULL;
}

int njl_cookies_push(lua_State *L) {
  cookies *self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = (cookies){0};
  njl_set_type(L, NJL_COOKIES);
  njl_own(L);
  self->handle = njl_client_cookies(njl_check_client(L)); /* finalizers may have closed the client */
  if (self->handle == NULL) {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
  return 1;
}

/* Returns the string at `index` for Swift. Raises an error if it contains a NUL, which would truncate it. */
static njl_bytes check_text(lua_State *L, int index, const char *function, const char *what) {
  njl_bytes text = {0};
  if (lua_type(L, index) != LUA_TSTRING) {
    luaL_error(L, "%s: %s must be a string, got %s", function, what, luaL_typename(L, index));
  }
  text.data = lua_tolstring(L, index, &text.length);
  if (memchr(text.data, 0, text.length) != NULL) luaL_error(L, "%s: %s must not contain a NUL", function, what);
  return text;
}

static void set_text(lua_State *L, const char *name, njl_bytes text) {
  lua_pushlstring(L, text.data, text.length);
  lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, bool flag) {
  lua_pushboolean(L, flag);
  lua_setfield(L, -2, name);
}

/* cookies:list() -> { {name =, value =, domain =, path =, expires =, secure =, http_only =, host_only =, same_site =},
 * ... } */
static int list(lua_State *L) {
  cookies *self = check_cookies(L);
  njl_loan *loan = njl_loan_push(L);
  loan->list = njl_cookies_list(self->handle);
  lua_newtable(L);
  njl_cookie cookie;
  for (size_t index = 0; njl_cookie_list_at(loan->list, index, &cookie); index++) {
    lua_createtable(L, 0, 9);
    set_text(L, "name", cookie.name);
    set_text(L, "value", cookie.value);
    set_text(L, "domain", cookie.domain);
    set_text(L, "path", cookie.path);
    if (cookie.expires > 0) {
      lua_pushnumber(L, cookie.expires);
      lua_setfield(L, -2, "expires");
    }
    set_flag(L, "secure", cookie.is_secure);
    set_flag(L, "http_only", cookie.is_http_only);
    set_flag(L, "host_only", cookie.is_host_only);
    if (cookie.same_site.length > 0) set_text(L, "same_site", cookie.same_site);
    lua_rawseti(L, -2, (lua_Integer)index + 1);
  }
  return 1;
}

/* Pops the error object and returns `results` if `is_done`; else raises the error. */
static int finish(lua_State *L, bool is_done, int results) {
  if (!is_done) return lua_error(L);
  lua_pop(L, 1);
  return results;
}

/* cookies:set("https://example.com/", "name=value; Path=/; Secure") stores a cookie as if the URL's server had set
 * it. */
static int set(lua_State *L) {
  cookies *self = check_cookies(L);
  njl_bytes url = check_text(L, 2, "set", "the URL"), field = check_text(L, 3, "set", "the cookie");
  njl_reply *error = njl_error_push(L);
  return finish(L, njl_cookies_set(self->handle, url, field, &error->wait.call), 0);
}

/* cookies:delete{ name =, domain =, path = } -> the number of deleted cookies */
static int delete(lua_State *L) {
  static const char *const known[] = {"name", "domain", "path", NULL};
  cookies *self = check_cookies(L);
  if (!lua_istable(L, 2)) return luaL_error(L, "delete: a table expected, got %s", luaL_typename(L, 2));
  lua_settop(L, 2);
  for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) return luaL_error(L, "delete: names of options must be strings");
    njl_check_option(L, -2, "delete", "", known);
  }
  njl_cookie_match match = {0};
  njl_bytes *places[] = {&match.name, &match.domain, &match.path};
  bool *flags[] = {&match.has_name, &match.has_domain, &match.has_path};
  bool has_any = false;
  for (int index = 0; known[index] != NULL; index++) {
    lua_pushstring(L, known[index]);
    if (lua_rawget(L, 2) == LUA_TNIL) continue; /* The values stay on the stack, which keeps their text alive. */
    *places[index] = check_text(L, -1, "delete", known[index]);
    *flags[index] = true;
    has_any = true;
  }
  if (!has_any) return luaL_error(L, "delete: name, domain or path is missing; clear() deletes all");
  lua_pushinteger(L, (lua_Integer)njl_cookies_delete(self->handle, &match));
  return 1;
}

/* cookies:clear() */
static int clear(lua_State *L) {
  njl_cookies_clear(check_cookies(L)->handle);
  return 0;
}

/* cookies:flush() waits until all changes are in the file. */
static int flush(lua_State *L) {
  cookies *self = check_cookies(L);
  njl_reply *error = njl_error_push(L);
  return finish(L, njl_cookies_flush(self->handle, &error->wait.call), 0);
}

/* cookies:export(path) writes a cookies.txt file in curl's format. */
static int export_file(lua_State *L) {
  cookies *self = check_cookies(L);
  njl_bytes path = check_text(L, 2, "export", "the path");
  njl_reply *error = njl_error_push(L);
  return finish(L, njl_cookies_export(self->handle, path, &error->wait.call), 0);
}

static int push_counts(lua_State *L, const njl_import *counts) {
  lua_pushinteger(L, (lua_Integer)counts->stored);
  lua_pushinteger(L, (lua_Integer)counts->skipped);
  return 2;
}

/* cookies:import(path) -> the number of cookies stored, the number of lines skipped */
static int import_file(lua_State *L) {
  cookies *self = check_cookies(L);
  njl_bytes path = check_text(L, 2, "import", "the path");
  njl_import counts = {0};
  njl_reply *error = njl_error_push(L);
  finish(L, njl_cookies_import(self->handle, path, &counts, &error->wait.call), 0);
  return push_counts(L, &counts);
}

/* cookies:text() -> the text that export writes */
static int text(lua_State *L) {
  cookies *self = check_cookies(L);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_cookies_text(self->handle);
  njl_loan_push_text(L, loan);
  return 1;
}

/* cookies:load_text(text) -> the number of cookies stored, the number of lines skipped */
static int load_text(lua_State *L) {
  cookies *self = check_cookies(L);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L, "load_text: the text must be a string, got %s", luaL_typename(L, 2));
  }
  njl_bytes text = {0};
  text.data = lua_tolstring(L, 2, &text.length);
  njl_import counts = {0};
  njl_reply *error = njl_error_push(L);
  finish(L, njl_cookies_load_text(self->handle, text, &counts, &error->wait.call), 0);
  return push_counts(L, &counts);
}

static int collect(lua_State *L) {
  cookies *self = lua_touserdata(L, 1);
  njl_cookies *handle = self->handle;
  self->handle = NULL;
  njl_cookies_release(handle);
  return 0;
}

static int describe(lua_State *L) {
  lua_pushfstring(L, "%s: %p", NJL_COOKIES, lua_touserdata(L, 1));
  return 1;
}

static int unknown(lua_State *L) {
  static const char *const names[] = {"list",   "set",  "delete",    "clear", "flush", "export",
                                      "import", "text", "load_text", NULL};
  return njl_unknown_field(L, "cookie jar", luaL_tolstring(L, 2, NULL), names);
}

void njl_open_cookies(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", collect}, {"__tostring", describe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"list", list},         {"set", set},       {"delete", delete},
                                     {"clear", clear},       {"flush", flush},   {"export", export_file},
                                     {"import", import_file}, {"text", text},    {"load_text", load_text},
                                     {NULL, NULL}};
  njl_add_type(L, NJL_COOKIES, meta, methods, unknown);
}
