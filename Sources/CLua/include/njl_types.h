/* njl_types.h - types shared by the functions that Swift provides to the Lua host. */
#ifndef NJL_TYPES_H
#define NJL_TYPES_H

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
/* A call for a paginated list or a document load, made through the hooks of the client. */
typedef struct njl_subrequest njl_subrequest;
/* The state machine of an event stream, and the response that it reads. */
typedef struct njl_events njl_events;
/* A WebSocket and the messages that the script has not received. */
typedef struct njl_websocket njl_websocket;
/* A download to a file, or an upload. */
typedef struct njl_transfer njl_transfer;
/* A coroutine of the host. Opaque to Swift, which only passes the pointer back. */
typedef struct njl_task njl_task;

/* Bytes that are valid for the duration of the function call. `data` may be NULL if `length` is 0. */
typedef struct njl_bytes {
  const char *data;
  size_t length;
} njl_bytes;

typedef struct njl_pair {
  njl_bytes name;
  njl_bytes value;
} njl_pair;

/* A text owned by Swift. The caller releases it. */
typedef struct njl_text njl_text;
njl_bytes njl_text_bytes(const njl_text *text); /* borrowed from the text */
void njl_text_release(njl_text *text);

typedef enum njl_value_kind {
  NJL_NIL,
  NJL_BOOLEAN,
  NJL_INTEGER,
  NJL_NUMBER,
  NJL_STRING,
  NJL_OTHER, /* a table, a function and so on */
  NJL_JSON,  /* for Lua only: `bytes` is valid JSON; null becomes nil */
} njl_value_kind;

typedef struct njl_value {
  njl_value_kind kind;
  bool boolean;
  int64_t integer; /* also set for a number without a fraction */
  double number;   /* also set for an integer */
  njl_bytes bytes;
} njl_value;

#endif
