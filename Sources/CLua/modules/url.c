/* url.c - the C part of nightjar.url: http and https URLs as the client sends and displays them. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "bindings/bindings.h"
#include "modules/modules.h"
#include "njl_secrets.h"

static int canonical(lua_State *L, bool shows_secrets) {
  njl_bytes url;
  luaL_checktype(L, 1, LUA_TSTRING);
  url.data = lua_tolstring(L, 1, &url.length);
  njl_reply *error = njl_error_push(L);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_url_canonical(url, shows_secrets, &error->wait.call);
  if (loan->text == NULL) {
    lua_pop(L, 1);
    return lua_error(L);
  }
  njl_loan_push_text(L, loan);
  return 1;
}

/* url.canonical(text) -> the URL as it is sent */
static int as_sent(lua_State *L) { return canonical(L, true); }

/* url.redact(text) -> the URL with secrets masked for display */
static int redact(lua_State *L) { return canonical(L, false); }

int njl_open_url(lua_State *L) {
  static const luaL_Reg functions[] = {{"canonical", as_sent}, {"redact", redact}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  return 0;
}
