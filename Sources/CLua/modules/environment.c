/* environment.c - the C part of nightjar.env. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bindings.h"
#include "modules/modules.h"
#include "njl_secrets.h"

extern char **environ;

/* get(name) -> value, or nil */
static int get(lua_State *L) {
  const char *value = getenv(luaL_checkstring(L, 1));
  lua_pushstring(L, value);
  return 1;
}

/* names() -> a list of the names of all variables */
static int names(lua_State *L) {
  lua_newtable(L);
  lua_Integer count = 0;
  for (char **item = environ; item != NULL && *item != NULL; item++) {
    const char *end = strchr(*item, '=');
    if (end == NULL) continue;
    lua_pushlstring(L, *item, (size_t)(end - *item));
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}

/* is_secret(name) -> whether the variable's value must not be displayed */
int njl_is_secret(lua_State *L) {
  njl_bytes name;
  name.data = luaL_checklstring(L, 1, &name.length);
  lua_pushboolean(L, njl_is_secret_name(name));
  return 1;
}

/* redact(text) -> the text with masked tokens and masked secrets in URLs, JSON and assignments */
int njl_redact(lua_State *L) {
  njl_bytes text;
  text.data = luaL_checklstring(L, 1, &text.length);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_redacted(text);
  njl_loan_push_text(L, loan);
  return 1;
}

int njl_open_env(lua_State *L) {
  static const luaL_Reg functions[] = {{"get", get}, {"names", names}, {"is_secret", njl_is_secret}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  return 0;
}
