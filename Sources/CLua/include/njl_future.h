/* njl_future.h - responses and errors. */
#ifndef NJL_FUTURE_H
#define NJL_FUTURE_H

#include "njl_types.h"

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
  NJL_CURL_OF_SANDBOX, /* like NJL_CURL, but without the headers that the script has not set */
  NJL_OFFLINE_REASON, /* of an error of the kind offline */
  NJL_PEER, /* the address of the peer that sent the response */
  NJL_TLS, /* the TLS connection that carried the exchange: a JSON object */
  NJL_CONNECTION_SUMMARY, /* the version of HTTP, the stream and the connection; NULL: none */
  NJL_DECISIONS, /* the decisions made for the call: a JSON array of objects with a `text` */
  NJL_DECISIONS_OF_SANDBOX, /* like NJL_DECISIONS, but without the addresses that the host's client denies */
  NJL_IDEMPOTENCY_KEY, /* the key that was sent, also by a call that failed */
  NJL_PROMPT_URL, /* login: the URL to open in the browser */
  NJL_PROMPT_CODE, /* login: the code to type at NJL_PROMPT_PAGE */
  NJL_PROMPT_PAGE, /* login: the page at which the user types the code */
  NJL_PROMPT_COMPLETE_PAGE, /* login: a page that already contains the code */
  NJL_REDIRECT_URL, /* pending redirect decision: the URL of the redirect's target */
  NJL_REDIRECT_SOURCE_URL, /* pending redirect decision: the URL that sent the redirect */
  NJL_REDIRECT_METHOD, /* pending redirect decision: the method of the next request */
} njl_field;

/* A response. Valid as long as its outcome. */
typedef struct njl_response {
  int status;
  int http_version; /* 10, 11 or 20 */
  njl_bytes body;
  int attempts;
  bool is_streamed; /* `body` is empty; the body arrives in parts */
} njl_response;

/* Times in seconds; negative if the event did not occur. */
typedef struct njl_timing {
  double sent, first_byte, total; /* since the start of the call */
  double dns, connect, tls;       /* durations */
  bool reused;
  int32_t stream; /* the identifier of the HTTP/2 stream; 0: none */
} njl_timing;

/* The numeric fields of an error. */
typedef struct njl_failure {
  int status; /* 0: there was no response */
  int attempts;
  int code;           /* for example, of the operating system or of TLS; 0: none */
  int64_t delivered;  /* lines, values or events before a stream failed; negative: not a stream */
  double retry_after; /* seconds until the call may be repeated; negative: unknown */
  bool is_retryable;
  bool may_have_been_processed;
  bool has_response;
} njl_failure;

/* Kinds of the errors that the Lua host raises itself. The numbers equal those of ErrorKind. */
typedef enum njl_kind {
  NJL_KIND_INVALID_ARGUMENT = 1,
  NJL_KIND_CLOSED = 3,
  NJL_KIND_REENTRANT = 4,
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
/* Adds an owner to the outcome. */
void njl_future_retain(njl_future *future);
void njl_future_release(njl_future *future);

/* Returns false if the outcome is not a response. */
bool njl_future_response(const njl_future *future, njl_response *response);
bool njl_future_timing(const njl_future *future, njl_timing *timing);
/* Returns false if the outcome is not an error. */
bool njl_future_failure(const njl_future *future, njl_failure *failure);
/* Returns the response of an error as a new outcome, owned by the caller, or NULL if there was none. */
njl_future *njl_future_error_response(const njl_future *future);
/* Returns the error of an attempt before the final error of an outcome, owned by the caller. `index` 0: first attempt.
 * Returns NULL if `index` is too large. */
njl_future *njl_future_earlier(const njl_future *future, size_t index);
/* Returns NULL if the outcome has no such field. The text is valid as long as the outcome, except that the texts of a
 * prompt, a redirect decision and NJL_DECISIONS are valid only until the field changes. */
const char *njl_future_text(njl_future *future, njl_field field, size_t *length);
/* Returns the number of the call. 0 if the outcome does not belong to a call. */
int64_t njl_future_call_id(const njl_future *future);
/* The fields before and after the body. */
typedef enum njl_section { NJL_HEADER_SECTION, NJL_TRAILER_SECTION } njl_section;
/* Returns the number of fields. If `is_sandboxed`, fields that carry credentials are not counted. */
size_t njl_future_header_count(const njl_future *future, njl_section section, bool is_sandboxed);
/* Sets `*field` to the field at `index`, in the order of the response. Returns false if `index` is too large. */
bool njl_future_header(const njl_future *future, njl_section section, bool is_sandboxed, size_t index, njl_pair *field);

/* Returns the URL of the redirect at `index`, valid as long as the outcome, or NULL if `index` is too large. */
const char *njl_future_redirect(njl_future *future, size_t index, int *status, size_t *length);
/* Returns whether the call has ended with a response; false for errors and calls in flight. */
bool njl_future_is_response(const njl_future *future);

#endif
