/* The steps of calls, against the demo API whose URL is the argument. */
#include "check.h"
#include <nightjar.h>

typedef struct record {
  char words[1024];
  int64_t call;
  double time;
  int ends;
  size_t dropped;
} record;

static void add(record *self, const char *word) {
  size_t length = strlen(self->words);
  snprintf(self->words + length, sizeof self->words - length, "%s ", word);
}

/* Each step has the values of its kind, and only those. */
static void observe(void *context, const nj_observation *step) {
  record *self = context;
  nj_step kind = nj_observation_step(step);
  if (kind == NJ_STEP_STARTED) {
    CHECK(nj_observation_call_id(step) > self->call);
    self->call = nj_observation_call_id(step);
    self->time = 0;
  }
  CHECK(nj_observation_call_id(step) == self->call);
  CHECK(nj_observation_time(step) >= self->time);
  self->time = nj_observation_time(step);
  self->dropped += nj_observation_dropped(step);
  CHECK((nj_observation_method(step) != NULL) == (kind == NJ_STEP_STARTED));
  CHECK((nj_observation_url(step) != NULL) == (kind == NJ_STEP_STARTED || kind == NJ_STEP_REDIRECTED));
  CHECK((nj_observation_host(step) != NULL) == (kind == NJ_STEP_RESOLVED));
  CHECK((nj_observation_address(step) != NULL) == (kind == NJ_STEP_CONNECTED || kind == NJ_STEP_SENT));
  CHECK((nj_observation_http_version(step) != 0) == (kind == NJ_STEP_SENT));
  const char *url = nj_observation_url(step);
  if (url) CHECK(strstr(url, "hunter2") == NULL && strstr(url, "http://127.0.0.1:") == url);
  switch (kind) {
  case NJ_STEP_STARTED:
    CHECK_TEXT(nj_observation_method(step), "GET");
    CHECK(nj_observation_attempt(step) == 0 && nj_observation_duration(step) == -1);
    add(self, "started");
    break;
  case NJ_STEP_CONNECTED:
    CHECK(nj_observation_duration(step) >= 0);
    CHECK(strncmp(nj_observation_address(step), "127.0.0.1:", 10) == 0);
    add(self, "connected");
    break;
  case NJ_STEP_SENT:
    CHECK(nj_observation_http_version(step) == expected_http_version());
    add(self, nj_observation_reused_connection(step) ? "reused" : "sent");
    break;
  case NJ_STEP_FIRST_BYTE:
    CHECK(nj_observation_http_status(step) >= 200);
    add(self, "first-byte");
    break;
  case NJ_STEP_REDIRECTED:
    CHECK(nj_observation_http_status(step) == 302);
    add(self, "redirected");
    break;
  case NJ_STEP_RETRIED:
    CHECK(nj_observation_failure(step) == NJ_SERVER && nj_observation_duration(step) >= 0);
    add(self, "retried");
    break;
  case NJ_STEP_CACHE_HIT:
    CHECK(nj_observation_duration(step) >= 0);
    add(self, nj_observation_source(step) == NJ_SOURCE_CACHE         ? "fresh"
              : nj_observation_source(step) == NJ_SOURCE_REVALIDATED ? "revalidated"
              : nj_observation_source(step) == NJ_SOURCE_STALE       ? "stale"
                                                                     : "?");
    break;
  case NJ_STEP_ENDED:
    add(self, nj_status_name(nj_observation_failure(step)));
    self->ends++;
    break;
  default: add(self, "?");
  }
}

static nj_queue *queue;

/* Sends a GET request and returns the steps of the call. */
static const char *steps(nj_client *client, record *record, const char *target, int attempts, nj_cache_policy policy) {
  nj_request *request = nj_request_new("GET", target);
  nj_request_set_retry_attempts(request, attempts);
  nj_request_set_cache_policy(request, policy);
  record->words[0] = 0;
  nj_response_release(nj_client_send(client, request, NULL));
  nj_request_free(request);
  int ends = record->ends;
  while (record->ends == ends && nj_queue_poll(queue, 10) > 0) {}
  return record->words;
}

static void done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task, (void)error;
  CHECK(response != NULL);
  add(context, "done");
}

static void values_of_null(void) {
  CHECK(nj_observation_step(NULL) == NJ_STEP_NONE && nj_observation_call_id(NULL) == 0);
  CHECK(nj_observation_time(NULL) == -1 && nj_observation_duration(NULL) == -1);
  CHECK(nj_observation_attempt(NULL) == 0 && nj_observation_http_status(NULL) == 0);
  CHECK(nj_observation_method(NULL) == NULL && nj_observation_url(NULL) == NULL && nj_observation_host(NULL) == NULL);
  CHECK(nj_observation_address(NULL) == NULL && nj_observation_http_version(NULL) == 0);
  CHECK(!nj_observation_reused_connection(NULL) && nj_observation_source(NULL) == NJ_SOURCE_NETWORK);
  CHECK(nj_observation_failure(NULL) == NJ_OK && nj_observation_dropped(NULL) == 0);
}

static void count_ends(void *context, const nj_observation *step) {
  record *self = context;
  self->dropped += nj_observation_dropped(step);
  self->ends += nj_observation_step(step) == NJ_STEP_ENDED;
}

/* A queue that is not polled holds a bounded number of steps. The ends of calls are dropped last. */
static void backlog(nj_config *config) {
  record record = {0};
  CHECK(nj_config_set_observer(config, queue, count_ends, &record) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  nj_request *request = nj_request_new("GET", "/v1/articles/1");
  for (int i = 0; i < 1100; i++) nj_response_release(nj_client_send(client, request, NULL));
  nj_request_free(request);
  nj_client_free(client);
  while (nj_queue_poll(queue, 0) > 0) {}
  CHECK(record.ends == 1100 && record.dropped > 0 && record.dropped < 4096);
}

int main(int count, char **words) {
  if (count != 2) return 2;
  values_of_null();
  queue = nj_queue_new();
  record record = {0};
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, words[1]);
  nj_cache *cache = nj_cache_new(1 << 20);
  nj_config_set_cache(config, cache);
  nj_config_set_retry_backoff(config, 0, 0);
  CHECK(nj_config_set_observer(NULL, queue, observe, &record) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_observer(config, NULL, observe, &record) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_observer(config, NULL, NULL, NULL) == NJ_OK);
  CHECK(nj_config_set_observer(config, queue, observe, &record) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);

  CHECK_TEXT(steps(client, &record, "/v1/articles/1?token=hunter2", 1, NJ_CACHE_OFF),
             "started connected sent first-byte ok ");
  CHECK_TEXT(steps(client, &record, "/redirect/1?token=hunter2", 1, NJ_CACHE_OFF),
             "started reused first-byte redirected reused first-byte ok ");
  CHECK_TEXT(steps(client, &record, "/status/503", 2, NJ_CACHE_OFF),
             "started reused first-byte retried reused first-byte server ");
  steps(client, &record, "/cache/observed?control=max-age%3D1000", 1, NJ_CACHE_PROTOCOL);
  CHECK_TEXT(steps(client, &record, "/cache/observed?control=max-age%3D1000", 1, NJ_CACHE_PROTOCOL), "started fresh ok ");
  steps(client, &record, "/v1/articles/2", 1, NJ_CACHE_PROTOCOL);
  CHECK_TEXT(steps(client, &record, "/v1/articles/2", 1, NJ_CACHE_PROTOCOL),
             "started reused first-byte revalidated ok ");

  record.words[0] = 0;
  nj_request *request = nj_request_new("GET", "/v1/articles/3");
  nj_task *task = nj_client_start(client, request, queue, done, &record, NULL);
  CHECK(nj_task_wait(task, 10, NULL) == NJ_OK);
  CHECK_TEXT(record.words, "started reused first-byte ok done ");
  nj_task_release(task);
  nj_request_free(request);
  nj_client_free(client);

  record.words[0] = 0;
  nj_config_set_base_url(config, "http://127.0.0.1:1");
  client = nj_client_new(config, NULL);
  CHECK_TEXT(steps(client, &record, "/", 1, NJ_CACHE_OFF), "started connect ");
  nj_client_free(client);

  nj_config_set_base_url(config, words[1]);
  backlog(config);
  nj_config_free(config);
  nj_cache_free(cache);
  nj_queue_free(queue);
  FINISH();
}
