/* njl_host.h - the functions that Swift gives to the Lua host.
 *
 * A Lua error is a longjmp, which must never cross a Swift frame. So all of Lua is used in C (this module), and the
 * client is reached through these plain functions: they take and return C values, never see a lua_State and never
 * raise. They belong to the thread that runs the Lua state, unless their comment says otherwise. */
#ifndef NJL_HOST_H
#define NJL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The client side of one Lua state: its completion queue and the calls under way. */
typedef struct njl_engine njl_engine;
/* A client, shared with whoever else holds it. */
typedef struct njl_client njl_client;
/* One call and, once it has ended, its response or error. Also a response or an error of another origin. */
typedef struct njl_outcome njl_outcome;
/* What a coroutine waits for; Swift only hands the pointer back. */
typedef struct njl_wait njl_wait;
/* A call that a list or a load of a document wants made between the hooks of its client. */
typedef struct njl_errand njl_errand;
/* A coroutine of the host's; Swift only hands the pointer back. */
typedef struct njl_task njl_task;

/* Bytes borrowed during the call; `data` may be NULL when `length` is 0. */
typedef struct njl_bytes {
  const char *data;
  size_t length;
} njl_bytes;

typedef struct njl_pair {
  njl_bytes name;
  njl_bytes value;
} njl_pair;

/* A part of a multipart form. `data` of `filename` and `content_type` is NULL where there is none. */
typedef struct njl_form_part {
  njl_bytes name;
  njl_bytes content; /* a path, if `is_file` */
  bool is_file;
  njl_bytes filename;
  njl_bytes content_type;
} njl_form_part;

/* An answer that goes into a cache as if a server had sent it. */
typedef struct njl_planted {
  int status;
  const njl_pair *headers;
  size_t header_count;
  njl_bytes body;
  bool is_json; /* its Content-Type, unless the headers have one */
} njl_planted;

/* Everything of a request. All that it points to is borrowed during the call. */
/* The Content-Type that a body given as a value implies. The headers of the request and of the client override it. */
typedef enum njl_implied_type { NJL_TYPE_UNKNOWN, NJL_TYPE_JSON, NJL_TYPE_FORM } njl_implied_type;

typedef struct njl_request {
  njl_bytes method;
  njl_bytes target;
  bool is_bare; /* says no more than these two, and the script wants no more of it than its end */
  const njl_pair *query;
  size_t query_count;
  const njl_pair *params; /* of the target's template */
  size_t param_count;
  const njl_pair *headers;
  size_t header_count;
  bool has_body;
  njl_bytes body;
  njl_implied_type implied_type;
  njl_bytes file; /* in place of `body`, the path of a file; `data` NULL: none */
  bool has_form;  /* in place of `body`: */
  const njl_form_part *parts;
  size_t part_count;
  const int *expected; /* statuses that are an answer; none: the client's rule */
  size_t expected_count;
  double connect, idle, total; /* seconds, 0: no limit; negative: the client's limit */
  bool pulls_body;             /* in place of `body`: njl_call_wants_body */
  bool restarts_body;          /* it can be had again from its start: njl_call_begins_body */
  int64_t body_length;         /* of what is pulled, in bytes; negative: not known before */
  bool is_streamed;            /* the answer's body comes in parts: njl_stream_next */
  bool asks_redirects;         /* njl_call_hop */
  bool asks_retries;           /* njl_call_attempt */
  bool hears_of_refresh;       /* njl_call_refresh */
  bool hears_of_progress;      /* njl_call_progress */
  bool is_followed;            /* njl_session_progress counts it */
  bool is_look_up;             /* what is stored is the answer; a call that ends with neither response nor error: nothing is */
  const njl_planted *planted;  /* is stored for it, and no server is asked; NULL: it is a call */
  njl_bytes endpoint;          /* the name of what is asked for, in place of method and target; `data` NULL: none */
  njl_bytes arguments;         /* for it, a JSON object; empty: none */
  njl_bytes value;             /* in place of `body`, JSON that is written as the endpoint takes it; `data` NULL: none */
  const struct njl_catalog *catalog; /* that has the endpoint */
  njl_errand *errand;          /* that it is made for; its URL is the errand's unless path, params or query say another */
  njl_bytes rare;              /* a JSON object of the schema of nj_request_merge_json; empty: none */
} njl_request;

typedef enum njl_field {
  NJL_URL,
  NJL_KIND,
  NJL_PHASE,
  NJL_MESSAGE,
  NJL_USER_MESSAGE,
  NJL_SENTENCE, /* message and URL, for a person to read */
  NJL_SOURCE,
  NJL_TEXT,    /* the body by its charset; what is not in it as U+FFFD */
  NJL_DETAILS, /* what the server says about an error, as a JSON object; NULL: nothing that is understood */
  NJL_CURL,    /* the command line of the request, also of an error's */
  NJL_CURL_WITH_SECRETS,
  NJL_CURL_OF_SANDBOX, /* the command line without the headers that the script has not set */
  NJL_PEER, /* the address that answered */
  NJL_DECISIONS, /* why the call went as it did: a JSON array of objects with a `text` */
  NJL_IDEMPOTENCY_KEY, /* what was sent as such, also by a call that failed */
  NJL_PROMPT_URL, /* of a login: where the browser goes, */
  NJL_PROMPT_CODE, /* or what is typed, */
  NJL_PROMPT_PAGE, /* at which page, */
  NJL_PROMPT_COMPLETE_PAGE, /* or the page that knows the code */
  NJL_HOP_URL, /* of the redirect that is asked about: where it leads, */
  NJL_HOP_FROM, /* the URL that answered, */
  NJL_HOP_METHOD, /* and how the next is asked */
} njl_field;

/* A response, as long as its outcome lives. */
typedef struct njl_response {
  int status;
  njl_bytes body;
  int attempts;
  bool is_streamed; /* `body` is empty: it comes in parts */
} njl_response;

/* Seconds, negative for what did not occur. */
typedef struct njl_timing {
  double sent, first_byte, total; /* since the call began */
  double dns, connect, tls;       /* how long it took */
  bool reused;
} njl_timing;

/* What of an error is a number. */
typedef struct njl_failure {
  int status; /* 0: there was no answer */
  int attempts;
  int code;           /* of the operating system or of TLS; 0: none */
  double retry_after; /* seconds; negative: the server did not say */
  bool is_retryable;
  bool may_have_been_processed;
  bool has_response;
} njl_failure;

/* Leaves the signals of a process that knows nothing of us as they are. */
void njl_keep_signals(void);

/* NULL: out of memory. */
njl_engine *njl_engine_new(void);
/* Cancels the calls under way, waits for their ends and forgets them. */
void njl_engine_free(njl_engine *engine);
/* Runs what is due, waiting up to `timeout` seconds for the first (negative: no bound), and writes the waits whose
 * calls have ended, at most `capacity`; more are there when it returns `capacity`. */
size_t njl_engine_poll(njl_engine *engine, double timeout, njl_wait **ended, size_t capacity);
/* Makes a poll that waits, now or next, return. Any thread. */
void njl_engine_wake(njl_engine *engine);
/* The process is to end: removes what is temporary. Nothing temporary is made any more. */
void njl_engine_leave(njl_engine *engine);

/* One line of a client's log. */
typedef struct njl_line {
  int64_t log;
  int level; /* a number of LogLevel */
  njl_bytes text;
} njl_line;

/* The oldest line that has come in, borrowed until the next call. False: there is none. */
bool njl_engine_next_line(njl_engine *engine, njl_line *line);

typedef struct njl_mock njl_mock;
typedef struct njl_text njl_text; /* a text that Swift lends; njl_text_release ends it */

/* What a client tells `engine` beside what its calls come to, and under which number. */
typedef struct njl_listener {
  int64_t number;
  int level;             /* lines of its log up to that one; 0: none */
  /* Its logins that ask for each token (njl_engine_next_question), by the names of their schemes; `data` is NULL for its only one.
   * `options` only describes them. */
  const njl_bytes *provided;
  size_t provided_count;
  bool hears_of_logins;  /* that are required: a question, too */
  const njl_mock *mock; /* in place of the network; NULL: there is none, or one of the options */
} njl_listener;

/* `options`: a JSON object of the schema of nj_config_merge_json. NULL: `*error` says why. */
njl_client *njl_client_new(njl_bytes options, njl_engine *engine, const njl_listener *listener, njl_outcome **error);
void njl_client_retain(njl_client *client);
void njl_client_release(njl_client *client);
/* Cancels what is in flight and returns when nothing of the client runs any more. */
void njl_client_close(njl_client *client);

/* --- Sessions --- */

/* Clients that are made from here on are recorded, in memory. */
void njl_session_begin(njl_engine *engine);
/* What they do from here on belongs to the step of this number. */
void njl_session_step(njl_engine *engine, int64_t step);
/* How far the calls that are followed have come, together: those that began while others were under way, what has ended among
 * them included. Totals are negative where they are not known of all. */
typedef struct njl_session_state {
  int64_t sent, sent_total, received, received_total;
  size_t calls;   /* under way; 0: the last has ended */
  double seconds; /* since the first began */
} njl_session_state;

/* False: nothing has changed since it was asked last. */
bool njl_session_progress(njl_engine *engine, njl_session_state *state);
/* What is followed now is not any more. */
void njl_session_rest(njl_engine *engine);
/* The exchanges of some steps as cassettes without secrets. `asked`: {"steps": [1, 2], "secrets": ["moonlight"], "names":
 * ["tenant"]}. Returns {"cassettes": [{"text", "exchanges"}], "names": [[secret, what stands in its place, whether it is looked
 * for everywhere]], "active": steps that have asked a server, "losses": [[step, why it cannot be replayed]]}, the caller's to release. NULL: `*error` says why. */
njl_text *njl_session_cassettes(njl_engine *engine, njl_bytes asked, njl_outcome **error);

/* --- Logins and limits --- */

/* Something of a login that a client asks its script for, or tells it. */
typedef struct njl_question njl_question;
typedef enum njl_question_kind {
  NJL_TOKEN_WANTED,
  NJL_TOKEN_REFUSED, /* one is wanted, for the server has refused the last */
  NJL_LOGIN_REQUIRED, /* not to be answered */
  NJL_MOCK_ASKED, /* for an answer of a mock, whose number is in the place of the client's */
} njl_question_kind;

/* The oldest that has come in, the caller's to release, which fails one that was not answered. NULL: there is none. */
njl_question *njl_engine_next_question(njl_engine *engine, int64_t *client, njl_question_kind *kind);
/* A token that lives for so many seconds; negative: nobody knows. What cannot be one fails. */
void njl_question_provide(njl_question *question, njl_bytes token, double lifetime);
void njl_question_end_login(njl_question *question);
/* The login is kept; the calls that wait fail with the message. */
void njl_question_fail(njl_question *question, njl_bytes message);
void njl_question_release(njl_question *question);

/* --- Mocks --- */

/* `routes`: a JSON object of the schema of nj_config_set_mock, in which the answer of a route may be {"function": NUMBER}.
 * `number`: under which such a function is asked for. NULL: `*error` says why. */
njl_mock *njl_mock_new(njl_bytes routes, njl_engine *engine, int64_t number, njl_outcome **error);
void njl_mock_release(njl_mock *mock);
void njl_mock_reset(njl_mock *mock);
bool njl_mock_verify(njl_mock *mock, njl_outcome **error);
/* Of all routes together where `route.data` is NULL; -1: there is no such route. */
int64_t njl_mock_uses(const njl_mock *mock, njl_bytes route);
njl_text *njl_mock_calls(const njl_mock *mock); /* a JSON list */
/* Which function is asked: of a mock's, or of the client's logins that ask for tokens, counted from 1. */
int64_t njl_question_function(const njl_question *question);
/* Of a question of the kind NJL_MOCK_ASKED. */
njl_text *njl_question_request(const njl_question *question); /* a JSON object */
njl_text *njl_question_body(const njl_question *question);
/* `answer`: a JSON object; `body` is its body, where its data is not NULL. One that is not as the schema says fails. */
void njl_question_answer(njl_question *question, njl_bytes answer, njl_bytes body);

/* What a login has brought. `data` of `refresh` is NULL where there is none, that of `scheme` where it is for the only login of
 * the client; a negative `lifetime` is not known. */
typedef struct njl_token {
  njl_bytes access, refresh, scheme;
  double lifetime; /* seconds */
} njl_token;
/* False: `*error` says why. */
bool njl_client_sign_in(njl_client *client, const njl_token *token, njl_outcome **error);

/* Begins a login, which is ended, awaited and abandoned as a call is. A poll names `wait` when a person has to do something
 * for it (njl_login_prompts), and when it has ended. NULL: it was refused and `*error` says why. */
njl_outcome *njl_login_start(njl_engine *engine, njl_client *client, njl_wait *wait, njl_bytes scheme,
                             njl_outcome **error);
/* Begins a logout, which is ended, awaited and abandoned as a call is. NULL: it was refused and `*error` says why. */
njl_outcome *njl_logout_start(njl_engine *engine, njl_client *client, njl_wait *wait, njl_bytes scheme,
                              njl_outcome **error);
/* Whether somebody is to be shown what NJL_PROMPT_URL and the fields behind it say; once for each time. */
bool njl_login_prompts(njl_outcome *login);
bool njl_login_has_failed(const njl_outcome *login);

/* How the client's origins and groups stand with their limits: a JSON array of objects; the caller's to release. */
njl_text *njl_client_limits(const njl_client *client);

/* --- Cookies --- */

/* Of a client, the caller's to release; NULL: it keeps none. */
typedef struct njl_cookies njl_cookies;
njl_cookies *njl_client_cookies(const njl_client *client);
void njl_cookies_release(njl_cookies *cookies);

/* The cookies of a moment. NULL counts as empty. */
typedef struct njl_cookie_list njl_cookie_list;
typedef struct njl_cookie {
  njl_bytes name, value, domain, path;
  njl_bytes same_site; /* empty: the server said nothing */
  double expires;      /* seconds since 1970; 0: at the end of the session */
  bool is_secure, is_http_only, is_host_only;
} njl_cookie;
njl_cookie_list *njl_cookies_list(const njl_cookies *cookies);
/* Borrowed from the list. False: there are fewer. */
bool njl_cookie_list_at(const njl_cookie_list *list, size_t index, njl_cookie *cookie);
void njl_cookie_list_release(njl_cookie_list *list);

/* Those that are false say why in `*error`, owned by the caller. */
bool njl_cookies_set(njl_cookies *cookies, njl_bytes url, njl_bytes set_cookie, njl_outcome **error);
bool njl_cookies_flush(njl_cookies *cookies, njl_outcome **error);
bool njl_cookies_export(const njl_cookies *cookies, njl_bytes path, njl_outcome **error);

typedef struct njl_import {
  size_t stored, skipped;
} njl_import;
bool njl_cookies_import(njl_cookies *cookies, njl_bytes path, njl_import *counts, njl_outcome **error);
void njl_cookies_load_text(njl_cookies *cookies, njl_bytes text, njl_import *counts);

/* Text of Swift's, the caller's to release. */
njl_text *njl_cookies_text(const njl_cookies *cookies);
njl_bytes njl_text_bytes(const njl_text *text); /* borrowed from it */
void njl_text_release(njl_text *text);

typedef struct njl_cookie_match {
  bool has_name, has_domain, has_path;
  njl_bytes name, domain, path;
} njl_cookie_match;
/* Those that match all that `match` has. Returns how many there were. */
size_t njl_cookies_delete(njl_cookies *cookies, const njl_cookie_match *match);
void njl_cookies_clear(njl_cookies *cookies);

/* --- Caches --- */

/* Of a client, the caller's to release; NULL: it has none. */
typedef struct njl_cache njl_cache;
njl_cache *njl_client_cache(const njl_client *client);
void njl_cache_release(njl_cache *cache);

/* Removes what is stored of the request's URL, or of all that begin so, and says how much it was. False: `*error` says why
 * not. */
bool njl_client_remove_cached(njl_client *client, const njl_request *request, bool is_prefix, size_t *count,
                              njl_outcome **error);
/* Removes all responses; false: `*error` says why they are still on disk. */
bool njl_cache_clear(njl_cache *cache, size_t *count, njl_outcome **error);
/* Waits until all that is to be on disk is there; false: `*error` says which changes are not. */
bool njl_cache_flush(njl_cache *cache, njl_outcome **error);

typedef struct njl_cache_statistics {
  int64_t hits, stale, misses, validations, bytes_saved;
  int64_t memory_entries, memory_bytes, disk_entries, disk_bytes;
} njl_cache_statistics;
njl_cache_statistics njl_cache_count(const njl_cache *cache);

/* --- Endpoints --- */

/* What an API can do. Immutable, the caller's to release. */
typedef struct njl_catalog njl_catalog;
njl_catalog *njl_client_catalog(const njl_client *client); /* an empty one where it was given none */
void njl_catalog_release(njl_catalog *catalog);
size_t njl_catalog_count(const njl_catalog *catalog);
/* Texts are the caller's to release; NULL: there is none of that name, or fewer. */
njl_text *njl_catalog_name(const njl_catalog *catalog, size_t index);
njl_text *njl_catalog_help(const njl_catalog *catalog, njl_bytes name);     /* for people */
njl_text *njl_catalog_endpoint(const njl_catalog *catalog, njl_bytes name); /* a JSON object */
/* Whether there is an endpoint of that name. False: `*error` says what may have been meant. */
bool njl_catalog_check(const njl_catalog *catalog, njl_bytes name, njl_outcome **error);
bool njl_catalog_has_parameter(const njl_catalog *catalog, njl_bytes name, njl_bytes parameter);
/* Begins to load a document, which is ended, awaited and abandoned as a call is. `caller`: the number under which errands come;
 * 0: the client sends what it needs itself. NULL: it was refused and `*error` says why. */
njl_outcome *njl_catalog_start(njl_engine *engine, njl_client *client, njl_bytes location, int64_t caller, njl_wait *wait,
                               njl_outcome **error);
/* What was loaded, added to `former`; NULL: nothing was. */
njl_catalog *njl_outcome_catalog(const njl_outcome *outcome, const njl_catalog *former);

/* --- Calls --- */

/* Starts a call that ends by a poll that names `wait`. NULL: it was refused and `*error` says why.
 * A poll names it as well when a part of the request's body is wanted, and, for a streamed answer, when its head is
 * there; each time njl_call_await makes the next poll do so again, at once for what came meanwhile. */
njl_outcome *njl_call_start(njl_engine *engine, njl_client *client, const njl_request *request, njl_wait *wait,
                            njl_outcome **error);
void njl_call_await(njl_engine *engine, njl_outcome *call, njl_wait *wait);
/* Whether a part of the request's body is wanted. Then njl_call_provide gives one, of any length, or
 * njl_call_end_body says that there is none. */
bool njl_call_wants_body(const njl_outcome *call);
void njl_call_provide(njl_outcome *call, njl_bytes part);
void njl_call_end_body(njl_outcome *call);
/* The status of the redirect that is asked about; 0: none is. Then njl_call_redirect says whether it is followed, and to
 * where if not to its URL. A poll names who waits when one is to be asked about. */
int njl_call_hop(const njl_outcome *call);
void njl_call_redirect(njl_outcome *call, bool follows, njl_bytes url);
/* Whether the body that is wanted begins, of an attempt that may not be the first; once for each. Parts of the one before
 * are dropped. Only of a body that can be had again. */
bool njl_call_begins_body(njl_outcome *call);

/* An attempt that has failed, and what the client would do about it. */
typedef struct njl_attempt {
  int number; /* 1 for the first */
  bool again;
  double after; /* seconds, where `again` */
} njl_attempt;
/* The one that is asked about; false: none is. Then njl_call_retry says what is done. A poll names who waits when one is
 * to be asked about. */
bool njl_call_attempt(const njl_outcome *call, njl_attempt *attempt);
/* What it failed with, the caller's to release. */
njl_outcome *njl_call_attempt_error(const njl_outcome *call);
/* Bytes; negative: not known. */
typedef struct njl_progress {
  int64_t sent, sent_total, received, received_total;
} njl_progress;
/* What is to be told of a call that hears of it, once; false: nothing is. A poll names who waits when something is. */
bool njl_call_progress(njl_outcome *call, njl_progress *progress);
typedef enum njl_retry {
  NJL_RETRY_AS_DECIDED,
  NJL_RETRY_AGAIN,
  NJL_RETRY_STOP,
} njl_retry;
/* `after`: seconds, for another attempt. */
void njl_call_retry(njl_outcome *call, njl_retry retry, double after);
/* What comes of fetching anew the stored answer that this call was given: an outcome of its own, the caller's to release, which
 * njl_call_await waits for; it may end with neither response nor error. NULL: nothing is fetched. */
njl_outcome *njl_call_refresh(njl_engine *engine, njl_outcome *call);
/* No poll will name the call's wait any more; it is cancelled unless it has ended. */
void njl_call_abandon(njl_outcome *call);
/* Cancels it unless it has ended; a poll will still name who waits for it. Of a streamed answer nothing more is read. */
void njl_call_cancel(njl_outcome *call);
/* Whether the call has ended with a response; false for errors and calls under way. */
bool njl_outcome_is_response(const njl_outcome *outcome);

typedef enum njl_part {
  NJL_PART_READY,
  NJL_PART_LATER,  /* a poll will name `wait` */
  NJL_PART_BUSY,   /* another wait is named then */
  NJL_PART_END,
  NJL_PART_FAILED, /* `*error` says why, owned by the caller; NULL: out of memory */
} njl_part;

/* The next part of a streamed answer, borrowed until njl_stream_took says that it is done with: reading from the network
 * pauses while too much lies here. */
njl_part njl_stream_next(njl_outcome *outcome, njl_wait *wait, njl_bytes *part, njl_outcome **error);
void njl_stream_took(njl_outcome *outcome);

/* Kinds of errors that the Lua host itself makes; the numbers are those of ErrorKind. */
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

/* An error of our own. `phase` is a number of ErrorPhase, or 0. */
njl_outcome *njl_outcome_failed(njl_kind kind, int phase, njl_bytes message);
#define NJL_PHASE_TOTAL 7
/* One more owner of the same outcome. */
void njl_outcome_retain(njl_outcome *outcome);
void njl_outcome_release(njl_outcome *outcome);

/* False: it is not a response. */
bool njl_outcome_response(const njl_outcome *outcome, njl_response *response);
bool njl_outcome_timing(const njl_outcome *outcome, njl_timing *timing);
/* False: it is not an error. */
bool njl_outcome_failure(const njl_outcome *outcome, njl_failure *failure);
/* The response that came with an error, as an outcome of its own; NULL: there was none. */
njl_outcome *njl_outcome_error_response(const njl_outcome *outcome);
/* What the attempt at `index` failed with, before the last one of an error; the caller's to release. NULL: there are
 * fewer. */
njl_outcome *njl_outcome_earlier(const njl_outcome *outcome, size_t index);
/* NULL: it has no such field. The text lives as long as the outcome. */
const char *njl_outcome_text(njl_outcome *outcome, njl_field field, size_t *length);
/* The number of header fields. If `is_sandboxed`, fields that carry credentials are not counted. */
size_t njl_outcome_header_count(const njl_outcome *outcome, bool is_sandboxed);
/* The header field at `index`, in the order of the response. False: `index` is too large. */
bool njl_outcome_header(const njl_outcome *outcome, bool is_sandboxed, size_t index, njl_pair *field);

/* The URL of the redirect at `index`, which lives as long as the outcome; NULL: there are fewer. */
const char *njl_outcome_redirect(njl_outcome *outcome, size_t index, int *status, size_t *length);

/* Fills `text` with a new idempotency key, without a NUL. */
#define NJL_KEY_LENGTH 36
void njl_idempotency_key(char text[NJL_KEY_LENGTH]);

/* --- Descriptors and blocking work --- */

/* An outcome, the caller's to release, that a poll tells `wait` of when the descriptor can be read (or written) without
 * blocking, or is broken; what cannot be waited for, as a regular file, is always ready. The descriptor is neither changed
 * nor kept: end the wait before it is closed. NULL: `*error` says why not. Abandoned as a call is. */
njl_outcome *njl_descriptor_await(njl_engine *engine, int descriptor, bool writes, njl_wait *wait, njl_outcome **error);

/* A file that is open, or something temporary that its release removes; the caller's to release. */
typedef struct njl_resource njl_resource;
void njl_resource_release(njl_resource *resource);
/* The descriptor of an open named pipe or device, which does not block; the caller's to close. -1: the resource is none, or its
 * descriptor has been taken. */
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
  int64_t integer; /* of a number without a fraction too */
  double number;   /* of an integer too */
  njl_bytes bytes;
} njl_value;

/* Work of one of the names in Files.swift, on another thread, as an outcome, which is ended, awaited and abandoned as a call
 * is; what has begun is done all the same. The arguments are copied. NULL: `*error` says why not. */
njl_outcome *njl_work_start(njl_engine *engine, njl_bytes name, const njl_value *arguments, size_t count, njl_wait *wait,
                            njl_outcome **error);
/* Likewise: the next bytes of an open file, at most `most`; nil at its end. */
njl_outcome *njl_resource_read(njl_engine *engine, njl_resource *resource, int64_t most, njl_wait *wait,
                               njl_outcome **error);
/* What it has come to: a list, or one value; borrowed from the outcome. False: there are fewer. */
bool njl_work_is_list(const njl_outcome *outcome);
size_t njl_work_count(const njl_outcome *outcome);
bool njl_work_value(const njl_outcome *outcome, size_t index, njl_value *value);
bool njl_work_has_resource(const njl_outcome *outcome);
njl_resource *njl_work_take_resource(njl_outcome *outcome); /* the caller's */

/* --- Lists in pages --- */

/* A list that a server gives in pages, and where in it the script is; the caller's to release, which ends what it loads. */
typedef struct njl_pages njl_pages;
/* One of its pages, the caller's to release. */
typedef struct njl_page njl_page;

/* `options`: a JSON object of the schema of nj_pagination_merge_json. `state`: where to go on; without `data`: at the beginning.
 * `seconds`: for all of it; negative: each call has its own limit. `caller`: the number under which errands come; 0: the client
 * sends what it needs itself. NULL: `*error` says why. */
njl_pages *njl_pages_new(njl_engine *engine, njl_client *client, const njl_request *request, njl_bytes options,
                         njl_bytes state, double seconds, int64_t caller, njl_outcome **error);
void njl_pages_release(njl_pages *pages);
/* Gives up what is loaded. Nothing comes any more. */
void njl_pages_close(njl_pages *pages);

typedef enum njl_page_step {
  NJL_PAGE_READY,
  NJL_PAGE_LATER, /* it is loaded: njl_pages_await */
  NJL_PAGE_END,
  NJL_PAGE_FAILED, /* `*error` says why, owned by the caller; with a NULL `error` it is said again */
} njl_page_step;
/* The next page, into `*page`. After a failure the same page is loaded again. */
njl_page_step njl_pages_take(njl_pages *pages, njl_page **page, njl_outcome **error);
/* An outcome without response or error, the caller's to release, that a poll tells `wait` of when there is something to take. */
njl_outcome *njl_pages_await(njl_pages *pages, njl_wait *wait);

/* How the list goes on behind the page taken last, where its caller decides. */
typedef enum njl_decision {
  NJL_GO_ON_END,
  NJL_GO_ON_QUERY, /* with these items in place of those of the same names */
  NJL_GO_ON_URL,
} njl_decision;
/* False: `*error` says why not. */
bool njl_pages_go_on(njl_pages *pages, njl_decision decision, const njl_pair *query, size_t count, njl_bytes url,
                     njl_outcome **error);
/* Goes on at a state; without `data`: begins anew. False: `*error` says why not, and nothing has changed. */
bool njl_pages_begin(njl_pages *pages, njl_bytes state, njl_outcome **error);
/* Behind so many items of the page taken last; where none was taken, where the list has begun. The caller's to release. */
njl_text *njl_pages_state(const njl_pages *pages, size_t consumed);
/* What was found out about the list; empty: nothing had to be. The caller's to release. */
njl_text *njl_pages_explanation(const njl_pages *pages);

int64_t njl_page_number(const njl_page *page);
size_t njl_page_count(const njl_page *page);
njl_bytes njl_page_item(const njl_page *page, size_t index); /* JSON, borrowed from the page */
njl_outcome *njl_page_response(const njl_page *page);        /* an outcome of its own, the caller's to release */
void njl_page_release(njl_page *page);

/* --- Errands --- */

/* The oldest that nobody has begun, with the number of its caller; whoever gets it owns it until njl_errand_end. NULL: there
 * is none. */
njl_errand *njl_engine_next_errand(njl_engine *engine, int64_t *caller);
/* A task that makes a call nobody wants any more, once for each. NULL: there is none. */
njl_task *njl_engine_next_cancelled(njl_engine *engine);
/* What is the errand's own, as api:request has it: a JSON object of method, path, headers and perhaps max_body. The caller's to
 * release; NULL: out of memory. */
njl_text *njl_errand_request(const njl_errand *errand);
int64_t njl_errand_caller(const njl_errand *errand);
/* `task` makes its call, until njl_errand_end. */
void njl_errand_begin(njl_errand *errand, njl_task *task);
/* What its call came to. False: `outcome` is of no call that was made for it. */
bool njl_errand_finish(njl_errand *errand, const njl_outcome *outcome);
/* It fails as `script`; `number` becomes the code of that error. */
void njl_errand_fail(njl_errand *errand, njl_bytes message, int32_t number);
/* Releases it. Without an answer until then it fails. */
void njl_errand_end(njl_errand *errand);

/* --- Standard modules --- */

/* The numbers are those of HashFunction. */
typedef enum njl_hash_function { NJL_MD5, NJL_SHA1, NJL_SHA256, NJL_SHA384, NJL_SHA512 } njl_hash_function;
#define NJL_LONGEST_HASH 64
/* The digest of bytes that come in pieces, or with a key their HMAC; the caller's to release. NULL: out of memory. */
typedef struct njl_hash njl_hash;
njl_hash *njl_hash_new(njl_hash_function function, const njl_bytes *key);
void njl_hash_update(njl_hash *hash, njl_bytes bytes);
/* Writes the digest, for which there is room for the longest, and returns its length. Nothing may follow. */
size_t njl_hash_finish(njl_hash *hash, uint8_t *digest);
void njl_hash_release(njl_hash *hash);
/* Bytes that nobody can guess. */
void njl_random(void *bytes, size_t count);

/* A moment of the years 0 to 9999: since 1970 in UTC, rounded down, and 0 to 999,999,999 behind that. */
typedef struct njl_timestamp {
  int64_t seconds;
  int32_t nanoseconds;
} njl_timestamp;
typedef enum njl_timestamp_form { NJL_ISO_8601, NJL_HTTP_DATE } njl_timestamp_form;
/* To the microsecond. False: it is none of those. */
bool njl_timestamp_of(double seconds, njl_timestamp *moment);
/* `now`, in seconds since 1970, tells the century of a year of two digits. False: it is no such text. */
bool njl_timestamp_parse(njl_bytes text, njl_timestamp_form form, int64_t now, njl_timestamp *moment);
/* As a clock so many minutes east of UTC shows it, with so many digits of the fraction (negative: as many as it has). The
 * caller's to release; NULL: there is no such text. */
njl_text *njl_timestamp_format(njl_timestamp moment, njl_timestamp_form form, int minutes_east, int digits);

/* Whether what goes by that name is most likely a credential. */
bool njl_is_secret_name(njl_bytes name);
/* Returns the text with its secrets masked; the caller releases it. */
njl_text *njl_redacted(njl_bytes text);
/* A number of LogLevel; 0: the client has no log. */
int njl_client_log_level(const njl_client *client);
void njl_client_log(njl_client *client, int level, njl_bytes line);
/* An http or https URL as it goes on the wire, or as it may be shown; the caller's to release. NULL: `*error` says why. */
njl_text *njl_url_canonical(njl_bytes url, bool shows_secrets, njl_outcome **error);

/* --- Functions of the host program --- */

/* Owned by the script that it was registered with. */
typedef struct njl_function njl_function;
/* What one call of it returned. */
typedef struct njl_results njl_results;

/* Calls it. The results are the caller's to release; `failure` is a string when the call failed, else nil, and lives as
 * long as they do. */
njl_results *njl_function_call(njl_function *function, const njl_value *arguments, size_t count, size_t *returned,
                               njl_value *failure);
/* Borrowed from the results. */
njl_value njl_results_value(const njl_results *results, size_t index);
void njl_results_release(njl_results *results);

#endif
