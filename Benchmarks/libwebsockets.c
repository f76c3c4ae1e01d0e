/* The libwebsockets side of the WebSocket benchmarks. Arguments: MODE URL COUNT, as for websocket.c.
 *
 * One thread services all connections with the default event loop, poll. With 64 connections, poll takes less time than
 * the event loops with epoll, which change the events of a socket twice for each message. Messages are sent from the
 * callback for a writable connection, as libwebsockets requires. Unlike Nightjar, libwebsockets does not check whether
 * texts are UTF-8, by default. */
#include "measure.h"
#include <libwebsockets.h>

enum { SIZE = 1024, CONCURRENT = 64 };

static char text[SIZE];
static long total, started, received, closed;
static int keeps_sending, is_ending;
static struct lws_context *context;

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static int callback(struct lws *socket, enum lws_callback_reasons reason, void *user, void *data, size_t length) {
  (void)user;
  switch (reason) {
  case LWS_CALLBACK_CLIENT_CONNECTION_ERROR: fail(data ? data : "a connection failed"); break;
  case LWS_CALLBACK_CLIENT_ESTABLISHED: lws_callback_on_writable(socket); break;
  case LWS_CALLBACK_CLIENT_WRITEABLE: {
    static unsigned char buffer[LWS_PRE + SIZE];
    if (is_ending) {
      lws_close_reason(socket, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
      return -1;
    }
    memcpy(buffer + LWS_PRE, text, SIZE); /* lws_write masks the buffer in place */
    started++;
    if (lws_write(socket, buffer + LWS_PRE, SIZE, LWS_WRITE_TEXT) < SIZE) fail("a message was not sent");
    break;
  }
  case LWS_CALLBACK_CLIENT_RECEIVE:
    if (length != SIZE || !lws_is_final_fragment(socket) || lws_frame_is_binary(socket)) fail("an echo differs");
    received++;
    if (keeps_sending && started < total) lws_callback_on_writable(socket);
    break;
  case LWS_CALLBACK_CLIENT_CLOSED:
    if (!is_ending) fail("a connection was closed");
    closed++;
    break;
  default: break;
  }
  return 0;
}

/* The buffer holds a whole message, so that each one is delivered by one callback. */
static const struct lws_protocols protocols[] = {{"echo", callback, 0, 4096, 0, NULL, 0}, {NULL, NULL, 0, 0, 0, NULL, 0}};

static void open_one(int port) {
  struct lws_client_connect_info info = {
    .context = context, .address = "127.0.0.1", .port = port, .path = "/", .host = "127.0.0.1", .origin = "127.0.0.1",
    .local_protocol_name = "echo", .ietf_version_or_minus_one = -1};
  if (!lws_client_connect_via_info(&info)) fail("a connection was not opened");
}

static void measure_messages(void) {
  double cpu = 0, wall = 0;
  long from = 0;
  while (received < total) {
    lws_service(context, 0);
    if (!from && received >= WARM_UP) from = received, cpu = cpu_us(), wall = wall_us();
  }
  report((cpu_us() - cpu) / (double)(received - from), (wall_us() - wall) / (double)(received - from));
}

static void nothing(lws_sorted_usec_list_t *timer) { (void)timer; }

static void wait_for(long count) {
  static lws_sorted_usec_list_t timer;
  while (received < count) lws_service(context, 0);
  double end = wall_us() + 200000;
  lws_sul_schedule(context, 0, &timer, nothing, 200000);
  while (wall_us() < end) lws_service(context, 0);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  int measures_memory = strcmp(argv[1], "memory") == 0;
  if (!measures_memory && strcmp(argv[1], "messages") != 0) return 2;
  const char *colon = strrchr(argv[2], ':');
  if (!colon) return 2;
  int port = atoi(colon + 1);
  long count = measures_memory ? atol(argv[3]) : CONCURRENT;
  total = atol(argv[3]) + WARM_UP;
  keeps_sending = !measures_memory;
  memset(text, 'x', SIZE);

  lws_set_log_level(LLL_ERR, NULL);
  struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN, .protocols = protocols, .gid = -1, .uid = -1};
  context = lws_create_context(&info);
  if (!context) fail("the context was not created");

  long opened = count;
  if (measures_memory) {
    open_one(port);
    wait_for(1);
    holdings before = held();
    for (long i = 0; i < count; i++) open_one(port);
    opened++;
    wait_for(opened);
    report_growth(before);
  } else {
    for (long i = 0; i < count; i++) open_one(port);
    measure_messages();
  }
  is_ending = 1;
  lws_callback_on_writable_all_protocol(context, &protocols[0]);
  while (closed < opened) lws_service(context, 0);
  lws_context_destroy(context);
  return 0;
}
