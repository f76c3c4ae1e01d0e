/* list.c - paginated lists, created by api:paginate: iteration over items or pages.
 *
 * A list is an object that can be called for the next item, so that a loop can use it directly. All functions that take
 * from a list call njl_list_take, which returns items of the current page, or the page itself. After the last item,
 * njl_list_take takes the next page, or waits until that page is loaded. Any number of tasks may take from one list.
 * Each item goes to one of these tasks. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "core/wait.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "bindings/list.h"
#include "njl_future.h"
#include "njl_pages.h"
#include "njl_types.h"

static int refuse_closed(lua_State *L) { return njl_raise(L, NJL_KIND_CLOSED, 0, "the list is closed"); }

list *njl_list_check(lua_State *L) {
  list *self = njl_check(L, LIST, NJL_LIST);
  if (self->handle == NULL) refuse_closed(L);
  return self;
}

static int release_page(lua_State *L) {
  page_box *box = lua_touserdata(L, 1);
  njl_page *handle = box->handle;
  box->handle = NULL;
  njl_page_release(handle);
  return 0;
}

static page_box *push_page_box(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", release_page}, {NULL, NULL}};
  page_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (page_box){0};
  njl_push_metatable(L, NJL_PAGE, meta);
  lua_setmetatable(L, -2);
  njl_own(L);
  return box;
}

/* --- Creating a list --- */

void njl_list_push(lua_State *L, njl_host *host) {
  list *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (list){.host = host};
  njl_set_type(L, NJL_LIST);
  njl_own(L);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, CLIENT);
}

void njl_list_decide_by(lua_State *L, int index) {
  list *self = lua_touserdata(L, index);
  lua_setiuservalue(L, index, DECIDE);
  lua_newtable(L);
  njl_make_weak(L, "k");
  lua_setiuservalue(L, index, WAITING);
  self->decides = true;
}

void njl_list_call_by(lua_State *L, int index) {
  list *self = lua_touserdata(L, index);
  self->is_hooked = !lua_isnil(L, -1);
  lua_setiuservalue(L, index, CALLER);
}

void njl_list_open(lua_State *L, int index, njl_pages *pages) {
  list *self = lua_touserdata(L, index);
  self->handle = pages;
}

/* --- Taking from a list --- */

/* Pushes the item at self->next and increments self->next. Returns false if a finalizer took from the list meanwhile;
 * the pushed value must then be discarded. */
static bool push_item(lua_State *L, list *self) {
  page_box *page = self->page;
  size_t index = self->next;
  lua_getiuservalue(L, LIST, PAGE); /* Stays on the stack while it is read. */
  page->readers++;
  njl_bytes item = njl_page_item(page->handle, index);
  njl_json_decode(L, "the item", item.data, item.length);
  page->readers--;
  lua_remove(L, -2);
  if (self->page != page || self->next != index) return false;
  self->next = index + 1;
  return true;
}

/* Pushes the page as { items =, number =, response = }, with the items from `first` on. The table is a copy, so that
 * changes by a script do not affect the list. */
void njl_list_push_table(lua_State *L, list *self, size_t first) {
  page_box *box = self->page;
  lua_getiuservalue(L, LIST, PAGE);
  int place = lua_gettop(L);
  box->readers++;
  njl_page *page = box->handle;
  size_t count = njl_page_count(page);
  lua_createtable(L, 0, 3);
  lua_createtable(L, (int)(count - first), 0);
  njl_json_push_array_mark(L);
  lua_setmetatable(L, -2);
  for (size_t index = first; index < count; index++) {
    njl_bytes item = njl_page_item(page, index);
    njl_json_decode(L, "the item", item.data, item.length);
    lua_rawseti(L, -2, (lua_Integer)(index - first) + 1);
  }
  lua_setfield(L, -2, "items");
  lua_pushinteger(L, (lua_Integer)njl_page_number(page));
  lua_setfield(L, -2, "number");
  njl_wait *wait = njl_reply_push(L, NULL);
  wait->state = NJL_DONE;
  wait->call = njl_page_response(page);
  njl_set_type(L, NJL_RESPONSE);
  lua_setfield(L, -2, "response");
  njl_response response;
  if (njl_future_response(wait->call, &response)) njl_account(L, response.body.length);
  box->readers--;
  lua_remove(L, place);
}

/* Ends the current decision, successful or not, and wakes the tasks that wait for it. */
void njl_list_end_deciding(lua_State *L, list *self) {
  self->deciding = NULL;
  if (lua_getiuservalue(L, LIST, WAITING) == LUA_TTABLE) {
    for (lua_pushnil(L); lua_next(L, -2) != 0;) {
      njl_wait_end(lua_touserdata(L, -2), NJL_DONE);
      lua_pop(L, 1);
      lua_pushvalue(L, -1);
      lua_pushnil(L);
      lua_rawset(L, -4);
    }
  }
  lua_pop(L, 1);
}

/* Releases the page immediately unless it is being read, because the collector does not count the memory of pages. */
static void drop_page(lua_State *L, list *self) {
  page_box *box = self->page;
  self->page = NULL;
  self->next = 0;
  if (box != NULL && box->readers == 0) {
    njl_page *handle = box->handle;
    box->handle = NULL;
    njl_page_release(handle);
  }
  lua_pushnil(L);
  lua_setiuservalue(L, LIST, PAGE);
  if (self->deciding != NULL) njl_list_end_deciding(L, self);
}

int njl_list_page_loaded(lua_State *L, int status, lua_KContext context) {
  (void)status;
  return njl_list_take(L, ((turn *)context)->taking);
}

static int await_page(lua_State *L, list *self, taking taking) {
  lua_Integer caller = 0;
  njl_check_owner(L, LIST, CLIENT);
  if (self->is_hooked) {
    lua_getiuservalue(L, LIST, CALLER);
    caller = njl_caller_number(L, -1);
    if (njl_caller_is_running(L, -1, self->host)) {
      return luaL_error(L, "paginate: a before or after hook must not take from the list whose page it was called for");
    }
    lua_pop(L, 1);
  }
  turn *mine = (turn *)njl_wait_push_sized(L, self->host, sizeof *mine);
  mine->taking = taking;
  mine->wait.state = NJL_DONE; /* No task waits yet. */
  lua_replace(L, TURN);
  njl_list_check(L); /* A finalizer may have closed the list. */
  mine->wait.call = njl_pages_await(self->handle, &mine->wait);
  mine->wait.state = NJL_PENDING;
  mine->wait.needs_tasks = self->is_hooked;
  mine->wait.caller = caller;
  self->host->calls++;
  return njl_await(L, &mine->wait, njl_list_page_loaded);
}

/* --- Returning items and pages --- */

static bool is_full(lua_State *L) {
  return !lua_isnil(L, LIMIT) && (lua_Integer)lua_rawlen(L, RESULT) >= lua_tointeger(L, LIMIT);
}

/* Makes the page in `box` the current page. `box` is on top of the stack. */
static void set_page(lua_State *L, list *self, page_box *box) {
  drop_page(L, self);
  lua_setiuservalue(L, LIST, PAGE);
  self->page = box;
  self->is_decided = !self->decides;
  self->is_given = false;
}

/* Raises the error of the page that could not be taken into `box`. */
static int raise_failure(lua_State *L, list *self, page_box *box) {
  njl_reply *error = njl_error_push(L);
  njl_pages_take(self->handle, &box->handle, &error->wait.call);
  lua_getiuservalue(L, LIST, CALLER);
  lua_insert(L, -2);
  return njl_caller_raise(L, -2);
}

int njl_list_take(lua_State *L, taking taking) {
  for (;;) {
    lua_settop(L, TOP);
    list *self = njl_list_check(L);
    if (taking == MANY && is_full(L)) {
      lua_pushvalue(L, RESULT);
      return 1;
    }
    page_box *page = self->page;
    if (page != NULL && page->handle == NULL) return refuse_closed(L);
    if (page != NULL && !self->is_decided) {
      if (self->deciding != NULL) return njl_list_await_decision(L, self, taking);
      njl_list_decide(L, self, taking);
      continue;
    }
    size_t count = page == NULL ? 0 : njl_page_count(page->handle);
    if (taking == A_PAGE && page != NULL && count == 0 && !self->is_given) {
      njl_list_push_table(L, self, 0);
      if (self->page != page || self->is_given) continue; /* A finalizer has taken from the list. */
      self->is_given = true;
      return 1;
    }
    if (self->next < count) {
      size_t first = self->next;
      switch (taking) {
      case AN_ITEM:
        if (push_item(L, self)) return 1;
        continue;
      case A_PAGE:
        njl_list_push_table(L, self, first);
        if (self->page != page || self->next != first) continue; /* A finalizer has taken from the list. */
        self->next = count;
        return 1;
      case MANY:
        if (push_item(L, self)) lua_rawseti(L, RESULT, (lua_Integer)lua_rawlen(L, RESULT) + 1);
        continue;
      }
    }
    self->is_given = true; /* A caller that takes items skips a page without items. */
    page_box *box = push_page_box(L);
    if (self->handle == NULL || self->page != page) continue; /* Changed by a finalizer. */
    switch (njl_pages_take(self->handle, &box->handle, NULL)) {
    case NJL_PAGE_READY:
      set_page(L, self, box);
      continue;
    case NJL_PAGE_LATER: return await_page(L, self, taking);
    case NJL_PAGE_END:
      if (taking == MANY) lua_pushvalue(L, RESULT);
      else lua_pushnil(L);
      return 1;
    case NJL_PAGE_FAILED: return raise_failure(L, self, box);
    }
  }
}

/* list() -> the next item; nil at the end */
static int next_item(lua_State *L) {
  njl_list_check(L);
  lua_settop(L, LIST);
  return njl_list_take(L, AN_ITEM);
}

static int next_page(lua_State *L) {
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  return njl_list_take(L, A_PAGE);
}

/* list:pages() -> an iterator of pages with the fields items, number and response */
static int each_page(lua_State *L) {
  njl_list_check(L);
  lua_settop(L, LIST);
  lua_pushcclosure(L, next_page, 1);
  return 1;
}

static int take_many(lua_State *L) {
  lua_newtable(L);
  njl_json_push_array_mark(L);
  lua_setmetatable(L, -2);
  lua_insert(L, RESULT);
  return njl_list_take(L, MANY);
}

/* list:take(n) -> a list of the next n items, or fewer at the end */
static int take(lua_State *L) {
  njl_list_check(L);
  lua_Integer count = luaL_checkinteger(L, 2);
  luaL_argcheck(L, count >= 0, 2, "a non-negative number of items expected");
  lua_settop(L, 2);
  return take_many(L);
}

/* list:collect() -> a list of all remaining items */
static int collect(lua_State *L) {
  njl_list_check(L);
  lua_settop(L, LIST);
  lua_pushnil(L);
  return take_many(L);
}

/* --- Position --- */

static int push_text(lua_State *L, njl_text *text, njl_loan *loan) {
  loan->text = text;
  njl_bytes bytes = njl_text_bytes(text);
  lua_pushlstring(L, bytes.data, bytes.length);
  return 1;
}

/* list:state() -> the position after the last returned item, for resume. Also works in a finalizer while the Lua state
 * closes. */
static int state(lua_State *L) {
  njl_list_check(L);
  njl_loan *loan = njl_loan_push(L);
  list *self = njl_list_check(L); /* A finalizer may have closed the list. */
  return push_text(L, njl_pages_state(self->handle, self->next), loan);
}

/* list:resume(state) -> the list, which continues at that position */
static int resume(lua_State *L) {
  list *self = njl_list_check(L);
  njl_bytes text;
  text.data = luaL_checklstring(L, 2, &text.length);
  njl_reply *error = njl_error_push(L);
  if (!njl_pages_begin(self->handle, text, &error->wait.call)) return lua_error(L);
  drop_page(L, self);
  lua_settop(L, LIST);
  return 1;
}

/* list:refresh() -> the list, which starts at the beginning again */
static int refresh(lua_State *L) {
  list *self = njl_list_check(L);
  njl_reply *error = njl_error_push(L);
  if (!njl_pages_begin(self->handle, (njl_bytes){0}, &error->wait.call)) return lua_error(L);
  drop_page(L, self);
  lua_settop(L, LIST);
  return 1;
}

/* list:close(), also called by <close> and by the collector. Cancels the requests of the list. Closing a closed list
 * does nothing. */
static int close(lua_State *L) {
  list *self = njl_check(L, LIST, NJL_LIST);
  njl_pages *handle = self->handle;
  self->handle = NULL;
  if (self->page != NULL) drop_page(L, self);
  njl_pages_close(handle);
  njl_pages_release(handle);
  return 0;
}

static int describe(lua_State *L) {
  list *self = njl_check(L, LIST, NJL_LIST);
  lua_pushfstring(L, "%s: %p%s", NJL_LIST, (void *)self, self->handle == NULL ? " (closed)" : "");
  return 1;
}

/* Looks up list.NAME: a method or the explanation. The upvalue is the table of methods. */
static int field(lua_State *L) {
  static const char *const names[] = {"pages",   "take",  "collect",     "state", "resume",
                                      "refresh", "close", "explanation", NULL};
  njl_check(L, LIST, NJL_LIST);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "explanation") != 0) {
    return njl_unknown_field(L, "list", luaL_tolstring(L, 2, NULL), names);
  }
  list *self = njl_list_check(L);
  njl_loan *loan = njl_loan_push(L);
  push_text(L, njl_pages_explanation(self->handle), loan);
  if (lua_rawlen(L, -1) == 0) lua_pushnil(L);
  return 1;
}

void njl_open_list(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", close}, {"__close", close}, {"__call", next_item}, {"__tostring", describe},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {{"pages", each_page}, {"take", take},       {"collect", collect}, {"state", state},
                                     {"resume", resume},   {"refresh", refresh}, {"close", close},     {NULL, NULL}};
  njl_push_metatable(L, NJL_LIST, meta);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
