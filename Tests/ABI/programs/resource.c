/* Resources: observing, waiting, reloading, mutations and misuse. Needs no server. */
#include "calls.h"
#include "check.h"
#include <nightjar.h>

static nj_client *mocked(void) {
  static const char routes[] =
      "[{\"path\": \"/value\", \"method\": \"GET\","
      "  \"responses\": [{\"json\": {\"n\": 1}}, {\"status\": 500}, {\"json\": {\"n\": 2}}]},"
      " {\"path\": \"/value\", \"method\": \"PUT\", \"response\": {\"status\": 422}},"
      " {\"path\": \"/value\", \"method\": \"DELETE\", \"response\": {\"status\": 204}},"
      " {\"path\": \"/slow\", \"response\": {\"fault\": \"hang\"}}]";
  nj_config *config = nj_config_new();
  nj_error *error = NULL;
  CHECK(nj_config_set_base_url(config, "http://api.test/") == NJ_OK);
  CHECK(nj_config_set_mock(config, routes, strlen(routes), &error) == NJ_OK);
  CHECK(nj_config_merge_json(config, "{\"retry\": false}", 16, &error) == NJ_OK);
  nj_client *client = nj_client_new(config, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  nj_config_free(config);
  return client;
}

static nj_resource *resource(nj_client *client, const char *path, const char *options, nj_queue *queue) {
  nj_request *request = nj_request_new("GET", path);
  nj_resource *made = NULL;
  SUCCEEDS((made = nj_resource_new(client, request, options, options ? strlen(options) : 0, queue, &error)) != NULL);
  nj_request_free(request);
  return made;
}

/* The last snapshot that an observer has received. */
typedef struct seen {
  int count;
  nj_resource_phase phase;
  nj_resource_mutation mutation;
  int64_t n, generation; /* 0: no data */
  int status;            /* of the error */
  bool is_stale;
} seen;

static void changed(void *context, const nj_snapshot *snapshot) {
  seen *last = context;
  last->count++;
  last->phase = nj_snapshot_get_phase(snapshot);
  last->mutation = nj_snapshot_get_mutation(snapshot);
  last->is_stale = nj_snapshot_is_stale(snapshot);
  const nj_error *error = nj_snapshot_error(snapshot);
  last->status = error ? nj_error_http_status(error) : 0;
  CHECK(nj_snapshot_generation(snapshot) >= last->generation);
  last->generation = nj_snapshot_generation(snapshot);
  const nj_response *data = nj_snapshot_data(snapshot);
  last->n = 0;
  if (data) CHECK(nj_response_json_int64(data, "/n", &last->n, NULL) == NJ_OK);
  CHECK((data != NULL && last->mutation == NJ_RESOURCE_UNCHANGED) <= (nj_snapshot_updated_at(snapshot) > 1e9));
}

typedef struct result { int count, status; nj_status kind; } result;

static void done(void *context, const nj_response *response, const nj_error *error) {
  result *to = context;
  to->count++;
  CHECK((response == NULL) != (error == NULL));
  to->status = response ? nj_response_status(response) : nj_error_http_status(error);
  to->kind = error ? nj_error_kind(error) : NJ_OK;
}

static void await(nj_queue *queue, const result *to) {
  while (to->count == 0) nj_queue_poll(queue, 5);
  CHECK(to->count == 1);
}

static void states(void) {
  nj_client *client = mocked();
  nj_queue *queue = nj_queue_new();
  nj_resource *value = resource(client, "/value", "{\"tags\": [\"values\"]}", queue);
  nj_snapshot *snapshot = nj_resource_snapshot(value);
  CHECK(nj_snapshot_get_phase(snapshot) == NJ_RESOURCE_IDLE && !nj_snapshot_data(snapshot));
  CHECK(nj_snapshot_updated_at(snapshot) == -1 && nj_snapshot_generation(snapshot) == 0);
  nj_snapshot_free(snapshot);

  seen last = {0};
  nj_resource_observer *observer = NULL;
  SUCCEEDS((observer = nj_resource_observe(value, changed, &last, &error)) != NULL);
  while (last.phase != NJ_RESOURCE_LOADED) nj_queue_poll(queue, 5);
  CHECK(last.n == 1 && !last.is_stale && last.status == 0);

  result ended = {0};
  nj_task *task = NULL;
  SUCCEEDS((task = nj_resource_reload(value, done, &ended, &error)) != NULL);
  await(queue, &ended);
  nj_task_release(task);
  CHECK(ended.kind == NJ_SERVER && ended.status == 500);
  while (last.phase != NJ_RESOURCE_FAILED) nj_queue_poll(queue, 5);
  CHECK(last.n == 1 && last.is_stale && last.status == 500);

  CHECK(nj_client_invalidate(client, "values") == NJ_OK);
  while (last.phase != NJ_RESOURCE_LOADED) nj_queue_poll(queue, 5);
  CHECK(last.n == 2 && !last.is_stale && last.status == 0);

  ended = (result){0};
  SUCCEEDS((task = nj_resource_get(value, done, &ended, &error)) != NULL);
  await(queue, &ended);
  nj_task_release(task);
  CHECK(ended.status == 200);
  nj_resource_observer_free(observer);
  nj_resource_free(value);
  nj_queue_free(queue);
  nj_client_free(client);
}

static void mutations(void) {
  nj_client *client = mocked();
  nj_queue *queue = nj_queue_new();
  nj_resource *value = resource(client, "/value", NULL, queue);
  seen last = {0};
  nj_resource_observer *observer = nj_resource_observe(value, changed, &last, NULL);
  while (last.phase != NJ_RESOURCE_LOADED) nj_queue_poll(queue, 5);
  result ended = {0};
  nj_request *put = nj_request_new("PUT", "/value");
  nj_task *task = NULL;
  SUCCEEDS((task = nj_resource_mutate(value, put, "{\"n\": 7}", 8, done, &ended, &error)) != NULL);
  await(queue, &ended);
  nj_task_release(task);
  CHECK(ended.kind == NJ_CLIENT && ended.status == 422);
  while (last.n != 1 || last.mutation != NJ_RESOURCE_UNCHANGED) nj_queue_poll(queue, 5);
  nj_error *error = NULL;
  CHECK(!nj_resource_mutate(value, put, "{n", 2, done, &ended, &error) && nj_error_kind(error) == NJ_DECODING);
  nj_error_release(error);
  nj_request_free(put);

  nj_request *delete = nj_request_new("DELETE", "/value");
  ended = (result){0};
  SUCCEEDS((task = nj_resource_mutate(value, delete, NULL, 0, done, &ended, &error)) != NULL);
  await(queue, &ended);
  nj_task_release(task);
  nj_request_free(delete);
  CHECK(ended.status == 204);
  nj_snapshot *snapshot = nj_resource_snapshot(value);
  CHECK(!nj_snapshot_data(snapshot) && nj_snapshot_get_phase(snapshot) == NJ_RESOURCE_IDLE);
  nj_snapshot_free(snapshot);
  nj_resource_observer_free(observer);
  nj_resource_free(value);
  nj_queue_free(queue);
  nj_client_free(client);
}

/* Ends of waits: cancelled, the resource freed first, the client freed first, the queue freed first. */
static void ends(void) {
  for (int end = 0; end < 4; end++) {
    nj_client *client = mocked();
    nj_queue *queue = nj_queue_new();
    nj_resource *slow = resource(client, "/slow", NULL, queue);
    seen last = {0};
    result ended = {0};
    nj_resource_observer *observer = nj_resource_observe(slow, changed, &last, NULL);
    nj_task *task = nj_resource_reload(slow, done, &ended, NULL);
    while (last.phase != NJ_RESOURCE_LOADING) nj_queue_poll(queue, 5);
    if (end == 0) nj_task_cancel(task);
    if (end == 1) nj_resource_free(slow), slow = NULL;
    if (end == 2) nj_client_free(client), client = NULL;
    if (end == 3) nj_queue_free(queue), queue = NULL;
    else await(queue, &ended);
    CHECK(ended.count == 1);
    CHECK(ended.kind == (end == 1 ? NJ_CLOSED : NJ_CANCELLED) || (end == 2 && ended.kind == NJ_CLOSED));
    CHECK(last.status == 0);
    nj_task_release(task);
    nj_resource_observer_free(observer);
    nj_resource_free(slow);
    nj_queue_free(queue);
    nj_client_free(client);
  }
}

static void paths(void) {
  nj_client *client = mocked();
  nj_queue *queue = nj_queue_new();
  nj_resource *slow = resource(client, "/slow", "{\"debounce\": 60}", queue);
  SUCCEEDS(nj_resource_set_path(slow, "/value?q=1", &error) == NJ_OK);
  result ended = {0};
  nj_task *task = nj_resource_get(slow, done, &ended, NULL);
  await(queue, &ended);
  nj_task_release(task);
  CHECK(ended.status == 200);
  FAILS(nj_resource_set_path(slow, "ftp://host/", &error), NJ_INVALID_URL);
  FAILS(nj_resource_set_path(slow, NULL, &error), NJ_INVALID_ARGUMENT);
  nj_resource_free(slow);
  nj_queue_free(queue);
  nj_client_free(client);
}

static void refuses(nj_client *client, const char *method, const char *options, nj_queue *queue, nj_status kind) {
  nj_error *error = NULL;
  nj_request *request = nj_request_new(method, "/value");
  CHECK(!nj_resource_new(client, request, options, options ? strlen(options) : 0, queue, &error));
  CHECK(nj_error_kind(error) == kind);
  nj_error_release(error);
  nj_request_free(request);
}

static void misuse(void) {
  nj_client *client = mocked();
  nj_queue *queue = nj_queue_new();
  refuses(client, "POST", NULL, queue, NJ_INVALID_REQUEST);
  refuses(client, "GET", "{\"debounce\": -1}", queue, NJ_INVALID_ARGUMENT);
  refuses(client, "GET", "{\"reload_on\": [\"sleep\"]}", queue, NJ_INVALID_ARGUMENT);
  refuses(client, "GET", "{", queue, NJ_DECODING);
  refuses(client, "GET", NULL, NULL, NJ_INVALID_ARGUMENT);
  refuses(NULL, "GET", NULL, queue, NJ_INVALID_ARGUMENT);
  nj_resource *value = resource(client, "/value", NULL, queue);
  CHECK(!nj_resource_observe(value, NULL, NULL, NULL) && !nj_resource_observe(NULL, changed, NULL, NULL));
  CHECK(!nj_resource_reload(value, NULL, NULL, NULL) && !nj_resource_get(NULL, done, NULL, NULL));
  CHECK(!nj_resource_mutate(value, NULL, NULL, 0, done, NULL, NULL));
  CHECK(nj_client_invalidate(client, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(!nj_resource_snapshot(NULL));
  CHECK(!nj_snapshot_data(NULL) && !nj_snapshot_error(NULL) && !nj_snapshot_is_stale(NULL));
  CHECK(nj_snapshot_get_phase(NULL) == NJ_RESOURCE_IDLE && nj_snapshot_get_mutation(NULL) == NJ_RESOURCE_UNCHANGED);
  CHECK(nj_snapshot_generation(NULL) == 0 && nj_snapshot_updated_at(NULL) == -1);
  nj_snapshot_free(NULL);
  nj_resource_observer_free(NULL);
  nj_resource_free(NULL);
  nj_resource_free(value);
  nj_queue_free(queue);
  nj_client_free(client);
}

/* Waits for the next load of the resource, and returns its data. */
static int64_t reloaded(nj_queue *queue, seen *last) {
  while (last->phase != NJ_RESOURCE_LOADED || last->is_stale) nj_queue_poll(queue, 5);
  return last->n;
}

static int status_of(nj_client *client, const nj_request *request) {
  nj_response *response = nj_client_send(client, request, NULL);
  int status = response ? nj_response_status(response) : 0;
  nj_response_release(response);
  return status;
}

static void tags(void) {
  static const char routes[] =
      "[{\"path\": \"/value\", \"responses\": [{\"json\": {\"n\": 1}}, {\"json\": {\"n\": 2}}, {\"json\": {\"n\": 3}}]},"
      " {\"path\": \"/fails\", \"response\": {\"status\": 422}}, {\"path\": \"/write\", \"response\": {\"status\": 204}}]";
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, "http://api.test/") == NJ_OK);
  CHECK(nj_config_set_mock(config, routes, strlen(routes), NULL) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  nj_config_free(config);
  nj_queue *queue = nj_queue_new();
  nj_resource *value = resource(client, "/value", "{\"tags\": [\"values\"]}", queue);
  seen last = {0};
  nj_resource_observer *observer = nj_resource_observe(value, changed, &last, NULL);
  CHECK(reloaded(queue, &last) == 1);

  static const char *const tags[] = {"others", "values", NULL}, *const invalid[] = {"\xff", NULL};
  nj_request *fails = nj_request_new("POST", "/fails"), *write = nj_request_new("POST", "/write");
  CHECK(nj_request_set_invalidates(fails, tags) == NJ_OK && nj_request_set_invalidates(write, tags) == NJ_OK);
  CHECK(status_of(client, fails) == 0 && reloaded(queue, &last) == 1);
  CHECK(status_of(client, write) == 204);
  while (last.n == 1) nj_queue_poll(queue, 5);
  CHECK(reloaded(queue, &last) == 2);

  static const char json[] = "{\"invalidates\": [\"values\"]}";
  CHECK(nj_request_set_invalidates(write, NULL) == NJ_OK && status_of(client, write) == 204);
  CHECK(reloaded(queue, &last) == 2);
  CHECK(nj_request_merge_json(write, json, strlen(json), NULL) == NJ_OK && status_of(client, write) == 204);
  while (last.n == 2) nj_queue_poll(queue, 5);
  CHECK(reloaded(queue, &last) == 3);
  CHECK(nj_request_set_invalidates(NULL, tags) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_invalidates(write, invalid) == NJ_INVALID_ARGUMENT);
  nj_request_free(fails), nj_request_free(write);
  nj_resource_observer_free(observer);
  nj_resource_free(value);
  nj_queue_free(queue);
  nj_client_free(client);
}

int main(void) {
  states();
  tags();
  mutations();
  ends();
  paths();
  misuse();
  FINISH();
}
