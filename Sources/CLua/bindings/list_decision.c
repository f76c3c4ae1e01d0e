/* list_decision.c - the `next` function of a list, which decides how the list continues after a page. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "bindings/list.h"
#include "njl_pages.h"

static int end_decision(lua_State *L) {
  decision *mine = lua_touserdata(L, 1);
  list *self = mine->list;
  if (self->deciding != mine) return 0;
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, 1);
  lua_replace(L, LIST);
  njl_list_end_deciding(L, self);
  return 0;
}

static decision *push_decision(lua_State *L, list *self) {
  static const luaL_Reg meta[] = {{"__gc", end_decision}, {"__close", end_decision}, {NULL, NULL}};
  decision *mine = lua_newuserdatauv(L, sizeof *mine, 1);
  *mine = (decision){.list = self, .task = self->host->current};
  lua_pushvalue(L, LIST);
  lua_setiuservalue(L, -2, 1);
  njl_push_metatable(L, NJL_DECISION, meta);
  lua_setmetatable(L, -2);
  njl_own(L);
  return mine;
}

int njl_list_await_decision(lua_State *L, list *self, taking taking) {
  if (self->deciding->task == self->host->current) {
    return luaL_error(L, "paginate: the next function must not take from its own list");
  }
  turn *mine = (turn *)njl_wait_push_sized(L, self->host, sizeof *mine);
  mine->taking = taking;
  mine->wait.needs_tasks = true;
  lua_replace(L, TURN);
  if (self->deciding == NULL) { /* A finalizer has ended the decision. */
    njl_wait_end(&mine->wait, NJL_DONE);
  } else {
    lua_getiuservalue(L, LIST, WAITING);
    lua_pushvalue(L, TURN);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  return njl_await(L, &mine->wait, njl_list_page_loaded);
}

static int cannot_decide(lua_State *L, int decision_index) {
  return luaL_error(L, "paginate: next must return nil, a URL or { query = {...} }, got %s",
                    luaL_typename(L, decision_index));
}

/* Reads { query = {...} } at `decision_index`. */
static void read_query(lua_State *L, int decision_index, njl_request *request) {
  static const char *const known[] = {"query", NULL};
  for (lua_pushnil(L); lua_next(L, decision_index) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) cannot_decide(L, decision_index);
    if (njl_find_name(L, -2, known) < 0) njl_unknown_option(L, "paginate: next", "", lua_tostring(L, -2), known);
  }
  njl_read_options(L, decision_index, "paginate: next", false, request);
}

/* Reads the result of the `next` function on top of the stack. Ignores the result if the list no longer is at the page
 * for which the function was called. */
static void take_decision(lua_State *L) {
  list *self = njl_list_check(L);
  decision *mine = lua_touserdata(L, TURN);
  int decision_index = lua_gettop(L);
  if (self->deciding == mine) {
    njl_request request = {0};
    njl_decision decision = NJL_NEXT_NONE;
    njl_bytes url = {0};
    switch (lua_type(L, decision_index)) {
    case LUA_TNIL: break;
    case LUA_TSTRING:
      decision = NJL_NEXT_URL;
      url.data = lua_tolstring(L, decision_index, &url.length);
      break;
    case LUA_TTABLE:
      decision = NJL_NEXT_QUERY;
      read_query(L, decision_index, &request);
      break;
    default: cannot_decide(L, decision_index);
    }
    njl_reply *error = njl_error_push(L);
    if (self->deciding == mine) { /* A finalizer may have ended the decision. */
      bool continues = njl_pages_set_next(self->handle, decision, request.query, request.query_count, url,
                                         &error->wait.call);
      if (!continues) lua_error(L);
      self->is_decided = true;
    }
  }
  lua_closeslot(L, TURN);
}

static int decided(lua_State *L, int status, lua_KContext taking) {
  (void)status;
  take_decision(L);
  return njl_list_take(L, (enum taking)taking);
}

void njl_list_decide(lua_State *L, list *self, taking taking) {
  decision *mine = push_decision(L, self);
  lua_replace(L, TURN);
  /* A finalizer may have changed the list. */
  if (self->page == NULL || self->page->handle == NULL || self->is_decided || self->deciding != NULL) return;
  self->deciding = mine;
  lua_toclose(L, TURN);
  lua_getiuservalue(L, LIST, DECIDE);
  njl_list_push_table(L, self, 0);
  lua_callk(L, 1, 1, (lua_KContext)taking, decided);
  take_decision(L);
}
