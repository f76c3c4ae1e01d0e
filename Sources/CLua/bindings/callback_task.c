/* callback_task.c - tasks that call a Lua function for a decision request of a client. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/task.h"
#include "bindings/bindings.h"
#include "json/json.h"
#include "njl_callbacks.h"

/* Fails the waiting calls with the error on top of the stack. */
static void fail(lua_State *L, njl_callback *callback) {
  njl_push_message(L, -1);
  njl_bytes message;
  message.data = lua_tolstring(L, -1, &message.length);
  njl_callback_fail(callback, message);
}

static int returned(lua_State *L, int status, lua_KContext context) {
  const njl_responder *responder = (const njl_responder *)context;
  njl_callback *callback = njl_host_open(L)->current->callback;
  if (status != LUA_OK && status != LUA_YIELD) {
    fail(L, callback);
    return 0;
  }
  lua_settop(L, responder->results);
  lua_pushcfunction(L, responder->respond);
  lua_insert(L, 1);
  lua_pushlightuserdata(L, callback);
  if (lua_pcall(L, responder->results + 1, 0, 0) != LUA_OK) fail(L, callback);
  return 0;
}

int njl_call_and_respond(lua_State *L, const njl_responder *responder) {
  lua_KContext context = (lua_KContext)responder;
  return returned(L, lua_pcallk(L, lua_gettop(L) - 1, responder->results, 0, context, returned), context);
}

static int respond(lua_State *L, njl_choice choice, njl_bytes text) {
  njl_callback_decide(lua_touserdata(L, NJL_DECISION_REQUEST), choice, text);
  return 0;
}

int njl_respond_default(lua_State *L) { return respond(L, NJL_CHOOSE_DEFAULT, (njl_bytes){0}); }

int njl_respond_table(lua_State *L) {
  njl_bytes text;
  njl_json_encode(L, NJL_FIRST_RESULT, "response");
  text.data = lua_tolstring(L, -1, &text.length);
  return respond(L, NJL_CHOOSE_TABLE, text);
}

int njl_respond_failure(lua_State *L) {
  njl_bytes text = {0};
  if (!lua_isnil(L, NJL_SECOND_RESULT)) text.data = luaL_tolstring(L, NJL_SECOND_RESULT, &text.length);
  return respond(L, NJL_CHOOSE_CANCEL, text);
}

/* Returns the name of the option whose function handles the request; NULL: the function may use the client. */
static const char *exclusive_option(const njl_callback *callback) {
  switch (njl_callback_kind_of(callback)) {
  case NJL_NAME: return "resolver";
  case NJL_ADDRESSES: return "on_addresses";
  case NJL_RECORD: return "token_store";
  default: return NULL;
  }
}

void njl_check_caller(lua_State *L, const njl_host *host, lua_Integer client, lua_Integer store) {
  for (const njl_task *task = host->current; task != NULL; task = task->parent) {
    if (task->callback == NULL || !njl_callback_is_open(task->callback)) continue;
    const char *option = exclusive_option(task->callback);
    lua_Integer number = (lua_Integer)njl_callback_listener(task->callback);
    if (option == NULL || (number != client && number != store)) continue;
    njl_raise(L, NJL_KIND_REENTRANT, 0,
              "a function of %s cannot use a client that waits for it; use another client", option);
  }
}
