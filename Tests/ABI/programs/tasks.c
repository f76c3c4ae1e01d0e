/* Waits for tasks, pauses them, defers their bodies, cancels blocking calls from another thread, and drains clients,
   against the demo API whose URL is the argument. */
#include "calls.h"
#include "late_source.h"
#include <math.h>
#include <pthread.h>
#include <unistd.h>

static const char *url;

typedef struct result {
  int ended;
  nj_status kind;
  size_t length; /* of the body */
  size_t bytes;  /* that nj_body_fn has received */
} result;

static nj_status kind_of(const nj_error *error) { return error ? nj_error_kind(error) : NJ_OK; }

static void done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  result *self = context;
  (void)task;
  self->ended++;
  self->kind = kind_of(error);
  if (response) nj_response_body(response, &self->length);
}

static nj_client *new_client(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  nj_config_free(config);
  CHECK(client != NULL);
  return client;
}

static void waits(nj_client *client) {
  nj_queue *queue = nj_queue_new();
  nj_request *request = nj_request_new("GET", "/v1/articles/1");
  result first = {0}, slow = {0};
  nj_task *task = nj_client_start(client, request, queue, done, &first, NULL);
  SUCCEEDS(nj_task_wait(task, NJ_NO_LIMIT, &error) == NJ_OK);
  CHECK(first.ended == 1 && first.kind == NJ_OK && first.length > 0 && nj_task_is_finished(task));
  SUCCEEDS(nj_task_wait(task, INFINITY, &error) == NJ_OK);
  nj_task_release(task);
  nj_request_free(request);

  request = nj_request_new("GET", "/delay/30");
  task = nj_client_start(client, request, queue, done, &slow, NULL);
  FAILS(nj_task_wait(task, 0.02, &error), NJ_TIMEOUT);
  CHECK(slow.ended == 0);
  nj_task_cancel(task);
  SUCCEEDS(nj_task_wait(task, 30, &error) == NJ_OK);
  CHECK(slow.ended == 1 && slow.kind == NJ_CANCELLED);
  FAILS(nj_task_wait(task, -1, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_task_wait(NULL, 1, &error), NJ_INVALID_ARGUMENT);
  nj_task_release(task);
  nj_request_free(request);
  nj_queue_free(queue);
}

static void wait_inside(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)response;
  (void)error;
  *(nj_status *)context = nj_task_wait(task, 1, NULL);
}

static void waits_inside_a_callback(nj_client *client) {
  nj_queue *queue = nj_queue_new();
  nj_request *request = nj_request_new("GET", "/v1/articles/1");
  nj_status status = NJ_OK;
  nj_task *task = nj_client_start(client, request, queue, wait_inside, &status, NULL);
  CHECK(nj_task_wait(task, 30, NULL) == NJ_OK && status == NJ_REENTRANT);
  nj_task_release(task);
  nj_request_free(request);
  nj_queue_free(queue);
}

static void pause_at_head(void *context, nj_task *task, const nj_response *head) {
  (void)context;
  (void)head;
  nj_task_pause(task);
}

static void count_bytes(void *context, nj_task *task, const void *bytes, size_t length) {
  (void)task;
  (void)bytes;
  ((result *)context)->bytes += length;
}

static void pauses(nj_client *client) {
  nj_queue *queue = nj_queue_new();
  nj_request *request = nj_request_new("GET", "/file?size=2000000");
  result one = {0}, two = {0};
  nj_request_on_head(request, pause_at_head, NULL);
  nj_request_on_body(request, count_bytes, &one);
  nj_task *task = nj_client_start(client, request, queue, done, &one, NULL);
  for (int polls = 0; polls < 10; polls++) nj_queue_poll(queue, 0.02);
  CHECK(one.bytes == 0 && one.ended == 0 && !nj_task_is_finished(task));
  nj_task_resume(task);
  SUCCEEDS(nj_task_wait(task, 60, &error) == NJ_OK);
  CHECK(one.bytes == 2000000 && one.ended == 1 && one.kind == NJ_OK);
  nj_task_release(task);

  nj_request_on_body(request, count_bytes, &two);
  task = nj_client_start(client, request, queue, done, &two, NULL);
  for (int polls = 0; polls < 10; polls++) nj_queue_poll(queue, 0.02);
  nj_task_cancel(task);
  SUCCEEDS(nj_task_wait(task, 30, &error) == NJ_OK);
  CHECK(two.bytes == 0 && two.kind == NJ_CANCELLED);
  nj_task_release(task);
  nj_request_free(request);
  nj_queue_free(queue);
  nj_task_pause(NULL);
  nj_task_resume(NULL);
  nj_task_resume_body(NULL);
}

static int64_t read_available(void *context, nj_task *task, void *buffer, size_t capacity) {
  (void)task;
  return late_source_read(context, buffer, capacity);
}

static void resume_task(void *task) { nj_task_resume_body(task); }

static void a_source_continues_later(nj_client *client) {
  nj_queue *queue = nj_queue_new();
  nj_request *request = nj_request_new("POST", "/echo");
  late_source data = {.lock = PTHREAD_MUTEX_INITIALIZER, .resume = resume_task};
  result self = {0};
  nj_request_set_body_stream(request, -1, read_available, &data);
  nj_task *task = nj_client_start(client, request, queue, done, &self, NULL);
  data.subject = task;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, late_source_provide, &data) == 0);
  SUCCEEDS(nj_task_wait(task, 60, &error) == NJ_OK);
  pthread_join(thread, NULL);
  CHECK(self.kind == NJ_OK && self.length > 20000 /* JSON with the body */ && data.taken == 20000);
  nj_task_release(task);
  nj_request_free(request);
  nj_queue_free(queue);
}

static void *cancel_soon(void *canceller) {
  usleep(50000);
  nj_canceller_cancel(canceller);
  return NULL;
}

static void blocking_calls_are_cancelled(nj_client *client) {
  nj_canceller *canceller = nj_canceller_new();
  nj_request *request = nj_request_new("GET", "/delay/30");
  CHECK(nj_request_set_canceller(request, canceller) == NJ_OK && !nj_canceller_is_cancelled(canceller));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, cancel_soon, canceller) == 0);
  nj_error *error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL && nj_error_kind(error) == NJ_CANCELLED);
  nj_error_release(error);
  pthread_join(thread, NULL);
  CHECK(nj_canceller_is_cancelled(canceller));
  error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL && nj_error_kind(error) == NJ_CANCELLED);
  nj_error_release(error);
  nj_canceller_free(canceller);
  nj_request_set_canceller(request, NULL);
  nj_request_free(request);

  CHECK(nj_request_set_canceller(NULL, NULL) == NJ_INVALID_ARGUMENT && !nj_canceller_is_cancelled(NULL));
  nj_canceller_cancel(NULL);
  nj_canceller_free(NULL);
}

static void *drain(void *client) {
  nj_status status = nj_client_drain(client, 60, NULL);
  return (void *)(intptr_t)status;
}

static void a_client_is_drained(void) {
  nj_client *client = new_client();
  nj_queue *queue = nj_queue_new();
  nj_request *slow = nj_request_new("GET", "/delay/0.3"), *next = nj_request_new("GET", "/v1/articles/1");
  result self = {0};
  nj_task *task = nj_client_start(client, slow, queue, done, &self, NULL);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, drain, client) == 0);
  nj_status status = NJ_OK;
  for (int tries = 0; tries < 5000 && status != NJ_CLOSED; tries++) {
    nj_error *error = NULL;
    nj_response *response = nj_client_send(client, next, &error);
    status = kind_of(error);
    nj_response_release(response);
    nj_error_release(error);
  }
  CHECK(status == NJ_CLOSED);
  SUCCEEDS(nj_task_wait(task, 60, &error) == NJ_OK);
  CHECK(self.kind == NJ_OK);
  void *outcome = NULL;
  pthread_join(thread, &outcome);
  CHECK((nj_status)(intptr_t)outcome == NJ_OK);
  FAILS(nj_client_drain(client, 1, &error), NJ_CLOSED);
  FAILS(nj_client_drain(NULL, 1, &error), NJ_INVALID_ARGUMENT);
  nj_task_release(task);
  nj_request_free(slow);
  nj_request_free(next);
  nj_queue_free(queue);
  nj_client_free(client);
}

typedef struct streams {
  int drained, events_ended, socket_ended, events;
  nj_status drain, events_kind, socket_kind;
} streams;

static void on_drained(void *context, const nj_error *error) {
  streams *self = context;
  self->drained++;
  self->drain = kind_of(error);
}

static void on_event(void *context, const nj_event *event) {
  (void)event;
  ((streams *)context)->events++;
}

static void on_events_end(void *context, const nj_error *error) {
  streams *self = context;
  self->events_ended++;
  self->events_kind = kind_of(error);
}

static void on_message(void *context, nj_websocket *socket, const nj_message *message) {
  (void)context;
  (void)socket;
  (void)message;
}

static void on_socket_done(void *context, nj_websocket *socket, const nj_error *error) {
  streams *self = context;
  (void)socket;
  self->socket_ended++;
  self->socket_kind = kind_of(error);
}

/* Streams and WebSockets do not end by themselves. */
static void streams_end_in_a_drain(void) {
  nj_client *client = new_client();
  nj_queue *queue = nj_queue_new();
  streams self = {0};
  nj_request *open = nj_request_new("GET", "/events?count=3&end=hold"), *socket_request = nj_request_new("GET", "/ws/echo");
  nj_task *events = nj_client_start_events(client, open, NULL, 0, queue, on_event, on_events_end, &self, NULL);
  const nj_websocket_callbacks callbacks = {sizeof callbacks, NULL, on_message, NULL, on_socket_done};
  nj_websocket *socket = nj_client_start_websocket(client, socket_request, NULL, 0, queue, &callbacks, &self, NULL);
  CHECK(events != NULL && socket != NULL);
  for (int polls = 0; polls < 6000; polls++) {
    if (self.events == 3 && nj_websocket_get_state(socket) == NJ_WEBSOCKET_OPEN) break;
    nj_queue_poll(queue, 0.01);
  }
  nj_task *task = NULL;
  SUCCEEDS((task = nj_client_start_drain(client, 60, queue, on_drained, &self, &error)) != NULL);
  SUCCEEDS(nj_task_wait(task, 60, &error) == NJ_OK);
  CHECK(self.drained == 1 && self.drain == NJ_OK);
  for (int polls = 0; polls < 100; polls++) nj_queue_poll(queue, 0);
  CHECK(self.events_ended == 1 && self.events_kind == NJ_CLOSED);
  CHECK(self.socket_ended == 1 && self.socket_kind == NJ_OK && nj_websocket_close_code(socket) == 1001);
  CHECK(nj_client_start_drain(client, 60, NULL, on_drained, NULL, NULL) == NULL);
  CHECK(nj_client_start_drain(client, 60, queue, NULL, NULL, NULL) == NULL);
  nj_task_release(task);
  nj_task_release(events);
  nj_websocket_release(socket);
  nj_request_free(open);
  nj_request_free(socket_request);
  nj_client_free(client);
  nj_queue_free(queue);
}

int main(int count, char **arguments) {
  if (count != 2) return 2;
  url = arguments[1];
  nj_client *client = new_client();
  waits(client);
  waits_inside_a_callback(client);
  pauses(client);
  a_source_continues_later(client);
  blocking_calls_are_cancelled(client);
  nj_client_free(client);
  a_client_is_drained();
  streams_end_in_a_drain();
  FINISH();
}
