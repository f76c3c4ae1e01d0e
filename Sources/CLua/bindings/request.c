/* request.c - reads the options of a call from a Lua table into a plain struct. */
#include <ctype.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/host.h"
#include "core/names.h"
#include "core/task.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "bindings/reading.h"
#include "njl_request.h"

/* Options by number, in the order of `names`. */
enum {
  QUERY,
  HEADERS,
  JSON,
  FORM,
  BODY,
  EXPECT,
  TIMEOUT,
  STREAM,
  METHOD,
  PATH,
  PARAMS,
  MULTIPART,
  FILE_,
  ON_REDIRECT,
  ON_RETRY,
  ON_REFRESH,
  ON_PROGRESS,
  ON_WAITING,
  ENDPOINT,
  ARGUMENTS,
  RARE
};

/* Options from RARE on are passed to Swift as a JSON object, because few calls use them. */
static const char *const names[] = {
    "query",    "headers",    "json",        "form",        "body",       "expect",          "timeout",
    "stream",   "method",     "path",        "params",      "multipart",  "file",            "on_redirect",
    "on_retry", "on_refresh", "on_progress", "on_waiting",  "endpoint",   "arguments",       "redirect",
    "cookies",
    "decompress", "max_body", "compress",
    "expect_continue", "schema", "retry",    "allow_body_on_get", "coalesce",   "auth",            "idempotency_key",
    "idempotent",
    "limit_group", "invalidates", "cache", "cache_partition", "respect_retry_after", "wait_for_connectivity", "allow_metered", "allow_constrained",
    "graphql",
    NULL};

/* Makes the string on top of the stack the body. */
static void set_body(njl_reading *r, njl_request *request) {
  request->has_body = true;
  request->body.data = lua_tolstring(r->L, -1, &request->body.length);
  njl_reading_keep(r);
}

/* Pushes the fields as application/x-www-form-urlencoded text, as defined by the URL standard. */
static void push_form(lua_State *L, const njl_pairs *fields) {
  static const char digits[] = "0123456789ABCDEF";
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (size_t index = 0; index < fields->count; index++) {
    const njl_bytes parts[] = {fields->items[index].name, fields->items[index].value};
    for (int part = 0; part < 2; part++) {
      if (part == 1) luaL_addchar(&text, '=');
      else if (index > 0) luaL_addchar(&text, '&');
      for (size_t at = 0; at < parts[part].length; at++) {
        unsigned char byte = (unsigned char)parts[part].data[at];
        if (byte < 128 && (isalnum(byte) || memchr("*-._", byte, 4) != NULL)) {
          luaL_addchar(&text, (char)byte);
        } else if (byte == ' ') {
          luaL_addchar(&text, '+');
        } else {
          luaL_addchar(&text, '%');
          luaL_addchar(&text, digits[byte >> 4]);
          luaL_addchar(&text, digits[byte & 15]);
        }
      }
    }
  }
  luaL_pushresult(&text);
}

static int take_status(njl_reading *r) {
  int is_integer;
  lua_Integer status = lua_tointegerx(r->L, -1, &is_integer);
  if (!is_integer || status < 100 || status > 999) {
    luaL_error(r->L, "%s: expect must be a status from 100 to 999 or a list of statuses", r->function);
  }
  lua_pop(r->L, 1);
  return (int)status;
}

static void read_expected(njl_reading *r, int value, njl_request *request) {
  lua_State *L = r->L;
  bool is_list = lua_istable(L, value);
  size_t count = is_list ? lua_rawlen(L, value) : 1;
  int *statuses = lua_newuserdatauv(L, (count + 1) * sizeof *statuses, 0);
  njl_reading_keep(r);
  for (size_t index = 0; index < count; index++) {
    if (is_list) lua_rawgeti(L, value, (lua_Integer)index + 1);
    else lua_pushvalue(L, value);
    statuses[index] = take_status(r);
  }
  request->expected = statuses;
  request->expected_count = count;
}

double njl_check_limit(lua_State *L, int index, const char *function, const char *name) {
  if (lua_isboolean(L, index) && !lua_toboolean(L, index)) return 0;
  if (lua_type(L, index) != LUA_TNUMBER) {
    luaL_error(L, "%s: %s must be a number of seconds or false, got %s", function, name, luaL_typename(L, index));
  }
  lua_Number value = lua_tonumber(L, index);
  if (value == HUGE_VAL) return 0;
  if (!(value >= 0 && value <= NJL_MOST_SECONDS)) {
    const char *text = value == value ? luaL_tolstring(L, index, NULL) : "nan";
    luaL_error(L, "%s: %s must be between 0 and 3153600000 seconds, got %s", function, name, text);
  }
  return value;
}

/* Returns the time limit at `index` in seconds; -1 for nightjar.null, which selects the client's limit. */
static double limit(njl_reading *r, int index, const char *name) {
  if (njl_json_is_null(r->L, index)) return -1;
  return njl_check_limit(r->L, index, r->function, name);
}

static void read_timeout(njl_reading *r, int value, njl_request *request) {
  static const char *const limits[] = {"connect", "idle", "total", NULL};
  static const char *const named[] = {"timeout.connect", "timeout.idle", "timeout.total"};
  double *const given[] = {&request->connect, &request->idle, &request->total};
  lua_State *L = r->L;
  if (!lua_istable(L, value)) {
    request->total = limit(r, value, "timeout");
    return;
  }
  for (lua_pushnil(L); lua_next(L, value) != 0; lua_pop(L, 1)) {
    int which = njl_check_option(L, -2, r->function, "timeout.", limits);
    *given[which] = limit(r, -1, named[which]);
  }
}

/* Returns a bit set of the options that are present. Checks all names before any value is read. */
static uint64_t options_present(lua_State *L, int options, const char *function) {
  uint64_t present = 0;
  for (lua_pushnil(L); lua_next(L, options) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      luaL_error(L, "%s: option names must be strings, got a %s", function, luaL_typename(L, -2));
    }
    present |= UINT64_C(1) << njl_check_option(L, -2, function, "", names);
  }
  return present;
}

void njl_check_option_names(lua_State *L, int options, const char *function) {
  options_present(L, options, function);
}

/* Pushes the option and returns true if it is present. */
static bool push_option(njl_reading *r, int options, uint64_t present, int option) {
  if ((present & UINT64_C(1) << option) == 0) return false;
  r->option = names[option];
  lua_pushstring(r->L, names[option]);
  lua_rawget(r->L, options);
  return true;
}

static njl_bytes read_string(njl_reading *r) {
  if (lua_type(r->L, -1) != LUA_TSTRING) njl_reading_mismatch(r, "a string", -1);
  njl_bytes text;
  text.data = lua_tolstring(r->L, -1, &text.length);
  njl_reading_keep(r);
  return text;
}

/* Reads { each = FUNCTION, length = }, a body that can be sent again. FUNCTION returns a function that returns the
 * parts. */
static void read_factory(njl_reading *r, int table, njl_request *request) {
  static const char *const known[] = {"each", "length", NULL};
  lua_State *L = r->L;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    switch (njl_check_option(L, -2, r->function, "body.", known)) {
    case 0:
      if (!njl_is_callable(L, -1)) {
        luaL_error(L, "%s: body.each must be a function, got %s", r->function, luaL_typename(L, -1));
      }
      request->restarts_body = true;
      break;
    case 1:
      if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 0) {
        luaL_error(L, "%s: body.length must be a non-negative integer, got %s", r->function,
                   luaL_tolstring(L, -1, NULL));
      }
      request->body_length = lua_tointeger(L, -1);
      break;
    }
  }
  if (!request->restarts_body) luaL_error(L, "%s: body.each is missing", r->function);
}

static void read_body(njl_reading *r, int options, uint64_t present, njl_request *request) {
  lua_State *L = r->L;
  uint64_t bodies = present & (1u << JSON | 1u << FORM | 1u << BODY | 1u << MULTIPART | 1u << FILE_);
  if ((bodies & (bodies - 1)) != 0) {
    luaL_error(L, "%s: only one of json, form, multipart, file and body may be set", r->function);
  }
  if (request->endpoint.data != NULL && push_option(r, options, present, JSON)) {
    njl_json_encode(L, -1, "json");
    request->value.data = lua_tolstring(L, -1, &request->value.length);
    njl_reading_keep(r);
    lua_pop(L, 1);
  } else if (push_option(r, options, present, JSON)) {
    njl_json_encode(L, -1, "json");
    set_body(r, request);
    lua_pop(L, 1);
    request->implied_type = NJL_TYPE_JSON;
  } else if (push_option(r, options, present, FORM)) {
    njl_pairs fields = {0};
    njl_reading_pairs(r, lua_gettop(L), &fields);
    push_form(L, &fields);
    set_body(r, request);
    lua_pop(L, 1);
    request->implied_type = NJL_TYPE_FORM;
  } else if (push_option(r, options, present, MULTIPART)) {
    njl_reading_form(r, lua_gettop(L), request);
    lua_pop(L, 1);
  } else if (push_option(r, options, present, FILE_)) {
    njl_reading_file(r, request);
  } else if (push_option(r, options, present, BODY)) {
    if (lua_isfunction(L, -1) || lua_istable(L, -1)) {
      request->streams_body = true;
      if (lua_istable(L, -1)) read_factory(r, lua_gettop(L), request);
      lua_pop(L, 1);
      return;
    }
    if (lua_type(L, -1) != LUA_TSTRING) njl_reading_mismatch(r, "a string, a function or { each = FUNCTION }", -1);
    request->body = read_string(r);
    request->has_body = true;
  }
}

/* Reads the remaining options as a JSON object. */
static void read_rare(njl_reading *r, int options, uint64_t present, njl_request *request) {
  lua_State *L = r->L;
  if (present >> RARE == 0) return;
  lua_newtable(L);
  for (int option = RARE; names[option] != NULL; option++) {
    if (!push_option(r, options, present, option)) continue;
    /* Otherwise, a sandboxed script could read cached responses of another partition of the host. */
    if (njl_host_open(L)->is_sandboxed && strcmp(names[option], "cache_partition") == 0) {
      luaL_error(L, "%s: cache_partition is not available in a sandbox", r->function);
    }
    lua_setfield(L, -2, names[option]);
  }
  njl_json_encode(L, -1, r->function);
  request->rare.data = lua_tolstring(L, -1, &request->rare.length);
  njl_reading_keep(r);
  lua_pop(L, 1);
}

/* Reads the name of an endpoint and its arguments, which determine method and target. */
static void read_endpoint(njl_reading *r, int options, uint64_t present, njl_request *request) {
  static const int known_by_it[] = {METHOD, PATH, PARAMS};
  size_t count = request->subrequest == NULL ? sizeof known_by_it / sizeof *known_by_it : 0;
  lua_State *L = r->L;
  for (size_t index = 0; index < count; index++) {
    if ((present & UINT64_C(1) << known_by_it[index]) == 0) continue;
    luaL_error(L, "%s: %s must not be set together with endpoint", r->function, names[known_by_it[index]]);
  }
  request->endpoint = read_string(r);
  if (!push_option(r, options, present, ARGUMENTS)) return;
  if (!lua_istable(L, -1)) njl_reading_mismatch(r, "a table", -1);
  njl_json_encode(L, -1, "arguments");
  request->arguments.data = lua_tolstring(L, -1, &request->arguments.length);
  njl_reading_keep(r);
  lua_pop(L, 1);
}

static void read_pairs(njl_reading *r, int options, uint64_t present, int option, njl_pairs *list) {
  if (!push_option(r, options, present, option)) return;
  njl_reading_pairs(r, lua_gettop(r->L), list);
  lua_pop(r->L, 1);
}

/* Checks the function options and sets a flag for each one that is present. hooks.c and refresh.c call the
 * functions. */
static void read_functions(njl_reading *r, int options, uint64_t present, njl_request *request) {
  static const int known[] = {ON_REDIRECT, ON_RETRY, ON_REFRESH, ON_PROGRESS, ON_WAITING};
  bool *const flags[] = {&request->decides_redirects, &request->decides_retries, &request->reports_refresh,
                         &request->reports_progress, &request->reports_waiting};
  for (size_t index = 0; index < sizeof known / sizeof *known; index++) {
    if (!push_option(r, options, present, known[index])) continue;
    if (!njl_is_callable(r->L, -1)) njl_reading_mismatch(r, "a function", -1);
    *flags[index] = true;
    lua_pop(r->L, 1);
  }
}

void njl_read_options(lua_State *L, int options, const char *function, bool reads_files, njl_request *request) {
  request->connect = request->idle = request->total = -1;
  request->body_length = -1;
  if (options == 0) return;
  options = lua_absindex(L, options);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  uint64_t present = options_present(L, options, function);
  if (present == 0) return;
  lua_newtable(L);
  njl_reading r = {.L = L, .function = function, .reads_files = reads_files, .anchors = lua_gettop(L)};
  njl_pairs query = {0}, params = {0}, headers = {0};

  if (push_option(&r, options, present, ENDPOINT)) read_endpoint(&r, options, present, request);
  else if ((present & UINT64_C(1) << ARGUMENTS) != 0) luaL_error(L, "%s: arguments require endpoint", function);
  if (push_option(&r, options, present, METHOD)) request->method = read_string(&r);
  if (push_option(&r, options, present, PATH)) request->target = read_string(&r);
  read_pairs(&r, options, present, QUERY, &query);
  read_pairs(&r, options, present, PARAMS, &params);
  read_pairs(&r, options, present, HEADERS, &headers);
  read_body(&r, options, present, request);
  if (push_option(&r, options, present, EXPECT)) {
    read_expected(&r, lua_gettop(L), request);
    lua_pop(L, 1);
  }
  if (push_option(&r, options, present, TIMEOUT)) {
    read_timeout(&r, lua_gettop(L), request);
    lua_pop(L, 1);
  }
  read_functions(&r, options, present, request);
  if (push_option(&r, options, present, STREAM)) {
    /* An event stream makes its connections with itself as the option. */
    request->events = njl_events_at(L, -1);
    if (request->events == NULL && !lua_isboolean(L, -1)) njl_reading_mismatch(&r, "a boolean", -1);
    request->is_streamed = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  read_rare(&r, options, present, request);

  request->query = query.items;
  request->query_count = query.count;
  request->params = params.items;
  request->param_count = params.count;
  request->headers = headers.items;
  request->header_count = headers.count;
}
