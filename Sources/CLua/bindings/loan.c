/* loan.c - owns objects created by Swift while a function that may raise uses them. If the function raises, the
 * collector releases the objects. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/host.h"
#include "core/metatable.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_cookies.h"
#include "njl_types.h"

njl_loan *njl_loan_push(lua_State *L) {
  njl_loan *self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = (njl_loan){0};
  njl_set_type(L, NJL_LOAN);
  njl_own(L);
  return self;
}

void njl_loan_push_text(lua_State *L, njl_loan *loan) {
  njl_bytes bytes = njl_text_bytes(loan->text);
  lua_pushlstring(L, bytes.data == NULL ? "" : bytes.data, bytes.length);
  njl_text *text = loan->text;
  loan->text = NULL;
  njl_text_release(text);
}

int njl_loan_return_text(lua_State *L, njl_loan *loan) {
  if (loan->text == NULL) lua_pushnil(L);
  else njl_loan_push_text(L, loan);
  return 1;
}

void njl_loan_push_json(lua_State *L, njl_loan *loan, const char *what) {
  njl_bytes json = njl_text_bytes(loan->text);
  njl_json_decode(L, what, json.data, json.length);
}

static int collect(lua_State *L) {
  njl_loan *self = lua_touserdata(L, 1);
  njl_cookie_list_release(self->list);
  njl_text_release(self->text);
  *self = (njl_loan){0};
  return 0;
}

void njl_open_loan(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", collect}, {NULL, NULL}};
  njl_push_metatable(L, NJL_LOAN, meta);
  lua_pop(L, 1);
}
