/*
 * One conversation over a WebSocket with a server of peers.py, by the blocking functions:
 *
 *   client CASE URL CONFIG OPTIONS [ARGUMENT...]
 *
 * CONFIG is the JSON of nj_config_merge_json, OPTIONS the JSON of nj_websocket_new. The cases and their arguments are the
 * same as in client.lua. The first failed check prints a message and ends the program with the status 1.
 */
#include <nightjar.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 20, LARGE = 8 << 20 }; /* seconds; bytes */

static nj_client *client;
static const char *url, *options;

static void fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vfprintf(stderr, format, list);
  va_end(list);
  fputc('\n', stderr);
  exit(1);
}

/* Fails unless the status is the expected one. Releases the error, whose address is passed because the argument `actual` is
 * the call that sets it. */
static void expect(const char *function, nj_status actual, nj_status expected, nj_error **error) {
  if (actual != expected) {
    fail("%s returned %s, expected %s: %s", function, nj_status_name(actual), nj_status_name(expected),
         *error ? nj_error_message(*error) : "no error");
  }
  nj_error_release(*error);
}

static void expect_text(const char *name, char *actual, const char *expected) {
  const char *text = actual ? actual : "";
  if (strcmp(text, expected) != 0) fail("%s is \"%s\", expected \"%s\"", name, text, expected);
  nj_text_free(actual);
}

static nj_websocket *start(void) {
  nj_error *error = NULL;
  nj_request *request = nj_request_new("GET", url);
  nj_websocket *socket = nj_websocket_new(client, request, options, strlen(options), &error);
  if (!socket) fail("nj_websocket_new failed: %s", nj_error_message(error));
  nj_request_free(request);
  return socket;
}

static nj_websocket *opened(void) {
  nj_websocket *socket = start();
  nj_error *error = NULL;
  expect("nj_websocket_connect", nj_websocket_connect(socket, LIMIT, &error), NJ_OK, &error);
  return socket;
}

static void send_message(nj_websocket *socket, nj_message_kind kind, const char *data, size_t length) {
  nj_error *error = NULL;
  expect("nj_websocket_send", nj_websocket_send(socket, kind, data, length, LIMIT, &error), NJ_OK, &error);
}

static void send_text(nj_websocket *socket, const char *text) {
  send_message(socket, NJ_MESSAGE_TEXT, text, strlen(text));
}

static void receive(nj_websocket *socket, nj_message_kind kind, const char *expected, size_t expected_length) {
  nj_error *error = NULL;
  const nj_message *message = NULL;
  expect("nj_websocket_receive", nj_websocket_receive(socket, LIMIT, &message, &error), NJ_OK, &error);
  if (!message) fail("the WebSocket ended, expected a message of %zu bytes", expected_length);
  size_t length = 0;
  const char *data = nj_message_data(message, &length);
  if (nj_message_get_kind(message) != kind) fail("the message has the wrong kind");
  if (length != expected_length || memcmp(data, expected, length) != 0) {
    fail("the message is \"%.60s\" (%zu bytes), expected \"%.60s\" (%zu bytes)", data, length, expected, expected_length);
  }
}

static void receive_text(nj_websocket *socket, const char *expected) {
  receive(socket, NJ_MESSAGE_TEXT, expected, strlen(expected));
}

static void receive_end(nj_websocket *socket, nj_status expected) {
  nj_error *error = NULL;
  const nj_message *message = NULL;
  expect("nj_websocket_receive", nj_websocket_receive(socket, LIMIT, &message, &error), expected, &error);
  if (message) fail("a message arrived, expected the end");
}

static void close_socket(nj_websocket *socket, int code, const char *reason) {
  nj_error *error = NULL;
  expect("nj_websocket_close", nj_websocket_close(socket, code, reason, LIMIT, &error), NJ_OK, &error);
  receive_end(socket, NJ_OK);
  if (nj_websocket_get_state(socket) != NJ_WEBSOCKET_CLOSED) fail("the state is not closed");
  char *history = nj_websocket_explain(socket);
  if (!strstr(history, "the server confirmed the close")) fail("the server did not confirm the close:\n%s", history);
  nj_text_free(history);
  nj_websocket_release(socket);
}

static char *repeated(const char *unit, size_t length) {
  char *text = malloc(length + 1);
  for (size_t index = 0; index < length; index++) text[index] = unit[index % strlen(unit)];
  text[length] = 0;
  return text;
}

/* Bytes that deflate cannot compress: a linear congruential generator. */
static char *noise(size_t length) {
  char *bytes = malloc(length + 1);
  unsigned long long state = 1;
  for (size_t index = 0; index < length; index++) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    bytes[index] = (char)(state >> 56);
  }
  bytes[length] = 0;
  return bytes;
}

/* Sends a message and receives it again. Frees the data. */
static void echo_message(nj_websocket *socket, nj_message_kind kind, char *data, size_t length) {
  send_message(socket, kind, data, length);
  receive(socket, kind, data, length);
  free(data);
}

/* A text of more than 64 bytes, which the client compresses. Valid until the next call. */
static const char *quotation(int number) {
  static char text[160];
  snprintf(text, sizeof text,
           "{\"kind\": \"quotation\", \"symbol\": \"EUR\", \"market\": \"Frankfurt am Main\", \"number\": %d}", number);
  return text;
}

/* 34 messages, of which the client compresses all but the empty one: 32 texts and 2 binary messages. */
static void run_echo(char **arguments) {
  (void)arguments;
  nj_websocket *socket = opened();
  echo_message(socket, NJ_MESSAGE_TEXT, repeated("gr\xC3\xBC\xC3\x9F ", 700), 700);
  echo_message(socket, NJ_MESSAGE_TEXT, repeated("x", 0), 0);
  echo_message(socket, NJ_MESSAGE_BINARY, noise(70000), 70000);
  echo_message(socket, NJ_MESSAGE_BINARY, repeated("\xFF", 125), 125);
  echo_message(socket, NJ_MESSAGE_TEXT, repeated("{\"a\": [1, 2]}, ", 150000), 150000);
  echo_message(socket, NJ_MESSAGE_TEXT, repeated("y", 126), 126);
  /* Similar messages, which refer to each other if the context is kept. */
  for (int number = 0; number < 28; number++) send_text(socket, quotation(number));
  for (int number = 0; number < 28; number++) receive_text(socket, quotation(number));
  close_socket(socket, 1000, "done");
}

/* Two messages of 8 MiB. */
static void run_large(char **arguments) {
  (void)arguments;
  nj_websocket *socket = opened();
  echo_message(socket, NJ_MESSAGE_TEXT, repeated("0123456789 ", LARGE), LARGE);
  echo_message(socket, NJ_MESSAGE_BINARY, noise(LARGE), LARGE);
  close_socket(socket, 1000, NULL);
}

/* The server's message is larger than the option max_message. */
static void run_too_large(char **arguments) {
  (void)arguments;
  nj_websocket *socket = opened();
  char *text = repeated("0123456789 ", 300000);
  send_text(socket, text);
  free(text);
  receive_end(socket, NJ_TOO_LARGE);
  if (nj_websocket_close_code(socket) != 1009) fail("the close code is %d", nj_websocket_close_code(socket));
  nj_websocket_release(socket);
}

/* Pings in both directions. */
static void run_ping(char **arguments) {
  (void)arguments;
  nj_websocket *socket = opened();
  receive_text(socket, "pong 1");
  receive_text(socket, "pong 2");
  receive_text(socket, "pong 3");
  double seconds = 0;
  nj_error *error = NULL;
  expect("nj_websocket_ping", nj_websocket_ping(socket, LIMIT, &seconds, &error), NJ_OK, &error);
  if (!(seconds > 0 && seconds < LIMIT)) fail("the Pong arrived after %f seconds", seconds);
  send_text(socket, "after");
  receive_text(socket, "after");
  close_socket(socket, 1000, NULL);
}

/* Argument: the expected subprotocol, "" for none. */
static void run_protocol(char **arguments) {
  nj_websocket *socket = opened();
  expect_text("the subprotocol", nj_websocket_subprotocol(socket), arguments[0]);
  close_socket(socket, 1000, NULL);
}

/* Arguments: the code and the reason of the client. */
static void run_close(char **arguments) {
  nj_websocket *socket = opened();
  send_text(socket, "hello");
  receive_text(socket, "hello");
  close_socket(socket, atoi(arguments[0]), arguments[1][0] ? arguments[1] : NULL);
}

/* Arguments: the expected result, ok or an error kind; the expected code and reason. */
static void run_closed(char **arguments) {
  nj_websocket *socket = opened();
  send_text(socket, "close");
  nj_status expected = strcmp(arguments[0], "ok") == 0 ? NJ_OK : NJ_CONNECTION_LOST;
  receive_end(socket, expected);
  receive_end(socket, expected);
  if (nj_websocket_close_code(socket) != atoi(arguments[1])) fail("the close code is %d", nj_websocket_close_code(socket));
  expect_text("the reason", nj_websocket_close_reason(socket), arguments[2]);
  nj_websocket_release(socket);
}

/* Argument: the number of texts that the server sends before it closes. */
static void run_count(char **arguments) {
  /* nj_websocket_connect would return NJ_CLOSED if the server has already closed the WebSocket. */
  nj_websocket *socket = start();
  for (int number = 0; number < atoi(arguments[0]); number++) {
    char text[32];
    snprintf(text, sizeof text, "message %d", number);
    receive_text(socket, text);
  }
  receive_end(socket, NJ_OK);
  if (nj_websocket_close_code(socket) != 1000) fail("the close code is %d", nj_websocket_close_code(socket));
  nj_websocket_release(socket);
}

/* Three connections of one WebSocket. */
static void run_reconnect(char **arguments) {
  (void)arguments;
  nj_websocket *socket = opened();
  receive_text(socket, "hello 1");
  send_text(socket, "close");
  receive_text(socket, "hello 2");
  send_text(socket, "close");
  receive_text(socket, "hello 3");
  close_socket(socket, 1000, NULL);
}

/* Two WebSockets of one client. The handshake of the first sets a cookie. */
static void run_cookie(char **arguments) {
  (void)arguments;
  nj_websocket *socket = opened();
  receive_text(socket, "");
  close_socket(socket, 1000, NULL);
  socket = opened();
  receive_text(socket, "flavor=oat");
  close_socket(socket, 1000, NULL);
}

/* Arguments: a text to send, and a part of the text that the server sends after others. */
static void run_exchange(char **arguments) {
  nj_websocket *socket = opened();
  send_text(socket, arguments[0]);
  for (;;) {
    nj_error *error = NULL;
    const nj_message *message = NULL;
    expect("nj_websocket_receive", nj_websocket_receive(socket, LIMIT, &message, &error), NJ_OK, &error);
    if (!message) fail("the WebSocket ended before \"%s\"", arguments[1]);
    if (strstr(nj_message_data(message, NULL), arguments[1])) break;
  }
  /* Further messages may have arrived, so that nj_websocket_receive would not return the end. */
  nj_error *error = NULL;
  expect("nj_websocket_close", nj_websocket_close(socket, 1000, NULL, LIMIT, &error), NJ_OK, &error);
  if (nj_websocket_close_code(socket) != 1000) fail("the close code is %d", nj_websocket_close_code(socket));
  nj_websocket_release(socket);
}

/* Arguments: the expected error kind, and a part of the message. */
static void run_rejected(char **arguments) {
  nj_websocket *socket = start();
  nj_error *error = NULL;
  nj_status status = nj_websocket_connect(socket, LIMIT, &error);
  if (status == NJ_OK) fail("the WebSocket is open, expected the error %s", arguments[0]);
  if (strcmp(nj_status_name(status), arguments[0]) != 0 || !strstr(nj_error_message(error), arguments[1])) {
    fail("the error is %s: %s, expected %s: %s", nj_status_name(status), nj_error_message(error), arguments[0], arguments[1]);
  }
  nj_error_release(error);
  nj_websocket_release(socket);
}

static const struct {
  const char *name;
  void (*run)(char **arguments);
  int arguments;
} cases[] = {{"echo", run_echo, 0},         {"large", run_large, 0},   {"too_large", run_too_large, 0},
             {"ping", run_ping, 0},         {"protocol", run_protocol, 1}, {"close", run_close, 2},
             {"closed", run_closed, 3},     {"count", run_count, 1},   {"reconnect", run_reconnect, 0},
             {"cookie", run_cookie, 0},     {"exchange", run_exchange, 2}, {"rejected", run_rejected, 2}};

int main(int count, char **words) {
  if (count < 5) fail("usage: client CASE URL CONFIG OPTIONS [ARGUMENT...]");
  url = words[2], options = words[4];
  nj_error *error = NULL;
  nj_config *config = nj_config_new();
  expect("nj_config_merge_json", nj_config_merge_json(config, words[3], strlen(words[3]), &error), NJ_OK, &error);
  error = NULL;
  client = nj_client_new(config, &error);
  if (!client) fail("nj_client_new failed: %s", nj_error_message(error));
  nj_config_free(config);
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    if (strcmp(cases[index].name, words[1]) != 0) continue;
    if (count - 5 != cases[index].arguments) fail("%s needs %d arguments", words[1], cases[index].arguments);
    cases[index].run(words + 5);
    nj_client_free(client);
    return 0;
  }
  fail("unknown case: %s", words[1]);
}
