/* WebSockets, against the demo API whose URL is the argument. */
#include "calls.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static nj_client *client;

static nj_websocket *opened(const char *target, const char *options) {
  nj_request *request = nj_request_new("GET", target);
  nj_websocket *socket = NULL;
  SUCCEEDS((socket = nj_websocket_new(client, request, options, options ? strlen(options) : 0, &error)) != NULL);
  nj_request_free(request);
  return socket;
}

static void receive(nj_websocket *socket, nj_message_kind kind, const char *expected, size_t expected_length) {
  const nj_message *message = NULL;
  SUCCEEDS(nj_websocket_receive(socket, 60, &message, &error) == NJ_OK);
  size_t length = 0;
  const char *data = nj_message_data(message, &length);
  CHECK(data && length == expected_length && memcmp(data, expected, length) == 0 && data[length] == 0);
  CHECK(nj_message_get_kind(message) == kind);
}

static void receive_text(nj_websocket *socket, const char *expected) {
  receive(socket, NJ_MESSAGE_TEXT, expected, strlen(expected));
}

static void send_text(nj_websocket *socket, const char *text) {
  SUCCEEDS(nj_websocket_send(socket, NJ_MESSAGE_TEXT, text, strlen(text), 60, &error) == NJ_OK);
}

static void check_text(char *text, const char *expected) {
  CHECK_TEXT(text, expected);
  nj_text_free(text);
}

static void echo(void) {
  nj_websocket *socket = opened("/ws/echo", "{\"protocols\": [\"v9\", \"v2\"]}");
  SUCCEEDS(nj_websocket_connect(socket, 60, &error) == NJ_OK);
  CHECK(nj_websocket_get_state(socket) == NJ_WEBSOCKET_OPEN);
  check_text(nj_websocket_subprotocol(socket), "v2");
  nj_response *response = nj_websocket_response(socket);
  CHECK(nj_response_status(response) == 101 || nj_response_status(response) == 200);
  CHECK_TEXT(nj_response_header(response, "Sec-WebSocket-Protocol"), "v2");
  nj_response_release(response);
  send_text(socket, "gr\xC3\xBC\xC3\x9F");
  receive_text(socket, "gr\xC3\xBC\xC3\x9F");
  SUCCEEDS(nj_websocket_send(socket, NJ_MESSAGE_BINARY, "\0\xFF", 2, NJ_NO_LIMIT, &error) == NJ_OK);
  receive(socket, NJ_MESSAGE_BINARY, "\0\xFF", 2);
  SUCCEEDS(nj_websocket_send(socket, NJ_MESSAGE_TEXT, NULL, 0, NJ_NO_LIMIT, &error) == NJ_OK);
  receive_text(socket, "");
  size_t size = 1 << 20;
  char *large = malloc(size);
  for (size_t index = 0; index < size; index++) large[index] = (char)('a' + index % 23);
  bool is_sent = false;
  SUCCEEDS(nj_websocket_try_send(socket, NJ_MESSAGE_TEXT, large, size, &is_sent, &error) == NJ_OK);
  CHECK(is_sent);
  receive(socket, NJ_MESSAGE_TEXT, large, size);
  free(large);
  double seconds = 0;
  SUCCEEDS(nj_websocket_ping(socket, 60, &seconds, &error) == NJ_OK);
  CHECK(seconds > 0 && seconds < 60);
  const nj_message *message = (const nj_message *)(uintptr_t)1;
  FAILS(nj_websocket_receive(socket, 0.05, &message, &error), NJ_TIMEOUT);
  CHECK(message == NULL);
  FAILS(nj_websocket_send(socket, NJ_MESSAGE_TEXT, "\xFF", 1, 1, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_close(socket, 1005, NULL, 1, &error), NJ_INVALID_ARGUMENT);
  send_text(socket, "still open");
  receive_text(socket, "still open");
  SUCCEEDS(nj_websocket_close(socket, 4000, "done", 60, &error) == NJ_OK);
  SUCCEEDS(nj_websocket_close(socket, 4000, "done", 60, &error) == NJ_OK);
  SUCCEEDS(nj_websocket_receive(socket, 60, &message, &error) == NJ_OK);
  CHECK(message == NULL);
  CHECK(nj_websocket_get_state(socket) == NJ_WEBSOCKET_CLOSED);
  CHECK(nj_websocket_close_code(socket) == 4000);
  check_text(nj_websocket_close_reason(socket), "done");
  char *history = nj_websocket_explain(socket);
  CHECK(history && strstr(history, "closing: the caller closed it"));
  nj_text_free(history);
  FAILS(nj_websocket_send(socket, NJ_MESSAGE_TEXT, "x", 1, 1, &error), NJ_CLOSED);
  FAILS(nj_websocket_ping(socket, 1, NULL, &error), NJ_CLOSED);
  FAILS(nj_websocket_connect(socket, 1, &error), NJ_CLOSED);
  nj_websocket_release(socket);
}

static void ends(void) {
  const nj_message *message;
  nj_websocket *socket = opened("/ws/count?n=2&interval=0&size=0", NULL);
  receive_text(socket, "{\"n\":1,\"pad\":\"\"}");
  receive_text(socket, "{\"n\":2,\"pad\":\"\"}");
  SUCCEEDS(nj_websocket_receive(socket, 60, &message, &error) == NJ_OK);
  CHECK(message == NULL && nj_websocket_close_code(socket) == 1000);
  nj_websocket_release(socket);
  static const struct {
    const char *target;
    nj_status status;
    int code;
  } cases[] = {{"/ws/drop?after=0&code=4401&reason=x", NJ_CONNECTION_LOST, 4401},
               {"/ws/drop?after=0", NJ_CONNECTION_LOST, 1006},
               {"/ws/violation/masked", NJ_PROTOCOL, 1002},
               {"/ws/violation/invalid-utf8", NJ_PROTOCOL, 1007},
               {"/ws/violation/huge-frame", NJ_TOO_LARGE, 1009},
               {"/ws/handshake/status-403", NJ_FORBIDDEN, 0},
               {"/ws/chat", NJ_UNAUTHORIZED, 0},
               {"/ws/handshake/wrong-accept", NJ_PROTOCOL, 0}};
  /* HTTP/2 has no Sec-WebSocket-Accept. RFC 8441 section 5. */
  size_t count = sizeof cases / sizeof *cases - (expected_http_version() == 20 ? 1 : 0);
  for (size_t index = 0; index < count; index++) {
    socket = opened(cases[index].target, NULL);
    FAILS(nj_websocket_receive(socket, 60, &message, &error), cases[index].status);
    FAILS(nj_websocket_receive(socket, 60, &message, &error), cases[index].status);
    CHECK(nj_websocket_close_code(socket) == cases[index].code);
    nj_websocket_release(socket);
  }
}

static void reconnects(void) {
  nj_websocket *socket = opened("/ws/drop?after=1&code=1012", "{\"reconnect\": true}");
  for (int number = 0; number < 3; number++) {
    send_text(socket, "x");
    receive_text(socket, "x");
    /* A message that is sent before the client has noticed the close would be lost. */
    for (int waits = 0; nj_websocket_get_state(socket) == NJ_WEBSOCKET_OPEN && waits < 600; waits++) {
      nj_websocket_receive(socket, 0.01, &(const nj_message *){NULL}, NULL);
      if (nj_websocket_close_code(socket) == 1012) break;
    }
  }
  nj_websocket_release(socket);
}

/* Half of the send queue is free, but the message does not fit. */
static void full_queue(void) {
  static const char block[900];
  nj_websocket *socket = opened("/ws/handshake/slow", "{\"max_queued\": 1000}");
  SUCCEEDS(nj_websocket_send(socket, NJ_MESSAGE_BINARY, block, 300, 60, &error) == NJ_OK);
  FAILS(nj_websocket_send(socket, NJ_MESSAGE_BINARY, block, 900, 0.05, &error), NJ_TIMEOUT);
  SUCCEEDS(nj_websocket_send(socket, NJ_MESSAGE_BINARY, block, 300, 60, &error) == NJ_OK);
  nj_websocket_release(socket);
}

static void pieces(void) {
  enum { SIZE = 300000 };
  nj_websocket *socket = opened("/ws/echo", "{\"pieces\": true, \"compress\": false}");
  char *large = malloc(SIZE);
  for (size_t at = 0; at < SIZE; at++) large[at] = (char)('a' + at % 26);
  SUCCEEDS(nj_websocket_send(socket, NJ_MESSAGE_TEXT, large, SIZE, 60, &error) == NJ_OK);
  const nj_message *message = NULL;
  size_t total = 0, count = 0;
  do {
    SUCCEEDS(nj_websocket_receive(socket, 60, &message, &error) == NJ_OK);
    size_t length = 0;
    const char *data = nj_message_data(message, &length);
    CHECK(data && length <= 65536 && total + length <= SIZE && memcmp(data, large + total, length) == 0);
    CHECK(nj_message_is_first(message) == (count == 0));
    total += length;
    count++;
  } while (message && !nj_message_is_last(message));
  CHECK(total == SIZE && count >= 5);
  nj_websocket_release(socket);
  socket = opened("/ws/echo", NULL);
  SUCCEEDS(nj_websocket_send(socket, NJ_MESSAGE_TEXT, large, SIZE, 60, &error) == NJ_OK);
  SUCCEEDS(nj_websocket_receive(socket, 60, &message, &error) == NJ_OK);
  CHECK(nj_message_is_first(message) && nj_message_is_first(NULL));
  CHECK(nj_message_is_last(message) && nj_message_is_last(NULL) && nj_message_data(message, &total) && total == SIZE);
  nj_websocket_release(socket);
  free(large);
}

static void invalid_arguments(void) {
  nj_request *request = nj_request_new("GET", "/ws/echo"), *post = nj_request_new("POST", "/ws/echo");
  const struct {
    nj_client *client;
    nj_request *request;
    const char *options;
    nj_status kind;
  } cases[] = {{NULL, request, NULL, NJ_INVALID_ARGUMENT},
               {client, NULL, NULL, NJ_INVALID_ARGUMENT},
               {client, post, NULL, NJ_INVALID_REQUEST},
               {client, request, "{", NJ_DECODING},
               {client, request, "{\"pign\": 1}", NJ_INVALID_ARGUMENT},
               {client, request, "{\"protocols\": [\"a b\"]}", NJ_INVALID_ARGUMENT},
               {client, request, "{\"max_message\": 0}", NJ_INVALID_ARGUMENT},
               {client, request, "{\"reconnect_codes\": [999]}", NJ_INVALID_ARGUMENT}};
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    const char *options = cases[index].options;
    nj_error *refusal = NULL;
    CHECK(nj_websocket_new(cases[index].client, cases[index].request, options, options ? strlen(options) : 0, &refusal) == NULL);
    CHECK(nj_error_kind(refusal) == cases[index].kind);
    nj_error_release(refusal);
  }
  FAILS(nj_websocket_connect(NULL, 1, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_receive(NULL, 1, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_send(NULL, NJ_MESSAGE_TEXT, "x", 1, 1, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_try_send(NULL, NJ_MESSAGE_TEXT, "x", 1, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_ping(NULL, 1, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_close(NULL, 1000, NULL, 1, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_start_close(NULL, 1000, NULL, &error), NJ_INVALID_ARGUMENT);
  CHECK(nj_websocket_get_state(NULL) == NJ_WEBSOCKET_CLOSED && nj_websocket_close_code(NULL) == 0);
  CHECK(!nj_websocket_response(NULL));
  CHECK(!nj_websocket_subprotocol(NULL) && !nj_websocket_close_reason(NULL) && !nj_websocket_explain(NULL));
  CHECK(!nj_message_data(NULL, NULL) && nj_message_get_kind(NULL) == NJ_MESSAGE_BINARY && !nj_websocket_retain(NULL));
  nj_websocket_cancel(NULL);
  nj_websocket_release(NULL);
  nj_websocket *socket = opened("/ws/echo", NULL);
  FAILS(nj_websocket_send(socket, (nj_message_kind)3, "x", 1, 1, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_send(socket, NJ_MESSAGE_TEXT, NULL, 1, 1, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_send(socket, NJ_MESSAGE_TEXT, "x", 1, -1, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_websocket_receive(socket, -1, NULL, &error), NJ_INVALID_ARGUMENT);
  nj_websocket_release(socket);
  nj_request_free(request);
  nj_request_free(post);
}

/* --- With callbacks --- */

typedef struct seen {
  int opened, messages, writable, done, close_at, resend;
  char text[256];
  nj_status end;
} seen;

static void on_open(void *context, nj_websocket *socket) {
  seen *self = context;
  char text[32];
  snprintf(text, sizeof text, "open %d", ++self->opened);
  CHECK(nj_websocket_try_send(socket, NJ_MESSAGE_TEXT, text, strlen(text), NULL, NULL) == NJ_OK);
}

static void on_message(void *context, nj_websocket *socket, const nj_message *message) {
  seen *self = context;
  self->messages++;
  size_t used = strlen(self->text);
  if (self->resend == 0) snprintf(self->text + used, sizeof self->text - used, "%s|", nj_message_data(message, NULL));
  if (self->messages == self->close_at) CHECK(nj_websocket_start_close(socket, 1000, "bye", NULL) == NJ_OK);
  CHECK(nj_websocket_receive(socket, 1, NULL, NULL) == NJ_INVALID_ARGUMENT);
  /* It also does not close the socket. */
  CHECK(nj_websocket_close(socket, 1000, NULL, 1, NULL) == NJ_INVALID_ARGUMENT);
}

static void on_writable(void *context, nj_websocket *socket) {
  (void)socket;
  ((seen *)context)->writable++;
}

static void on_done(void *context, nj_websocket *socket, const nj_error *error) {
  seen *self = context;
  self->done++;
  self->end = error ? nj_error_kind(error) : NJ_OK;
  CHECK(nj_websocket_get_state(socket) == NJ_WEBSOCKET_CLOSED);
}

static const nj_websocket_callbacks callbacks = {sizeof callbacks, on_open, on_message, on_writable, on_done};

static nj_websocket *started(const char *target, const char *options, nj_queue *queue, seen *seen) {
  nj_request *request = nj_request_new("GET", target);
  nj_websocket *socket = NULL;
  SUCCEEDS((socket = nj_client_start_websocket(client, request, options, options ? strlen(options) : 0, queue, &callbacks, seen,
                                               &error)) != NULL);
  nj_request_free(request);
  return socket;
}

static void poll_until(nj_queue *queue, const int *value, int expected) {
  for (int polls = 0; *value < expected && polls < 6000; polls++) nj_queue_poll(queue, 0.01);
  CHECK(*value >= expected);
}

static void queued(void) {
  nj_queue *queue = nj_queue_new();
  /* The message that is sent before the connection is open follows the message of the callback. */
  seen seen = {.close_at = 3};
  nj_websocket *socket = started("/ws/echo", NULL, queue, &seen);
  SUCCEEDS(nj_websocket_try_send(socket, NJ_MESSAGE_TEXT, "kept", 4, NULL, &error) == NJ_OK);
  poll_until(queue, &seen.messages, 2);
  SUCCEEDS(nj_websocket_try_send(socket, NJ_MESSAGE_TEXT, "last", 4, NULL, &error) == NJ_OK);
  nj_websocket *second = nj_websocket_retain(socket);
  CHECK(second == socket);
  nj_websocket_release(second);
  nj_websocket_release(socket); /* `done` is called nevertheless */
  poll_until(queue, &seen.done, 1);
  CHECK_TEXT(seen.text, "open 1|kept|last|");
  CHECK(seen.end == NJ_OK && seen.opened == 1);

  /* A full send queue, and its end. */
  struct seen slow = {.resend = 1};
  socket = started("/ws/slow?seconds=0.3", "{\"max_queued\": 65536, \"compress\": false}", queue, &slow);
  poll_until(queue, &slow.opened, 1);
  static char block[16384];
  int sent = 0;
  for (bool is_sent = true; is_sent && sent < 10000; sent += is_sent) {
    SUCCEEDS(nj_websocket_try_send(socket, NJ_MESSAGE_BINARY, block, sizeof block, &is_sent, &error) == NJ_OK);
  }
  CHECK(sent > 1 && sent < 10000);
  poll_until(queue, &slow.writable, 1);
  poll_until(queue, &slow.messages, sent + 1);
  nj_websocket_cancel(socket);
  poll_until(queue, &slow.done, 1);
  CHECK(slow.end == NJ_CANCELLED);
  nj_websocket_release(socket);

  /* The queue is freed while a WebSocket is open. */
  struct seen left = {0};
  socket = started("/ws/echo", NULL, queue, &left);
  poll_until(queue, &left.messages, 1);
  nj_queue_free(queue);
  CHECK(left.done == 1 && left.end == NJ_CANCELLED);
  CHECK(nj_websocket_get_state(socket) == NJ_WEBSOCKET_CLOSED);
  nj_websocket_release(socket);

  nj_websocket_callbacks wrong = callbacks;
  /* valgrind reports a read beyond the given size. */
  size_t *small = malloc(sizeof *small);
  *small = sizeof *small;
  nj_request *request = nj_request_new("GET", "/ws/echo");
  queue = nj_queue_new();
  CHECK(nj_client_start_websocket(client, request, NULL, 0, queue, (const nj_websocket_callbacks *)(void *)small, NULL,
                                  NULL) == NULL);
  free(small);
  wrong.done = NULL;
  CHECK(nj_client_start_websocket(client, request, NULL, 0, queue, &wrong, NULL, NULL) == NULL);
  CHECK(nj_client_start_websocket(client, request, NULL, 0, NULL, &callbacks, NULL, NULL) == NULL);
  CHECK(nj_client_start_websocket(client, request, NULL, 0, queue, NULL, NULL, NULL) == NULL);
  nj_queue_free(queue);
  nj_request_free(request);
}

/* The number of messages that have arrived in the order of sending; -1 after another order. */
static int in_order;

static void on_numbered(void *context, nj_websocket *socket, const nj_message *message) {
  (void)context;
  (void)socket;
  char expected[32];
  if (in_order == 0) snprintf(expected, sizeof expected, "open 1");
  else snprintf(expected, sizeof expected, "%d", in_order);
  if (in_order >= 0) in_order = strcmp(nj_message_data(message, NULL), expected) == 0 ? in_order + 1 : -1;
}

/* Messages that are sent while the connection is opened and its callback runs are sent in their order. */
static void order_while_opening(void) {
  nj_queue *queue = nj_queue_new();
  const nj_websocket_callbacks numbered = {sizeof numbered, on_open, on_numbered, NULL, on_done};
  struct seen seen = {0};
  nj_request *request = nj_request_new("GET", "/ws/echo");
  nj_websocket *socket = nj_client_start_websocket(client, request, NULL, 0, queue, &numbered, &seen, NULL);
  bool was_open = false;
  int number = 1;
  for (int rest = 200; rest > 0 && number < 100000; number++) {
    char text[32];
    snprintf(text, sizeof text, "%d", number);
    send_text(socket, text);
    was_open = was_open || nj_websocket_get_state(socket) == NJ_WEBSOCKET_OPEN;
    if (was_open) rest--;
    else usleep(100);
  }
  for (int polls = 0; in_order >= 0 && in_order < number && polls < 6000; polls++) nj_queue_poll(queue, 0.01);
  CHECK(was_open && in_order == number);
  nj_websocket_cancel(socket);
  nj_websocket_release(socket);
  nj_request_free(request);
  nj_queue_free(queue);
}

static void mocked(void) {
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, "http://api.test");
  const char *routes = "[{\"path\": \"/chat\", \"response\": {\"websocket\": [{\"receive\": {\"op\": 1}}, {\"send\": \"one\"},"
                       " {\"send_base64\": \"AP8=\"}, {\"close\": 1000, \"reason\": \"bye\"}]}}]";
  SUCCEEDS(nj_config_set_mock(config, routes, strlen(routes), &error) == NJ_OK);
  static const char empty[] = "[{\"response\": {\"websocket\": [{}]}}]";
  CHECK(nj_config_set_mock(config, empty, sizeof empty - 1, NULL) == NJ_INVALID_ARGUMENT);
  nj_client *real = client;
  client = nj_client_new(config, NULL);
  nj_websocket *socket = opened("/chat", NULL);
  send_text(socket, "{\"op\": 1}");
  receive_text(socket, "one");
  receive(socket, NJ_MESSAGE_BINARY, "\0\xFF", 2);
  const nj_message *message = (const nj_message *)(uintptr_t)1;
  SUCCEEDS(nj_websocket_receive(socket, 60, &message, &error) == NJ_OK);
  CHECK(message == NULL && nj_websocket_close_code(socket) == 1000);
  check_text(nj_websocket_close_reason(socket), "bye");
  SUCCEEDS(nj_client_mock_verify(client, &error) == NJ_OK);
  nj_websocket_release(socket);
  nj_client_free(client);
  nj_config_free(config);
  client = real;
}

/* --- Threads and processes --- */

static void *send_many(void *socket) {
  for (int number = 0; number < 200; number++) send_text(socket, "from another thread");
  return NULL;
}

static void threads(void) {
  nj_websocket *socket = opened("/ws/echo", NULL);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, send_many, socket) == 0);
  for (int number = 0; number < 200; number++) receive_text(socket, "from another thread");
  pthread_join(thread, NULL);
  nj_websocket_release(socket);
}

static void after_fork(void) {
  nj_websocket *socket = opened("/ws/echo", NULL);
  SUCCEEDS(nj_websocket_connect(socket, 60, &error) == NJ_OK);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    bool is_right = nj_websocket_receive(socket, 30, NULL, NULL) == NJ_FORKED &&
                    nj_websocket_send(socket, NJ_MESSAGE_TEXT, "x", 1, 30, NULL) == NJ_FORKED &&
                    nj_websocket_close(socket, 1000, NULL, 30, NULL) == NJ_FORKED &&
                    nj_websocket_get_state(socket) == NJ_WEBSOCKET_CLOSED && nj_websocket_explain(socket) == NULL;
    nj_websocket_cancel(socket);
    nj_websocket_release(socket);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execl("/bin/sh", "sh", "-c", is_right ? "exit 0" : "exit 1", (char *)NULL);
    _exit(2);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  send_text(socket, "x");
  receive_text(socket, "x");
  nj_websocket_release(socket);
}

static void closed_client(void) {
  nj_websocket *socket = opened("/ws/echo", NULL);
  SUCCEEDS(nj_websocket_connect(socket, 60, &error) == NJ_OK);
  nj_client_free(client);
  FAILS(nj_websocket_receive(socket, 30, &(const nj_message *){NULL}, &error), NJ_CANCELLED);
  FAILS(nj_websocket_send(socket, NJ_MESSAGE_TEXT, "x", 1, 1, &error), NJ_CLOSED);
  nj_websocket_release(socket);
}

int main(int count, char **arguments) {
  if (count < 2) return 2;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, arguments[1]);
  client = nj_client_new(config, NULL);
  nj_config_free(config);
  echo();
  ends();
  reconnects();
  full_queue();
  pieces();
  invalid_arguments();
  queued();
  order_while_opening();
  mocked();
  threads();
  after_fork();
  closed_client();
  FINISH();
}
