/* bindings.h - clients, requests, responses and what belongs to them. */
#ifndef NJL_BINDINGS_H
#define NJL_BINDINGS_H

#include "core/core.h"

/* batch.c */
int njl_batch(lua_State *L) NJL_YIELDS;

/* client.c */
/* That at index 1, or raises: what it is not, or that it is closed. */
njl_client *njl_check_client(lua_State *L) NJL_RAISES;
/* A number for the userdata at `index`, by which it is found as long as somebody else keeps it. */
lua_Integer njl_number(lua_State *L, njl_host *host, int index) NJL_RAISES;
bool njl_push_numbered(lua_State *L, lua_Integer number); /* false: it has gone, and nothing is pushed */
int njl_answered(lua_State *L, int status, lua_KContext context) NJL_YIELDS; /* what a call does when its wait is over */
/* Starts the request with the client at index 1 and waits, the reply at index 2, to go on in `then`; the rest of the stack is
 * the request's. The options are at index `options`. */
int njl_send(lua_State *L, const njl_request *request, int options, lua_KFunction then) NJL_YIELDS;
int njl_send_request(lua_State *L) NJL_YIELDS; /* api:request: of the client at index 1, the request at index 2 */
bool njl_client_has_hooks(lua_State *L) NJL_RAISES; /* the one at index 1 */
int njl_client_open(lua_State *L) NJL_YIELDS;
void njl_open_client(lua_State *L) NJL_RAISES;

/* login.c */
/* Reads the functions of the option auth of the table at `options` into the client and the listener. Where there are any,
 * replaces that table by one that JSON can hold. */
void njl_read_login(lua_State *L, int options, int client, njl_listener *listener) NJL_RAISES;
/* Begins a task for each question that has come in. */
void njl_ask_logins(lua_State *L, njl_host *host);
int njl_sign_in(lua_State *L) NJL_RAISES;
int njl_sign_out(lua_State *L) NJL_YIELDS;
int njl_log_in(lua_State *L) NJL_YIELDS;

/* mock.c */
/* Pushes a mock of the routes in the table at `index`. */
void njl_mock_push(lua_State *L, njl_host *host, int index) NJL_YIELDS;
const njl_mock *njl_mock_at(lua_State *L, int index); /* NULL: it is none */
int njl_mock_open(lua_State *L) NJL_YIELDS;
/* Pushes what answers a question of a mock, which is on the top of the stack and is replaced, and its arguments. */
int njl_mock_push_call(lua_State *L, njl_question *question) NJL_RAISES;
void njl_open_mock(lua_State *L) NJL_RAISES;

/* errand.c */
/* Pushes what makes calls through the hooks of the client at index 1, if that has any, and else nil. The options of each call are
 * those at `options`; 0: there are none. Returns its number; 0: there is none. */
lua_Integer njl_caller_push(lua_State *L, njl_host *host, int options) NJL_RAISES;
lua_Integer njl_caller_number(lua_State *L, int caller);
/* Whether the running task makes one of its calls, or belongs to one that does. */
bool njl_caller_is_running(lua_State *L, int caller, const njl_host *host);
/* Raises the error at the top; where a hook of a call of the caller at `caller` has raised another, that. */
int njl_caller_raise(lua_State *L, int caller) NJL_RAISES;
/* Begins a task for each errand that has come in, and cancels those of calls that nobody wants any more. */
void njl_run_errands(lua_State *L, njl_host *host);

/* limits.c */
int njl_limits(lua_State *L) NJL_RAISES;

/* cookies.c */
/* Keeps what Swift lends for the length of a call that may raise in its middle. A userdata. */
typedef struct njl_loan {
  njl_cookie_list *list;
  njl_text *text;
} njl_loan;
njl_loan *njl_loan_push(lua_State *L) NJL_RAISES;
int njl_cookies_push(lua_State *L) NJL_RAISES; /* of the client at index 1; nil where it keeps none */
void njl_open_cookies(lua_State *L) NJL_RAISES;

/* endpoints.c */
int njl_endpoints_push(lua_State *L) NJL_RAISES; /* of the client at index 1, the same each time */
const njl_catalog *njl_endpoints_of(lua_State *L) NJL_RAISES; /* of the client at index 1; pushes what keeps it */
int njl_load_openapi(lua_State *L) NJL_YIELDS;
void njl_open_endpoints(lua_State *L) NJL_RAISES;

/* cache.c */
int njl_cache_push(lua_State *L) NJL_RAISES; /* of the client at index 1; nil where it has none */
void njl_open_cache(lua_State *L) NJL_RAISES;

/* refresh.c */
int njl_refreshed(lua_State *L) NJL_YIELDS;
/* Of the reply at `index` whose answer is there: begins the task that its function waits in for the fresh one. */
void njl_hear_of_refresh(lua_State *L, int index) NJL_RAISES;

/* paginate.c */
int njl_paginate(lua_State *L) NJL_YIELDS;

/* list.c */
void njl_list_push(lua_State *L, njl_host *host) NJL_RAISES;              /* of the client at index 1; closed as yet */
void njl_list_decide_by(lua_State *L, int index) NJL_RAISES;              /* pops the function that says how the list goes on */
void njl_list_call_by(lua_State *L, int index);                /* pops its caller of errand.c, or nil */
void njl_list_open(lua_State *L, int index, njl_pages *pages); /* gives it its pages, to own */
void njl_open_list(lua_State *L) NJL_RAISES;

/* request.c */
/* Reads the option table at `options` (0: there is none) into `request`, whose pointers then go to strings and
 * buffers on this stack: use it before anything is popped. Raises what is wrong, with `function` in the text; a file to
 * send too, unless `reads_files`. */
void njl_read_options(lua_State *L, int options, const char *function, bool reads_files, njl_request *request) NJL_YIELDS;

/* The longest limit of time, in seconds. */
#define NJL_MOST_SECONDS 3153600000.0

/* The limit of time in seconds at `index`: 0 for none, which 0, false and infinity mean. Raises "FUNCTION: NAME must be ..." for
 * anything else that is not between 0 and NJL_MOST_SECONDS. */
double njl_check_limit(lua_State *L, int index, const char *function, const char *name) NJL_RAISES;

/* Raises a name in the option table at `options` that is none of a call. */
void njl_check_option_names(lua_State *L, int options, const char *function) NJL_RAISES;

/* error.c */
void njl_open_error(lua_State *L) NJL_RAISES;

/* response.c */
int njl_curl(lua_State *L) NJL_RAISES;
void njl_open_response(lua_State *L) NJL_RAISES;

/* explain.c */
int njl_explain(lua_State *L) NJL_RAISES;
int njl_push_earlier(lua_State *L, const njl_outcome *outcome) NJL_RAISES; /* a list of error objects */
int njl_new_idempotency_key(lua_State *L) NJL_RAISES;
void njl_open_explain(lua_State *L) NJL_RAISES;

/* stream.c */
int njl_chunks(lua_State *L) NJL_RAISES;
int njl_close_response(lua_State *L) NJL_RAISES;
/* For a request whose body is pulled: how high the caller's stack is then. */
#define NJL_BODY_TOP 5
/* Puts the option at `body`, the last of the stack, in its place; cancels the call when it is left early. */
void njl_guard_body(lua_State *L, njl_wait *wait, int body) NJL_RAISES;
int njl_pull_body(lua_State *L, njl_wait *wait) NJL_YIELDS; /* asks its function for a part and goes on waiting */

/* log.c */
/* Reads the log option of the table at `options`: pushes its function and returns its level, or returns 0. */
int njl_read_log(lua_State *L, int options) NJL_RAISES;
void njl_write_log(lua_State *L, njl_host *host) NJL_RAISES; /* Runs the functions of the lines that have come in. */

/* hooks.c */
/* User values of a client: functions, and the objects of its cookies, its cache and its endpoints. */
enum {
  NJL_CLIENT_LOG = 1,
  NJL_CLIENT_COOKIES,
  NJL_CLIENT_CACHE,
  NJL_CLIENT_BEFORE,
  NJL_CLIENT_AFTER,
  NJL_CLIENT_PROVIDERS, /* a list of them */
  NJL_CLIENT_LOGIN_REQUIRED,
  NJL_CLIENT_ENDPOINTS,
  NJL_CLIENT_MOCK,
  NJL_CLIENT_VALUES = NJL_CLIENT_MOCK
};
/* Reads the options before and after of the table at `options` into the client. False: there are none. */
bool njl_read_hooks(lua_State *L, int options, int client) NJL_RAISES;
/* A copy of the options at `options`, which may be none, for hooks to change. */
void njl_push_request(lua_State *L, int options) NJL_RAISES;
/* Calls `request` with the client at index 1 and the request at index 2, which are all of the stack, between its hooks. */
int njl_call_hooked(lua_State *L, lua_CFunction request) NJL_YIELDS;
int njl_ask_redirect(lua_State *L, njl_reply *reply) NJL_YIELDS; /* asks the function, and goes on waiting */
/* Tells the call's function how far it has come. */
int njl_tell_progress(lua_State *L, njl_reply *reply, const njl_progress *progress) NJL_YIELDS;
int njl_ask_retry(lua_State *L, njl_reply *reply) NJL_YIELDS;    /* likewise */
void njl_push_copy(lua_State *L, int table) NJL_RAISES;

/* function.c */
void njl_push_function(lua_State *L, njl_function *function) NJL_RAISES;
void njl_push_value(lua_State *L, const njl_value *value) NJL_RAISES;

njl_value njl_value_at(lua_State *L, int index) NJL_RAISES;

#endif
