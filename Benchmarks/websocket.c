/* Nightjar's WebSockets in the benchmarks. Arguments: MODE URL COUNT.
 *
 *   messages  64 WebSockets send a text of 1 KiB, wait for its echo and send the next one; prints the cost per message
 *   memory    COUNT open WebSockets that are idle after an echo; prints the memory of each */
#include "measure.h"
#include <nightjar.h>

enum { SIZE = 1024, CONCURRENT = 64 };

static nj_client *client;
static nj_queue *queue;
static char text[SIZE];
static long total, started, received, running;
static int keeps_sending;

static void fail(const char *what, const nj_error *error) {
  fprintf(stderr, "%s: %s\n", what, error ? nj_error_message(error) : "");
  exit(1);
}

static void send_text(nj_websocket *socket) {
  nj_error *error = NULL;
  bool is_sent = false;
  started++;
  if (nj_websocket_try_send(socket, NJ_MESSAGE_TEXT, text, SIZE, &is_sent, &error) != NJ_OK || !is_sent)
    fail("a message was not sent", error);
}

static void on_open(void *context, nj_websocket *socket) {
  (void)context;
  send_text(socket);
}

static void on_message(void *context, nj_websocket *socket, const nj_message *message) {
  (void)context;
  size_t length;
  nj_message_data(message, &length);
  if (length != SIZE || nj_message_get_kind(message) != NJ_MESSAGE_TEXT) fail("an echo differs", NULL);
  received++;
  if (keeps_sending && started < total) send_text(socket);
}

static void on_done(void *context, nj_websocket *socket, const nj_error *error) {
  (void)context, (void)socket;
  if (error) fail("a connection failed", error);
  running--;
}

static nj_websocket *open_one(const nj_request *request) {
  static const char options[] = "{\"compress\":false,\"ping\":0}";
  static const nj_websocket_callbacks callbacks = {
    .size = sizeof callbacks, .open = on_open, .message = on_message, .done = on_done};
  nj_error *error = NULL;
  nj_websocket *socket =
    nj_client_start_websocket(client, request, options, sizeof options - 1, queue, &callbacks, NULL, &error);
  if (!socket) fail("a WebSocket was not opened", error);
  running++;
  return socket;
}

static void measure_messages(void) {
  double cpu = 0, wall = 0;
  long from = 0;
  while (received < total) {
    nj_queue_poll(queue, -1);
    if (!from && received >= WARM_UP) from = received, cpu = cpu_us(), wall = wall_us();
  }
  report((cpu_us() - cpu) / (double)(received - from), (wall_us() - wall) / (double)(received - from));
}

static void wait_for(long count) {
  while (received < count) nj_queue_poll(queue, -1);
  for (int i = 0; i < 10; i++) nj_queue_poll(queue, 0.02);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  int measures_memory = strcmp(argv[1], "memory") == 0;
  if (!measures_memory && strcmp(argv[1], "messages") != 0) return 2;
  long count = measures_memory ? atol(argv[3]) : CONCURRENT;
  total = atol(argv[3]) + WARM_UP;
  keeps_sending = !measures_memory;
  memset(text, 'x', SIZE);

  nj_config *config = nj_config_new();
  nj_config_set_max_connections_per_host(config, 65536);
  nj_config_set_connect_timeout(config, 60);
  nj_error *error = NULL;
  client = nj_client_new(config, &error);
  if (!client) fail("the client was not created", error);
  queue = nj_queue_new();
  nj_request *request = nj_request_new("GET", argv[2]);
  nj_websocket **sockets = calloc((size_t)count + 1, sizeof *sockets), **end = sockets;

  if (measures_memory) {
    *end++ = open_one(request);
    wait_for(1);
    holdings before = held();
    for (long i = 0; i < count; i++) *end++ = open_one(request);
    wait_for(count + 1);
    report_growth(before);
  } else {
    for (long i = 0; i < count; i++) *end++ = open_one(request);
    measure_messages();
  }
  for (nj_websocket **socket = sockets; socket < end; socket++) {
    nj_websocket_start_close(*socket, 1000, NULL, NULL);
    nj_websocket_release(*socket);
  }
  while (running > 0) nj_queue_poll(queue, -1);
  free(sockets);
  nj_request_free(request);
  nj_config_free(config);
  nj_client_free(client);
  nj_queue_free(queue);
  return 0;
}
