/* njl_host.h - the functions that Swift provides to the Lua host.
 *
 * A Lua error is a longjmp, which must never cross a Swift frame. All use of Lua is therefore in C (this module),
 * and the client is reached through these plain functions. They take and return C values, never use a lua_State and
 * never raise. They must be called on the thread that runs the Lua state, unless their comment says otherwise.
 *
 * "Owned by the caller" means that the caller must release the returned object. Where a function has a parameter
 * `error`, it sets `*error` to an outcome owned by the caller if it fails. */
#ifndef NJL_HOST_H
#define NJL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The client side of one Lua state: its completion queue and the calls in flight. */
typedef struct njl_engine njl_engine;
/* A client. Reference-counted. */
typedef struct njl_client njl_client;
/* One call and, after it has ended, its response or error. Also a response or an error that does not come from a
 * call. */
typedef struct njl_future njl_future;
/* A wait of a coroutine. Opaque to Swift, which only passes the pointer back. */
typedef struct njl_wait njl_wait;
/* A call that a paginated list or a document load needs and that is to run through the hooks of its client. */
typedef struct njl_subrequest njl_subrequest;
/* A coroutine of the host. Opaque to Swift, which only passes the pointer back. */
typedef struct njl_task njl_task;

/* Bytes borrowed for the duration of the call. `data` may be NULL if `length` is 0. */
typedef struct njl_bytes {
  const char *data;
  size_t length;
} njl_bytes;

typedef struct njl_pair {
  njl_bytes name;
  njl_bytes value;
} njl_pair;

/* A part of a multipart form. `data` of `filename` and `content_type` is NULL if they are absent. */
typedef struct njl_form_part {
  njl_bytes name;
  njl_bytes content; /* a path if `is_file` */
  bool is_file;
  njl_bytes filename;
  njl_bytes content_type;
} njl_form_part;

/* A response to store in a cache as if a server had sent it. */
typedef struct njl_cache_insertion {
  int status;
  const njl_pair *headers;
  size_t header_count;
  njl_bytes body;
  bool is_json; /* Content-Type is application/json, unless the headers contain one */
} njl_cache_insertion;

/* The Content-Type implied by a body that was given as a value. The headers of the request and of the client
 * override it. */
typedef enum njl_implied_type { NJL_TYPE_UNKNOWN, NJL_TYPE_JSON, NJL_TYPE_FORM } njl_implied_type;

typedef struct njl_request {
  njl_bytes method;
  njl_bytes target;
  bool is_bare; /* only method and target are set, and the script only waits for the end of the call */
  const njl_pair *query;
  size_t query_count;
  const njl_pair *params; /* for the template in the target */
  size_t param_count;
  const njl_pair *headers;
  size_t header_count;
  bool has_body;
  njl_bytes body;
  njl_implied_type implied_type;
  njl_bytes file; /* the path of a file to send in place of `body`; `data` NULL: none */
  bool has_form;  /* send the form of `parts` in place of `body` */
  const njl_form_part *parts;
  size_t part_count;
  const int *expected; /* statuses that count as success; none: the client's rule */
  size_t expected_count;
  double connect, idle, total; /* seconds; 0: no limit; negative: the client's limit */
  bool streams_body;             /* in place of `body`: the body is pulled, see njl_call_needs_body */
  bool restarts_body;          /* the pulled body can be produced again from its start, see njl_call_restarts_body */
  int64_t body_length;         /* length of the pulled body in bytes; negative: unknown */
  bool is_streamed;            /* the response body arrives in parts, see njl_stream_next */
  bool decides_redirects;         /* see njl_call_redirect_status */
  bool decides_retries;           /* see njl_call_attempt */
  bool reports_refresh;       /* see njl_call_refresh */
  bool reports_progress;      /* see njl_call_progress */
  bool is_followed;            /* njl_session_progress includes the call */
  bool is_cache_lookup; /* return the cache entry only; the call ends with neither response nor error if there is none */
  const njl_cache_insertion *insertion;  /* store this response instead of sending the request; NULL: send it */
  njl_bytes endpoint;          /* the name of the endpoint to call, in place of method and target; `data` NULL: none */
  njl_bytes arguments;         /* the endpoint's arguments, a JSON object; empty: none */
  njl_bytes value; /* in place of `body`: JSON that is encoded as the endpoint requires; `data` NULL: none */
  const struct njl_catalog *catalog; /* the catalog that contains the endpoint */
  /* the subrequest that the request is made for; its URL is used unless path, params or query set another */
  njl_subrequest *subrequest;
  njl_bytes rare;              /* further options, a JSON object of the schema of nj_request_merge_json; empty: none */
} njl_request;

typedef enum njl_field {
  NJL_URL,
  NJL_KIND,
  NJL_PHASE,
  NJL_MESSAGE,
  NJL_USER_MESSAGE,
  NJL_SENTENCE, /* message and URL, for display */
  NJL_SOURCE,
  NJL_TEXT,    /* the body decoded by its charset; invalid bytes become U+FFFD */
  NJL_DETAILS, /* the server's error details as a JSON object; NULL: none were recognized */
  NJL_CURL,    /* the request as a curl command line, also for an error */
  NJL_CURL_WITH_SECRETS,
  NJL_CURL_OF_SANDBOX, /* the same without the headers that the script has not set */
  NJL_PEER, /* the address of the peer that sent the response */
  NJL_DECISIONS, /* the decisions made for the call: a JSON array of objects with a `text` */
  NJL_IDEMPOTENCY_KEY, /* the key that was sent, also by a call that failed */
  NJL_PROMPT_URL, /* login: the URL to open in the browser, */
  NJL_PROMPT_CODE, /* or the code to type */
  NJL_PROMPT_PAGE, /* at this page, */
  NJL_PROMPT_COMPLETE_PAGE, /* or a page that already contains the code */
  NJL_REDIRECT_URL, /* pending redirect decision: the target, */
  NJL_REDIRECT_SOURCE_URL, /* the URL that sent the redirect, */
  NJL_REDIRECT_METHOD, /* and the method of the next request */
} njl_field;

/* A response. Valid as long as its outcome. */
typedef struct njl_response {
  int status;
  njl_bytes body;
  int attempts;
  bool is_streamed; /* `body` is empty; the body arrives in parts */
} njl_response;

/* Times in seconds; negative if the event did not occur. */
typedef struct njl_timing {
  double sent, first_byte, total; /* since the start of the call */
  double dns, connect, tls;       /* durations */
  bool reused;
} njl_timing;

/* The numeric fields of an error. */
typedef struct njl_failure {
  int status; /* 0: there was no response */
  int attempts;
  int code;           /* of the operating system or of TLS; 0: none */
  double retry_after; /* seconds; negative: the server sent no Retry-After */
  bool is_retryable;
  bool may_have_been_processed;
  bool has_response;
} njl_failure;

/* Keeps the process's signal dispositions. For processes that do not expect the library to change them. */
void njl_keep_signals(void);

/* Returns NULL if out of memory. */
njl_engine *njl_engine_new(void);
/* Cancels the calls in flight, waits until they have ended and discards them. */
void njl_engine_free(njl_engine *engine);
/* Handles pending events. Waits up to `timeout` seconds for the first one (negative: no limit). Writes the waits
 * whose calls have ended to `ended`, at most `capacity`, and returns their number. If it returns `capacity`, there
 * may be more. */
size_t njl_engine_poll(njl_engine *engine, double timeout, njl_wait **ended, size_t capacity);
/* Makes the current or the next poll return. Callable from any thread. */
void njl_engine_wake(njl_engine *engine);
/* Removes temporary files and creates no further ones. Called when the process is about to exit. */
void njl_engine_leave(njl_engine *engine);

/* One line of a client's log. */
typedef struct njl_line {
  int64_t log;
  int level; /* a number of LogLevel */
  njl_bytes text;
} njl_line;

/* Returns the oldest log line that has arrived, borrowed until the next call. Returns false if there is none. */
bool njl_engine_next_line(njl_engine *engine, njl_line *line);

typedef struct njl_mock njl_mock;
typedef struct njl_text njl_text; /* a text lent by Swift; release it with njl_text_release */

/* The events of a client that `engine` receives in addition to the ends of its calls, and the number under which it
 * receives them. */
typedef struct njl_listener {
  int64_t number;
  int level;             /* receives log lines up to this level; 0: none */
  /* The names of the security schemes whose tokens come from a function (see njl_engine_next_callback). `data` is
   * NULL for the client's only scheme. `options` only describes these schemes. */
  const njl_bytes *provided;
  size_t provided_count;
  bool reports_logins;  /* receives a notification when an interactive login is required */
  const njl_mock *mock; /* used in place of the network; NULL: none, or the one in the options */
} njl_listener;

/* `options` is a JSON object of the schema of nj_config_merge_json. Returns NULL and sets `*error` on failure. */
njl_client *njl_client_new(njl_bytes options, njl_engine *engine, const njl_listener *listener, njl_future **error);
void njl_client_retain(njl_client *client);
void njl_client_release(njl_client *client);
/* Cancels the calls in flight and returns when all activity of the client has stopped. */
void njl_client_close(njl_client *client);

/* --- Sessions --- */

/* Records, in memory, the exchanges of all clients created from now on. */
void njl_session_begin(njl_engine *engine);
/* Assigns later exchanges of these clients to the step with this number. */
void njl_session_step(njl_engine *engine, int64_t step);
/* The combined progress of the followed calls. A group begins with the first call and includes all calls that began
 * while others were in flight, even if they have ended. A total is negative if it is unknown for any of the calls. */
typedef struct njl_session_state {
  int64_t sent, sent_total, received, received_total;
  size_t calls;   /* in flight; 0: the last has ended */
  double seconds; /* since the first began */
} njl_session_state;

/* Returns false if nothing has changed since the last call. */
bool njl_session_progress(njl_engine *engine, njl_session_state *state);
/* Stops following the calls that are followed now. */
void njl_session_pause_tracking(njl_engine *engine);
/* Returns the exchanges of some steps as cassettes without secrets. `requested` is a JSON object: {"steps": [1, 2],
 * "secrets": ["moonlight"], "names": ["tenant"]}. The result is a JSON object, owned by the caller:
 * - "cassettes": [{"text", "exchanges"}]
 * - "names": [[secret, its replacement, whether it is searched for everywhere]]
 * - "active": the steps that sent requests
 * - "losses": [[step, the reason why it cannot be replayed]]
 * Returns NULL and sets `*error` on failure. */
njl_text *njl_session_cassettes(njl_engine *engine, njl_bytes requested, njl_future **error);

/* --- Logins and limits --- */

/* A decision request of a client to its script: for a token or a mock's response. Also the notification that a login
 * is required. */
typedef struct njl_callback njl_callback;
typedef enum njl_callback_kind {
  NJL_TOKEN_NEEDED,
  NJL_TOKEN_REJECTED, /* a new token is wanted because the server rejected the last one */
  NJL_LOGIN_REQUIRED, /* a notification; needs no response */
  NJL_MOCK_REQUEST, /* a mock's function must return a response; `*client` is then the number of the mock */
} njl_callback_kind;

/* Returns the oldest decision request that has arrived, owned by the caller. A request that is released without a
 * response fails. Returns NULL if there is none. */
njl_callback *njl_engine_next_callback(njl_engine *engine, int64_t *client, njl_callback_kind *kind);
/* Responds with a token that is valid for `lifetime` seconds; negative: unknown. The request fails if the token is
 * invalid. */
void njl_callback_provide(njl_callback *callback, njl_bytes token, double lifetime);
void njl_callback_end_login(njl_callback *callback);
/* Makes the waiting calls fail with the message. The login is kept. */
void njl_callback_fail(njl_callback *callback, njl_bytes message);
void njl_callback_release(njl_callback *callback);

/* --- Mocks --- */

/* Creates a mock. `routes` is a JSON object of the schema of nj_config_set_mock, in which the response of a route
 * may also be {"function": NUMBER}. `number` is the number under which the requests for such functions arrive.
 * Returns NULL and sets `*error` on failure. */
njl_mock *njl_mock_new(njl_bytes routes, njl_engine *engine, int64_t number, njl_future **error);
void njl_mock_release(njl_mock *mock);
void njl_mock_reset(njl_mock *mock);
bool njl_mock_verify(njl_mock *mock, njl_future **error);
/* Returns the number of calls of a route, or of all routes if `route.data` is NULL; -1 if there is no such route. */
int64_t njl_mock_uses(const njl_mock *mock, njl_bytes route);
njl_text *njl_mock_calls(const njl_mock *mock); /* a JSON array */
/* Returns which function is asked for, counted from 1: a function of a mock, or one of the client's token functions. */
int64_t njl_callback_function(const njl_callback *callback);
/* For a decision request of kind NJL_MOCK_REQUEST. */
njl_text *njl_callback_request(const njl_callback *callback); /* a JSON object */
njl_text *njl_callback_body(const njl_callback *callback);
/* Responds with `response`, a JSON object. `body` is its body unless its data is NULL. The request fails if the
 * object does not match the schema. */
void njl_callback_respond(njl_callback *callback, njl_bytes response, njl_bytes body);

/* A token that the caller has. `data` of `refresh` is NULL if there is no refresh token. `data` of `scheme` is NULL
 * if the client has only one scheme. A negative `lifetime` is unknown. */
typedef struct njl_token {
  njl_bytes access, refresh, scheme;
  double lifetime; /* seconds */
} njl_token;
/* Returns false and sets `*error` on failure. */
bool njl_client_set_token(njl_client *client, const njl_token *token, njl_future **error);

/* Starts a login. It is awaited, cancelled and abandoned like a call. A poll reports `wait` when the user has to act
 * (njl_login_prompts) and when the login has ended. Returns NULL and sets `*error` if it could not start. */
njl_future *njl_login_start(njl_engine *engine, njl_client *client, njl_wait *wait, njl_bytes scheme,
                             njl_future **error);
/* Starts a logout. It is awaited, cancelled and abandoned like a call. Returns NULL and sets `*error` if it could
 * not start. */
njl_future *njl_logout_start(njl_engine *engine, njl_client *client, njl_wait *wait, njl_bytes scheme,
                              njl_future **error);
/* Returns true once for each prompt: NJL_PROMPT_URL and the fields after it are to be shown to the user. */
bool njl_login_prompts(njl_future *login);
bool njl_login_has_failed(const njl_future *login);

/* Returns the state of the limits of the client's origins and groups, a JSON array of objects, owned by the caller. */
njl_text *njl_client_limits(const njl_client *client);

/* --- Cookies --- */

/* The cookie jar of a client, owned by the caller. njl_client_cookies returns NULL if the client has none. */
typedef struct njl_cookies njl_cookies;
njl_cookies *njl_client_cookies(const njl_client *client);
void njl_cookies_release(njl_cookies *cookies);

/* A snapshot of the cookies. NULL is an empty list. */
typedef struct njl_cookie_list njl_cookie_list;
typedef struct njl_cookie {
  njl_bytes name, value, domain, path;
  njl_bytes same_site; /* empty: the attribute is absent */
  double expires;      /* seconds since 1970; 0: at the end of the session */
  bool is_secure, is_http_only, is_host_only;
} njl_cookie;
njl_cookie_list *njl_cookies_list(const njl_cookies *cookies);
/* The cookie is borrowed from the list. Returns false if `index` is too large. */
bool njl_cookie_list_at(const njl_cookie_list *list, size_t index, njl_cookie *cookie);
void njl_cookie_list_release(njl_cookie_list *list);

/* The functions below that return false set `*error`. */
bool njl_cookies_set(njl_cookies *cookies, njl_bytes url, njl_bytes set_cookie, njl_future **error);
bool njl_cookies_flush(njl_cookies *cookies, njl_future **error);
bool njl_cookies_export(const njl_cookies *cookies, njl_bytes path, njl_future **error);

typedef struct njl_import {
  size_t stored, skipped;
} njl_import;
bool njl_cookies_import(njl_cookies *cookies, njl_bytes path, njl_import *counts, njl_future **error);
void njl_cookies_load_text(njl_cookies *cookies, njl_bytes text, njl_import *counts);

/* A text owned by Swift. The caller releases it. */
njl_text *njl_cookies_text(const njl_cookies *cookies);
njl_bytes njl_text_bytes(const njl_text *text); /* borrowed from the text */
void njl_text_release(njl_text *text);

typedef struct njl_cookie_match {
  bool has_name, has_domain, has_path;
  njl_bytes name, domain, path;
} njl_cookie_match;
/* Deletes the cookies that match all given fields and returns their number. */
size_t njl_cookies_delete(njl_cookies *cookies, const njl_cookie_match *match);
void njl_cookies_clear(njl_cookies *cookies);

/* --- Caches --- */

/* The cache of a client, owned by the caller. njl_client_cache returns NULL if the client has none. */
typedef struct njl_cache njl_cache;
njl_cache *njl_client_cache(const njl_client *client);
void njl_cache_release(njl_cache *cache);

/* Removes the cache entries of the request's URL, or with `is_prefix` of all URLs that begin with it. Sets `*count`
 * to their number. Returns false and sets `*error` on failure. */
bool njl_client_remove_cached(njl_client *client, const njl_request *request, bool is_prefix, size_t *count,
                              njl_future **error);
/* Removes all cache entries. Returns false and sets `*error` if entries on disk could not be removed. */
bool njl_cache_clear(njl_cache *cache, size_t *count, njl_future **error);
/* Waits until all pending changes are written to disk. Returns false and sets `*error` if a change could not be
 * written. */
bool njl_cache_flush(njl_cache *cache, njl_future **error);

typedef struct njl_cache_statistics {
  int64_t hits, stale, misses, validations, bytes_saved;
  int64_t memory_entries, memory_bytes, disk_entries, disk_bytes;
} njl_cache_statistics;
njl_cache_statistics njl_cache_count(const njl_cache *cache);

/* --- Endpoints --- */

/* The endpoints of an API. Immutable. Owned by the caller. */
typedef struct njl_catalog njl_catalog;
njl_catalog *njl_client_catalog(const njl_client *client); /* empty if the client has no catalog */
void njl_catalog_release(njl_catalog *catalog);
size_t njl_catalog_count(const njl_catalog *catalog);
/* The returned texts are owned by the caller. NULL: there is no endpoint of that name, or `index` is too large. */
njl_text *njl_catalog_name(const njl_catalog *catalog, size_t index);
njl_text *njl_catalog_help(const njl_catalog *catalog, njl_bytes name);     /* for display */
njl_text *njl_catalog_endpoint(const njl_catalog *catalog, njl_bytes name); /* a JSON object */
/* Returns whether there is an endpoint of that name. If not, `*error` suggests similar names. */
bool njl_catalog_check(const njl_catalog *catalog, njl_bytes name, njl_future **error);
bool njl_catalog_has_parameter(const njl_catalog *catalog, njl_bytes name, njl_bytes parameter);
/* Starts loading an OpenAPI document. The load is awaited, cancelled and abandoned like a call. `caller` is the
 * number under which its subrequests arrive; 0: the client sends its requests itself. Returns NULL and sets `*error` if
 * it could not start. */
njl_future *njl_catalog_start(njl_engine *engine, njl_client *client, njl_bytes location, int64_t caller, njl_wait *wait,
                               njl_future **error);
/* Returns the loaded catalog merged into `former`, or NULL if nothing was loaded. */
njl_catalog *njl_future_catalog(const njl_future *future, const njl_catalog *former);

/* --- Calls --- */

/* Starts a call. A poll reports `wait` when the call has ended. A poll also reports it when a part of the request's
 * body is wanted and when the head of a streamed response has arrived; after each such report, njl_call_await makes
 * a later poll report `wait` again, immediately if an event has arrived in the meantime. Returns NULL and sets
 * `*error` if the call could not start. */
njl_future *njl_call_start(njl_engine *engine, njl_client *client, const njl_request *request, njl_wait *wait,
                            njl_future **error);
void njl_call_await(njl_engine *engine, njl_future *call, njl_wait *wait);
/* Returns whether a part of the request's body is wanted. Respond with njl_call_provide, with a part of any length,
 * or with njl_call_end_body at the end. */
bool njl_call_needs_body(const njl_future *call);
void njl_call_provide(njl_future *call, njl_bytes part);
void njl_call_end_body(njl_future *call);
/* Returns the status of the redirect that awaits a decision, or 0 if there is none. Respond with njl_call_redirect;
 * an empty `url` follows the redirect to its own target. A poll reports the wait when a decision is wanted. */
int njl_call_redirect_status(const njl_future *call);
void njl_call_redirect(njl_future *call, bool follows, njl_bytes url);
/* Returns true once for each attempt: its body is wanted from the start. Parts provided for an earlier attempt are
 * then discarded. Only for bodies that can be produced again. */
bool njl_call_restarts_body(njl_future *call);

/* A failed attempt and the client's decision about it. */
typedef struct njl_attempt {
  int number; /* 1 for the first */
  bool again;
  double after; /* seconds until the next attempt, if `again` */
} njl_attempt;
/* Returns the failed attempt that awaits a decision; false if there is none. Respond with njl_call_retry. A poll
 * reports the wait when a decision is wanted. */
bool njl_call_attempt(const njl_future *call, njl_attempt *attempt);
/* Returns the error of that attempt, owned by the caller. */
njl_future *njl_call_attempt_error(const njl_future *call);
/* Bytes; negative: unknown. */
typedef struct njl_progress {
  int64_t sent, sent_total, received, received_total;
} njl_progress;
/* Returns progress of the call that was not reported yet; false if there is none. A poll reports the wait when there
 * is some. */
bool njl_call_progress(njl_future *call, njl_progress *progress);
typedef enum njl_retry {
  NJL_RETRY_DEFAULT,
  NJL_RETRY_AGAIN,
  NJL_RETRY_STOP,
} njl_retry;
/* `after` is the delay in seconds before the next attempt. */
void njl_call_retry(njl_future *call, njl_retry retry, double after);
/* Returns the background revalidation of the stale response that this call returned: a new outcome, owned by the
 * caller, that njl_call_await waits for. It may end with neither response nor error. Returns NULL if nothing is
 * revalidated. */
njl_future *njl_call_refresh(njl_engine *engine, njl_future *call);
/* Cancels the call unless it has ended. No poll reports its wait any more. */
void njl_call_abandon(njl_future *call);
/* Cancels the call unless it has ended. A poll still reports its wait. Reading of a streamed response stops. */
void njl_call_cancel(njl_future *call);
/* Returns whether the call has ended with a response; false for errors and calls in flight. */
bool njl_future_is_response(const njl_future *future);

typedef enum njl_part {
  NJL_PART_READY,
  NJL_PART_LATER,  /* a poll will report `wait` */
  NJL_PART_BUSY,   /* another wait already waits for the next part */
  NJL_PART_END,
  NJL_PART_FAILED, /* `*error` is set; NULL: out of memory */
} njl_part;

/* Returns the next part of a streamed response, borrowed until njl_stream_release. Reading from the network pauses
 * while too many parts are unread. */
njl_part njl_stream_next(njl_future *future, njl_wait *wait, njl_bytes *part, njl_future **error);
void njl_stream_release(njl_future *future);

/* Kinds of the errors that the Lua host raises itself. The numbers equal those of ErrorKind. */
typedef enum njl_kind {
  NJL_KIND_INVALID_ARGUMENT = 1,
  NJL_KIND_CLOSED = 3,
  NJL_KIND_CANCELLED = 10,
  NJL_KIND_TIMEOUT = 11,
  NJL_KIND_TOO_LARGE = 21,
  NJL_KIND_DECODING = 40,
  NJL_KIND_STORAGE = 42,
  NJL_KIND_SCRIPT = 43,
} njl_kind;

/* Creates an error. `phase` is a number of ErrorPhase, or 0. */
njl_future *njl_future_failed(njl_kind kind, int phase, njl_bytes message);
#define NJL_PHASE_TOTAL 7
/* Adds an owner. */
void njl_future_retain(njl_future *future);
void njl_future_release(njl_future *future);

/* Returns false if the outcome is not a response. */
bool njl_future_response(const njl_future *future, njl_response *response);
bool njl_future_timing(const njl_future *future, njl_timing *timing);
/* Returns false if the outcome is not an error. */
bool njl_future_failure(const njl_future *future, njl_failure *failure);
/* Returns the response of an error as an outcome of its own, or NULL if there was none. */
njl_future *njl_future_error_response(const njl_future *future);
/* Returns the error of the attempt at `index` that preceded the final error of an outcome, owned by the caller.
 * Returns NULL if `index` is too large. */
njl_future *njl_future_earlier(const njl_future *future, size_t index);
/* Returns NULL if the outcome has no such field. The text is valid as long as the outcome. */
const char *njl_future_text(njl_future *future, njl_field field, size_t *length);
/* The number of header fields. If `is_sandboxed`, fields that carry credentials are not counted. */
size_t njl_future_header_count(const njl_future *future, bool is_sandboxed);
/* The header field at `index`, in the order of the response. False: `index` is too large. */
bool njl_future_header(const njl_future *future, bool is_sandboxed, size_t index, njl_pair *field);

/* Returns the URL of the redirect at `index`, valid as long as the outcome, or NULL if `index` is too large. */
const char *njl_future_redirect(njl_future *future, size_t index, int *status, size_t *length);

/* Fills `text` with a new idempotency key, without a terminating NUL. */
#define NJL_KEY_LENGTH 36
void njl_idempotency_key(char text[NJL_KEY_LENGTH]);

/* --- Descriptors and blocking work --- */

/* Waits until the descriptor is readable (or writable) without blocking, or is broken; a poll then reports `wait`. A
 * descriptor that does not support polling, such as a regular file, is always ready. The descriptor is neither
 * changed nor owned: end the wait before closing it. Returns an outcome, owned by the caller and abandoned like a
 * call, or NULL with `*error`. */
njl_future *njl_descriptor_await(njl_engine *engine, int descriptor, bool writes, njl_wait *wait, njl_future **error);

/* An open file, or a temporary file or folder that is removed on release. Owned by the caller. */
typedef struct njl_resource njl_resource;
void njl_resource_release(njl_resource *resource);
/* Returns the non-blocking descriptor of an open named pipe or device and its ownership. Returns -1 if the resource
 * is neither, or if its descriptor was already taken. */
int njl_resource_take_descriptor(njl_resource *resource);

typedef enum njl_value_kind {
  NJL_NIL,
  NJL_BOOLEAN,
  NJL_INTEGER,
  NJL_NUMBER,
  NJL_STRING,
  NJL_OTHER, /* a table, a function and so on */
} njl_value_kind;

typedef struct njl_value {
  njl_value_kind kind;
  bool boolean;
  int64_t integer; /* also set for a number without a fraction */
  double number;   /* also set for an integer */
  njl_bytes bytes;
} njl_value;

/* Starts the work `name` (see Files.swift) on another thread. The work is awaited, cancelled and abandoned like a
 * call; work that has started is always completed. The arguments are copied. Returns NULL and sets `*error` if it
 * could not start. */
njl_future *njl_work_start(njl_engine *engine, njl_bytes name, const njl_value *arguments, size_t count, njl_wait *wait,
                            njl_future **error);
/* The same for reading the next bytes of an open file, at most `most`. The result is nil at the end of the file. */
njl_future *njl_resource_read(njl_engine *engine, njl_resource *resource, int64_t most, njl_wait *wait,
                               njl_future **error);
/* The results of the work: a list, or one value; borrowed from the outcome. njl_work_value returns false if `index`
 * is too large. */
bool njl_work_is_list(const njl_future *future);
size_t njl_work_count(const njl_future *future);
bool njl_work_value(const njl_future *future, size_t index, njl_value *value);
bool njl_work_has_resource(const njl_future *future);
njl_resource *njl_work_take_resource(njl_future *future); /* owned by the caller */

/* --- Lists in pages --- */

/* A paginated list and the position of the script in it. Owned by the caller. Releasing it cancels its requests. */
typedef struct njl_pages njl_pages;
/* One page of a list. Owned by the caller. */
typedef struct njl_page njl_page;

/* `options` is a JSON object of the schema of nj_pagination_merge_json. `state` is the position at which to
 * continue; without `data`, the list starts at the beginning. `seconds` limits the whole list; negative: only each
 * call has a limit. `caller` is the number under which subrequests arrive; 0: the client sends its requests itself.
 * Returns NULL and sets `*error` on failure. */
njl_pages *njl_pages_new(njl_engine *engine, njl_client *client, const njl_request *request, njl_bytes options,
                         njl_bytes state, double seconds, int64_t caller, njl_future **error);
void njl_pages_release(njl_pages *pages);
/* Cancels the requests of the list. It produces no further pages. */
void njl_pages_close(njl_pages *pages);

typedef enum njl_page_step {
  NJL_PAGE_READY,
  NJL_PAGE_LATER, /* a page is being loaded: call njl_pages_await */
  NJL_PAGE_END,
  NJL_PAGE_FAILED, /* `*error` is set; if `error` is NULL, the error is reported again by the next call */
} njl_page_step;
/* Takes the next page into `*page`. After a failure, the same page is loaded again. */
njl_page_step njl_pages_take(njl_pages *pages, njl_page **page, njl_future **error);
/* Returns an outcome without response or error, owned by the caller. A poll reports `wait` when there is something
 * to take. */
njl_future *njl_pages_await(njl_pages *pages, njl_wait *wait);

/* How a list continues after the page taken last, if its caller decides. */
typedef enum njl_decision {
  NJL_NEXT_NONE,
  NJL_NEXT_QUERY, /* replaces the query items of the same names */
  NJL_NEXT_URL,
} njl_decision;
/* Returns false and sets `*error` on failure. */
bool njl_pages_set_next(njl_pages *pages, njl_decision decision, const njl_pair *query, size_t count, njl_bytes url,
                     njl_future **error);
/* Continues at `state`; without `data`, starts at the beginning again. On failure returns false, sets `*error` and
 * changes nothing. */
bool njl_pages_begin(njl_pages *pages, njl_bytes state, njl_future **error);
/* Returns the position after `consumed` items of the page taken last, or the start of the list if no page was taken.
 * Owned by the caller. */
njl_text *njl_pages_state(const njl_pages *pages, size_t consumed);
/* Returns how the pagination style of the list was detected; empty if it was given. Owned by the caller. */
njl_text *njl_pages_explanation(const njl_pages *pages);

int64_t njl_page_number(const njl_page *page);
size_t njl_page_count(const njl_page *page);
njl_bytes njl_page_item(const njl_page *page, size_t index); /* JSON, borrowed from the page */
njl_future *njl_page_response(const njl_page *page);        /* a new outcome, owned by the caller */
void njl_page_release(njl_page *page);

/* --- Subrequests --- */

/* Returns the oldest subrequest that was not started, and the number of its caller. The receiver owns it until
 * njl_subrequest_end. Returns NULL if there is none. */
njl_subrequest *njl_engine_next_subrequest(njl_engine *engine, int64_t *caller);
/* Returns a task whose call is no longer needed, once for each task. Returns NULL if there is none. */
njl_task *njl_engine_next_cancelled(njl_engine *engine);
/* Returns the subrequest's part of the request in the form of api:request: a JSON object with method, path, headers and
 * optionally max_body. Owned by the caller. Returns NULL if out of memory. */
njl_text *njl_subrequest_request(const njl_subrequest *subrequest);
int64_t njl_subrequest_caller(const njl_subrequest *subrequest);
/* Records `task` as the one that makes the call, until njl_subrequest_end. */
void njl_subrequest_begin(njl_subrequest *subrequest, njl_task *task);
/* Finishes the subrequest with the outcome of its call. Returns false if `future` does not belong to a call made for
 * it. */
bool njl_subrequest_finish(njl_subrequest *subrequest, const njl_future *future);
/* Makes the subrequest fail with kind `script`. `number` becomes the code of the error. */
void njl_subrequest_fail(njl_subrequest *subrequest, njl_bytes message, int32_t number);
/* Releases the subrequest. It fails if it was not finished. */
void njl_subrequest_end(njl_subrequest *subrequest);

/* --- Standard modules --- */

/* The numbers equal those of HashFunction. */
typedef enum njl_hash_function { NJL_MD5, NJL_SHA1, NJL_SHA256, NJL_SHA384, NJL_SHA512 } njl_hash_function;
#define NJL_LONGEST_HASH 64
/* The digest of bytes that arrive in pieces, or with a key their HMAC. Owned by the caller. Returns NULL if out of
 * memory. */
typedef struct njl_hash njl_hash;
njl_hash *njl_hash_new(njl_hash_function function, const njl_bytes *key);
void njl_hash_update(njl_hash *hash, njl_bytes bytes);
/* Writes the digest to `digest`, which must have room for NJL_LONGEST_HASH bytes, and returns its length. No update
 * may follow. */
size_t njl_hash_finish(njl_hash *hash, uint8_t *digest);
void njl_hash_release(njl_hash *hash);
/* Fills `bytes` with cryptographically secure random bytes. */
void njl_random(void *bytes, size_t count);

/* A time in the years 0 to 9999: seconds since 1970 in UTC, rounded down, plus 0 to 999,999,999 nanoseconds. */
typedef struct njl_timestamp {
  int64_t seconds;
  int32_t nanoseconds;
} njl_timestamp;
typedef enum njl_timestamp_form { NJL_ISO_8601, NJL_HTTP_DATE } njl_timestamp_form;
/* Rounds to the microsecond. Returns false if `seconds` is out of range. */
bool njl_timestamp_of(double seconds, njl_timestamp *moment);
/* `now`, in seconds since 1970, determines the century of a two-digit year. Returns false if the text is invalid. */
bool njl_timestamp_parse(njl_bytes text, njl_timestamp_form form, int64_t now, njl_timestamp *moment);
/* Formats the time in the zone `minutes_east` of UTC with `digits` fractional digits (negative: as many as needed).
 * Owned by the caller. Returns NULL if the time cannot be represented. */
njl_text *njl_timestamp_format(njl_timestamp moment, njl_timestamp_form form, int minutes_east, int digits);

/* Returns whether a header, parameter or variable of that name most likely holds a credential. */
bool njl_is_secret_name(njl_bytes name);
/* Returns the text with its secrets masked; the caller releases it. */
njl_text *njl_redacted(njl_bytes text);
/* A number of LogLevel; 0: the client has no log. */
int njl_client_log_level(const njl_client *client);
void njl_client_log(njl_client *client, int level, njl_bytes line);
/* Returns an http or https URL as it is sent, or with secrets masked for display. Owned by the caller. Returns NULL
 * and sets `*error` if the URL is invalid. */
njl_text *njl_url_canonical(njl_bytes url, bool shows_secrets, njl_future **error);

/* --- Functions of the host program --- */

/* Owned by the script that it was registered with. */
typedef struct njl_function njl_function;
/* The results of one call of it. */
typedef struct njl_results njl_results;

/* Calls the function. The caller releases the results. `failure` is a string if the call failed, else nil; it is
 * valid as long as the results. */
njl_results *njl_function_call(njl_function *function, const njl_value *arguments, size_t count, size_t *returned,
                               njl_value *failure);
/* The value is borrowed from the results. */
njl_value njl_results_value(const njl_results *results, size_t index);
void njl_results_release(njl_results *results);

#endif
