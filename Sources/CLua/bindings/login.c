/* login.c - a client's tokens: token functions and login_required functions of the script, set_token, log_out and
 * log_in. Also runs the functions of mocks.
 *
 * Each function call runs in a task without a parent, because all waiting calls share the token: cancelling one of
 * them must not cancel it for the others. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "json/json.h"
#include "bindings/bindings.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- The option auth --- */

/* Moves the function `name` from the table `auth`, which messages call `prefix`, to the top of the stack. Returns
 * false if there is none. */
static bool take_function(lua_State *L, int auth, const char *prefix, const char *name) {
  lua_pushstring(L, name);
  if (lua_rawget(L, auth) == LUA_TNIL) {
    lua_pop(L, 1);
    return false;
  }
  if (!njl_is_callable(L, -1)) luaL_error(L, "client: %s%s must be a function, got %s", prefix, name, luaL_typename(L, -1));
  lua_pushstring(L, name);
  lua_pushnil(L);
  lua_rawset(L, auth);
  return true;
}

static void set_text(lua_State *L, int table, const char *name, const char *text) {
  lua_pushstring(L, name);
  lua_pushstring(L, text);
  lua_rawset(L, table);
}

/* Describes a token function as a login in the option schema, because its tokens are stored and refreshed like those
 * of a login. The client never sends that login's request. */
static void describe_provided(lua_State *L, int auth, const char *prefix) {
  static const char *const known[] = {"type", "access_token", "expires_in", "skew", "refresh_timeout", "refresh_limit",
                                      NULL};
  for (lua_pushnil(L); lua_next(L, auth) != 0; lua_pop(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
    if (njl_find_name(L, -2, known) < 0) njl_unknown_option(L, "client", prefix, name, known);
  }
  static const char *const types[] = {"bearer", NULL};
  lua_pushliteral(L, "type");
  lua_rawget(L, auth);
  if (njl_find_name(L, -1, types) < 0) luaL_error(L, "client: %sprovider requires the type \"bearer\"", prefix);
  lua_pop(L, 1);
  set_text(L, auth, "type", "login");
  set_text(L, auth, "url", "");
  lua_pushliteral(L, "json");
  lua_newtable(L);
  lua_rawset(L, auth);
}

/* Appends the provider function of the credentials at `auth`, if there is one, to the list at `providers`. */
static bool take_provider(lua_State *L, int auth, int providers, const char *prefix) {
  if (!take_function(L, auth, prefix, "provider")) return false;
  lua_rawseti(L, providers, (lua_Integer)lua_rawlen(L, providers) + 1);
  describe_provided(L, auth, prefix);
  return true;
}

/* The same for all schemes in the copy of the option auth.schemes on top of the stack. Writes the names of the
 * schemes to `names`, which must have room for all of them; the copy keeps the strings alive. */
static size_t take_scheme_providers(lua_State *L, int providers, njl_bytes *names) {
  size_t count = 0;
  int schemes = lua_gettop(L), name = schemes + 1;
  for (lua_pushnil(L); lua_next(L, schemes) != 0; lua_settop(L, name)) {
    if (lua_type(L, name) != LUA_TSTRING || !lua_istable(L, -1)) continue;
    const char *prefix = lua_pushfstring(L, "auth.schemes.%s.", lua_tostring(L, name));
    njl_push_copy(L, name + 1);
    if (!take_provider(L, lua_gettop(L), providers, prefix)) continue;
    names[count].data = lua_tolstring(L, name, &names[count].length);
    count++;
    lua_pushvalue(L, name);
    lua_insert(L, -2);
    lua_rawset(L, schemes);
  }
  return count;
}

static size_t count_members(lua_State *L, int table) {
  size_t count = 0;
  table = lua_absindex(L, table);
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) count++;
  return count;
}

void njl_read_login(lua_State *L, int options, int client, njl_listener *listener) {
  int top = lua_gettop(L);
  lua_pushliteral(L, "auth");
  if (lua_rawget(L, options) != LUA_TTABLE) return lua_settop(L, top);
  njl_push_copy(L, -1);
  int auth = lua_gettop(L);
  listener->reports_logins = take_function(L, auth, "auth.", "on_login_required");
  if (listener->reports_logins) lua_setiuservalue(L, client, NJL_CLIENT_LOGIN_REQUIRED);
  lua_newtable(L);
  int providers = lua_gettop(L);
  lua_pushliteral(L, "schemes");
  bool has_schemes = lua_rawget(L, auth) == LUA_TTABLE;
  /* Counts the copy: an allocation may run a finalizer that changes the script's table. */
  if (has_schemes) {
    njl_push_copy(L, -1);
    lua_replace(L, -2);
  }
  njl_bytes *names = lua_newuserdatauv(L, (has_schemes ? count_members(L, -1) + 1 : 1) * sizeof *names, 0);
  lua_rawseti(L, providers, 0); /* keeps it alive */
  listener->provided = names;
  if (take_provider(L, auth, providers, "auth.")) {
    *names = (njl_bytes){0};
    listener->provided_count = 1;
  } else if (has_schemes) {
    listener->provided_count = take_scheme_providers(L, providers, names);
    lua_pushliteral(L, "schemes");
    lua_insert(L, -2);
    lua_rawset(L, auth);
  }
  lua_pushvalue(L, providers);
  lua_setiuservalue(L, client, NJL_CLIENT_PROVIDERS);
  if (listener->provided_count > 0 || listener->reports_logins) {
    njl_push_copy(L, options);
    lua_pushliteral(L, "auth");
    lua_pushvalue(L, auth);
    lua_rawset(L, -3);
    lua_replace(L, options);
  }
  lua_settop(L, top);
}

/* --- Decision requests --- */

static void fail(lua_State *L, njl_callback *callback) {
  njl_bytes message;
  message.data = lua_tolstring(L, -1, &message.length);
  njl_callback_fail(callback, message);
}

/* Handles the two results of the function, or its error. The task owns the token request, which fails if the
 * task ends without a response. */
static int provided(lua_State *L, int status, lua_KContext context) {
  njl_callback *callback = ((njl_task *)context)->callback;
  if (status != LUA_OK && status != LUA_YIELD) {
    /* Only the message: the URL of an error object belongs to another call. */
    if (njl_test(L, -1, NJL_ERROR) != NULL) lua_getfield(L, -1, "message");
    else luaL_tolstring(L, -1, NULL);
    fail(L, callback);
    return 0;
  }
  if (lua_isnil(L, 1)) {
    njl_callback_end_login(callback);
    return 0;
  }
  if (lua_type(L, 1) != LUA_TSTRING) {
    lua_pushfstring(L, "auth.provider must return a string or nil, got %s", luaL_typename(L, 1));
    fail(L, callback);
    return 0;
  }
  bool is_forever = lua_isnil(L, 2);
  lua_Number lifetime = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : -1;
  if (!is_forever && !(lifetime >= 0)) {
    lua_pushliteral(L, "auth.provider must return a non-negative number of seconds as its second value");
    fail(L, callback);
    return 0;
  }
  njl_bytes token;
  token.data = lua_tolstring(L, 1, &token.length);
  njl_callback_provide(callback, token, lifetime);
  return 0;
}

/* The task's function. Its arguments are the provider function and its argument. */
static int provide(lua_State *L) {
  lua_KContext task = (lua_KContext)njl_host_open(L)->current;
  return provided(L, lua_pcallk(L, 1, 2, 0, task, provided), task);
}

/* A decision request, passed to begin(). */
typedef struct subrequest {
  njl_callback *handle; /* NULL: the task owns it */
  int64_t client;
  njl_callback_kind kind;
  njl_task *task; /* the task that was spawned for it */
} subrequest;

/* Spawns the task for the subrequest at index 1. */
static int begin(lua_State *L) {
  subrequest *subrequest = lua_touserdata(L, 1);
  if (!njl_push_numbered(L, subrequest->client)) return 0; /* The client or mock was collected, so the request fails. */
  if (subrequest->kind == NJL_MOCK_REQUEST) {
    subrequest->task = njl_task_spawn(L, njl_host_open(L), njl_mock_push_call(L, subrequest->handle));
    subrequest->task->is_observed = true;
    subrequest->task->callback = subrequest->handle;
    subrequest->handle = NULL;
    return 0;
  }
  bool needs_response = subrequest->kind != NJL_LOGIN_REQUIRED;
  if (needs_response) lua_pushcfunction(L, provide);
  lua_getiuservalue(L, 2, needs_response ? NJL_CLIENT_PROVIDERS : NJL_CLIENT_LOGIN_REQUIRED);
  if (needs_response) {
    lua_rawgeti(L, -1, njl_callback_function(subrequest->handle));
    lua_replace(L, -2);
    lua_createtable(L, 0, 1);
    lua_pushboolean(L, subrequest->kind == NJL_TOKEN_REJECTED);
    lua_setfield(L, -2, "rejected");
  }
  subrequest->task = njl_task_spawn(L, njl_host_open(L), needs_response ? 2 : 0);
  subrequest->task->is_observed = needs_response;
  subrequest->task->callback = subrequest->handle;
  subrequest->handle = NULL;
  return 0;
}

void njl_handle_login_callbacks(lua_State *L, njl_host *host) {
  while (host->engine != NULL && lua_checkstack(L, LUA_MINSTACK)) {
    subrequest subrequest = {0};
    subrequest.handle = njl_engine_next_callback(host->engine, &subrequest.client, &subrequest.kind);
    if (subrequest.handle == NULL) return;
    njl_task_begin(L, host, begin, &subrequest);
    /* Runs the task before the tasks that wait for its result. */
    if (subrequest.task != NULL) njl_make_first(subrequest.task);
    njl_callback_release(subrequest.handle);
  }
}

/* --- Tokens set by the script --- */

static njl_bytes read_text(lua_State *L, const char *function, const char *name, bool is_needed) {
  njl_bytes text = {0};
  lua_pushstring(L, name);
  int type = lua_rawget(L, 2);
  if (type == LUA_TNIL && is_needed) luaL_error(L, "%s: %s is missing", function, name);
  if (type != LUA_TNIL && type != LUA_TSTRING) {
    luaL_error(L, "%s: %s must be a string, got %s", function, name, luaL_typename(L, -1));
  }
  if (type == LUA_TSTRING) text.data = lua_tolstring(L, -1, &text.length);
  return text; /* The string stays on the stack, which keeps it alive. */
}

/* Raises in a sandbox: a sandboxed script must not change the host program's login. */
static void check_login(lua_State *L, const char *function) {
  njl_check_client(L);
  if (njl_host_open(L)->is_sandboxed) {
    luaL_error(L, "%s: not available in a sandbox; the login belongs to the host program", function);
  }
}

/* api:set_token{ access_token =, refresh_token =, expires_in =, scheme = } */
int njl_set_token(lua_State *L) {
  static const char *const known[] = {"access_token", "refresh_token", "expires_in", "scheme", NULL};
  check_login(L, "set_token");
  if (!lua_istable(L, 2)) return luaL_error(L, "set_token: a table expected, got %s", luaL_typename(L, 2));
  lua_settop(L, 2);
  for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
    if (njl_find_name(L, -2, known) < 0) return njl_unknown_option(L, "set_token", "", name, known);
  }
  njl_token token = {.access = read_text(L, "set_token", "access_token", true),
                     .refresh = read_text(L, "set_token", "refresh_token", false),
                     .scheme = read_text(L, "set_token", "scheme", false)};
  token.lifetime = -1;
  lua_pushliteral(L, "expires_in");
  if (lua_rawget(L, 2) != LUA_TNIL) {
    token.lifetime = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
    if (!(token.lifetime >= 0)) return luaL_error(L, "set_token: expires_in must be a non-negative number of seconds");
  }
  njl_reply *error = njl_error_push(L);
  /* Finalizers may have closed the client. */
  if (!njl_client_set_token(njl_check_client(L), &token, &error->wait.call)) return lua_error(L);
  return 0;
}

/* --- Logging in and out --- */

/* The stack of api:log_in: the client, the wait, and the function that shows the prompt, or nil. */
enum { LOGIN = 2, PROMPT };

static int logged_in(lua_State *L, int status, lua_KContext context);

static int await_login(lua_State *L, njl_reply *reply) {
  lua_settop(L, PROMPT);
  njl_call_await(reply->wait.host->engine, reply->wait.call, &reply->wait);
  reply->wait.state = NJL_PENDING;
  reply->wait.host->calls++;
  return njl_await(L, &reply->wait, logged_in);
}

static int prompted(lua_State *L, int status, lua_KContext context) {
  njl_reply *reply = (njl_reply *)context;
  if (status != LUA_OK && status != LUA_YIELD) { /* The prompt failed, so the login is cancelled. */
    njl_call_cancel(reply->wait.call);
    return lua_error(L);
  }
  return await_login(L, reply);
}

static void set_prompt(lua_State *L, njl_future *login, njl_field field, const char *name) {
  size_t length = 0;
  const char *text = njl_future_text(login, field, &length);
  if (text == NULL) return;
  lua_pushlstring(L, text, length);
  lua_setfield(L, -2, name);
}

/* Opens a page in the program named by BROWSER or in the desktop's browser, if there is one. The browser is not a
 * child of this process. The URL is passed to the shell as a single word. */
static void open_page(const char *url) {
  const char *browser = getenv("BROWSER");
  if (browser == NULL || *browser == 0) {
    if (getenv("DISPLAY") == NULL && getenv("WAYLAND_DISPLAY") == NULL) return;
    browser = "xdg-open";
  }
  char *arguments[] = {"sh", "-c", "$0 \"$1\" >/dev/null 2>&1 &", (char *)browser, (char *)url, NULL};
  pid_t shell;
  if (posix_spawn(&shell, "/bin/sh", NULL, NULL, arguments, environ) == 0) {
    while (waitpid(shell, NULL, 0) < 0 && errno == EINTR) {}
  }
}

/* The default prompt: writes the instructions to standard error and opens the page. */
static int write_prompt(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_getfield(L, 1, "url") == LUA_TSTRING) {
    lua_writestringerror("To log in, open %s\n", lua_tostring(L, -1));
    open_page(lua_tostring(L, -1));
    return 0;
  }
  lua_getfield(L, 1, "page");
  lua_getfield(L, 1, "user_code");
  lua_writestringerror("To log in, open %s", luaL_optstring(L, -2, ""));
  lua_writestringerror(" and type %s\n", luaL_optstring(L, -1, ""));
  return 0;
}

static int logged_in(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_reply *reply = (njl_reply *)context;
  njl_future *login = reply->wait.call;
  if (!njl_login_prompts(login)) return njl_login_has_failed(login) ? njl_reply_finish(L, LOGIN) : 0;
  lua_settop(L, PROMPT);
  if (lua_isnil(L, PROMPT)) lua_pushcfunction(L, write_prompt);
  else lua_pushvalue(L, PROMPT);
  lua_createtable(L, 0, 3);
  set_prompt(L, login, NJL_PROMPT_URL, "url");
  set_prompt(L, login, NJL_PROMPT_CODE, "user_code");
  set_prompt(L, login, NJL_PROMPT_PAGE, "page");
  set_prompt(L, login, NJL_PROMPT_COMPLETE_PAGE, "complete_page");
  return prompted(L, lua_pcallk(L, 1, 0, 0, context, prompted), context);
}

/* Waits for a login or a logout. Its reply is on top of the stack. */
static int await_start(lua_State *L, njl_reply *reply, njl_future *started, njl_future *refusal) {
  lua_replace(L, LOGIN);
  reply->wait.call = started;
  if (started == NULL) {
    reply->wait.call = refusal;
    reply->wait.state = NJL_DONE;
    return njl_reply_finish(L, LOGIN);
  }
  reply->wait.host->calls++;
  return njl_await(L, &reply->wait, logged_in);
}

/* api:log_out{ scheme = } raises an error of the kind storage if the credential store or the cache could not be
 * changed. */
int njl_log_out(lua_State *L) {
  static const char *const known[] = {"scheme", NULL};
  check_login(L, "log_out");
  lua_settop(L, 2);
  njl_bytes scheme = {0};
  if (!lua_isnil(L, 2)) {
    if (!lua_istable(L, 2)) return luaL_error(L, "log_out: options must be a table, got %s", luaL_typename(L, 2));
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
      const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
      if (njl_find_name(L, -2, known) < 0) return njl_unknown_option(L, "log_out", "", name, known);
    }
    scheme = read_text(L, "log_out", "scheme", false);
  }
  njl_host *host = njl_host_open(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  njl_reply *reply = (njl_reply *)njl_reply_push(L, host);
  njl_client *client = njl_check_client(L);
  njl_future *refusal = NULL;
  return await_start(L, reply, njl_logout_start(host->engine, client, &reply->wait, scheme, &refusal), refusal);
}

/* api:log_in{ prompt = function(info) end, scheme = } logs in with a device code or in the browser, depending on the
 * grant. For other grants it obtains the token that a call would wait for. */
int njl_log_in(lua_State *L) {
  static const char *const known[] = {"prompt", "scheme", NULL};
  check_login(L, "log_in");
  njl_host *host = njl_host_open(L);
  njl_bytes scheme = {0};
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) {
    if (!lua_istable(L, 2)) return luaL_error(L, "log_in: options must be a table, got %s", luaL_typename(L, 2));
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
      const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
      if (njl_find_name(L, -2, known) < 0) return njl_unknown_option(L, "log_in", "", name, known);
      if (strcmp(name, "prompt") == 0 && !njl_is_callable(L, -1)) {
        return luaL_error(L, "log_in: prompt must be a function, got %s", luaL_typename(L, -1));
      }
    }
    lua_pushliteral(L, "prompt");
    lua_rawget(L, 2);
    scheme = read_text(L, "log_in", "scheme", false); /* Above the prompt until the login has started. */
  } else {
    lua_pushnil(L);
  }
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  njl_reply *reply = (njl_reply *)njl_reply_push(L, host);
  njl_client *client = njl_check_client(L);
  njl_future *refusal = NULL;
  return await_start(L, reply, njl_login_start(host->engine, client, &reply->wait, scheme, &refusal), refusal);
}
