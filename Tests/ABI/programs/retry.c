/* Retries, idempotency keys and explanations, against the demo API whose URL is the argument. */
#include "check.h"
#include <nightjar.h>
#include <pthread.h>
#include <unistd.h>

static const char *url;
static nj_client *client;
static int key;

/* A request to the route that fails the first requests of a key, as defined by `query`. */
static nj_request *flaky(const char *method, const char *query) {
  char target[256];
  snprintf(target, sizeof target, "/v1/flaky?key=c%d-%d&%s", (int)getpid(), ++key, query);
  return nj_request_new(method, target);
}

/* The number of requests that the response reports. */
static int64_t attempt(const nj_response *response) {
  int64_t number = -1;
  CHECK(nj_response_json_int64(response, "/attempt", &number, NULL) == NJ_OK);
  return number;
}

static void what_fails_for_a_while_is_repeated(void) {
  nj_error *error = NULL;
  nj_request *request = flaky("GET", "times=2");
  nj_response *response = nj_client_send(client, request, &error);
  CHECK(response != NULL && error == NULL);
  CHECK(nj_response_attempts(response) == 3 && attempt(response) == 3);
  const char *explanation = nj_response_explain(response);
  CHECK(strstr(explanation, "after attempt 1: server: ") != NULL && strstr(explanation, "retried after") != NULL);
  CHECK(nj_response_explain(response) == explanation);
  size_t length;
  const char *json = nj_response_explain_json(response, &length);
  CHECK(strlen(json) == length && strncmp(json, "[{\"decision\":\"retried\",\"attempt\":1,", 34) == 0);
  CHECK(nj_response_idempotency_key(response) == NULL);
  nj_response_release(response);
  nj_request_free(request);
  request = nj_request_new("GET", "/v1/articles/1");
  response = nj_client_send(client, request, NULL);
  CHECK(strstr(nj_response_explain(response), "no decisions") == nj_response_explain(response));
  CHECK_TEXT(nj_response_explain_json(response, NULL), "[]");
  nj_response_release(response);
  nj_request_free(request);
}

static void an_error_tells_of_all_attempts(void) {
  nj_error *error = NULL;
  nj_request *request = flaky("GET", "times=9&status=500");
  CHECK(nj_client_send(client, request, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_SERVER && nj_error_attempts(error) == 3 && nj_error_earlier_count(error) == 2);
  CHECK(nj_error_http_status(nj_error_earlier(error, 0)) == 500 && nj_error_earlier(error, 2) == NULL);
  CHECK(strstr(nj_error_message(nj_error_earlier(error, 1)), "500") != NULL);
  CHECK(strstr(nj_error_explain(error), "after attempt 3") != NULL);
  size_t length;
  CHECK(strstr(nj_error_explain_json(error, &length), "\"not_retried\"") != NULL && length > 100);
  nj_error *kept = nj_error_retain(nj_error_earlier(error, 0));
  nj_error_release(error);
  CHECK(nj_error_kind(kept) == NJ_SERVER && nj_error_explain(kept) != NULL);
  nj_error_release(kept);
  nj_request_free(request);

  error = NULL;
  request = flaky("GET", "times=1");
  CHECK(nj_request_set_retry_attempts(request, 1) == NJ_OK);
  CHECK(nj_client_send(client, request, &error) == NULL && nj_error_attempts(error) == 1);
  nj_error_release(error);
  nj_request_free(request);
}

static void writes_are_repeated_by_their_key(void) {
  nj_error *error = NULL;
  nj_request *request = flaky("POST", "times=1&drop=1");
  CHECK(nj_client_send(client, request, &error) == NULL);
  CHECK(nj_error_attempts(error) == 1 && nj_error_may_have_been_processed(error));
  CHECK(nj_error_idempotency_key(error) == NULL);
  nj_error_release(error);
  nj_request_free(request);

  char own[NJ_IDEMPOTENCY_KEY_SIZE], other[NJ_IDEMPOTENCY_KEY_SIZE];
  CHECK(nj_idempotency_key_new(own, sizeof own) == NJ_OK && nj_idempotency_key_new(other, sizeof other) == NJ_OK);
  CHECK(strlen(own) == NJ_IDEMPOTENCY_KEY_SIZE - 1 && strcmp(own, other) != 0);
  request = flaky("POST", "times=2&drop=1");
  CHECK(nj_request_set_idempotency_key(request, own) == NJ_OK);
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(attempt(response) == 3);
  CHECK_TEXT(nj_response_idempotency_key(response), own);
  for (int i = 0; i < 3; i++) {
    char pointer[40];
    const char *seen = NULL;
    snprintf(pointer, sizeof pointer, "/idempotency_keys/%d", i);
    CHECK(nj_response_json_string(response, pointer, &seen, NULL, NULL) == NJ_OK);
    CHECK_TEXT(seen, own);
  }
  nj_response_release(response);
  nj_request_free(request);

  request = flaky("POST", "times=9");
  CHECK(nj_request_set_idempotency_key(request, NULL) == NJ_OK);
  error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL && nj_error_attempts(error) == 3);
  CHECK(nj_error_idempotency_key(error) != NULL && strlen(nj_error_idempotency_key(error)) == 36);
  snprintf(other, sizeof other, "%s", nj_error_idempotency_key(error));
  nj_error_release(error);
  error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL);
  CHECK(strcmp(nj_error_idempotency_key(error), other) != 0);
  nj_error_release(error);
  nj_request_free(request);
}

/* ----------------------------------------------------------------------------------------------------- the hook --- */

typedef struct choice {
  nj_retry_action action;
  double after;
  int requested, last_attempt;
  bool would;
  pthread_t helper;
} choice;

static void *say_again(void *context) {
  nj_task *task = context;
  usleep(10000);
  CHECK(nj_task_retry(task, NJ_RETRY_AGAIN, 0.01) == NJ_OK);
  nj_task_release(task);
  return NULL;
}

static nj_retry_action choose(void *context, nj_task *task, nj_failed_attempt *attempt) {
  choice *self = context;
  self->requested++;
  self->last_attempt = nj_failed_attempt_number(attempt);
  self->would = nj_failed_attempt_delay(attempt) >= 0;
  CHECK((nj_failed_attempt_reason(attempt) == NULL) == self->would);
  CHECK(nj_error_kind(nj_failed_attempt_error(attempt)) != NJ_OK);
  CHECK(nj_failed_attempt_set_delay(attempt, -1) == NJ_INVALID_ARGUMENT);
  if (self->after >= 0) CHECK(nj_failed_attempt_set_delay(attempt, self->after) == NJ_OK);
  if (self->action == NJ_RETRY_PENDING) CHECK(!pthread_create(&self->helper, NULL, say_again, nj_task_retain(task)));
  return self->action;
}

static void done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task;
  int *result = context;
  *result = response ? (int)nj_response_attempts(response) : -(int)nj_error_kind(error);
}

static int start(nj_request *request) {
  int result = 0;
  nj_queue *queue = nj_queue_new();
  nj_task_release(nj_client_start(client, request, queue, done, &result, NULL));
  while (result == 0 && nj_queue_poll(queue, 10) > 0) continue;
  nj_queue_free(queue);
  return result;
}

static void the_caller_is_asked(void) {
  choice self = {.action = NJ_RETRY_DEFAULT, .after = -1};
  nj_request *request = flaky("GET", "times=1");
  CHECK(nj_request_on_retry(request, choose, &self) == NJ_OK);
  nj_request *copy = nj_request_copy(request);
  nj_request_free(request);
  CHECK(start(copy) == 2 && self.requested == 1 && self.last_attempt == 1 && self.would);
  nj_request_free(copy);

  self = (choice){.action = NJ_RETRY_STOP, .after = -1};
  request = flaky("GET", "times=1");
  nj_request_on_retry(request, choose, &self);
  CHECK(start(request) == -NJ_SERVER && self.requested == 1);
  nj_request_free(request);

  self = (choice){.action = NJ_RETRY_AGAIN, .after = 0.01};
  request = flaky("POST", "times=4&status=418");
  nj_request_on_retry(request, choose, &self);
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  CHECK(response == NULL && self.requested == 0 && nj_error_http_status(error) == 418);
  nj_error_release(error);
  nj_request_free(request);
  request = flaky("POST", "times=4");
  nj_request_on_retry(request, choose, &self);
  response = nj_client_send(client, request, NULL);
  CHECK(attempt(response) == 5 && self.requested == 4 && self.last_attempt == 4 && !self.would);
  nj_response_release(response);
  nj_request_free(request);

  self = (choice){.action = NJ_RETRY_PENDING, .after = -1};
  request = flaky("POST", "times=1");
  nj_request_on_retry(request, choose, &self);
  CHECK(start(request) == 2 && self.requested == 1);
  pthread_join(self.helper, NULL);
  CHECK(nj_request_on_retry(request, NULL, NULL) == NJ_OK);
  nj_request_free(request);

  self = (choice){.action = (nj_retry_action)77, .after = -1};
  request = flaky("GET", "times=1");
  nj_request_on_retry(request, choose, &self);
  CHECK(start(request) == -NJ_SERVER);
  nj_request_free(request);
}

/* --------------------------------------------------------------------------------------------- streamed bodies --- */

typedef struct source {
  int64_t left;
  int rewinds;
} source;

static int64_t give(void *context, nj_task *task, void *buffer, size_t capacity) {
  (void)task;
  source *self = context;
  int64_t count = self->left < (int64_t)capacity ? self->left : (int64_t)capacity;
  memset(buffer, 'x', (size_t)count);
  self->left -= count;
  return count;
}

static void restart(void *context, nj_task *task) {
  (void)task;
  source *self = context;
  self->left = 100000;
  self->rewinds++;
}

static void a_stream_begins_anew_where_it_can(void) {
  source self = {.left = 100000};
  nj_request *request = flaky("PUT", "times=2");
  CHECK(nj_request_set_body_rewind(request, restart) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body_stream(request, 100000, give, &self) == NJ_OK);
  nj_error *error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL && nj_error_attempts(error) == 1);
  CHECK(strstr(nj_error_explain(error), "not_retried") == NULL && strstr(nj_error_explain(error), "stream") != NULL);
  nj_error_release(error);
  self = (source){.left = 100000};
  CHECK(nj_request_set_body_rewind(request, restart) == NJ_OK);
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(response != NULL);
  CHECK(self.rewinds > 0);
  int64_t length = 0;
  CHECK(nj_response_json_int64(response, "/body_bytes/2", &length, NULL) == NJ_OK && length == 100000);
  nj_response_release(response);
  CHECK(nj_request_set_body(request, "x", 1) == NJ_OK);
  CHECK(nj_request_set_body_rewind(request, restart) == NJ_INVALID_ARGUMENT);
  nj_request_free(request);
}

/* This test runs last, because afterwards the client delays calls to the origin. */
static void what_takes_too_long_fails_at_once(void) {
  nj_error *error = NULL;
  nj_request *request = flaky("GET", "times=9&retry_after=1000");
  CHECK(nj_client_send(client, request, &error) == NULL);
  CHECK(nj_error_attempts(error) == 1 && nj_error_retry_after(error) > 900);
  nj_error_release(error);
  error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_RATE_LIMITED && nj_error_attempts(error) == 0 && nj_error_retry_after(error) > 900);
  nj_error_release(error);
  nj_request_free(request);
  char *limits = nj_client_limits_json(client, NULL);
  CHECK(strstr(limits, "\"pause\":9") != NULL && strstr(limits, "\"circuit\":\"closed\"") != NULL);
  nj_text_free(limits);
}

int main(int count, char **words) {
  if (count != 2) return 2;
  url = words[1];
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, url);
  CHECK(nj_config_set_retry_backoff(config, 0.01, 0.02) == NJ_OK);
  CHECK(nj_config_set_retry_attempts(config, 3) == NJ_OK && nj_config_set_retry_max_wait(config, 5) == NJ_OK);
  client = nj_client_new(config, NULL);
  nj_config_free(config);
  what_fails_for_a_while_is_repeated();
  an_error_tells_of_all_attempts();
  writes_are_repeated_by_their_key();
  the_caller_is_asked();
  a_stream_begins_anew_where_it_can();
  what_takes_too_long_fails_at_once();
  nj_client_free(client);
  FINISH();
}
