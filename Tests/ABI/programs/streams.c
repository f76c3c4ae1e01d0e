/* Lines, JSON values and event streams, against the demo API whose URL is the argument. */
#include "check.h"
#include <nightjar.h>
#include <sys/wait.h>
#include <unistd.h>

static nj_client *client;

typedef struct seen {
  int count, stop_at;
  char text[256];
  nj_status end;
  bool has_ended;
} seen;

static void on_line(void *context, nj_task *task, const char *line, size_t length) {
  seen *self = context;
  self->count++;
  if (self->count == self->stop_at) nj_task_cancel(task);
  snprintf(self->text + strlen(self->text), sizeof self->text - strlen(self->text), "%.*s|", (int)length, line);
}

static void on_value(void *context, nj_task *task, const nj_response *value) {
  (void)task;
  seen *self = context;
  int64_t id = 0;
  CHECK(nj_response_json_int64(value, "/id", &id, NULL) == NJ_OK && id == ++self->count);
  CHECK(nj_response_status(value) == 200);
}

static nj_error *send_lines(const char *target, seen *seen, nj_line_fn line, nj_json_fn value, size_t max_line) {
  nj_request *request = nj_request_new("GET", target);
  if (line) CHECK(nj_request_on_line(request, line, seen) == NJ_OK);
  if (value) CHECK(nj_request_on_json(request, value, seen) == NJ_OK);
  if (max_line) CHECK(nj_request_set_max_line(request, max_line) == NJ_OK);
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  CHECK((response == NULL) == (error != NULL));
  nj_response_release(response);
  nj_request_free(request);
  return error;
}

static void lines(void) {
  static const char *ends[] = {"lf", "crlf", "cr", "none"};
  for (size_t i = 0; i < 4; i++) {
    char target[64];
    snprintf(target, sizeof target, "/lines/3?chunk=2&end=%s", ends[i]);
    seen seen = {0};
    CHECK(send_lines(target, &seen, on_line, NULL, 0) == NULL);
    CHECK_TEXT(seen.text, "line 1|line 2|line 3|");
  }
  /* The whole response arrives at once. A cancel nevertheless stops the delivery. */
  seen ended = {.stop_at = 1};
  nj_error *error = send_lines("/lines/3", &ended, on_line, NULL, 0);
  CHECK(nj_error_kind(error) == NJ_CANCELLED && ended.count == 1 && nj_error_delivered(error) == 1);
  nj_error_release(error);
  seen none = {0};
  error = send_lines("/status/404", &none, on_line, NULL, 0);
  CHECK(nj_error_kind(error) == NJ_NOT_FOUND && none.count == 0 && nj_error_delivered(error) == -1);
  nj_error_release(error);
  seen cut = {0};
  error = send_lines("/lines/100?cut=50", &cut, on_line, NULL, 0);
  CHECK(nj_error_kind(error) == NJ_CONNECTION_LOST && cut.count == 7 && nj_error_delivered(error) == 7);
  nj_error_release(error);
  seen wide = {0};
  error = send_lines("/lines/1?width=1000", &wide, on_line, NULL, 100);
  CHECK(nj_error_kind(error) == NJ_TOO_LARGE && nj_error_delivered(error) == 0);
  nj_error_release(error);
  seen stopped = {.stop_at = 2};
  error = send_lines("/lines/100000000", &stopped, on_line, NULL, 0);
  CHECK(nj_error_kind(error) == NJ_CANCELLED && stopped.count == 2 && nj_error_delivered(error) == 2);
  nj_error_release(error);
}

static void values(void) {
  seen plain = {0}, sequence = {0}, bad = {0};
  CHECK(send_lines("/ndjson/4?chunk=5", &plain, NULL, on_value, 0) == NULL && plain.count == 4);
  CHECK(send_lines("/ndjson/4?format=seq", &sequence, NULL, on_value, 0) == NULL && sequence.count == 4);
  nj_error *error = send_lines("/ndjson/4?bad=3", &bad, NULL, on_value, 0);
  CHECK(nj_error_kind(error) == NJ_DECODING && bad.count == 2 && nj_error_delivered(error) == 2);
  CHECK(strncmp(nj_error_message(error), "value 3 of the response is not JSON", 35) == 0);
  nj_error_release(error);
}

/* A body of 32 MiB that is sent while the response arrives. */
typedef struct transfer {
  int64_t sent, received, received_before_end;
} transfer;

static int64_t next_part(void *context, nj_task *task, void *buffer, size_t capacity) {
  (void)task;
  transfer *self = context;
  int64_t left = (32 << 20) - self->sent, count = left < (int64_t)capacity ? left : (int64_t)capacity;
  memset(buffer, 'x', (size_t)count);
  self->sent += count;
  if (left > 0 && left == count) self->received_before_end = self->received;
  return count;
}

static void on_part(void *context, nj_task *task, const void *data, size_t length) {
  (void)task;
  (void)data;
  ((transfer *)context)->received += (int64_t)length;
}

static void both_directions(void) {
  transfer transfer = {0};
  nj_request *request = nj_request_new("POST", "/duplex");
  CHECK(nj_request_set_body_stream(request, -1, next_part, &transfer) == NJ_OK);
  CHECK(nj_request_on_body(request, on_part, &transfer) == NJ_OK);
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(response && nj_response_status(response) == 200);
  CHECK(transfer.sent == 32 << 20 && transfer.received == 32 << 20);
  CHECK(transfer.received_before_end > 0);
  nj_response_release(response);
  nj_request_free(request);
}

static void blocking_events(void) {
  static const char options[] = "{\"last_event_id\":\"2\",\"reconnection_time\":0.1}";
  nj_request *request = nj_request_new("GET", "/events?count=20&cut=300&retry=100");
  nj_error *error = NULL;
  nj_events *events = nj_events_new(client, request, options, sizeof options - 1, &error);
  CHECK(events != NULL && error == NULL);
  CHECK_TEXT(nj_events_last_event_id(events), "2");
  CHECK(nj_events_get_state(events) == NJ_EVENTS_CONNECTING);
  const nj_event *event;
  int id = 2;
  while (nj_events_next(events, NJ_NO_LIMIT, &event, &error) == NJ_OK && event) {
    char expected[16];
    snprintf(expected, sizeof expected, "%d", ++id);
    CHECK_TEXT(nj_event_id(event), expected);
    CHECK_TEXT(nj_event_type(event), "tick");
    size_t length;
    CHECK(nj_event_data(event, &length)[0] == '{' && strlen(nj_event_data(event, NULL)) == length);
  }
  CHECK(id == 20 && error == NULL && event == NULL);
  CHECK(nj_events_get_state(events) == NJ_EVENTS_CLOSED);
  CHECK(strstr(nj_events_explain(events), "waiting") != NULL);
  CHECK(nj_events_next(events, NJ_NO_LIMIT, &event, &error) == NJ_OK && event == NULL);
  nj_events_free(events);
  nj_request_free(request);
}

static void waiting_for_events(void) {
  nj_request *request = nj_request_new("GET", "/events?count=1&end=hold");
  nj_events *events = nj_events_new(client, request, NULL, 0, NULL);
  const nj_event *event;
  nj_error *error = NULL;
  CHECK(nj_events_next(events, 30, &event, &error) == NJ_OK && event);
  CHECK(nj_events_next(events, 0.1, &event, &error) == NJ_TIMEOUT && event == NULL);
  nj_error_release(error);
  CHECK(nj_events_get_state(events) == NJ_EVENTS_OPEN);
  nj_events_free(events);
  nj_request_free(request);
}

static void failing_events(void) {
  char key[64];
  snprintf(key, sizeof key, "/events?status=503&key=%d", (int)getpid());
  const struct {
    const char *target;
    nj_status status;
  } cases[] = {{"/lines/1", NJ_DECODING}, {"/status/404", NJ_NOT_FOUND}, {key, NJ_SERVER}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nj_request *request = nj_request_new("GET", cases[i].target);
    nj_events *events = nj_events_new(client, request, NULL, 0, NULL);
    const nj_event *event;
    nj_error *error = NULL;
    CHECK(nj_events_next(events, 30, &event, &error) == cases[i].status && event == NULL);
    nj_error_release(error);
    CHECK(nj_events_next(events, 30, &event, NULL) == cases[i].status);
    nj_events_free(events);
    nj_request_free(request);
  }
}

static void events_after_fork(void) {
  nj_request *request = nj_request_new("GET", "/events?count=2&end=hold");
  nj_events *events = nj_events_new(client, request, NULL, 0, NULL);
  const nj_event *event;
  CHECK(nj_events_next(events, 30, &event, NULL) == NJ_OK && event);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    nj_status status = nj_events_next(events, 30, &event, NULL);
    nj_events_free(events);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execl("/bin/sh", "sh", "-c", status == NJ_FORKED && event == NULL ? "exit 0" : "exit 1", (char *)NULL);
    _exit(2);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(nj_events_next(events, 30, &event, NULL) == NJ_OK && event);
  CHECK_TEXT(nj_event_id(event), "2");
  nj_events_free(events);
  nj_request_free(request);
}

static void on_event(void *context, const nj_event *event) {
  seen *self = context;
  CHECK(atoi(nj_event_id(event)) == ++self->count);
}

static void on_end(void *context, const nj_error *error) {
  seen *self = context;
  CHECK(!self->has_ended);
  self->has_ended = true;
  self->end = error ? nj_error_kind(error) : NJ_OK;
}

static void queued_events(void) {
  static const char options[] = "{\"reconnection_time\":0.1}";
  nj_queue *queue = nj_queue_new();
  nj_request *request = nj_request_new("GET", "/events?count=20&cut=300&replay=2&retry=100");
  seen all = {0};
  nj_task *task = nj_client_start_events(client, request, options, sizeof options - 1, queue, on_event, on_end, &all, NULL);
  CHECK(task != NULL);
  while (!all.has_ended) nj_queue_poll(queue, 10);
  CHECK(all.count == 20 && all.end == NJ_OK && nj_task_is_finished(task));
  nj_task_release(task);

  seen cancelled = {0};
  nj_request *open = nj_request_new("GET", "/events?count=3&end=hold");
  task = nj_client_start_events(client, open, NULL, 0, queue, on_event, on_end, &cancelled, NULL);
  while (cancelled.count < 3) nj_queue_poll(queue, 10);
  nj_task_cancel(task);
  while (!cancelled.has_ended) nj_queue_poll(queue, 10);
  CHECK(cancelled.end == NJ_CANCELLED);
  nj_task_release(task);

  seen freed = {0};
  task = nj_client_start_events(client, open, NULL, 0, queue, on_event, on_end, &freed, NULL);
  nj_queue_free(queue);
  CHECK(freed.has_ended && freed.end == NJ_CANCELLED);
  nj_task_release(task);
  nj_request_free(open);
  nj_request_free(request);
}

static void on_response_event(void *context, const nj_event *event) {
  seen *self = context;
  char text[32];
  snprintf(text, sizeof text, "%d", ++self->count);
  CHECK_TEXT(nj_event_id(event), text);
  CHECK_TEXT(nj_event_type(event), "tick");
}

static nj_response *send_for_events(const char *target, seen *seen, size_t max_event, nj_error **error) {
  nj_request *request = nj_request_new("POST", target);
  nj_request_set_body_json(request, "{}", 2);
  CHECK(nj_request_on_line(request, on_line, seen) == NJ_OK);
  CHECK(nj_request_on_event(request, on_response_event, seen) == NJ_OK);
  if (max_event) CHECK(nj_request_set_max_line(request, max_event) == NJ_OK);
  nj_response *response = nj_client_send(client, request, error);
  nj_request_free(request);
  return response;
}

/* A response that is either JSON or an event stream. */
static void response_events(void) {
  nj_error *error = NULL;
  seen all = {0};
  nj_response *response = send_for_events("/events?count=3&end=close", &all, 0, &error);
  size_t length = 1;
  CHECK(response && nj_response_body(response, &length) && length == 0 && all.count == 3);
  nj_response_release(response);
  seen none = {0};
  response = send_for_events("/echo", &none, 0, &error);
  CHECK(response && nj_response_body(response, &length) && length > 0 && none.count == 0);
  nj_response_release(response);
  seen cut = {0};
  CHECK(send_for_events("/events?count=9&cut=100", &cut, 0, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_CONNECTION_LOST && cut.count > 0 && nj_error_delivered(error) == cut.count);
  nj_error_release(error);
  error = NULL;
  seen large = {0};
  CHECK(send_for_events("/events?count=1&size=500&end=close", &large, 100, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_TOO_LARGE && large.count == 0);
  CHECK(strstr(nj_error_message(error), "set a larger max_line"));
  nj_error_release(error);
  CHECK(nj_request_on_event(NULL, on_response_event, NULL) == NJ_INVALID_ARGUMENT);
}

/* The wait that the server asks for, and an id without data. */
static void positions(void) {
  nj_request *request = nj_request_new("GET", "/events?count=1&retry=2500&end=close");
  nj_error *error = NULL;
  nj_events *events = nj_events_new(client, request, "{\"reconnect\": false, \"reconnection_time\": 0.5}", 46, &error);
  CHECK(nj_events_reconnection_time(events) == 0.5 && nj_events_reconnection_time(NULL) == 0);
  CHECK(!nj_events_response(events) && !nj_events_response(NULL));
  const nj_event *event = NULL;
  CHECK(nj_events_next(events, 60, &event, &error) == NJ_OK && event);
  nj_response *response = nj_events_response(events);
  CHECK(nj_response_status(response) == 200);
  CHECK_TEXT(nj_response_header(response, "Content-Type"), "text/event-stream");
  nj_response_release(response);
  CHECK(nj_events_reconnection_time(events) == 2.5);
  CHECK(nj_events_next(events, 60, &event, &error) == NJ_OK && !event);
  CHECK_TEXT(nj_events_last_event_id(events), "1");
  nj_events_free(events);
  nj_request_free(request);

  nj_config *config = nj_config_new();
  static const char routes[] = "[{\"response\": {\"headers\": {\"Content-Type\": \"text/event-stream\"},"
                               " \"body\": \"id: 1\\ndata: a\\n\\nid: 2\\n\\n\"}}]";
  CHECK(nj_config_set_mock(config, routes, sizeof routes - 1, &error) == NJ_OK);
  nj_config_set_base_url(config, "http://api.test");
  nj_client *mocked = nj_client_new(config, &error);
  request = nj_request_new("GET", "/");
  events = nj_events_new(mocked, request, "{\"reconnect\": false}", 20, &error);
  CHECK(nj_events_next(events, 60, &event, &error) == NJ_OK && event);
  CHECK(nj_events_next(events, 60, &event, &error) == NJ_OK && !event);
  CHECK_TEXT(nj_events_last_event_id(events), "2");
  nj_events_free(events);
  nj_request_free(request);
  nj_client_free(mocked);
  nj_config_free(config);
}

static void invalid_arguments(void) {
  nj_request *request = nj_request_new("GET", "/events");
  nj_error *error = NULL;
  CHECK(nj_events_new(NULL, request, NULL, 0, &error) == NULL && nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  CHECK(nj_events_new(client, NULL, NULL, 0, NULL) == NULL);
  CHECK(nj_events_new(client, request, "{", 1, &error) == NULL && nj_error_kind(error) == NJ_DECODING);
  nj_error_release(error);
  CHECK(nj_events_new(client, request, "{\"max_events\":1}", 16, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT && strstr(nj_error_message(error), "max_event"));
  nj_error_release(error);
  CHECK(nj_client_start_events(client, request, NULL, 0, NULL, on_event, on_end, NULL, NULL) == NULL);
  CHECK(nj_events_next(NULL, 1, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_events_last_event_id(NULL) == NULL && nj_events_explain(NULL) == NULL);
  CHECK(nj_events_get_state(NULL) == NJ_EVENTS_CLOSED);
  CHECK(nj_event_type(NULL) == NULL && nj_event_id(NULL) == NULL && nj_event_data(NULL, NULL) == NULL);
  nj_events_free(NULL);
  CHECK(nj_request_set_max_line(request, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_max_line(request, (size_t)-1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_line(NULL, on_line, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_json(NULL, on_value, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_error_delivered(NULL) == -1);
  nj_request_free(request);
}

int main(int count, char **arguments) {
  if (count != 2) return 2;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, arguments[1]);
  nj_config_set_retry_attempts(config, 1);
  client = nj_client_new(config, NULL);
  nj_config_free(config);
  lines();
  values();
  response_events();
  positions();
  both_directions();
  blocking_events();
  waiting_for_events();
  failing_events();
  events_after_fork();
  queued_events();
  invalid_arguments();
  nj_client_free(client);
  FINISH();
}
