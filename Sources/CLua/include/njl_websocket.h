/* njl_websocket.h - WebSockets. Swift opens the connections; the script receives and sends. */
#ifndef NJL_WEBSOCKET_H
#define NJL_WEBSOCKET_H

#include "njl_calls.h"
#include "njl_types.h"

/* A message, or a piece of one. Borrowed until njl_websocket_take. */
typedef struct njl_message {
  bool is_text;
  bool is_first;
  bool is_last;
  njl_bytes bytes;
} njl_message;

typedef enum njl_sent {
  NJL_SENT,
  NJL_SEND_LATER, /* the send queue is full */
  NJL_SEND_FAILED, /* `*error` is set */
} njl_sent;

/* Opens a WebSocket, owned by the caller. `options` is a JSON object of the schema of nj_websocket_new. If
 * `handles_open`, messages that were kept are sent only after njl_websocket_handled_open. If `prepares_requests`, each
 * connection but the first one waits for njl_websocket_reconnect. Returns NULL and sets `*error` on failure. */
njl_websocket *njl_websocket_open(njl_engine *engine, njl_client *client, const njl_request *request, njl_bytes options,
                                  bool handles_open, bool prepares_requests, njl_future **error);
bool njl_websocket_wants_request(const njl_websocket *socket);
/* Ends the waits of njl_websocket_await if a connection still waits for njl_websocket_reconnect. */
void njl_websocket_notify(njl_websocket *socket);
/* Returns false and sets `*error` on failure. */
bool njl_websocket_reconnect(njl_websocket *socket, njl_engine *engine, njl_client *client, const njl_request *request,
                             njl_future **error);
void njl_websocket_release(njl_websocket *socket); /* closes the connection at once */
void njl_websocket_cancel(njl_websocket *socket);
/* Returns a new outcome in flight, owned by the caller. A poll reports `wait` at the next event of the WebSocket: a
 * message, a connection, room in the send queue, or the end. */
njl_future *njl_websocket_await(njl_websocket *socket, njl_wait *wait);
/* Returns whether a connection was opened since the last call of njl_websocket_take_open. */
bool njl_websocket_has_opened(const njl_websocket *socket);
void njl_websocket_take_open(njl_websocket *socket);
void njl_websocket_handled_open(njl_websocket *socket);
/* Returns NJL_PART_READY and sets `*message`, NJL_PART_LATER, NJL_PART_END, or NJL_PART_FAILED: njl_websocket_error
 * returns the error. */
njl_part njl_websocket_next(njl_websocket *socket, njl_message *message);
void njl_websocket_take(njl_websocket *socket);
/* `is_first`: on_open sends the message. */
njl_sent njl_websocket_send(njl_websocket *socket, bool is_text, njl_bytes bytes, bool is_first, njl_future **error);
/* Sends a Ping. Returns an outcome in flight, owned by the caller, that ends with the time until the Pong (see
 * njl_work_value) or with an error; or NULL and sets `*error`. */
njl_future *njl_websocket_ping(njl_websocket *socket, njl_wait *wait, njl_future **error);
/* Starts the closing handshake. `code` 0: without a code. Returns false and sets `*error` for an invalid code or
 * reason. */
bool njl_websocket_close(njl_websocket *socket, int code, njl_bytes reason, njl_future **error);
bool njl_websocket_is_connected(const njl_websocket *socket);
bool njl_websocket_is_ended(const njl_websocket *socket);
/* Returns the error of a WebSocket that has failed as a new outcome, owned by the caller; NULL: it has not failed. */
njl_future *njl_websocket_error(const njl_websocket *socket);
const char *njl_websocket_state_name(const njl_websocket *socket); /* static */
int njl_websocket_close_code(const njl_websocket *socket);         /* 0: no connection has ended */
/* Returns the response to the last handshake that the server has accepted, as a new future. NULL: none. */
njl_future *njl_websocket_response(const njl_websocket *socket);
/* The texts are owned by the caller. NULL: none. */
njl_text *njl_websocket_close_reason(const njl_websocket *socket);
njl_text *njl_websocket_subprotocol(const njl_websocket *socket);
njl_text *njl_websocket_explanation(const njl_websocket *socket);

#endif
