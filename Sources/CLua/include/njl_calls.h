/* njl_calls.h - calls in flight: their bodies, decisions and progress. */
#ifndef NJL_CALLS_H
#define NJL_CALLS_H

#include "njl_request.h"
#include "njl_types.h"

/* Starts a call. A poll reports `wait` when the call has ended or has another event: for example, when a part of the
 * request's body is needed or when the head of a streamed response has arrived. After each such report, njl_call_await
 * makes a later poll report `wait` again, immediately if an event has arrived in the meantime. Returns NULL and sets
 * `*error` if the call could not start. */
njl_future *njl_call_start(njl_engine *engine, njl_client *client, const njl_request *request, njl_wait *wait,
                            njl_future **error);
void njl_call_await(njl_engine *engine, njl_future *call, njl_wait *wait);
/* Returns whether a part of the request's body is needed. Respond with njl_call_provide, with a part of any length, or
 * with njl_call_end_body at the end. */
bool njl_call_needs_body(const njl_future *call);
/* Returns whether parts of the body may be needed later. */
bool njl_call_sends_body(const njl_future *call);
/* For a call whose response is streamed. Returns a new outcome in flight, owned by the caller, that ends when a part of
 * the body is needed, or if `until_sent`, only when none will be needed. */
njl_future *njl_call_await_body(njl_engine *engine, njl_future *call, njl_wait *wait, bool until_sent);
/* Ends the call, because its body cannot be produced. */
void njl_call_fail_body(njl_future *call, njl_bytes message);
void njl_call_provide(njl_future *call, njl_bytes part);
void njl_call_end_body(njl_engine *engine, njl_future *call);
/* Returns the status of the redirect that awaits a decision, or 0 if there is none. Respond with njl_call_redirect. A
 * poll reports the wait when a decision is needed. */
int njl_call_redirect_status(const njl_future *call);
/* Continues at `url` unless it is empty. Otherwise `follows` decides whether the call follows the redirect to its own
 * target or ends with the redirect response. */
void njl_call_redirect(njl_future *call, bool follows, njl_bytes url);
/* Returns true at the first call during each attempt: produce the body from its start. Parts that belong to an earlier
 * attempt are discarded. Only for requests with `restarts_body`. */
bool njl_call_restarts_body(njl_future *call);

/* A failed attempt and the client's decision about it. */
typedef struct njl_attempt {
  int number; /* 1: the first attempt */
  bool again;
  double after; /* seconds until the next attempt, if `again` */
} njl_attempt;
/* Sets `*attempt` to the failed attempt that awaits a decision. Returns false if there is none. Respond with
 * njl_call_retry. A poll reports the wait when a decision is needed. */
bool njl_call_attempt(const njl_future *call, njl_attempt *attempt);
/* Returns the error of the attempt that awaits a decision, owned by the caller. */
njl_future *njl_call_attempt_error(const njl_future *call);
/* The progress of a call in bytes; negative: unknown. */
typedef struct njl_progress {
  int64_t sent, sent_total, received, received_total;
} njl_progress;
/* Sets `*progress` to the call's progress. Returns false if the progress has not changed since the last call of this
 * function. A poll reports the wait when the progress has changed. */
bool njl_call_progress(njl_future *call, njl_progress *progress);
/* Returns the reason for which the call waits for the network: "none", "metered" or "constrained". The text is static.
 * Returns NULL if the call has not waited for the network again since the last call of this function. A poll reports
 * the wait when the call begins to wait. */
const char *njl_call_waits(njl_future *call);
typedef enum njl_retry {
  NJL_RETRY_DEFAULT,
  NJL_RETRY_AGAIN,
  NJL_RETRY_STOP,
} njl_retry;
/* Decides about the failed attempt. For NJL_RETRY_AGAIN, `after` is the delay in seconds before the next attempt. */
void njl_call_retry(njl_future *call, njl_retry retry, double after);
/* Returns the background revalidation of the stale response that this call returned: a new outcome, owned by the
 * caller. Use njl_call_await to wait for it. The outcome may end with neither response nor error. Returns NULL if
 * nothing is revalidated. */
njl_future *njl_call_refresh(njl_engine *engine, njl_future *call);
/* Cancels the call unless it has ended. No later poll reports its wait. */
void njl_call_abandon(njl_future *call);
/* Cancels the call unless it has ended. A poll still reports its wait. Reading of a streamed response stops. */
void njl_call_cancel(njl_future *call);

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

/* Fills `text` with a new idempotency key, without a terminating NUL. */
#define NJL_KEY_LENGTH 36
void njl_idempotency_key(char text[NJL_KEY_LENGTH]);

#endif
