/* session.h - the state of one session. */
#ifndef CHTTP2_SESSION_H
#define CHTTP2_SESSION_H

#include "chttp2.h"
#include "library.h"
#include "memory.h"
#include "section.h"

enum { CH2_FRAME_HEADER = 9 }; /* RFC 9113 section 4.1 */
enum { CH2_GOAWAY_LENGTH = 8 }; /* without its debug data */

struct ch2_session {
  nghttp2_session *session;
  ch2_memory memory;
  const ch2_handler *handler;
  void *connection;
  const uint8_t *output; /* bytes that the library has returned and ch2_write has not stored yet */
  size_t output_length;
  const char *violation; /* by the server; NULL: none */
  uint8_t header[CH2_FRAME_HEADER]; /* the part of a frame header that has arrived */
  size_t header_length;
  size_t payload; /* the bytes of the current frame that have not arrived */
  section section;        /* the field section in progress */
  size_t maximum_section;
  int32_t section_id;     /* the stream of the section */
  void *section_stream;   /* NULL: the section is ignored */
  bool is_goaway; /* the current frame is GOAWAY */
  uint8_t goaway[CH2_GOAWAY_LENGTH]; /* the part of its payload that has arrived */
  size_t goaway_length;
  size_t stream_window;
  size_t expected_data; /* the bytes of small DATA frames that may arrive for streams that the client has reset */
  bool has_failed;
  bool is_active; /* in ch2_receive or ch2_write */
};

/* Returns the stream with this identifier; NULL if it has ended or was forgotten. */
static inline void *ch2_stream_of(nghttp2_session *session, int32_t id) {
  return id > 0 ? ch2_nghttp2_session_get_stream_user_data(session, id) : NULL;
}

#endif
