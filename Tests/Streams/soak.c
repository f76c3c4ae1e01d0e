/* Keeps WebSockets and event streams open, and reports whether memory and descriptors stay constant.
 *
 *   soak BASE_URL COUNT SECONDS
 *
 * Opens COUNT WebSockets, each of which sends a message every second and receives it again, and COUNT event streams with an
 * event every second. Compares the resident memory and the number of descriptors at the end with those after a tenth of
 * the time.
 *
 * The windows of the compression (32 KiB in each direction, for each WebSocket) become resident as messages fill them.
 * Each WebSocket therefore first sends a message that fills them. */
#include <dirent.h>
#include <nightjar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long opened, ended, messages, events;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The resident memory in KiB. */
static long resident(void) {
  char line[256];
  long size = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) {
    if (sscanf(line, "VmRSS: %ld kB", &size) == 1) break;
  }
  if (file) fclose(file);
  return size;
}

static long descriptors(void) {
  long count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder)) count++;
  if (folder) closedir(folder);
  return count;
}

static void on_open(void *context, nj_websocket *socket) {
  (void)context;
  (void)socket;
  opened++;
}

static void on_message(void *context, nj_websocket *socket, const nj_message *message) {
  (void)context;
  (void)socket;
  (void)message;
  messages++;
}

static void report(const nj_error *error) {
  ended++;
  if (error && ended <= 5) fprintf(stderr, "ended: %s\n", nj_error_message(error));
}

static void on_socket_end(void *context, nj_websocket *socket, const nj_error *error) {
  (void)context;
  (void)socket;
  report(error);
}

static void on_event(void *context, const nj_event *event) {
  (void)context;
  (void)event;
  events++;
}

static void on_stream_end(void *context, const nj_error *error) {
  (void)context;
  report(error);
}

static const nj_websocket_callbacks callbacks = {sizeof callbacks, on_open, on_message, NULL, on_socket_end};

/* Sends a message that cannot be compressed over each WebSocket, and waits until all have come back. */
static void fill_windows(nj_websocket **sockets, int count, nj_queue *queue) {
  static char text[64 * 1024];
  unsigned random = 1;
  for (size_t at = 0; at < sizeof text; at++) {
    random = random * 1103515245 + 12345;
    text[at] = (char)(' ' + (random >> 16) % 95);
  }
  for (int index = 0; index < count; index++) {
    nj_websocket_send(sockets[index], NJ_MESSAGE_TEXT, text, sizeof text, 60, NULL);
    while (messages <= index && ended == 0) nj_queue_poll(queue, 1);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s BASE_URL COUNT SECONDS\n", argv[0]);
    return 2;
  }
  int count = atoi(argv[2]);
  double seconds = atof(argv[3]);
  nj_error *error = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_config_set_max_connections_per_host(config, (size_t)count + 8);
  nj_client *client = nj_client_new(config, &error);
  nj_queue *queue = nj_queue_new();
  nj_websocket **sockets = calloc((size_t)count, sizeof *sockets);
  nj_task **streams = calloc((size_t)count, sizeof *streams);
  nj_request *echo = nj_request_new("GET", "/ws/echo");
  nj_request *feed = nj_request_new("GET", "/events?count=100000000&delay=1&size=100&end=hold");
  for (int index = 0; client && index < count; index++) {
    sockets[index] = nj_client_start_websocket(client, echo, NULL, 0, queue, &callbacks, NULL, &error);
    streams[index] = nj_client_start_events(client, feed, NULL, 0, queue, on_event, on_stream_end, NULL, &error);
    if (!sockets[index] || !streams[index]) break;
  }
  if (error) {
    fprintf(stderr, "%s\n", nj_error_message(error));
    return 1;
  }
  while (opened < count && ended == 0) nj_queue_poll(queue, 1);
  fill_windows(sockets, count, queue);
  messages = 0;

  char text[200];
  memset(text, 'x', sizeof text);
  long sent = 0, early_memory = 0, early_descriptors = 0, memory = 0, peak = 0;
  double start = now();
  for (int turn = 0; now() < start + seconds && ended == 0; turn++) {
    for (int index = 0; index < count; index++) {
      bool is_sent = false;
      nj_websocket_try_send(sockets[index], NJ_MESSAGE_TEXT, text, sizeof text, &is_sent, NULL);
      sent += is_sent;
    }
    while (now() < start + turn + 1) nj_queue_poll(queue, start + turn + 1 - now());
    memory = resident();
    if (memory > peak) peak = memory;
    if (early_memory == 0 && now() >= start + seconds / 10) {
      early_memory = memory;
      early_descriptors = descriptors();
      peak = memory;
    }
    if (turn % 60 == 0) {
      printf("%4d s: %ld KiB, %ld descriptors, %ld messages, %ld events\n", turn, memory, descriptors(), messages, events);
      fflush(stdout);
    }
  }
  long late_descriptors = descriptors();
  double wait = now() + 10;
  while (messages < sent && now() < wait) nj_queue_poll(queue, 0.1);
  printf("%ld of %ld messages came back, %ld events, %ld ended early\n", messages, sent, events, ended);
  printf("memory: %ld KiB early, %ld KiB late, %ld KiB peak; descriptors: %ld early, %ld late\n", early_memory, memory, peak,
         early_descriptors, late_descriptors);
  bool is_right = ended == 0 && messages == sent && events > 0 && peak - early_memory <= 1024 &&
                  early_descriptors == late_descriptors;
  nj_queue_free(queue);
  for (int index = 0; index < count; index++) {
    nj_websocket_release(sockets[index]);
    nj_task_release(streams[index]);
  }
  free(sockets);
  free(streams);
  nj_request_free(echo);
  nj_request_free(feed);
  nj_client_free(client);
  nj_config_free(config);
  printf(is_right ? "constant\n" : "NOT CONSTANT\n");
  return is_right ? 0 : 1;
}
