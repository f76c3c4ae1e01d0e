#include "chttp2.h"
#include "library.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

/* The ranges of a section are 32-bit integers. */
enum { LARGEST_FIELDS = 256 << 20 };
/* RST_STREAM frames of the client whose DATA in flight is expected at the same time. */
enum { MOST_RESETS = 128 };

/* --- Events of the library --- */

static int began_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  ch2_session *self = context;
  self->section_id = frame->hd.stream_id;
  self->section_stream = frame->hd.type == NGHTTP2_HEADERS ? ch2_stream_of(session, frame->hd.stream_id) : NULL;
  ch2_section_clear(&self->section);
  return 0;
}

static int received_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                           size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                           void *context) {
  (void)session;
  (void)frame;
  (void)flags;
  ch2_session *self = context;
  if (!self->section_stream) return 0;
  section *section = &self->section;
  /* All fields must be decoded, because they change the state of the decoder of all streams. */
  if (section->length + name_length + value_length + 2 * (section->count + 1) > self->maximum_section) {
    self->violation = "a field section is too large";
  } else if (ch2_section_add(section, name, name_length, value, value_length)) {
    return 0;
  } else {
    self->violation = "memory for a field section is exhausted";
  }
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* Ensures that the section in progress is not delivered. */
static void ignore_section(ch2_session *self, int32_t id) {
  if (self->section_id == id) self->section_stream = NULL;
}

static int received_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  ch2_session *self = context;
  const ch2_handler *handler = self->handler;
  bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
  switch (frame->hd.type) {
  case NGHTTP2_HEADERS: {
    const section *collected = &self->section;
    const ch2_section section = {collected->text, collected->length, collected->fields, collected->count};
    void *stream = self->section_stream;
    self->section_stream = NULL;
    if (stream) handler->section(self->connection, stream, &section, ends);
    break;
  }
  case NGHTTP2_DATA: {
    void *stream = ends ? ch2_stream_of(session, frame->hd.stream_id) : NULL;
    if (stream) handler->ended(self->connection, stream);
    break;
  }
  case NGHTTP2_SETTINGS:
    if (!(frame->hd.flags & NGHTTP2_FLAG_ACK)) handler->settings(self->connection);
    break;
  case NGHTTP2_PING:
    if (frame->hd.flags & NGHTTP2_FLAG_ACK) handler->pong(self->connection);
    break;
  default: break;
  }
  return 0;
}

static int received_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *context) {
  (void)session;
  (void)frame;
  ch2_session *self = context;
  self->violation = ch2_nghttp2_strerror(error);
  return 0;
}

static int received_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes, size_t count,
                         void *context) {
  (void)flags;
  ch2_session *self = context;
  /* A paused stream must not block the others, so the connection's window never waits for the reader of a stream. */
  ch2_nghttp2_session_consume_connection(session, count);
  void *stream = ch2_stream_of(session, id);
  if (stream) {
    self->handler->data(self->connection, stream, bytes, count);
  } else {
    ch2_nghttp2_session_consume_stream(session, id, count);
  }
  return 0;
}

static int closed_stream(nghttp2_session *session, int32_t id, uint32_t error, void *context) {
  ch2_session *self = context;
  void *stream = ch2_stream_of(session, id);
  if (stream) {
    ch2_nghttp2_session_set_stream_user_data(session, id, NULL);
    ignore_section(self, id);
    self->handler->closed(self->connection, stream, error);
  }
  return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buffer, size_t capacity, uint32_t *flags,
                         nghttp2_data_source *source, void *context) {
  (void)source;
  ch2_session *self = context;
  void *stream = ch2_stream_of(session, id);
  if (!stream) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  bool is_last = false;
  ssize_t count = self->handler->body(self->connection, stream, buffer, capacity, &is_last);
  if (count == CH2_BODY_LATER) return NGHTTP2_ERR_DEFERRED;
  if (count < 0 || (size_t)count > capacity) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  /* Without the flag, an empty DATA frame would be sent. */
  if (count == 0 && !is_last) return NGHTTP2_ERR_DEFERRED;
  if (is_last) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return count;
}

/* --- Creating --- */

static nghttp2_session *create(ch2_session *self) {
  nghttp2_session_callbacks *callbacks = NULL;
  nghttp2_option *option = NULL;
  nghttp2_session *session = NULL;
  if (ch2_nghttp2_session_callbacks_new(&callbacks)) return NULL;
  if (ch2_nghttp2_option_new(&option) == 0) {
    ch2_nghttp2_option_set_no_auto_window_update(option, 1);
    ch2_nghttp2_option_set_no_http_messaging(option, 1);
    /* The client limits the size of a request's fields itself. */
    ch2_nghttp2_option_set_max_send_header_block_length(option, 32 << 20);
    ch2_nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, began_headers);
    ch2_nghttp2_session_callbacks_set_on_header_callback(callbacks, received_header);
    ch2_nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, received_frame);
    ch2_nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, received_invalid_frame);
    ch2_nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, received_data);
    ch2_nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closed_stream);
    nghttp2_mem memory = ch2_memory_functions(&self->memory);
    if (ch2_nghttp2_session_client_new3(&session, callbacks, self, option, &memory)) session = NULL;
    ch2_nghttp2_option_del(option);
  }
  ch2_nghttp2_session_callbacks_del(callbacks);
  return session;
}

ch2_session *ch2_new(const ch2_handler *handler, void *connection, const ch2_options *options) {
  if (!ch2_load(NULL, 0)) return NULL;
  ch2_session *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->handler = handler;
  self->connection = connection;
  self->stream_window = options->stream_window;
  self->maximum_section = (size_t)(options->maximum_fields < LARGEST_FIELDS ? options->maximum_fields : LARGEST_FIELDS) * 4;
  self->session = create(self);
  if (!self->session) {
    ch2_free(self);
    return NULL;
  }
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options->stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, options->maximum_fields},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  if (ch2_nghttp2_submit_settings(self->session, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings) ||
      ch2_nghttp2_session_set_local_window_size(self->session, NGHTTP2_FLAG_NONE, 0,
                                                (int32_t)options->connection_window)) {
    ch2_free(self);
    return NULL;
  }
  return self;
}

void ch2_free(ch2_session *self) {
  if (!self) return;
  ch2_nghttp2_session_del(self->session);
  ch2_memory_release(&self->memory);
  ch2_section_free(&self->section);
  free(self);
}

/* --- Output --- */

ssize_t ch2_write(ch2_session *self, uint8_t *buffer, size_t capacity) {
  if (self->is_active) return 0;
  self->is_active = true;
  size_t stored = 0;
  ssize_t result = 0;
  while (stored < capacity) {
    if (self->output_length == 0) {
      result = ch2_nghttp2_session_mem_send(self->session, &self->output);
      if (result <= 0) break;
      self->output_length = (size_t)result;
    }
    size_t part = self->output_length < capacity - stored ? self->output_length : capacity - stored;
    memcpy(buffer + stored, self->output, part);
    stored += part;
    self->output += part;
    self->output_length -= part;
  }
  self->is_active = false;
  if (result < 0 && stored == 0) return result;
  return (ssize_t)stored;
}

bool ch2_wants_write(const ch2_session *self) {
  return self->output_length > 0 || ch2_nghttp2_session_want_write(self->session);
}

bool ch2_has_ended(const ch2_session *self) {
  return !ch2_wants_write(self) && (self->has_failed || !ch2_nghttp2_session_want_read(self->session));
}

const char *ch2_violation(const ch2_session *self) {
  return self->violation;
}

/* --- Streams --- */

enum { STACK_FIELDS = 64 };

int32_t ch2_submit(ch2_session *self, const ch2_field *fields, size_t count, bool has_body, void *stream) {
  nghttp2_nv small[STACK_FIELDS], *list = small;
  if (count > STACK_FIELDS) {
    list = malloc(count * sizeof *list);
    if (!list) return NGHTTP2_ERR_NOMEM;
  }
  for (size_t index = 0; index < count; index++) {
    const ch2_field *field = &fields[index];
    list[index] = (nghttp2_nv){(uint8_t *)field->name, (uint8_t *)field->value, field->name_length,
                               field->value_length, NGHTTP2_NV_FLAG_NONE};
  }
  const nghttp2_data_provider body = {.read_callback = read_body};
  int32_t result = ch2_nghttp2_submit_request(self->session, NULL, list, count, has_body ? &body : NULL, stream);
  if (list != small) free(list);
  return result;
}

void ch2_resume_body(ch2_session *self, int32_t id) { ch2_nghttp2_session_resume_data(self->session, id); }

void ch2_reset(ch2_session *self, int32_t id, uint32_t error) {
  size_t most = MOST_RESETS * self->stream_window;
  self->expected_data += self->stream_window;
  if (self->expected_data > most) self->expected_data = most;
  ch2_nghttp2_submit_rst_stream(self->session, NGHTTP2_FLAG_NONE, id, error);
}

void ch2_forget(ch2_session *self, int32_t id) {
  ignore_section(self, id);
  ch2_nghttp2_session_set_stream_user_data(self->session, id, NULL);
}

void ch2_consume(ch2_session *self, int32_t id, size_t count) {
  ch2_nghttp2_session_consume_stream(self->session, id, count);
}

void ch2_set_window(ch2_session *self, int32_t id, int32_t size) {
  ch2_nghttp2_session_set_local_window_size(self->session, NGHTTP2_FLAG_NONE, id, size);
}

void ch2_ping(ch2_session *self) { ch2_nghttp2_submit_ping(self->session, NGHTTP2_FLAG_NONE, NULL); }

void ch2_end(ch2_session *self, uint32_t error) { ch2_nghttp2_session_terminate_session(self->session, error); }

uint32_t ch2_maximum_streams(const ch2_session *self) {
  return ch2_nghttp2_session_get_remote_settings(self->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

bool ch2_allows_extended_connect(const ch2_session *self) {
  return ch2_nghttp2_session_get_remote_settings(self->session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1;
}
