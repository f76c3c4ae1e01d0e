/* Rates, groups, circuit breakers and shared exchanges, against the demo API whose URL is the argument. */
#include "check.h"
#include <nightjar.h>
#include <time.h>

static const char *url;

static double now(void) {
  struct timespec moment;
  clock_gettime(CLOCK_MONOTONIC, &moment);
  return (double)moment.tv_sec + (double)moment.tv_nsec / 1e9;
}

static nj_client *client_of(nj_config *config) {
  nj_error *error = NULL;
  nj_config_set_base_url(config, url);
  nj_config_set_retry_attempts(config, 1);
  nj_client *client = nj_client_new(config, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  nj_error_release(error);
  nj_config_free(config);
  return client;
}

static nj_request *get(const char *target) { return nj_request_new("GET", target); }

/* The server's counter at a JSON Pointer. */
static int64_t count(const char *pointer) {
  nj_client *client = client_of(nj_config_new());
  nj_request *request = get("/__stats");
  nj_response *response = nj_client_send(client, request, NULL);
  int64_t number = 0;
  nj_response_json_int64(response, pointer, &number, NULL);
  nj_response_release(response);
  nj_request_free(request);
  nj_client_free(client);
  return number;
}

static void outage(const char *mode) {
  nj_client *client = client_of(nj_config_new());
  char json[64];
  snprintf(json, sizeof json, "{\"outage\":\"%s\"}", mode);
  nj_request *request = nj_request_new("POST", "/__control");
  nj_request_set_body_json(request, json, strlen(json));
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(nj_response_status(response) == 200);
  nj_response_release(response);
  nj_request_free(request);
  nj_client_free(client);
}

typedef struct tally {
  int succeeded, limited, cancelled, failed, coalesced;
  char explanation[512];
} tally;

static void done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task;
  tally *self = context;
  if (response) {
    self->succeeded++;
    self->coalesced += nj_response_source(response) == NJ_SOURCE_COALESCED;
    snprintf(self->explanation, sizeof self->explanation, "%s", nj_response_explain(response));
  } else if (nj_error_kind(error) == NJ_RATE_LIMITED) {
    self->limited++;
  } else if (nj_error_kind(error) == NJ_CANCELLED) {
    self->cancelled++;
  } else {
    self->failed++;
  }
}

static int finished(const tally *self) { return self->succeeded + self->limited + self->cancelled + self->failed; }

/* Starts the same request `times` times; `tasks` may be NULL. */
static void start(nj_client *client, nj_request *request, int times, nj_queue *queue, tally *tally, nj_task **tasks) {
  for (int i = 0; i < times; i++) {
    nj_task *task = nj_client_start(client, request, queue, done, tally, NULL);
    CHECK(task != NULL);
    if (tasks) tasks[i] = task;
    else nj_task_release(task);
  }
}

static tally all(nj_client *client, nj_request *request, int times) {
  tally result = {0};
  nj_queue *queue = nj_queue_new();
  start(client, request, times, queue, &result, NULL);
  while (finished(&result) < times && nj_queue_poll(queue, 10) > 0) continue;
  nj_queue_free(queue);
  return result;
}

static void a_rate_spreads_requests(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_rate_limit(config, 50, 1, 5) == NJ_OK);
  nj_client *client = client_of(config);
  nj_request *request = get("/v1/articles/1");
  double begin = now();
  tally result = all(client, request, 25);
  CHECK(result.succeeded == 25);
  CHECK(now() - begin > 0.35);
  CHECK(strstr(result.explanation, "for the rate limit of http://127.0.0.1:") != NULL);
  size_t length = 0;
  char *limits = nj_client_limits_json(client, &length);
  CHECK(length == strlen(limits) && strncmp(limits, "[{\"name\":\"http://127.0.0.1:", 27) == 0);
  CHECK(strstr(limits, "\"in_flight\":0,\"queued\":0,\"circuit\":\"closed\"}]") != NULL);
  nj_text_free(limits);
  nj_request_free(request);
  nj_client_free(client);
}

static void what_servers_tell_is_heeded(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_rate_limit(config, 0, 0, 0) == NJ_OK);
  nj_client *client = client_of(config);
  nj_request *request = get("/v1/limited?limit=5&per=1&group=told");
  int64_t before = count("/limited");
  for (int i = 0; i < 7; i++) {
    nj_response *response = nj_client_send(client, request, NULL);
    CHECK(nj_response_status(response) == 200);
    nj_response_release(response);
  }
  CHECK(count("/limited") == before);
  nj_request_free(request);
  nj_client_free(client);
}

static void only_so_many_are_under_way_and_wait(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_concurrency(config, 2) == NJ_OK && nj_config_set_max_queued(config, 3) == NJ_OK);
  nj_client *client = client_of(config);
  nj_request *request = get("/v1/slow?ms=100&key=concurrency");
  tally result = all(client, request, 9);
  CHECK(result.succeeded == 5 && result.limited == 4);
  CHECK(count("/in_progress_max/~1v1~1slow?key=concurrency") == 2);
  CHECK(nj_request_set_total_timeout(request, 0.05) == NJ_OK);
  CHECK(all(client, request, 1).failed == 1);
  nj_request_free(request);
  nj_client_free(client);
}

static void groups_have_limits_of_their_own(void) {
  static const char json[] = "{\"limit_groups\":{\"search\":{\"concurrency\":1}}}";
  nj_config *config = nj_config_new();
  CHECK(nj_config_merge_json(config, json, sizeof json - 1, NULL) == NJ_OK);
  nj_client *client = client_of(config);
  nj_request *request = get("/v1/slow?ms=20&key=group");
  CHECK(nj_request_set_limit_group(request, "search") == NJ_OK);
  CHECK(all(client, request, 4).succeeded == 4);
  CHECK(count("/in_progress_max/~1v1~1slow?key=group") == 1);
  char *limits = nj_client_limits_json(client, NULL);
  CHECK(strstr(limits, "search") != NULL);
  nj_text_free(limits);
  CHECK(nj_request_set_limit_group(request, "serch") == NJ_OK);
  nj_error *error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL && nj_error_kind(error) == NJ_INVALID_REQUEST);
  CHECK(strstr(nj_error_message(error), "\"search\"") != NULL);
  nj_error_release(error);
  CHECK(nj_request_set_limit_group(request, NULL) == NJ_OK);
  CHECK(all(client, request, 1).succeeded == 1);
  nj_request_free(request);
  nj_client_free(client);
}

static void a_circuit_spares_a_server_that_fails(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_circuit_breaker(config, 0.5, 4, 10, 0.2) == NJ_OK);
  nj_client *client = client_of(config);
  nj_request *request = get("/v1/articles/1");
  outage("503");
  int64_t before = count("/outage_requests");
  for (int i = 0; i < 10; i++) {
    nj_error *error = NULL;
    CHECK(nj_client_send(client, request, &error) == NULL && nj_error_kind(error) == NJ_SERVER);
    CHECK((nj_error_attempts(error) == 1) == (i < 4));
    nj_error_release(error);
  }
  CHECK(count("/outage_requests") - before == 4);
  char *limits = nj_client_limits_json(client, NULL);
  CHECK(strstr(limits, "\"circuit\":\"open\"") != NULL);
  nj_text_free(limits);
  outage("none");
  struct timespec open_duration = {.tv_nsec = 300 * 1000 * 1000};
  nanosleep(&open_duration, NULL);
  CHECK(all(client, request, 1).succeeded == 1);
  limits = nj_client_limits_json(client, NULL);
  CHECK(strstr(limits, "\"circuit\":\"closed\"") != NULL);
  nj_text_free(limits);
  nj_request_free(request);
  nj_client_free(client);
}

static void calls_that_are_alike_share_an_exchange(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_coalesce(config, true) == NJ_OK);
  nj_client *client = client_of(config);
  int64_t before = count("/requests/GET ~1v1~1slow");
  nj_request *request = get("/v1/slow?ms=100&key=alike");
  tally result = all(client, request, 100);
  CHECK(result.succeeded == 100 && result.coalesced == 99);
  CHECK(strstr(result.explanation, "100 equal calls shared one exchange") != NULL);
  CHECK(count("/requests/GET ~1v1~1slow") - before == 1);

  CHECK(nj_request_set_coalesce(request, false) == NJ_OK);
  CHECK(all(client, request, 3).coalesced == 0);
  CHECK(count("/requests/GET ~1v1~1slow") - before == 4);

  /* The only remaining call receives the response. */
  CHECK(nj_request_set_coalesce(request, true) == NJ_OK);
  nj_task *tasks[20];
  tally open_duration = {0};
  nj_queue *queue = nj_queue_new();
  start(client, request, 20, queue, &open_duration, tasks);
  for (int i = 0; i < 20; i++) {
    if (i != 7) nj_task_cancel(tasks[i]);
    nj_task_release(tasks[i]);
  }
  while (finished(&open_duration) < 20 && nj_queue_poll(queue, 10) > 0) continue;
  CHECK(open_duration.succeeded == 1 && open_duration.cancelled == 19);
  nj_queue_free(queue);
  nj_request_free(request);
  nj_client_free(client);
}

static void a_header_pauses_an_origin(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_pause_header(NULL, "Backoff") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_pause_header(config, "a b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_pause_header(config, "\xff") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_pause_header(config, NULL) == NJ_OK);
  CHECK(nj_config_set_pause_header(config, "Backoff") == NJ_OK);
  static const char routes[] =
      "[{\"path\": \"/a\", \"responses\": [{\"headers\": {\"Backoff\": \"0.2\"}}, 200, 200]}]";
  CHECK(nj_config_set_mock(config, routes, sizeof routes - 1, NULL) == NJ_OK);
  nj_client *client = client_of(config);
  nj_request *request = get("/a");
  double start = now();
  nj_response_release(nj_client_send(client, request, NULL));
  char *states = nj_client_limits_json(client, NULL);
  CHECK(strstr(states, "\"pause\":0.") != NULL);
  nj_text_free(states);
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(now() - start >= 0.19);
  CHECK(strstr(nj_response_explain(response), "the pause requested by the server (Backoff)") != NULL);
  nj_response_release(response);
  nj_request_free(request);
  nj_client_free(client);
}

int main(int count, char **words) {
  if (count != 2) return 2;
  url = words[1];
  a_rate_spreads_requests();
  what_servers_tell_is_heeded();
  only_so_many_are_under_way_and_wait();
  groups_have_limits_of_their_own();
  a_header_pauses_an_origin();
  a_circuit_spares_a_server_that_fails();
  calls_that_are_alike_share_an_exchange();
  FINISH();
}
