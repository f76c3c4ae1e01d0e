/* bindings.h - clients, requests, responses and related objects. */
#ifndef NJL_BINDINGS_H
#define NJL_BINDINGS_H

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/failure.h"
#include "core/host.h"
#include "njl_calls.h"
#include "njl_clients.h"
#include "njl_cookies.h"
#include "njl_endpoints.h"
#include "njl_functions.h"
#include "njl_pages.h"
#include "njl_request.h"

/* batch.c */
int njl_batch(lua_State *L) NJL_YIELDS;

/* client.c */
/* Returns the client at index 1. Raises an error if the value is not a client or if the client is closed. */
njl_client *njl_check_client(lua_State *L) NJL_RAISES;
/* Raises the error `reentrant` if the running task must not wait for the client in a user value of the object, see
 * njl_check_caller. */
void njl_check_owner(lua_State *L, int object, int value) NJL_RAISES;
/* Continues a call after its wait has ended. Handles a pending event (a body part, a decision, progress), or returns
 * the response or raises the error. */
int njl_responded(lua_State *L, int status, lua_KContext context) NJL_YIELDS;
/* Starts the request with the client at index 1, replaces index 2 by the reply, waits, and then continues in `then`.
 * The options are at index `options`. Removes the values above index 2 before the wait, unless the body is streamed from
 * the script. If the call cannot start, finishes with its error and does not run `then`. */
int njl_send(lua_State *L, const njl_request *request, int options, lua_KFunction then) NJL_YIELDS;
int njl_send_request(lua_State *L) NJL_YIELDS; /* sends the request at index 2 with the client at index 1 */
bool njl_client_has_hooks(lua_State *L) NJL_RAISES; /* for the client at index 1 */
bool njl_client_is_shared(lua_State *L) NJL_RAISES; /* whether the host program owns the client */
int njl_client_open(lua_State *L) NJL_YIELDS;
void njl_open_client(lua_State *L) NJL_RAISES;

/* numbers.c */
/* Returns a number for the userdata at `index`, by which njl_push_numbered finds the userdata. The number does not keep
 * the userdata alive. */
lua_Integer njl_number(lua_State *L, njl_host *host, int index) NJL_RAISES;
/* Pushes the userdata. Returns false and pushes nothing if it was collected. */
bool njl_push_numbered(lua_State *L, lua_Integer number);

/* client_options.c */
/* Pushes the options at index 1 (nil: none) as JSON text. Leaves out the options that may have functions, and writes
 * infinite timeouts as 0, because JSON has neither functions nor infinity. Replaces the options at index 1 by a copy. */
void njl_encode_client_options(lua_State *L) NJL_YIELDS;

/* callbacks.c */
/* Starts a task for each decision request and notification that has arrived. */
void njl_handle_callbacks(lua_State *L, njl_host *host);

/* login.c, login_options.c */
/* Moves the functions in the `auth` option of the table at `options` into the client and the listener. If there are
 * functions, replaces the table by a copy that can be encoded as JSON. */
void njl_read_login(lua_State *L, int options, int client, njl_listener *listener) NJL_RAISES;
/* Replaces the client on top of the stack by a function that handles the request for a token. Pushes the arguments of the
 * function and returns their number. */
int njl_push_token_call(lua_State *L, njl_callback *callback) NJL_RAISES;
int njl_set_token(lua_State *L) NJL_RAISES;
int njl_log_out(lua_State *L) NJL_YIELDS;
int njl_client_drain(lua_State *L) NJL_YIELDS;
int njl_log_in(lua_State *L) NJL_YIELDS;

/* pinning.c */
/* Moves the function in the `tls` option of the table at `options` into the client and the listener. If the option has a
 * function or pins, replaces the table by a copy that can be encoded as JSON. */
void njl_read_pinning(lua_State *L, int options, int client, njl_listener *listener) NJL_RAISES;
/* Replaces the client on top of the stack by its function for pin mismatches and the report of the notification. */
void njl_push_pin_report(lua_State *L, njl_callback *callback) NJL_RAISES;
int njl_set_pinning(lua_State *L) NJL_RAISES;

/* observer.c */
/* Replaces the client on top of the stack by a function that passes the waiting steps to the observer. Pushes the argument of
 * the function and returns the number of arguments. */
int njl_push_observer_call(lua_State *L);

/* callback_task.c */
/* Responds to a decision request with the results of a Lua function. */
typedef struct njl_responder {
  int results;           /* of the function */
  lua_CFunction respond; /* receives the results and the decision request as a light userdata */
} njl_responder;
/* Runs as the task of a decision request: calls a function with its arguments, which are all on the stack, and responds
 * with its results. An error of the function or of the responder fails the request. */
int njl_call_and_respond(lua_State *L, const njl_responder *responder) NJL_RAISES;
/* The stack of a responder with two results. */
enum { NJL_FIRST_RESULT = 1, NJL_SECOND_RESULT, NJL_DECISION_REQUEST };
/* Respond to the decision request: with the default; with the table NJL_FIRST_RESULT as JSON; with a failure whose
 * message is NJL_SECOND_RESULT, which may be any value (nil: no message). Return 0. */
int njl_respond_default(lua_State *L);
int njl_respond_table(lua_State *L) NJL_YIELDS;
int njl_respond_failure(lua_State *L) NJL_RAISES;
/* Raises an error if the running task, or a task above it, runs a function that resolves names or decides about addresses
 * for the client with the number `client`, or a function of the token store with the number `store` (0: none). The client
 * waits for this function, so the function must not wait for the client. */
void njl_check_caller(lua_State *L, const njl_host *host, lua_Integer client, lua_Integer store) NJL_RAISES;

/* client_decisions.c */
/* Moves the functions in the options `on_challenge`, `on_request` and `on_store` of the table at `options` into the client
 * and the listener. */
void njl_read_decisions(lua_State *L, int options, int client, njl_listener *listener) NJL_RAISES;
/* Replaces the client on top of the stack by a function that decides the challenge. Pushes the arguments of the function
 * and returns their number. */
int njl_push_challenge_call(lua_State *L, njl_callback *callback) NJL_RAISES;
/* Do the same for the request of a call, and for a response that the cache could store. */
int njl_push_request_call(lua_State *L, njl_callback *callback) NJL_RAISES;
int njl_push_store_call(lua_State *L, njl_callback *callback) NJL_RAISES;
/* Replaces the client on top of the stack by `decide`. Pushes the function of the client in the slot, and the decision
 * request as a table. `what` names the request in messages. */
void njl_push_decision_call(lua_State *L, njl_callback *callback, int slot, lua_CFunction decide,
                            const char *what) NJL_RAISES;

/* client_addresses.c */
/* Moves the functions in the options `resolver` and `on_addresses` of the table at `options` into the client and the
 * listener. */
void njl_read_address_functions(lua_State *L, int options, int client, njl_listener *listener) NJL_RAISES;
/* Replace the client on top of the stack by a function that resolves a name or decides about addresses. Push the arguments
 * of the function and return their number. */
int njl_push_name_call(lua_State *L, njl_callback *callback) NJL_RAISES;
int njl_push_addresses_call(lua_State *L, njl_callback *callback) NJL_RAISES;

/* token_store.c */
/* Reads the option `token_store` of the table at `options` into the client and the listener. Returns the number of the
 * store; 0: none. */
lua_Integer njl_read_token_store(lua_State *L, njl_host *host, int options, int client,
                                 njl_listener *listener) NJL_RAISES;
/* Replaces the token store on top of the stack by a function that handles the request for a record. Pushes the arguments
 * of the function and returns their number. */
int njl_push_record_call(lua_State *L, njl_callback *callback) NJL_RAISES;
void njl_open_token_store(lua_State *L) NJL_RAISES;

/* mock.c */
/* Pushes a mock made from the routes in the table at `index`. */
void njl_mock_push(lua_State *L, njl_host *host, int index) NJL_YIELDS;
const njl_mock *njl_mock_at(lua_State *L, int index); /* returns NULL if the value is not a mock */
int njl_mock_open(lua_State *L) NJL_YIELDS;
/* Replaces the mock on top of the stack by a function that handles the decision request. Pushes the arguments of the
 * function and returns their number. */
int njl_mock_push_call(lua_State *L, njl_callback *callback) NJL_RAISES;
void njl_open_mock(lua_State *L) NJL_RAISES;

/* subrequest.c */
/* Pushes a caller, which makes calls through the hooks of the client at index 1, and returns its number. If the
 * client has no hooks, pushes nil and returns 0. Each call uses the options at `options`; 0: none. */
lua_Integer njl_caller_push(lua_State *L, njl_host *host, int options) NJL_RAISES;
lua_Integer njl_caller_number(lua_State *L, int caller);
/* Returns whether the running task makes one of the caller's calls, or is a descendant of such a task. */
bool njl_caller_is_running(lua_State *L, int caller, const njl_host *host);
/* Raises the error on top of the stack. If the error came from a hook during a call of the caller at `caller`, raises
 * the error that the hook raised. */
int njl_caller_raise(lua_State *L, int caller) NJL_RAISES;

/* limits.c */
int njl_limits(lua_State *L) NJL_RAISES;

/* loan.c */
/* A userdata that owns objects created by Swift while a function that may raise uses them. */
typedef struct njl_loan {
  njl_cookie_list *list;
  njl_text *text;
} njl_loan;
njl_loan *njl_loan_push(lua_State *L) NJL_RAISES;
/* Pushes the text as a Lua string and releases it. */
void njl_loan_push_text(lua_State *L, njl_loan *loan) NJL_RAISES;
int njl_loan_return_text(lua_State *L, njl_loan *loan) NJL_RAISES; /* pushes the text, or nil; returns 1 */
/* Pushes the Lua value of the text, which is JSON. `what` names the text in messages. */
void njl_loan_push_json(lua_State *L, njl_loan *loan, const char *what) NJL_RAISES;
void njl_open_loan(lua_State *L) NJL_RAISES;

/* cookies.c */
int njl_cookies_push(lua_State *L) NJL_RAISES; /* pushes the cookies object of the client at index 1, or nil */
void njl_open_cookies(lua_State *L) NJL_RAISES;

/* endpoints.c */
int njl_endpoints_push(lua_State *L) NJL_RAISES; /* pushes the endpoints object of the client at index 1 */
/* returns the catalog of the client at index 1 and pushes the object that owns the catalog */
const njl_catalog *njl_endpoints_of(lua_State *L) NJL_RAISES;
int njl_load_openapi(lua_State *L) NJL_YIELDS;
void njl_open_endpoints(lua_State *L) NJL_RAISES;

/* cache.c */
int njl_cache_push(lua_State *L) NJL_RAISES; /* pushes the cache object of the client at index 1, or nil */
void njl_open_cache(lua_State *L) NJL_RAISES;

/* refresh.c */
int njl_refreshed(lua_State *L) NJL_YIELDS;
/* Starts a task that waits for the revalidated response of the finished reply at `index` and then calls the reply's
 * on_refresh function. */
void njl_watch_refresh(lua_State *L, int index) NJL_RAISES;

/* paginate.c */
int njl_paginate(lua_State *L) NJL_YIELDS;

/* list.c */
void njl_list_push(lua_State *L, njl_host *host) NJL_RAISES; /* pushes a closed list of the client at index 1 */
/* Pops the `next` function, which decides how the list continues. */
void njl_list_decide_by(lua_State *L, int index) NJL_RAISES;
void njl_list_call_by(lua_State *L, int index); /* pops the caller (subrequest.c) of the list's requests, or nil */
void njl_list_open(lua_State *L, int index, njl_pages *pages); /* opens the list, which takes ownership of `pages` */
void njl_open_list(lua_State *L) NJL_RAISES;

/* request.c */
/* Reads the option table at `options` (0: none) into `request`. The pointers in `request` refer to strings and
 * buffers on this stack: use it before anything is popped. Raises an error if an option is invalid, and also if a
 * file is to be sent and `reads_files` is false. Swift checks the options in `rare`. */
void njl_read_options(lua_State *L, int options, const char *function, bool reads_files,
                      njl_request *request) NJL_YIELDS;

/* The longest time limit, in seconds. */
#define NJL_MOST_SECONDS 3153600000.0

/* Returns the time limit at `index` in seconds, or 0 (no limit) for false and infinity. Raises "FUNCTION: NAME must be
 * ..." if the value is not a number from 0 to NJL_MOST_SECONDS. */
double njl_check_limit(lua_State *L, int index, const char *function, const char *name) NJL_RAISES;

/* Raises an error for the first name in the option table at `options` that is not an option of a call. */
void njl_check_option_names(lua_State *L, int options, const char *function) NJL_RAISES;

/* stream_request.c */
/* Checks the arguments of a function that reads a response while it arrives: the client and the path at the indices 1
 * and 2, and the options at the index `options`, the last one. Pushes a copy of the options with the path. */
void njl_push_stream_request(lua_State *L, int options, const char *function) NJL_RAISES;
/* Pushes the function or nil in the option `name`, and removes the option from the table at `options`. */
void njl_take_function(lua_State *L, int options, const char *name, const char *function) NJL_RAISES;
/* Moves the options `known` from the table at `options` to a new table, and pushes its JSON text. `false` becomes 0, no
 * limit, for the option `limit`. */
void njl_take_options(lua_State *L, int options, const char *const *known, const char *limit,
                      const char *function) NJL_YIELDS;
/* Adds a field to the headers of the request table at `request`, unless they have it. */
void njl_set_default_header(lua_State *L, int request, const char *name, njl_bytes value) NJL_RAISES;

/* error.c */
void njl_open_error(lua_State *L) NJL_RAISES;

/* response.c */
int njl_curl(lua_State *L) NJL_RAISES;
int njl_push_tls(lua_State *L, njl_future *future) NJL_RAISES; /* pushes a table, or nil without TLS */
void njl_open_response(lua_State *L) NJL_RAISES;

/* explain.c */
int njl_explain(lua_State *L) NJL_RAISES;
int njl_push_earlier(lua_State *L, const njl_future *future) NJL_RAISES; /* pushes a list of error objects */
int njl_new_idempotency_key(lua_State *L) NJL_RAISES;
void njl_open_explain(lua_State *L) NJL_RAISES;

/* stream.c */
int njl_chunks(lua_State *L) NJL_RAISES;
int njl_close_response(lua_State *L) NJL_RAISES;

/* body_function.c */
/* The stack height of the function that sends a request with a pulled body. */
#define NJL_BODY_TOP 5
/* Moves the body option from `body`, the last stack slot, to the slots that njl_pull_body uses. Cancels the call if the
 * calling function ends before the response has arrived. */
void njl_guard_body(lua_State *L, njl_wait *wait, int body) NJL_RAISES;
/* Begins to send the body in a task, for a call whose response is streamed. njl_check_upload raises the error of the body's
 * function if it has ended the call. */
void njl_start_upload(lua_State *L, njl_wait *wait) NJL_RAISES;
void njl_check_upload(lua_State *L, njl_wait *wait) NJL_RAISES;
/* Calls the body's function for the next part, sends the part, and then waits for the call again. */
int njl_pull_body(lua_State *L, njl_wait *wait) NJL_YIELDS;

/* events.c */
int njl_client_events(lua_State *L) NJL_YIELDS;
int njl_response_events(lua_State *L) NJL_YIELDS;
/* Returns NULL if the value is not an event stream. */
njl_events *njl_events_at(lua_State *L, int index);
void njl_open_events(lua_State *L) NJL_RAISES;

/* client_names.c */
extern const luaL_Reg njl_client_methods[]; /* ends with NULL */
extern const char *const njl_client_names[]; /* ends with NULL */

/* resource.c, resource_changes.c and resource_mutation.c */
int njl_client_resource(lua_State *L) NJL_YIELDS;
int njl_client_invalidate(lua_State *L) NJL_RAISES;
void njl_open_resource(lua_State *L) NJL_RAISES;

/* download.c and upload.c */
int njl_client_download(lua_State *L) NJL_YIELDS;
int njl_client_start_download(lua_State *L) NJL_YIELDS;
int njl_client_upload(lua_State *L) NJL_YIELDS;
int njl_client_start_upload(lua_State *L) NJL_YIELDS;
int njl_client_remove_transfer(lua_State *L) NJL_RAISES;
int njl_client_outbox(lua_State *L) NJL_RAISES; /* modules/work.c */
void njl_open_download(lua_State *L) NJL_RAISES;
void njl_open_upload(lua_State *L) NJL_RAISES;

/* websocket.c */
int njl_client_websocket(lua_State *L) NJL_YIELDS;
void njl_open_websocket(lua_State *L) NJL_RAISES;

/* records.c */
int njl_client_lines(lua_State *L) NJL_YIELDS;
int njl_client_ndjson(lua_State *L) NJL_YIELDS;
int njl_response_lines(lua_State *L) NJL_RAISES;
int njl_response_download(lua_State *L) NJL_YIELDS;
int njl_response_start_download(lua_State *L) NJL_YIELDS;
int njl_response_ndjson(lua_State *L) NJL_RAISES;
void njl_open_records(lua_State *L) NJL_RAISES;

/* log.c */
/* Reads the log option of the table at `options`. Pushes its function and returns its level. Returns 0 if the
 * option is absent. */
int njl_read_log(lua_State *L, int options) NJL_RAISES;
/* Calls the log functions for the lines that have arrived. */
void njl_write_log(lua_State *L, njl_host *host) NJL_RAISES;

/* hooks.c */
/* User values of a client: functions, and the objects for its cookies, cache, endpoints and mock. */
enum {
  NJL_CLIENT_LOG = 1,
  NJL_CLIENT_COOKIES,
  NJL_CLIENT_CACHE,
  NJL_CLIENT_BEFORE,
  NJL_CLIENT_AFTER,
  NJL_CLIENT_PROVIDERS, /* a list of token functions */
  NJL_CLIENT_LOGIN_REQUIRED,
  NJL_CLIENT_ENDPOINTS,
  NJL_CLIENT_MOCK,
  NJL_CLIENT_PIN_MISMATCH,
  NJL_CLIENT_CHALLENGE,
  NJL_CLIENT_REQUEST,
  NJL_CLIENT_STORE,
  NJL_CLIENT_OBSERVER,
  NJL_CLIENT_RESOLVER,
  NJL_CLIENT_ADDRESSES,
  NJL_CLIENT_TOKEN_STORE,
  NJL_CLIENT_VALUES = NJL_CLIENT_TOKEN_STORE
};
/* Moves the function in the option `name` of the table at `options` into the client. Returns false if there is none. */
bool njl_read_function(lua_State *L, int options, int client, const char *name, int slot) NJL_RAISES;
/* Reads the options `before` and `after` of the table at `options` into the client. Returns false if there are none. */
bool njl_read_hooks(lua_State *L, int options, int client) NJL_RAISES;
/* Pushes a copy of the options at `options` (0: none), which hooks may change. */
void njl_push_request(lua_State *L, int options) NJL_RAISES;
/* Calls `request` between the hooks of the client. The stack contains only the client at index 1 and the request at
 * index 2. */
int njl_call_hooked(lua_State *L, lua_CFunction request) NJL_YIELDS;
int njl_decide_redirect(lua_State *L, njl_reply *reply) NJL_YIELDS; /* calls on_redirect, then waits again */
/* Calls the on_progress function of the call, then waits again. */
int njl_report_progress(lua_State *L, njl_reply *reply, const njl_progress *progress) NJL_YIELDS;
/* Calls the on_waiting function of the call, then waits again. */
int njl_report_waiting(lua_State *L, njl_reply *reply, const char *reason) NJL_YIELDS;
/* Sets the field of the table on top of the stack, unless `count` is negative. */
void njl_set_count(lua_State *L, int64_t count, const char *name) NJL_RAISES;
int njl_decide_retry(lua_State *L, njl_reply *reply) NJL_YIELDS;    /* calls on_retry, then waits again */
void njl_push_copy(lua_State *L, int table) NJL_RAISES;

/* function.c */
void njl_push_function(lua_State *L, njl_function *function) NJL_RAISES;

/* value.c */
void njl_open_values(lua_State *L) NJL_RAISES; /* prepares the state for JSON and its errors; may be called again */
void njl_push_value(lua_State *L, const njl_value *value) NJL_RAISES;
njl_value njl_value_at(lua_State *L, int index) NJL_RAISES;

#endif
