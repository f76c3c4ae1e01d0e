/* njl_events.h - event streams. The script makes the calls of a stream; Swift decides when, and decodes their bodies. */
#ifndef NJL_EVENTS_H
#define NJL_EVENTS_H

#include "njl_calls.h"
#include "njl_types.h"

/* An event. Borrowed until njl_events_take. */
typedef struct njl_event {
  njl_bytes type; /* empty: "message" */
  njl_bytes id;
  njl_bytes data;
} njl_event;

/* The next action of the script. */
typedef enum njl_events_step {
  NJL_EVENTS_CONNECT, /* send a request with `events`, and then call njl_events_opened or njl_events_failed */
  NJL_EVENTS_WAIT,    /* wait for `seconds`, and then call njl_events_waited */
  NJL_EVENTS_READ,    /* call njl_events_next */
  NJL_EVENTS_END,
  NJL_EVENTS_FAILED,  /* njl_events_error has the error */
} njl_events_step;

/* Creates a stream, owned by the caller. `options` is a JSON object of the schema of nj_events_new. Returns NULL and sets
 * `*error` on failure. */
njl_events *njl_events_new(njl_bytes options, njl_future **error);
void njl_events_release(njl_events *events);
njl_events_step njl_events_step_of(const njl_events *events, double *seconds);
void njl_events_opened(njl_events *events, njl_future *response);
void njl_events_failed(njl_events *events, njl_future *error);
void njl_events_waited(njl_events *events);
void njl_events_close(njl_events *events);
/* Returns NJL_PART_READY and sets `*event`, or NJL_PART_LATER or NJL_PART_BUSY as njl_stream_next does, or NJL_PART_END
 * if the step has changed. */
njl_part njl_events_next(njl_events *events, njl_wait *wait, njl_event *event);
void njl_events_take(njl_events *events);
/* Returns the error of a failed stream as a new outcome, owned by the caller. */
njl_future *njl_events_error(const njl_events *events);
/* Returns the response of the last connection, as a new future. NULL: none. */
njl_future *njl_events_response(const njl_events *events);
/* Returns the last id that the script has received. Borrowed until the next call for the stream. */
njl_bytes njl_events_last_id(njl_events *events);
double njl_events_reconnection_time(const njl_events *events); /* in seconds */
const char *njl_events_state_name(const njl_events *events); /* static */
njl_text *njl_events_explanation(const njl_events *events);  /* owned by the caller */

#endif
