/* Batches with bounded concurrency, against the demo API whose URL is the argument. */
#include "check.h"
#include <nightjar.h>
#include <pthread.h>

enum { MANY = 20, LEGION = 10000 };

static const char *url;
static nj_client *client;

static nj_client *new_client(void) {
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, url);
  nj_config_set_retry_attempts(config, 1);
  nj_client *made = nj_client_new(config, NULL);
  nj_config_free(config);
  return made;
}

static nj_request *get(const char *target) { return nj_request_new("GET", target); }

/* A request to /v1/slow. The server counts such requests in progress by key. */
static nj_request *slow(const char *key, const char *milliseconds) {
  nj_request *request = get("/v1/slow");
  nj_request_add_query(request, "ms", milliseconds);
  nj_request_add_query(request, "key", key);
  return request;
}

static int64_t counted(const char *what, const char *key) {
  char pointer[128];
  snprintf(pointer, sizeof pointer, "/%s/~1v1~1slow?key=%s", what, key);
  nj_request *request = get("/__stats");
  nj_response *response = nj_client_send(client, request, NULL);
  int64_t number = 0;
  nj_response_json_int64(response, pointer, &number, NULL);
  nj_response_release(response);
  nj_request_free(request);
  return number;
}

static void blocking(void) {
  nj_request *request = slow("blocking", "10");
  const nj_request *requests[MANY];
  nj_response *responses[MANY];
  nj_error *error = NULL;
  for (int i = 0; i < MANY; i++) requests[i] = request;
  CHECK(nj_client_send_batch(client, requests, MANY, NJ_BATCH_CONCURRENCY, false, responses, NULL, &error) == NJ_OK);
  CHECK(error == NULL);
  for (int i = 0; i < MANY; i++) {
    CHECK(nj_response_status(responses[i]) == 200);
    nj_response_release(responses[i]);
  }
  CHECK(counted("in_progress_max", "blocking") <= NJ_BATCH_CONCURRENCY);
  nj_request_free(request);
}

static void order(void) {
  nj_request *requests[5];
  nj_response *responses[5];
  char target[32];
  for (int i = 0; i < 5; i++) {
    snprintf(target, sizeof target, "/v1/articles/%d", 5 - i);
    requests[i] = get(target);
  }
  const nj_request *const *list = (const nj_request *const *)requests;
  CHECK(nj_client_send_batch(client, list, 5, SIZE_MAX, false, responses, NULL, NULL) == NJ_OK);
  for (int i = 0; i < 5; i++) {
    int64_t id = 0;
    nj_response_json_int64(responses[i], "/id", &id, NULL);
    CHECK(id == 5 - i);
    nj_response_release(responses[i]);
    nj_request_free(requests[i]);
  }
}

static void first_failure(void) {
  nj_request *held = slow("stop", "20000"), *failing = get("/status/503"), *never = get("/v1/articles/1");
  const nj_request *requests[] = {held, held, failing, never, never};
  nj_response *responses[5] = {(nj_response *)&url}; /* garbage before the call */
  nj_error *error = NULL;
  CHECK(nj_client_send_batch(client, requests, 5, 3, false, responses, NULL, &error) == NJ_SERVER);
  CHECK(nj_error_kind(error) == NJ_SERVER);
  CHECK(nj_error_batch_index(error) == 2);
  CHECK(nj_error_http_status(error) == 503);
  nj_error_release(error);
  for (int i = 0; i < 5; i++) CHECK(responses[i] == NULL);
  nj_request_free(held);
  nj_request_free(failing);
  nj_request_free(never);
}

static void collected(void) {
  nj_request *good = get("/v1/articles/1"), *missing = get("/status/404"), *wrong = get("ftp://a/");
  const nj_request *requests[] = {good, missing, wrong, good};
  nj_response *responses[4];
  nj_error *errors[4], *error = NULL;
  CHECK(nj_client_send_batch(client, requests, 4, 2, true, responses, errors, &error) == NJ_OK);
  CHECK(error == NULL);
  CHECK(responses[0] && responses[3] && !responses[1] && !responses[2]);
  CHECK(errors[1] && errors[2] && !errors[0] && !errors[3]);
  CHECK(nj_error_kind(errors[1]) == NJ_NOT_FOUND && nj_error_batch_index(errors[1]) == 1);
  CHECK(nj_error_kind(errors[2]) == NJ_INVALID_URL && nj_error_batch_index(errors[2]) == 2);
  for (int i = 0; i < 4; i++) {
    nj_response_release(responses[i]);
    nj_error_release(errors[i]);
  }
  nj_request_free(good);
  nj_request_free(missing);
  nj_request_free(wrong);
}

/* An invalid argument of an endpoint fails only its request. */
static void wrong_argument(void) {
  static const char text[] = "{\"path\": \"/v1/articles/{id}\", \"parameters\": {\"id\": \"integer\"}}";
  nj_catalog *catalog = nj_catalog_new();
  CHECK(nj_catalog_add_json(catalog, "article", text, strlen(text), NULL) == NJ_OK);
  nj_request *good = nj_request_from_endpoint(catalog, "article", NULL);
  nj_request *wrong = nj_request_from_endpoint(catalog, "article", NULL);
  CHECK(nj_request_set_argument(good, "id", "1") == NJ_OK && nj_request_set_argument(wrong, "id", "x") == NJ_OK);
  const nj_request *requests[] = {good, wrong, good};
  nj_response *responses[3];
  nj_error *errors[3], *error = NULL;
  CHECK(nj_client_send_batch(client, requests, 3, 2, true, responses, errors, &error) == NJ_OK && error == NULL);
  CHECK(responses[0] && !responses[1] && responses[2] && !errors[0] && !errors[2]);
  CHECK(nj_error_kind(errors[1]) == NJ_INVALID_REQUEST && nj_error_batch_index(errors[1]) == 1);
  nj_error_release(errors[1]);
  nj_response_release(responses[0]);
  nj_response_release(responses[2]);
  CHECK(nj_client_send_batch(client, requests, 3, 2, false, responses, NULL, &error) == NJ_INVALID_REQUEST);
  CHECK(nj_error_batch_index(error) == 1);
  nj_error_release(error);
  nj_request_free(good);
  nj_request_free(wrong);
  nj_catalog_free(catalog);
}

typedef struct tally {
  size_t succeeded, cancelled, failed, ends;
  size_t last; /* index */
  size_t cancel_at;
  int64_t failed_at;
  nj_status end;
} tally;

static void done(void *context, nj_batch *batch, size_t index, const nj_response *response, const nj_error *error) {
  tally *self = context;
  CHECK((response == NULL) != (error == NULL));
  CHECK(self->ends == 0);
  if (response) self->succeeded++;
  else if (nj_error_kind(error) == NJ_CANCELLED) self->cancelled++;
  else self->failed++;
  self->last = index;
  if (self->cancel_at != 0 && self->succeeded == self->cancel_at) nj_batch_cancel(batch);
}

static void finished(void *context, nj_batch *batch, const nj_error *error) {
  tally *self = context;
  CHECK(nj_batch_is_finished(batch));
  self->ends++;
  self->end = error ? nj_error_kind(error) : NJ_OK;
  self->failed_at = nj_error_batch_index(error);
}

static void queued(void) {
  nj_queue *queue = nj_queue_new();
  nj_request *request = slow("queue", "5");
  const nj_request *requests[MANY];
  for (int i = 0; i < MANY; i++) requests[i] = request;
  tally all = {0};
  nj_batch *batch = nj_client_start_batch(client, requests, MANY, 4, true, queue, done, finished, &all, NULL);
  nj_request_free(request); /* It was copied. */
  CHECK(batch != NULL && !nj_batch_is_finished(batch));
  while (all.ends == 0) nj_queue_poll(queue, -1);
  CHECK(all.succeeded == MANY && all.end == NJ_OK && all.failed_at == -1);
  CHECK(counted("in_progress_max", "queue") <= 4);
  nj_batch_cancel(batch);
  nj_batch_release(batch);

  /* The first failure ends the batch. */
  nj_request *failing = get("/status/500"), *held = slow("held", "20000");
  const nj_request *mixed[] = {held, failing, held, held};
  tally stopped = {0};
  nj_batch_release(nj_client_start_batch(client, mixed, 4, 2, false, queue, done, finished, &stopped, NULL));
  while (stopped.ends == 0) nj_queue_poll(queue, -1);
  CHECK(stopped.failed == 1 && stopped.cancelled == 3 && stopped.end == NJ_SERVER && stopped.failed_at == 1);

  /* One batch is cancelled from a callback. The other has no callback for each request. */
  nj_request *quick = get("/v1/articles/1");
  for (int i = 0; i < MANY; i++) requests[i] = quick;
  tally cut = {.cancel_at = 3};
  nj_batch_release(nj_client_start_batch(client, requests, MANY, 1, true, queue, done, finished, &cut, NULL));
  while (cut.ends == 0) nj_queue_poll(queue, -1);
  CHECK(cut.succeeded + cut.cancelled == MANY && cut.succeeded >= 3 && cut.succeeded <= 4 && cut.end == NJ_CANCELLED);
  tally quiet = {0};
  nj_batch_release(nj_client_start_batch(client, requests, MANY, 6, false, queue, NULL, finished, &quiet, NULL));
  while (quiet.ends == 0) nj_queue_poll(queue, -1);
  CHECK(quiet.end == NJ_OK);

  /* An empty batch, and a freed queue, which runs its remaining events. */
  tally none = {0};
  nj_batch_release(nj_client_start_batch(client, NULL, 0, 6, false, queue, done, finished, &none, NULL));
  CHECK(none.ends == 0);
  while (none.ends == 0) nj_queue_poll(queue, -1);
  CHECK(none.end == NJ_OK && none.succeeded == 0);
  tally freed = {0};
  batch = nj_client_start_batch(client, mixed, 4, 1, true, queue, done, finished, &freed, NULL);
  nj_queue_free(queue);
  CHECK(freed.ends == 1 && freed.cancelled + freed.failed == 4);
  CHECK(nj_batch_is_finished(batch));
  nj_batch *kept = nj_batch_retain(batch);
  nj_batch_release(batch);
  nj_batch_release(kept);
  nj_request_free(failing);
  nj_request_free(held);
  nj_request_free(quick);
}

/* Frees a client while another thread polls. */
static void *free_client(void *context) {
  nj_client_free(context);
  return NULL;
}

static void freed_client(void) {
  nj_client *other = new_client();
  nj_queue *queue = nj_queue_new();
  nj_request *held = slow("free", "20000");
  const nj_request *requests[] = {held, held, held, held};
  tally all = {0};
  nj_batch *batch = nj_client_start_batch(other, requests, 4, 2, true, queue, done, finished, &all, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, free_client, other);
  while (all.ends == 0) nj_queue_poll(queue, -1);
  pthread_join(thread, NULL);
  CHECK(all.succeeded == 0 && all.cancelled + all.failed == 4);
  nj_batch_release(batch);
  nj_queue_free(queue);
  nj_request_free(held);
}

/* A queue that is freed inside a callback still delivers the events of a batch that sends no requests. */
typedef struct freeing {
  nj_queue *queue;
  tally local, empty;
} freeing;

static void free_queue(void *context, nj_batch *batch, const nj_error *error) {
  freeing *self = context;
  CHECK(error == NULL && nj_batch_is_finished(batch));
  nj_request *unsendable = get("ftp://127.0.0.1/");
  const nj_request *requests[] = {unsendable, unsendable};
  nj_batch_release(
      nj_client_start_batch(client, requests, 2, 1, true, self->queue, done, finished, &self->local, NULL));
  nj_batch_release(nj_client_start_batch(client, NULL, 0, 1, true, self->queue, done, finished, &self->empty, NULL));
  nj_queue_free(self->queue);
  CHECK(self->local.ends == 0 && self->empty.ends == 0);
  nj_request_free(unsendable);
}

static void freed_in_callback(void) {
  freeing all = {.queue = nj_queue_new()};
  nj_batch_release(nj_client_start_batch(client, NULL, 0, 1, true, all.queue, NULL, free_queue, &all, NULL));
  nj_queue_poll(all.queue, -1);
  CHECK(all.local.ends == 1 && all.local.failed + all.local.cancelled == 2);
  CHECK(all.empty.ends == 1 && all.empty.failed + all.empty.cancelled == 0);
}

static void many(size_t count) {
  nj_queue *queue = nj_queue_new();
  nj_request *request = nj_request_new("HEAD", "/v1/articles/1");
  const nj_request **requests = malloc(count * sizeof *requests);
  for (size_t i = 0; i < count; i++) requests[i] = request;
  tally all = {0};
  nj_batch_release(nj_client_start_batch(client, requests, count, 32, false, queue, done, finished, &all, NULL));
  while (all.ends == 0) nj_queue_poll(queue, -1);
  CHECK(all.succeeded == count && all.end == NJ_OK);
  free(requests);
  nj_request_free(request);
  nj_queue_free(queue);
}

static void misuse(void) {
  nj_queue *queue = nj_queue_new();
  nj_request *request = get("/v1/articles/1");
  const nj_request *requests[] = {request, NULL};
  nj_response *responses[2];
  nj_error *errors[2], *error = NULL;
  CHECK(nj_client_send_batch(NULL, requests, 1, 1, false, responses, NULL, &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "client is NULL or a text that is not valid UTF-8");
  nj_error_release(error);
  CHECK(nj_client_send_batch(client, requests, 2, 1, true, responses, errors, &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "requests[1] is NULL");
  CHECK(responses[0] == NULL && errors[0] == NULL);
  nj_error_release(error);
  CHECK(nj_client_send_batch(client, requests, 1, 0, false, responses, NULL, &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "the concurrency of a batch must be 1 or more, got 0");
  nj_error_release(error);
  CHECK(nj_client_send_batch(client, NULL, 1, 1, false, responses, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_send_batch(client, requests, 1, 1, false, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_send_batch(client, requests, 1, 1, true, responses, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_send_batch(client, NULL, 0, 1, true, NULL, NULL, NULL) == NJ_OK);
  CHECK(nj_client_start_batch(client, requests, 1, 1, false, NULL, done, finished, NULL, NULL) == NULL);
  CHECK(nj_client_start_batch(client, requests, 1, 1, false, queue, done, NULL, NULL, NULL) == NULL);
  CHECK(nj_client_start_batch(client, requests, 1, 0, false, queue, done, finished, NULL, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  nj_batch_cancel(NULL);
  nj_batch_release(NULL);
  CHECK(nj_batch_retain(NULL) == NULL && nj_batch_is_finished(NULL));
  CHECK(nj_error_batch_index(NULL) == -1);
  nj_request_free(request);
  nj_queue_free(queue);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  url = argv[1];
  client = new_client();
  blocking();
  order();
  first_failure();
  collected();
  wrong_argument();
  queued();
  freed_client();
  freed_in_callback();
  many(argc > 2 ? (size_t)atol(argv[2]) : LEGION);
  misuse();
  nj_client_free(client);
  FINISH();
}
