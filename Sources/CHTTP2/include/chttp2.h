/* chttp2.h - the client side of one HTTP/2 connection on memory buffers.
 *
 * Uses libnghttp2, which is loaded on first use and never unloaded. Frames, HPACK and flow control are libnghttp2's. The
 * rules for messages (RFC 9113 section 8) are the caller's.
 *
 * Not thread-safe, except for ch2_load. The handler's functions are called from ch2_receive and ch2_write only. In them,
 * the caller may call every function except ch2_receive, ch2_write and ch2_free. */
#ifndef CHTTP2_H
#define CHTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Loads the library. If it is missing or too old, stores the reason in `why`, which may be NULL, and returns false. Each call
 * tries again to load a missing library. */
bool ch2_load(char *why, size_t capacity);
/* Returns the version of the loaded library, such as "1.52.0"; NULL if it is not loaded. */
const char *ch2_version(void);

/* A result of ch2_body: no data is available until ch2_resume_body is called. */
#define CH2_BODY_LATER (-1)
/* A result of ch2_body: the stream is reset, because its body failed. */
#define CH2_BODY_FAILED (-2)

typedef struct ch2_field {
  const uint8_t *name;
  size_t name_length;
  const uint8_t *value;
  size_t value_length;
} ch2_field;

/* The ranges of a field in the text of its section. */
typedef struct ch2_range {
  int32_t name;
  int32_t name_length;
  int32_t value;
  int32_t value_length;
} ch2_range;

/* A complete field section. Valid during the event. */
typedef struct ch2_section {
  const uint8_t *text; /* the names and values in their order, each followed by a NUL */
  size_t length;
  const ch2_range *fields;
  size_t count;
} ch2_section;

/* Receives the events of a connection. `stream` is the pointer that was passed to ch2_submit. Events of a stream that
 * was forgotten are not delivered. */
typedef struct ch2_handler {
  /* A frame arrives, before its other events. Returns false to close the connection, because there are too many. */
  bool (*frame)(void *connection, uint8_t type, uint8_t flags, size_t length);
  /* One call for a section, because a call for each field takes 5 % of the instructions of a request. */
  void (*section)(void *connection, void *stream, const ch2_section *section, bool ends_stream);
  /* Part of the body; a part of the buffer that was passed to ch2_receive. */
  void (*data)(void *connection, void *stream, const uint8_t *bytes, size_t count);
  /* The response is complete, without a section at its end. */
  void (*ended)(void *connection, void *stream);
  /* The stream no longer exists. `error` is an error code of RFC 9113 section 7. The pointer is not used any more. */
  void (*closed)(void *connection, void *stream, uint32_t error);
  /* Stores up to `capacity` bytes of the request body and returns their number, or CH2_BODY_LATER or CH2_BODY_FAILED. Sets
   * `*is_last` at the end of the body. */
  ssize_t (*body)(void *connection, void *stream, uint8_t *buffer, size_t capacity, bool *is_last);
  /* The server's SETTINGS have arrived. */
  void (*settings)(void *connection);
  /* The server will not process streams above `last_stream`. The connection must end those streams itself. */
  void (*goaway)(void *connection, int32_t last_stream, uint32_t error);
  /* A PING was acknowledged. */
  void (*pong)(void *connection);
} ch2_handler;

typedef struct ch2_session ch2_session;

typedef struct ch2_options {
  uint32_t stream_window;     /* bytes that the server may send on a stream before they are consumed */
  uint32_t connection_window; /* the same for all streams together */
  /* The announced limit of the size of a field section (SETTINGS_MAX_HEADER_LIST_SIZE). A section of more than four times
   * this size closes the connection. */
  uint32_t maximum_fields;
} ch2_options;

/* Creates a session, whose preface and SETTINGS are pending. `handler` must outlive the session. Returns NULL if memory is
 * exhausted or the library is not loaded. */
ch2_session *ch2_new(const ch2_handler *handler, void *connection, const ch2_options *options);
void ch2_free(ch2_session *session);

/* Processes received bytes. Returns false if the connection must be closed: ch2_violation has the reason, and ch2_write may
 * still return a GOAWAY frame. */
bool ch2_receive(ch2_session *session, const uint8_t *bytes, size_t count);
/* Stores up to `capacity` pending bytes in `buffer`. Returns their number; 0 if none is pending; a negative error. */
ssize_t ch2_write(ch2_session *session, uint8_t *buffer, size_t capacity);
bool ch2_wants_write(const ch2_session *session);
/* Returns whether the session has ended: it expects no further bytes and has none to send. */
bool ch2_has_ended(const ch2_session *session);
/* Returns the violation of the protocol for which the session closes the connection. NULL: there was none. */
const char *ch2_violation(const ch2_session *session);

/* Starts a request. The library converts names to lower case. Returns the number of the stream, or a negative error. */
int32_t ch2_submit(ch2_session *session, const ch2_field *fields, size_t count, bool has_body, void *stream);
/* Makes the session request the body of a stream again. */
void ch2_resume_body(ch2_session *session, int32_t stream_id);
/* Sends RST_STREAM. */
void ch2_reset(ch2_session *session, int32_t stream_id, uint32_t error);
/* Ensures that no event of the stream is delivered any more. */
void ch2_forget(ch2_session *session, int32_t stream_id);
/* Reports that `count` bytes of a stream's body are consumed, so that the server can send more on the stream. */
void ch2_consume(ch2_session *session, int32_t stream_id, size_t count);
/* Changes the size of a window. `stream_id` 0 is the connection's window. */
void ch2_set_window(ch2_session *session, int32_t stream_id, int32_t size);
/* Sends PING. */
void ch2_ping(ch2_session *session);
/* Sends GOAWAY. The session then starts no further stream. */
void ch2_end(ch2_session *session, uint32_t error);

/* The server's SETTINGS. */
uint32_t ch2_maximum_streams(const ch2_session *session);
bool ch2_allows_extended_connect(const ch2_session *session);

#endif
