/* paginate.c - api:paginate(path, {...}): separates the options of the list from those of its calls. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/names.h"
#include "core/task.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_pages.h"

static const char *const list_options[] = {"style",  "items",  "next",           "key",      "param", "size_param",
                                           "size",   "first",  "header",         "request_header", "more", "total",
                                           "prefetch", "max_pages", "max_items", "allow_origins", "resume",
                                           "total_timeout", "item", "body_param", "next_header", NULL};
enum { NEXT = 2, RESUME = 16, TOTAL_TIMEOUT };

/* The options of a call that a list supports. */
static const char *const call_options[] = {
    "query", "headers", "params", "method", "json", "form", "body", "timeout", "expect", "redirect", "cookies", "auth", "retry",
    "idempotency_key", "idempotent", "decompress", "max_body", "compress", "schema", "coalesce", "allow_body_on_get", "cache", "cache_partition",
    "limit_group", "invalidates", "endpoint", "arguments", "graphql", NULL};

/* The start of a list and its limits. */
typedef struct beginning {
  njl_bytes state;
  double seconds; /* negative: none */
  bool decides;   /* a function decides how the list continues */
} beginning;

static int unknown_option(lua_State *L, const char *name) {
  enum { MOST = sizeof list_options / sizeof *list_options + sizeof call_options / sizeof *call_options };
  static const char *const others[] = {"path",        "file",     "multipart",   "stream",
                                       "on_redirect", "on_retry", "on_refresh", "on_progress", "on_waiting", NULL};
  const char *all[MOST];
  size_t count = 0;
  for (size_t index = 0; list_options[index] != NULL; index++) all[count++] = list_options[index];
  for (size_t index = 0; call_options[index] != NULL; index++) all[count++] = call_options[index];
  all[count] = NULL;
  for (size_t index = 0; others[index] != NULL; index++) {
    if (strcmp(others[index], name) == 0) {
      return luaL_error(L, "paginate: option '%s' is not supported for lists", name);
    }
  }
  return njl_unknown_option(L, "paginate", "", name, all);
}

/* Splits the options at `options` into two new tables on the stack, for the list and for its calls. The `next`
 * function goes to the list at `object`; `resume` and `total_timeout` go to `start`. */
static void part_options(lua_State *L, int options, int object, beginning *start) {
  lua_newtable(L);
  lua_newtable(L);
  int of_list = lua_gettop(L) - 1, of_call = of_list + 1;
  if (lua_isnil(L, options)) return;
  for (lua_pushnil(L); lua_next(L, options) != 0;) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      luaL_error(L, "paginate: option names must be strings, got a %s", luaL_typename(L, -2));
    }
    int place = njl_find_name(L, -2, list_options);
    if (place == RESUME) {
      if (lua_type(L, -1) != LUA_TSTRING) {
        luaL_error(L, "paginate: resume must be a string from list:state(), got %s", luaL_typename(L, -1));
      }
      start->state.data = lua_tolstring(L, -1, &start->state.length); /* The options keep the string alive. */
      lua_pop(L, 1);
    } else if (place == TOTAL_TIMEOUT) {
      double seconds = njl_check_limit(L, -1, "paginate", "total_timeout");
      start->seconds = seconds > 0 ? seconds : -1;
      lua_pop(L, 1);
    } else if (place == NEXT && njl_is_callable(L, -1)) {
      start->decides = true;
      njl_list_decide_by(L, object);
    } else {
      if (place < 0 && njl_find_name(L, -2, call_options) < 0) unknown_option(L, lua_tostring(L, -2));
      if (place < 0 && strcmp(lua_tostring(L, -2), "body") == 0 && lua_type(L, -1) != LUA_TSTRING) {
        luaL_error(L, "paginate: body must be a string, because it is sent again for each page, got %s",
                   luaL_typename(L, -1));
      }
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, place < 0 ? of_call : of_list);
    }
  }
  if (!start->decides) return;
  /* A `next` function implies the style "custom". */
  lua_pushliteral(L, "style");
  if (lua_rawget(L, of_list) == LUA_TNIL) {
    lua_pushliteral(L, "custom");
    lua_setfield(L, of_list, "style");
  } else if (lua_type(L, -1) != LUA_TSTRING || strcmp(lua_tostring(L, -1), "custom") != 0) {
    luaL_error(L, "paginate: a next function requires style 'custom'; remove style, or set next to a JSON Pointer");
  }
  lua_pop(L, 1);
}

/* api:paginate(path, options) -> the list, nil, nil and the list, which a for loop closes when it ends. Without a path,
 * the options must name an endpoint. */
int njl_paginate(lua_State *L) {
  njl_check_client(L);
  njl_host *host = njl_host_open(L);
  bool has_endpoint = false;
  if (lua_istable(L, 3)) {
    lua_pushliteral(L, "endpoint");
    has_endpoint = lua_rawget(L, 3) != LUA_TNIL;
    lua_pop(L, 1);
  }
  if (has_endpoint ? !lua_isnil(L, 2) : lua_type(L, 2) != LUA_TSTRING) {
    return luaL_error(L, has_endpoint ? "paginate: path must not be set together with endpoint"
                                      : "paginate: path must be a string, got %s",
                      luaL_typename(L, 2));
  }
  if (!lua_isnoneornil(L, 3) && !lua_istable(L, 3)) {
    return luaL_error(L, "paginate: options must be a table, got %s", luaL_typename(L, 3));
  }
  lua_settop(L, 3);
  if (lua_istable(L, 3)) { /* Finalizers, which any allocation may run, could change the script's table. */
    njl_push_copy(L, 3);
    lua_replace(L, 3);
  }
  njl_list_push(L, host);
  beginning start = {.seconds = -1};
  part_options(L, 3, 4, &start);
  njl_json_encode(L, 5, "paginate");
  njl_bytes options;
  options.data = lua_tolstring(L, -1, &options.length);
  lua_Integer caller = njl_caller_push(L, host, 6);
  njl_list_call_by(L, 4);
  njl_reply *error = njl_error_push(L);
  njl_request request = {.method = {"GET", 3}};
  njl_read_options(L, 6, "paginate", false, &request);
  if (has_endpoint) request.catalog = njl_endpoints_of(L);
  else request.target.data = lua_tolstring(L, 2, &request.target.length);
  njl_pages *pages = njl_pages_new(host->engine, njl_check_client(L), &request, options, start.state, start.seconds,
                                   caller, &error->wait.call);
  if (pages == NULL) {
    lua_settop(L, 8); /* The error is at index 8. */
    return lua_error(L);
  }
  njl_list_open(L, 4, pages);
  lua_settop(L, 4);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushvalue(L, 4);
  return 4;
}
