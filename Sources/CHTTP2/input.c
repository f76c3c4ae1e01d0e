/* input.c - passes the frames of the server to the library, one at a time. */
#include "session.h"

#include <string.h>

/* The initial value of SETTINGS_MAX_FRAME_SIZE, which the client does not change. */
enum { MAXIMUM_FRAME = 16384 };
/* A frame type that the library ignores. */
enum { IGNORED = 0xFF };
/* Smaller DATA frames of streams that have ended count as frames without content, except those that the server may have sent
 * before it received RST_STREAM: as many bytes as the window of the stream. */
enum { SMALL_DATA = 256 };

static bool fail(ch2_session *self, uint32_t error, const char *violation) {
  if (!self->violation) self->violation = violation;
  if (!self->has_failed) ch2_nghttp2_session_terminate_session(self->session, error);
  self->has_failed = true;
  return false;
}

static uint32_t word(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Checks the header of a frame. */
static bool check_header(ch2_session *self) {
  const uint8_t *header = self->header;
  uint8_t type = header[3];
  int32_t stream = (int32_t)(word(header + 5) & INT32_MAX);
  self->payload = word(header) >> 8;
  if (self->payload > MAXIMUM_FRAME) {
    bool is_http1 = memcmp(header, "HTTP/", 5) == 0;
    return fail(self, NGHTTP2_FRAME_SIZE_ERROR, is_http1 ? "it responded with HTTP/1" : "a frame is too large");
  }
  /* The library accepts PUSH_PROMISE until the server has acknowledged the client's SETTINGS. */
  if (type == NGHTTP2_PUSH_PROMISE) {
    return fail(self, NGHTTP2_PROTOCOL_ERROR, "it sent PUSH_PROMISE, which the client does not allow");
  }
  if (self->is_goaway && (stream != 0 || self->payload < CH2_GOAWAY_LENGTH)) {
    return fail(self, NGHTTP2_PROTOCOL_ERROR, "a GOAWAY frame is invalid");
  }
  size_t content = self->payload;
  if (type == NGHTTP2_DATA && content < SMALL_DATA && !ch2_stream_of(self->session, stream)) {
    if (self->expected_data < content) content = 0;
    else self->expected_data -= content;
  }
  if (self->handler->frame(self->connection, type, header[4], content)) return true;
  return fail(self, NGHTTP2_ENHANCE_YOUR_CALM, "it sent too many frames without content");
}

/* Passes bytes of one frame to the library. Returns false after a violation. */
static bool pass(ch2_session *self, const uint8_t *bytes, size_t count) {
  self->is_active = true;
  ssize_t result = ch2_nghttp2_session_mem_recv(self->session, bytes, count);
  self->is_active = false;
  if (result < 0) return fail(self, NGHTTP2_PROTOCOL_ERROR, ch2_nghttp2_strerror((int)result));
  /* The library has ended the session because of a violation. */
  if (!ch2_nghttp2_session_check_request_allowed(self->session)) {
    return fail(self, NGHTTP2_PROTOCOL_ERROR, "a frame is invalid");
  }
  return true;
}

/* Collects the payload of a GOAWAY frame, and reports the frame at its end. */
static void receive_goaway(ch2_session *self, const uint8_t *bytes, size_t count) {
  size_t part = CH2_GOAWAY_LENGTH - self->goaway_length;
  if (part > count) part = count;
  memcpy(self->goaway + self->goaway_length, bytes, part);
  self->goaway_length += part;
  if (self->payload > 0) return;
  self->is_goaway = false;
  self->goaway_length = 0;
  int32_t last_stream = (int32_t)(word(self->goaway) & INT32_MAX);
  self->handler->goaway(self->connection, last_stream, word(self->goaway + 4));
}

/* Passes one frame at a time to the library, and none after a violation: versions before 1.68.1 may fail an assertion in a
 * frame after the one that has ended the session (CVE-2026-27135). The library must not process GOAWAY, because it does not
 * report after GOAWAY whether it has ended the session. It receives such a frame as one of an unknown type. */
bool ch2_receive(ch2_session *self, const uint8_t *bytes, size_t count) {
  if (self->is_active || self->has_failed) return !self->has_failed;
  while (count > 0) {
    const uint8_t *start = bytes; /* of the bytes to pass */
    const uint8_t *end = bytes + count;
    if (self->payload == 0) {
      size_t known = self->header_length;
      size_t part = CH2_FRAME_HEADER - known < count ? CH2_FRAME_HEADER - known : count;
      memcpy(self->header + known, bytes, part);
      self->header_length += part;
      bytes += part;
      if (known <= 3 && self->header_length > 3) self->is_goaway = self->header[3] == NGHTTP2_GOAWAY;
      if (self->header_length == CH2_FRAME_HEADER) {
        self->header_length = 0;
        if (!check_header(self)) return false;
      }
      if (self->is_goaway) {
        self->header[3] = IGNORED;
        if (!pass(self, self->header + known, part)) return false;
        start = bytes;
      }
    }
    size_t rest = (size_t)(end - bytes) < self->payload ? (size_t)(end - bytes) : self->payload;
    self->payload -= rest;
    if (bytes + rest > start && !pass(self, start, (size_t)(bytes + rest - start))) return false;
    if (self->is_goaway && rest > 0) receive_goaway(self, bytes, rest);
    bytes += rest;
    count = (size_t)(end - bytes);
  }
  return true;
}
