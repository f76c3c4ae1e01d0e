/* token_store.c - the option token_store of a client: functions that load, save and delete the records of logins. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/task.h"
#include "bindings/bindings.h"
#include "njl_callbacks.h"
#include "njl_clients.h"
#include "njl_logins.h"

/* The only user value: the script's table of functions. */
enum { FUNCTIONS = 1 };

typedef struct token_store {
  njl_token_store *handle; /* owned */
  lua_Integer number;
} token_store;

/* --- The option --- */

static void check_functions(lua_State *L, int functions) {
  static const char *const names[] = {"load", "save", "delete", NULL};
  njl_check_options(L, functions, "client", "token_store.", names);
  for (const char *const *name = names; *name != NULL; name++) {
    lua_pushstring(L, *name);
    if (lua_rawget(L, functions) == LUA_TNIL) luaL_error(L, "client: token_store.%s is missing", *name);
    if (!njl_is_callable(L, -1)) {
      luaL_error(L, "client: token_store.%s must be a function, got %s", *name, luaL_typename(L, -1));
    }
    lua_pop(L, 1);
  }
}

/* Registry key of a weak table from tables of functions to token stores. Clients with the same table share the store. */
static char stores_key;

static void push_stores(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &stores_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  njl_make_weak(L, "k");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &stores_key);
}

/* Pushes the token store of the table at `functions`. */
static token_store *push_store(lua_State *L, njl_host *host, int functions) {
  push_stores(L);
  int stores = lua_gettop(L);
  lua_pushvalue(L, functions);
  if (lua_rawget(L, stores) == LUA_TUSERDATA) {
    lua_remove(L, stores);
    return lua_touserdata(L, -1);
  }
  lua_pop(L, 1);
  token_store *self = lua_newuserdatauv(L, sizeof *self, FUNCTIONS);
  *self = (token_store){0};
  njl_set_type(L, NJL_TOKEN_STORE);
  njl_own(L);
  self->number = njl_number(L, host, stores + 1);
  lua_pushvalue(L, functions);
  lua_setiuservalue(L, stores + 1, FUNCTIONS);
  self->handle = njl_token_store_new(host->engine, self->number);
  lua_pushvalue(L, functions);
  lua_pushvalue(L, stores + 1);
  lua_rawset(L, stores);
  lua_remove(L, stores);
  return self;
}

lua_Integer njl_read_token_store(lua_State *L, njl_host *host, int options, int client, njl_listener *listener) {
  int functions = lua_gettop(L) + 1;
  lua_pushliteral(L, "token_store");
  int type = lua_rawget(L, options);
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  if (type != LUA_TTABLE) {
    luaL_error(L, "client: token_store must be a table of functions, got %s", luaL_typename(L, functions));
  }
  check_functions(L, functions);
  const token_store *self = push_store(L, host, functions);
  listener->token_store = self->handle;
  lua_setiuservalue(L, client, NJL_CLIENT_TOKEN_STORE);
  lua_settop(L, functions - 1);
  return self->number;
}

static int collect(lua_State *L) {
  token_store *self = lua_touserdata(L, 1);
  njl_token_store *handle = self->handle;
  self->handle = NULL;
  njl_token_store_release(handle);
  return 0;
}

void njl_open_token_store(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", collect}, {NULL, NULL}};
  njl_push_metatable(L, NJL_TOKEN_STORE, meta);
  lua_pop(L, 1);
}

/* --- Requests --- */

/* A string: the record; nil: there is none; nil and a message: an error. */
static int loaded(lua_State *L) {
  if (lua_type(L, NJL_FIRST_RESULT) == LUA_TSTRING) {
    njl_bytes record;
    record.data = lua_tolstring(L, NJL_FIRST_RESULT, &record.length);
    njl_callback_decide(lua_touserdata(L, NJL_DECISION_REQUEST), NJL_CHOOSE_TABLE, record);
    return 0;
  }
  if (!lua_isnil(L, NJL_FIRST_RESULT)) {
    return luaL_error(L, "token_store.load must return a string, nil, or nil and a message, got %s",
                      luaL_typename(L, NJL_FIRST_RESULT));
  }
  return lua_isnil(L, NJL_SECOND_RESULT) ? njl_respond_default(L) : njl_respond_failure(L);
}

/* false, or nil and a message: an error; all other results: the record was saved or deleted. */
static int changed(lua_State *L) {
  bool has_failed = lua_isboolean(L, NJL_FIRST_RESULT) ? !lua_toboolean(L, NJL_FIRST_RESULT) : lua_isnil(L, NJL_FIRST_RESULT) && !lua_isnil(L, NJL_SECOND_RESULT);
  return has_failed ? njl_respond_failure(L) : njl_respond_default(L);
}

static const njl_responder loads = {.results = 2, .respond = loaded};
static const njl_responder changes = {.results = 2, .respond = changed};

static int load(lua_State *L) { return njl_call_and_respond(L, &loads); }

static int change(lua_State *L) { return njl_call_and_respond(L, &changes); }

int njl_push_record_call(lua_State *L, njl_callback *callback) {
  njl_push_decision_call(L, callback, FUNCTIONS, change, "the store request");
  int request = lua_gettop(L), function = request - 1;
  lua_getfield(L, request, "operation");
  if (strcmp(luaL_checkstring(L, -1), "load") == 0) {
    lua_pushcfunction(L, load);
    lua_replace(L, function - 1);
  }
  lua_rawget(L, function);
  lua_replace(L, function);
  lua_getfield(L, request, "key");
  lua_replace(L, request);
  njl_loan *loan = njl_loan_push(L);
  loan->text = njl_callback_body(callback);
  if (loan->text == NULL) {
    lua_pop(L, 1);
    return 2;
  }
  njl_loan_push_text(L, loan);
  lua_remove(L, -2);
  return 3;
}
