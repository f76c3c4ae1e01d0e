/* response.c - response objects. Fields are computed on access. */
#include <ctype.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/names.h"
#include "json/json.h"
#include "bindings/bindings.h"
#include "njl_future.h"

/* User values of a reply that is a response. */
enum { CACHED_JSON = 1, CACHED_HEADERS, CACHED_BODY };

/* The headers or the trailers of a response. */
typedef struct fields {
  njl_section section;
} fields;

/* The only user value of a headers object. */
enum { OWNER = 1 };

static njl_future *check_response(lua_State *L, int index, njl_response *response) {
  njl_reply *reply = njl_check(L, index, NJL_RESPONSE);
  if (!njl_future_response(reply->wait.call, response)) luaL_argerror(L, index, "the call has no response");
  return reply->wait.call;
}

/* Pushes a cached user value of the userdata at index 1. Returns false and pushes nothing if there is none. */
static bool push_cached(lua_State *L, int slot) {
  if (lua_getiuservalue(L, 1, slot) != LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

static int push_body(lua_State *L, const njl_response *response) {
  if (push_cached(L, CACHED_BODY)) return 1;
  lua_pushlstring(L, response->body.data, response->body.length);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, CACHED_BODY);
  return 1;
}

static int push_json(lua_State *L, const njl_response *response) {
  if (push_cached(L, CACHED_JSON)) return 1;
  njl_json_decode(L, "the response", response->body.data, response->body.length);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, CACHED_JSON);
  return 1;
}

int njl_push_tls(lua_State *L, njl_future *future) {
  size_t length = 0;
  const char *json = njl_future_text(future, NJL_TLS, &length);
  if (json == NULL) {
    lua_pushnil(L);
  } else {
    njl_json_decode(L, "the TLS details", json, length);
  }
  return 1;
}

/* Pushes an object for the fields of the response at index 1. */
static int push_fields(lua_State *L, njl_section section) {
  fields *self = lua_newuserdatauv(L, sizeof *self, 1);
  self->section = section;
  njl_set_type(L, NJL_HEADERS);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, OWNER);
  return 1;
}

static int push_headers(lua_State *L) {
  if (push_cached(L, CACHED_HEADERS)) return 1;
  push_fields(L, NJL_HEADER_SECTION);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, CACHED_HEADERS);
  return 1;
}

static void set_seconds(lua_State *L, const char *name, double seconds) {
  if (seconds < 0) return;
  lua_pushnumber(L, seconds);
  lua_setfield(L, -2, name);
}

/* res:curl{ show_secrets = true }, err:curl() -> a curl command line, or nil if no request was made */
int njl_curl(lua_State *L) {
  static const char *const known[] = {"show_secrets", NULL};
  njl_reply *reply = njl_test(L, 1, NJL_RESPONSE);
  if (reply == NULL) reply = njl_check(L, 1, NJL_ERROR);
  bool shows_secrets = false;
  if (!lua_isnoneornil(L, 2)) {
    if (!lua_istable(L, 2)) return luaL_error(L, "curl: options must be a table, got %s", luaL_typename(L, 2));
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
      njl_check_option(L, -2, "curl", "", known);
      if (!lua_isboolean(L, -1)) {
        return luaL_error(L, "curl: show_secrets must be a boolean, got %s", luaL_typename(L, -1));
      }
      shows_secrets = lua_toboolean(L, -1);
      if (shows_secrets && njl_host_open(L)->is_sandboxed) {
        return luaL_error(
            L, "curl: show_secrets is not available in a sandbox; the secrets belong to the host program");
      }
    }
  }
  if (njl_host_open(L)->is_sandboxed) return njl_push_field(L, reply->wait.call, NJL_CURL_OF_SANDBOX);
  return njl_push_field(L, reply->wait.call, shows_secrets ? NJL_CURL_WITH_SECRETS : NJL_CURL);
}

static int push_timing(lua_State *L, const njl_future *future) {
  njl_timing timing = {0};
  njl_future_timing(future, &timing);
  lua_createtable(L, 0, 8);
  set_seconds(L, "sent", timing.sent);
  set_seconds(L, "first_byte", timing.first_byte);
  set_seconds(L, "total", timing.total);
  set_seconds(L, "dns", timing.dns);
  set_seconds(L, "connect", timing.connect);
  set_seconds(L, "tls", timing.tls);
  lua_pushboolean(L, timing.reused);
  lua_setfield(L, -2, "reused");
  if (timing.stream > 0) {
    lua_pushinteger(L, timing.stream);
    lua_setfield(L, -2, "stream");
  }
  return 1;
}

/* Pushes the redirects that led to this response, first to last: a list of {status =, url =}. */
static int push_redirects(lua_State *L, njl_future *future) {
  lua_newtable(L);
  int status;
  size_t length;
  const char *url;
  for (size_t index = 0; (url = njl_future_redirect(future, index, &status, &length)) != NULL; index++) {
    lua_createtable(L, 0, 2);
    lua_pushinteger(L, status);
    lua_setfield(L, -2, "status");
    lua_pushlstring(L, url, length);
    lua_setfield(L, -2, "url");
    lua_rawseti(L, -2, (lua_Integer)index + 1);
  }
  return 1;
}

static const char *const field_names[] = {"status", "headers",  "body",   "json", "text",   "url",       "source",
                                          "attempts", "timing", "ok", "chunks", "close", "redirects", "curl",
                                          "peer", "explain", "idempotency_key", "refreshed", "tls", "lines", "ndjson",
                                          "events", "download", "start_download", "http_version", "trailers",
                                          "call_id", NULL};
enum {
  STATUS, HEADERS, BODY, JSON, TEXT, URL, SOURCE, ATTEMPTS, TIMING, OK, CHUNKS, CLOSE, REDIRECTS, CURL, PEER, EXPLAIN,
  IDEMPOTENCY_KEY, REFRESHED, TLS, LINES, NDJSON, EVENTS, DOWNLOAD, START_DOWNLOAD, HTTP_VERSION,
  TRAILERS, CALL_ID
};

static int response_index(lua_State *L) {
  njl_response response;
  njl_future *future = check_response(L, 1, &response);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL) {
    return njl_unknown_field(L, "response", luaL_tolstring(L, 2, NULL), field_names);
  }
  int field = (int)lua_tointeger(L, -1);
  if (response.is_streamed && (field == BODY || field == JSON || field == TEXT)) {
    return luaL_error(L, "the body of a streamed response must be read with res:chunks(), res:lines(), res:ndjson(), res:events() or res:download()");
  }
  switch (field) {
  case STATUS: lua_pushinteger(L, response.status); return 1;
  case HTTP_VERSION:
    lua_pushstring(L, response.http_version == 20 ? "2" : response.http_version == 10 ? "1.0" : "1.1");
    return 1;
  case HEADERS: return push_headers(L);
  case TRAILERS: return push_fields(L, NJL_TRAILER_SECTION);
  case CALL_ID: lua_pushinteger(L, (lua_Integer)njl_future_call_id(future)); return 1;
  case BODY: return push_body(L, &response);
  case JSON: return push_json(L, &response);
  case TEXT: return njl_push_field(L, future, NJL_TEXT);
  case URL: return njl_push_field(L, future, NJL_URL);
  case SOURCE: return njl_push_field(L, future, NJL_SOURCE);
  case ATTEMPTS: lua_pushinteger(L, response.attempts); return 1;
  case TIMING: return push_timing(L, future);
  case CHUNKS: lua_pushcfunction(L, njl_chunks); return 1;
  case LINES: lua_pushcfunction(L, njl_response_lines); return 1;
  case NDJSON: lua_pushcfunction(L, njl_response_ndjson); return 1;
  case EVENTS: lua_pushcfunction(L, njl_response_events); return 1;
  case DOWNLOAD: lua_pushcfunction(L, njl_response_download); return 1;
  case START_DOWNLOAD: lua_pushcfunction(L, njl_response_start_download); return 1;
  case CLOSE: lua_pushcfunction(L, njl_close_response); return 1;
  case CURL: lua_pushcfunction(L, njl_curl); return 1;
  case PEER: return njl_push_field(L, future, NJL_PEER);
  case TLS: return njl_push_tls(L, future);
  case EXPLAIN: lua_pushcfunction(L, njl_explain); return 1;
  case IDEMPOTENCY_KEY: return njl_push_field(L, future, NJL_IDEMPOTENCY_KEY);
  case REFRESHED: lua_pushcfunction(L, njl_refreshed); return 1;
  case REDIRECTS: return push_redirects(L, future);
  default: lua_pushboolean(L, response.status >= 200 && response.status < 300); return 1;
  }
}

static int response_describe(lua_State *L) {
  njl_response response;
  njl_future *future = check_response(L, 1, &response);
  lua_pushfstring(L, "response: %d, %I bytes from ", response.status, (LUAI_UACINT)response.body.length);
  njl_push_field(L, future, NJL_URL);
  lua_concat(L, 2);
  return 1;
}

/* --- Headers --- */

static njl_future *check_headers(lua_State *L, njl_response *response, njl_section *section) {
  const fields *self = njl_check(L, 1, NJL_HEADERS);
  *section = self->section;
  lua_getiuservalue(L, 1, OWNER);
  njl_future *future = check_response(L, -1, response);
  lua_pop(L, 1);
  return future;
}

/* Compares names case-insensitively; `_` matches `-`, so that res.headers.content_type works. */
static bool is_named(const njl_bytes *name, const char *wanted, size_t length) {
  if (name->length != length) return false;
  for (size_t index = 0; index < length; index++) {
    unsigned char a = (unsigned char)name->data[index], b = (unsigned char)wanted[index];
    if (b == '_') b = a == '_' ? '_' : '-';
    if (tolower(a) != tolower(b)) return false;
  }
  return true;
}

/* res.headers[name]. Joins the field lines of the same name as one list (RFC 9110 section 5.3). For Set-Cookie, returns
 * only the first line. pairs() returns each line. */
static int headers_index(lua_State *L) {
  njl_response response;
  njl_section section;
  njl_future *future = check_headers(L, &response, &section);
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  size_t length;
  const char *name = lua_tolstring(L, 2, &length);
  int found = 0;
  njl_pair field;
  bool is_sandboxed = njl_host_open(L)->is_sandboxed;
  for (size_t index = 0; njl_future_header(future, section, is_sandboxed, index, &field); index++) {
    if (!is_named(&field.name, name, length)) continue;
    if (found > 0 && is_named(&field.name, "set-cookie", 10)) break;
    if (found > 0) lua_pushliteral(L, ", ");
    lua_pushlstring(L, field.value.data, field.value.length);
    if (found > 0) lua_concat(L, 3);
    found++;
  }
  return found > 0;
}

static int headers_next(lua_State *L) {
  njl_response response;
  njl_section section;
  njl_future *future = check_headers(L, &response, &section);
  lua_Integer index = lua_tointeger(L, lua_upvalueindex(1));
  njl_pair field;
  if (!njl_future_header(future, section, njl_host_open(L)->is_sandboxed, (size_t)index, &field)) return 0;
  lua_pushinteger(L, index + 1);
  lua_replace(L, lua_upvalueindex(1));
  luaL_Buffer name;
  char *lower = luaL_buffinitsize(L, &name, field.name.length);
  for (size_t at = 0; at < field.name.length; at++) lower[at] = (char)tolower((unsigned char)field.name.data[at]);
  luaL_pushresultsize(&name, field.name.length);
  lua_pushlstring(L, field.value.data, field.value.length);
  return 2;
}

/* pairs(res.headers): each field line in the order received, names in lower case; in a sandbox, without the fields that
 * carry credentials */
static int headers_pairs(lua_State *L) {
  njl_check(L, 1, NJL_HEADERS);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, headers_next, 1);
  lua_pushvalue(L, 1);
  return 2;
}

static int headers_length(lua_State *L) {
  njl_response response;
  njl_section section;
  njl_future *future = check_headers(L, &response, &section);
  lua_pushinteger(L, (lua_Integer)njl_future_header_count(future, section, njl_host_open(L)->is_sandboxed));
  return 1;
}

void njl_open_response(lua_State *L) {
  static const luaL_Reg response[] = {{"__tostring", response_describe}, {"__gc", njl_reply_gc},
                                      {"__close", njl_close_response}, {NULL, NULL}};
  static const luaL_Reg headers[] = {
      {"__index", headers_index}, {"__pairs", headers_pairs}, {"__len", headers_length}, {NULL, NULL}};
  njl_push_metatable(L, NJL_RESPONSE, response);
  njl_push_field_numbers(L, field_names);
  lua_pushcclosure(L, response_index, 1);
  lua_setfield(L, -2, "__index");
  njl_push_metatable(L, NJL_HEADERS, headers);
  lua_pop(L, 2);
}
