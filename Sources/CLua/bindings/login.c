/* login.c - a client's tokens: token functions of the script, set_token, log_out and log_in. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/loop.h"
#include "core/names.h"
#include "core/task.h"
#include "core/wait.h"
#include "bindings/bindings.h"
#include "njl_callbacks.h"
#include "njl_calls.h"
#include "njl_future.h"
#include "njl_logins.h"

/* --- Token functions --- */

/* Makes the decision request fail with the message on top of the stack. */
static void fail(lua_State *L, njl_callback *callback) {
  njl_bytes message;
  message.data = lua_tolstring(L, -1, &message.length);
  njl_callback_fail(callback, message);
}

/* Handles the two results of the provider function, or its error. The task owns the decision request, which fails if
 * the task ends without a response. */
static int provided(lua_State *L, int status, lua_KContext context) {
  njl_callback *callback = ((njl_task *)context)->callback;
  if (status != LUA_OK && status != LUA_YIELD) {
    njl_push_message(L, -1);
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

/* Runs as the task of a decision request: calls the provider function. The stack: the provider function and its
 * argument. */
static int provide(lua_State *L) {
  lua_KContext task = (lua_KContext)njl_host_open(L)->current;
  return provided(L, lua_pcallk(L, 1, 2, 0, task, provided), task);
}

int njl_push_token_call(lua_State *L, njl_callback *callback) {
  lua_getiuservalue(L, -1, NJL_CLIENT_PROVIDERS);
  lua_rawgeti(L, -1, njl_callback_function(callback));
  lua_replace(L, -2);
  lua_pushcfunction(L, provide);
  lua_replace(L, -3);
  lua_createtable(L, 0, 1);
  lua_pushboolean(L, njl_callback_kind_of(callback) == NJL_TOKEN_REJECTED);
  lua_setfield(L, -2, "rejected");
  return 2;
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
  njl_check_options(L, 2, "set_token", "", known);
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
  njl_push_field(L, login, field);
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

/* The default prompt: writes the instructions to standard error. Opens the page if there is no code to enter. */
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

/* Waits for a login or a logout. The reply is on top of the stack. */
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

/* api:log_out{ scheme =, clear_cookies = } raises an error of the kind storage if the credential store, the cache or the
 * cookie file could not be changed. */
int njl_log_out(lua_State *L) {
  static const char *const known[] = {"scheme", "clear_cookies", NULL};
  check_login(L, "log_out");
  lua_settop(L, 2);
  njl_bytes scheme = {0};
  bool clears_cookies = false;
  if (!lua_isnil(L, 2)) {
    if (!lua_istable(L, 2)) return luaL_error(L, "log_out: options must be a table, got %s", luaL_typename(L, 2));
    njl_check_options(L, 2, "log_out", "", known);
    scheme = read_text(L, "log_out", "scheme", false);
    lua_pushliteral(L, "clear_cookies");
    if (lua_rawget(L, 2) != LUA_TNIL && !lua_isboolean(L, -1)) {
      return luaL_error(L, "log_out: clear_cookies must be a boolean, got %s", luaL_typename(L, -1));
    }
    clears_cookies = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  njl_host *host = njl_host_open(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  njl_reply *reply = (njl_reply *)njl_reply_push(L, host);
  njl_client *client = njl_check_client(L);
  njl_future *refusal = NULL;
  njl_future *logout = njl_logout_start(host->engine, client, &reply->wait, scheme, clears_cookies, &refusal);
  return await_start(L, reply, logout, refusal);
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
    njl_check_options(L, 2, "log_in", "", known);
    lua_pushliteral(L, "prompt");
    if (lua_rawget(L, 2) != LUA_TNIL && !njl_is_callable(L, -1)) {
      return luaL_error(L, "log_in: prompt must be a function, got %s", luaL_typename(L, -1));
    }
    scheme = read_text(L, "log_in", "scheme", false); /* The string stays on the stack until the login has started. */
  } else {
    lua_pushnil(L);
  }
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  njl_reply *reply = (njl_reply *)njl_reply_push(L, host);
  njl_client *client = njl_check_client(L);
  njl_future *refusal = NULL;
  return await_start(L, reply, njl_login_start(host->engine, client, &reply->wait, scheme, &refusal), refusal);
}
