/* The cache from C: cache DEMO_URL FOLDER. The demo's /cache/{name} responds as the query requests. */
#include "check.h"
#include <nightjar.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *url, *folder;

#define FRESH "?control=max-age%3D60&etag=strong"
#define STALE "?control=max-age%3D0&etag=strong"

static nj_client *client_with(nj_cache *cache) {
  nj_config *config = nj_config_new();
  nj_error *error = NULL;
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_cache(config, cache) == NJ_OK);
  nj_client *client = nj_client_new(config, &error);
  CHECK(client != NULL && error == NULL);
  nj_config_free(config);
  return client;
}

static nj_request *get(const char *path, nj_cache_policy policy) {
  nj_request *request = nj_request_new("GET", path);
  CHECK(nj_request_set_cache_policy(request, policy) == NJ_OK);
  return request;
}

/* The source of the response to a GET; -1 for a failure. */
static int source(nj_client *client, const char *path, nj_cache_policy policy) {
  nj_request *request = get(path, policy);
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  int found = response ? (int)nj_response_source(response) : -1;
  if (error && nj_error_kind(error) != NJ_CACHE_MISS) fprintf(stderr, "%s\n", nj_error_message(error));
  nj_request_free(request);
  nj_response_release(response);
  nj_error_release(error);
  return found;
}

static void send(nj_client *client, const char *method, const char *path) {
  nj_request *request = nj_request_new(method, path);
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(response != NULL);
  nj_response_release(response);
  nj_request_free(request);
}

static void post(nj_client *client, const char *path) { send(client, "POST", path); }

/* The number of removed responses; -1: the removal failed. */
static int count_of(nj_status status, size_t count) { return status == NJ_OK ? (int)count : -1; }

static int removed(nj_cache *cache, const char *address) {
  size_t count = 7;
  nj_status status = nj_cache_remove(cache, address, &count, NULL);
  return count_of(status, count);
}

static int removed_prefix(nj_cache *cache, const char *prefix) {
  size_t count = 7;
  nj_status status = nj_cache_remove_prefix(cache, prefix, &count, NULL);
  return count_of(status, count);
}

static int cleared(nj_cache *cache) {
  size_t count = 7;
  nj_status status = nj_cache_clear(cache, &count, NULL);
  return count_of(status, count);
}

/* Resets a resource, because this program may have run against the same server before. */
static void forget(nj_client *client, const char *path) { send(client, "DELETE", path); }

static int64_t version(const nj_response *response) {
  int64_t number = -1;
  CHECK(nj_response_json_int64(response, "/version", &number, NULL) == NJ_OK);
  return number;
}

static void each_policy_does_as_it_says(void) {
  nj_cache *cache = nj_cache_new(1 << 20);
  nj_client *client = client_with(cache);
  CHECK(source(client, "/cache/c-policy" FRESH, NJ_CACHE_ONLY) == -1);
  CHECK(source(client, "/cache/c-policy" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_NETWORK);
  CHECK(source(client, "/cache/c-policy" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_CACHE);
  CHECK(source(client, "/cache/c-policy" FRESH, NJ_CACHE_OFF) == NJ_SOURCE_NETWORK);
  CHECK(source(client, "/cache/c-policy" FRESH, NJ_CACHE_RELOAD) == NJ_SOURCE_NETWORK);
  CHECK(source(client, "/cache/c-policy" FRESH, NJ_CACHE_REVALIDATE) == NJ_SOURCE_REVALIDATED);
  CHECK(source(client, "/cache/c-policy" STALE, NJ_CACHE_ELSE_LOAD) == NJ_SOURCE_NETWORK);
  CHECK(source(client, "/cache/c-policy" STALE, NJ_CACHE_ELSE_LOAD) == NJ_SOURCE_STALE);
  CHECK(source(client, "/cache/c-policy" STALE, NJ_CACHE_ONLY) == NJ_SOURCE_STALE);
  CHECK(source(client, "/cache/c-policy" STALE, NJ_CACHE_OFFLINE_FIRST) == NJ_SOURCE_STALE);

  nj_request *request = get("/cache/c-policy" FRESH, NJ_CACHE_PROTOCOL);
  CHECK(nj_request_merge_json(request, "{\"cache\": \"cache_only\"}", 23, NULL) == NJ_OK);
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(nj_response_source(response) == NJ_SOURCE_CACHE && nj_response_attempts(response) == 0);
  CHECK(nj_response_header(response, "age") != NULL && nj_response_header(response, "cache-status") != NULL);
  CHECK(nj_response_peer_address(response) == NULL && !nj_response_is_being_refreshed(response));
  CHECK(strstr(nj_response_explain(response), "served from the cache") != NULL);
  nj_response_release(response);
  CHECK(nj_request_merge_json(request, "{\"cache\": false}", 16, NULL) == NJ_OK);
  response = nj_client_send(client, request, NULL);
  CHECK(nj_response_source(response) == NJ_SOURCE_NETWORK);
  nj_response_release(response);
  nj_request_free(request);

  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_HITS) > 0);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_STALE) > 0);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_MISSES) > 0);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_VALIDATIONS) > 0);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_BYTES_SAVED) > 0);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_MEMORY_ENTRIES) == 2);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_MEMORY_BYTES) > 0);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_DISK_ENTRIES) == 0);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_DISK_BYTES) == 0);
  CHECK(nj_cache_statistics(cache, (nj_cache_statistic)77) == -1);
  nj_client_free(client);
  nj_cache_free(cache);
}

static nj_source source_with_cookie(nj_client *client, const char *cookie) {
  nj_request *request = nj_request_new("GET", "/cache/c-cookies?control=max-age=60");
  CHECK(nj_request_set_header(request, "Cookie", cookie) == NJ_OK);
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(response != NULL);
  nj_source source = nj_response_source(response);
  nj_response_release(response);
  nj_request_free(request);
  return source;
}

/* The source of the response to a GET of a partition; -1 for a failure. */
static int source_in(nj_client *client, const char *path, const char *partition) {
  nj_request *request = get(path, NJ_CACHE_PROTOCOL);
  CHECK(nj_request_set_cache_partition(request, partition) == NJ_OK);
  nj_response *response = nj_client_send(client, request, NULL);
  int found = response ? (int)nj_response_source(response) : -1;
  nj_request_free(request);
  nj_response_release(response);
  return found;
}

static nj_status choose_partition(void *context, nj_prepared_request *request) {
  CHECK(nj_prepared_request_set_cache_partition(request, "\xff") == NJ_INVALID_ARGUMENT);
  return nj_prepared_request_set_cache_partition(request, *(const char **)context);
}

static void partitions_share_no_responses(void) {
  nj_cache *cache = nj_cache_new(1 << 20);
  nj_client *client = client_with(cache);
  forget(client, "/cache/c-partition");
  static const char *const partitions[] = {"one", "two", "", NULL};
  for (int round = 0; round < 2; round++) {
    for (int index = 0; index < 4; index++) {
      CHECK(source_in(client, "/cache/c-partition" FRESH, partitions[index])
            == (round == 0 ? NJ_SOURCE_NETWORK : NJ_SOURCE_CACHE));
    }
  }
  nj_request *request = get("/cache/c-partition" FRESH, NJ_CACHE_ONLY);
  CHECK(nj_request_merge_json(request, "{\"cache_partition\": \"two\"}", 26, NULL) == NJ_OK);
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(nj_response_source(response) == NJ_SOURCE_CACHE);
  nj_response_release(response);
  CHECK(nj_request_set_cache_partition(request, "\xff") == NJ_INVALID_ARGUMENT);
  nj_request_free(request);
  CHECK(nj_request_set_cache_partition(NULL, "one") == NJ_INVALID_ARGUMENT);
  CHECK(nj_prepared_request_set_cache_partition(NULL, "one") == NJ_INVALID_ARGUMENT);
  nj_client_free(client);

  /* The hook is the callback that chooses the partition of each call. */
  const char *tenant = "two";
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK && nj_config_set_cache(config, cache) == NJ_OK);
  CHECK(nj_config_on_request(config, choose_partition, &tenant) == NJ_OK);
  client = nj_client_new(config, NULL);
  nj_config_free(config);
  CHECK(source(client, "/cache/c-partition" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_CACHE);
  tenant = "three";
  CHECK(source_in(client, "/cache/c-partition" FRESH, "two") == NJ_SOURCE_NETWORK);
  tenant = NULL;
  CHECK(source_in(client, "/cache/c-partition" FRESH, "four") == NJ_SOURCE_CACHE);
  nj_client_free(client);
  nj_cache_free(cache);
}

static void names_say_which_cookies_identify_a_login(void) {
  nj_config *config = nj_config_new();
  nj_cache *cache = nj_cache_new(1 << 20);
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_cache(config, cache) == NJ_OK);
  CHECK(nj_config_set_login_cookies(config, (const char *[]){"user", NULL}) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  CHECK(source_with_cookie(client, "user=ada; n=1") == NJ_SOURCE_NETWORK);
  CHECK(source_with_cookie(client, "n=2; user=ada") == NJ_SOURCE_CACHE);
  CHECK(source_with_cookie(client, "user=bob; n=1") == NJ_SOURCE_NETWORK);
  CHECK(source_with_cookie(client, "user=ada; n=1") == NJ_SOURCE_CACHE);
  nj_client_free(client);
  nj_cache_free(cache);
  nj_config_free(config);
}

static void a_policy_of_the_client_is_for_its_calls(void) {
  nj_config *config = nj_config_new();
  static const char json[] = "{\"cache\": {\"memory\": \"1MB\", \"policy\": \"offline_first\"}}";
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_merge_json(config, json, strlen(json), NULL) == NJ_OK);
  CHECK(nj_config_set_cache_policy(config, NJ_CACHE_ONLY) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  nj_request *request = nj_request_new("GET", "/cache/c-client");
  nj_error *error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_CACHE_MISS);
  nj_error_release(error);
  nj_request_free(request);
  nj_cache *cache = nj_client_cache(client);
  CHECK(cache != NULL);
  nj_cache_free(cache);
  nj_client_free(client);
  CHECK(nj_config_set_cache(config, NULL) == NJ_OK);
  client = nj_client_new(config, NULL);
  CHECK(nj_client_cache(client) == NULL);
  nj_client_free(client);
  nj_config_free(config);
}

/* --- Direct access --- */

static void looks_up_inserts_and_removes(void) {
  nj_cache *cache = nj_cache_new(1 << 20);
  nj_client *client = client_with(cache);
  nj_request *request = nj_request_new("GET", "/cache/c-hand");
  nj_error *error = NULL;
  CHECK(nj_client_cache_get(client, request, &error) == NULL && error == NULL);
  const char *headers[] = {"Cache-Control", "max-age=60", "X-Mine", "1", NULL};
  CHECK(nj_client_cache_put(client, request, 200, headers, "planted", 7, &error) == NJ_OK && error == NULL);
  nj_response *response = nj_client_cache_get(client, request, &error);
  CHECK_TEXT(nj_response_body(response, NULL), "planted");
  CHECK_TEXT(nj_response_header(response, "x-mine"), "1");
  nj_response_release(response);
  response = nj_client_send(client, request, NULL);
  CHECK(nj_response_source(response) == NJ_SOURCE_CACHE);
  CHECK_TEXT(nj_response_body(response, NULL), "planted");
  nj_response_release(response);

  char text[300];
  snprintf(text, sizeof text, "%s/cache/c-hand", url);
  CHECK(removed(cache, text) == 1);
  CHECK(removed(cache, text) == 0);
  CHECK(nj_cache_remove(cache, "/cache/c-hand", NULL, NULL) == NJ_INVALID_URL);
  CHECK(nj_client_cache_get(client, request, &error) == NULL && error == NULL);

  /* With freshness information an error response is stored. */
  CHECK(nj_client_cache_put(client, request, 404, headers, NULL, 0, &error) == NJ_OK);
  response = nj_client_cache_get(client, request, &error);
  CHECK(response != NULL && nj_response_status(response) == 404);
  nj_response_release(response);
  CHECK(nj_request_expect_status(request, 200, 200) == NJ_OK);
  CHECK(nj_client_cache_get(client, request, &error) == NULL && nj_error_kind(error) == NJ_NOT_FOUND);
  nj_error_release(error);
  error = NULL;
  nj_request_free(request);

  request = nj_request_new("GET", "/cache/c-prefix");
  CHECK(nj_client_cache_put(client, request, 200, NULL, "x", 1, NULL) == NJ_OK);
  snprintf(text, sizeof text, "%s/cache/c-", url);
  CHECK(removed_prefix(cache, text) == 2);
  /* Without freshness information an error response cannot be used, so it is not stored. */
  CHECK(nj_client_cache_put(client, request, 404, NULL, "x", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_cache_put(client, request, 200, NULL, "x", 1, NULL) == NJ_OK);
  CHECK(cleared(cache) == 1);
  CHECK(cleared(cache) == 0);

  static const char *const secret[] = {"Cache-Control", "no-store", NULL};
  CHECK(nj_client_cache_put(client, request, 200, secret, "x", 1, &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "the response cannot be stored: the response has no-store");
  nj_error_release(error);
  static const char *const odd[] = {"Cache-Control", NULL};
  CHECK(nj_client_cache_put(client, request, 200, odd, "x", 1, &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "the last header has a name but no value");
  nj_error_release(error);
  static const char *const broken[] = {"A", "x\ny", NULL};
  CHECK(nj_client_cache_put(client, request, 200, broken, "x", 1, NULL) == NJ_INVALID_REQUEST);
  CHECK(nj_client_cache_put(client, request, 99, NULL, "x", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_cache_put(client, request, 200, NULL, NULL, 1, NULL) == NJ_INVALID_ARGUMENT);
  nj_request_free(request);

  request = nj_request_new("POST", "/cache/c-hand");
  CHECK(nj_client_cache_put(client, request, 200, NULL, "x", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_cache_get(client, request, &error) == NULL && nj_error_kind(error) == NJ_INVALID_REQUEST);
  nj_error_release(error);
  nj_request_free(request);
  nj_client_free(client);
  nj_cache_free(cache);

  client = client_with(NULL);
  request = nj_request_new("GET", "/cache/c-hand");
  CHECK(nj_client_cache_get(client, request, &error) == NULL && nj_error_kind(error) == NJ_INVALID_REQUEST);
  CHECK_TEXT(nj_error_message(error), "the client has no cache; set the option cache");
  nj_error_release(error);
  CHECK(nj_client_cache_put(client, request, 200, NULL, "x", 1, NULL) == NJ_INVALID_REQUEST);
  nj_request_free(request);
  nj_client_free(client);
}

/* --- Refreshes --- */

typedef struct reported {
  int done, refreshed;
  bool was_promised, came_before_done;
  nj_source source;
  int64_t version;
  nj_status error;
} reported;

static void on_done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  reported *self = context;
  (void)task, (void)error;
  self->done++;
  self->came_before_done = self->refreshed > 0;
  self->source = nj_response_source(response);
  self->was_promised = nj_response_is_being_refreshed(response);
}

static void on_refreshed(void *context, const nj_response *response, const nj_error *error) {
  reported *self = context;
  self->refreshed++;
  CHECK((response == NULL) != (error == NULL));
  if (response) self->version = version(response);
  if (error) self->error = nj_error_kind(error);
}

static void a_stale_answer_comes_first_and_the_fresh_one_behind_it(void) {
  nj_cache *cache = nj_cache_new(1 << 20);
  nj_client *client = client_with(cache);
  nj_queue *queue = nj_queue_new(), *other = nj_queue_new();
  forget(client, "/cache/c-offline");
  forget(client, "/cache/c-failing");
  nj_request *request = get("/cache/c-offline" STALE, NJ_CACHE_OFFLINE_FIRST);
  reported self = {0};
  CHECK(nj_request_on_refresh(request, queue, on_refreshed, &self) == NJ_OK);
  nj_task_release(nj_client_start(client, request, queue, on_done, &self, NULL));
  while (self.done == 0) nj_queue_poll(queue, 10);
  CHECK(self.source == NJ_SOURCE_NETWORK && !self.was_promised);

  post(client, "/cache/c-offline");
  nj_task_release(nj_client_start(client, request, queue, on_done, &self, NULL));
  while (self.done == 1 || self.refreshed == 0) nj_queue_poll(queue, 10);
  CHECK(self.source == NJ_SOURCE_STALE && self.was_promised && !self.came_before_done && self.version == 2);
  CHECK(nj_queue_poll(queue, 0) == 0 && self.refreshed == 1);

  /* The blocking call has returned by then, so the callback uses another queue. */
  self = (reported){0};
  post(client, "/cache/c-offline");
  nj_request *copy = nj_request_copy(request);
  CHECK(nj_request_on_refresh(copy, other, on_refreshed, &self) == NJ_OK);
  nj_response *response = nj_client_send(client, copy, NULL);
  nj_request_free(copy);
  CHECK(nj_response_source(response) == NJ_SOURCE_STALE && nj_response_is_being_refreshed(response));
  CHECK(version(response) == 2);
  nj_response_release(response);
  while (self.refreshed == 0) nj_queue_poll(other, 10);
  CHECK(self.version == 3);

  /* Without a callback nothing is reported. */
  CHECK(nj_request_on_refresh(request, NULL, NULL, NULL) == NJ_OK);
  response = nj_client_send(client, request, NULL);
  CHECK(nj_response_source(response) == NJ_SOURCE_STALE && !nj_response_is_being_refreshed(response));
  nj_response_release(response);
  nj_request_free(request);

  /* A failure is reported, too. */
  self = (reported){0};
  request = get("/cache/c-failing" STALE "&fail=2&failure=404", NJ_CACHE_OFFLINE_FIRST);
  CHECK(nj_request_on_refresh(request, other, on_refreshed, &self) == NJ_OK);
  nj_response_release(nj_client_send(client, request, NULL));
  nj_response_release(nj_client_send(client, request, NULL));
  while (self.refreshed == 0) nj_queue_poll(other, 10);
  CHECK(self.error == NJ_NOT_FOUND);
  nj_request_free(request);

  /* The client and the queue are freed in either order. */
  for (int order = 0; order < 3; order++) {
    self = (reported){0};
    nj_queue *last = nj_queue_new();
    nj_client *leaving = client_with(cache);
    request = get("/cache/c-order" STALE, NJ_CACHE_OFFLINE_FIRST);
    CHECK(nj_request_on_refresh(request, last, on_refreshed, &self) == NJ_OK);
    CHECK(source(leaving, "/cache/c-order" STALE, NJ_CACHE_RELOAD) == NJ_SOURCE_NETWORK);
    response = nj_client_send(leaving, request, NULL);
    bool is_promised = nj_response_is_being_refreshed(response);
    nj_response_release(response);
    if (order == 0) nj_client_free(leaving);
    nj_request_free(request);
    if (order == 1) nj_queue_poll(last, 0);
    nj_queue_free(last);
    if (order != 0) nj_client_free(leaving);
    CHECK(self.refreshed == (is_promised ? 1 : 0));
  }
  nj_client_free(client);
  nj_queue_free(queue);
  nj_queue_free(other);
  nj_cache_free(cache);
}

/* --- Disk, sharing, fork --- */

static const char *place(const char *name) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void a_disk_outlives_the_process_and_clients_share(void) {
  nj_error *error = NULL;
  nj_cache *cache = nj_cache_open(1 << 20, place("shared"), 10 << 20, &error);
  CHECK(cache != NULL && error == NULL);
  nj_client *one = client_with(cache), *two = client_with(cache);
  nj_cache_free(cache);
  CHECK(source(one, "/cache/c-disk" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_NETWORK);
  CHECK(source(two, "/cache/c-disk" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_CACHE);
  cache = nj_client_cache(two);
  CHECK(nj_cache_flush(cache) == NJ_OK);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_DISK_ENTRIES) == 1);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_DISK_BYTES) > 0);
  nj_client_free(one);
  nj_cache_free(cache);
  nj_client_free(two);
  struct stat status;
  CHECK(stat(place("shared"), &status) == 0 && (status.st_mode & 0777) == 0700);

  cache = nj_cache_open(0, place("shared"), 10 << 20, NULL);
  one = client_with(cache);
  CHECK(source(one, "/cache/c-disk" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_CACHE);
  CHECK(cleared(cache) == 1);
  nj_client_free(one);
  nj_cache_free(cache);

  nj_config *config = nj_config_new();
  cache = nj_cache_open(1 << 20, place("ephemeral"), 10 << 20, NULL);
  CHECK(nj_config_set_cache(config, cache) == NJ_OK);
  CHECK(nj_config_set_ephemeral(config, true) == NJ_OK);
  CHECK(nj_client_new(config, &error) == NULL && nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  CHECK(stat(place("ephemeral"), &status) != 0);
  nj_config_free(config);
  nj_cache_free(cache);
}

static void a_folder_that_cannot_be_costs_no_call(void) {
  nj_cache *cache = nj_cache_open(1 << 20, "/proc/nothing/here", 10 << 20, NULL);
  nj_client *client = client_with(cache);
  CHECK(source(client, "/cache/c-nodisk" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_NETWORK);
  CHECK(source(client, "/cache/c-nodisk" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_CACHE);
  CHECK(nj_cache_flush(cache) == NJ_OK);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_DISK_ENTRIES) == 0);
  nj_client_free(client);
  nj_cache_free(cache);
}

static void a_forked_child_has_no_part_in_it(void) {
  nj_cache *cache = nj_cache_open(1 << 20, place("forked"), 10 << 20, NULL);
  nj_client *client = client_with(cache);
  CHECK(source(client, "/cache/c-fork" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_NETWORK);
  CHECK(nj_cache_flush(cache) == NJ_OK);
  pid_t child = fork();
  if (child == 0) {
    checks_failed = 0;
    nj_error *error = NULL;
    nj_request *request = nj_request_new("GET", "/cache/c-fork" FRESH);
    CHECK(nj_client_cache_get(client, request, &error) == NULL && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(nj_client_cache_put(client, request, 200, NULL, "x", 1, NULL) == NJ_FORKED);
    CHECK(nj_cache_clear(cache, NULL, NULL) == NJ_FORKED && nj_cache_remove(cache, url, NULL, NULL) == NJ_FORKED);
    CHECK(nj_cache_remove_prefix(cache, url, NULL, NULL) == NJ_FORKED);
    CHECK(nj_cache_flush(cache) == NJ_FORKED);
    CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_DISK_ENTRIES) == -1);
    nj_config *config = nj_config_new();
    CHECK(nj_config_set_cache(config, cache) == NJ_OK);
    CHECK(nj_client_new(config, &error) == NULL && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    nj_config_free(config);
    nj_client_free(client);
    nj_cache_free(cache);
    /* Objects created in the child work, in the same folder too. */
    nj_cache *own = nj_cache_open(1 << 20, place("forked"), 10 << 20, NULL);
    nj_client *mine = client_with(own);
    CHECK(source(mine, "/cache/c-fork" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_CACHE);
    nj_client_free(mine);
    nj_cache_free(own);
    nj_request_free(request);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execlp(checks_failed ? "false" : "true", "child", (char *)NULL);
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(source(client, "/cache/c-fork" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_CACHE);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_DISK_ENTRIES) == 1);
  nj_client_free(client);
  nj_cache_free(cache);
}

static void *request_decision(void *client) {
  for (int i = 0; i < 20; i++) source(client, "/cache/c-threads" FRESH, NJ_CACHE_PROTOCOL);
  return NULL;
}

static void threads_may_do_all_of_it_at_once(void) {
  nj_cache *cache = nj_cache_open(1 << 20, place("threads"), 10 << 20, NULL);
  nj_client *client = client_with(cache);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, request_decision, client);
  for (int i = 0; i < 20; i++) {
    CHECK(cleared(cache) >= 0);
    nj_cache_statistics(cache, NJ_CACHE_STATISTIC_DISK_ENTRIES);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  nj_cache_free(cache);
  nj_client_free(client);
}

static void sign_out_drops_what_was_the_logins(void) {
  static const char auth[] = "{\"type\": \"login\", \"url\": \"/v1/auth/login\","
                             " \"json\": {\"email\": \"ada@example.org\", \"password\": \"moonlight\"}}";
  nj_cache *cache = nj_cache_new(1 << 20);
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK && nj_config_set_cache(config, cache) == NJ_OK);
  CHECK(nj_config_set_auth_json(config, auth, strlen(auth), NULL) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  nj_config_free(config);
  CHECK(source(client, "/me/news", NJ_CACHE_PROTOCOL) == NJ_SOURCE_NETWORK);
  CHECK(source(client, "/me/news", NJ_CACHE_PROTOCOL) == NJ_SOURCE_CACHE);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_MEMORY_ENTRIES) == 1);
  CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_OK);
  nj_client_free(client);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_MEMORY_ENTRIES) == 0);
  nj_cache_free(cache);
}

static void misuse_is_answered(void) {
  nj_error *error = NULL;
  CHECK(nj_cache_open(1 << 20, NULL, 0, &error) == NULL && nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "disk_bytes must be greater than 0; use nj_cache_new for a cache in memory");
  nj_error_release(error);
  CHECK(nj_cache_open(1 << 20, "\xff", 1, &error) == NULL && nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  CHECK(nj_config_set_cache(NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_cache_policy(NULL, NJ_CACHE_ONLY) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_cache_policy(NULL, NJ_CACHE_ONLY) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_refresh(NULL, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_cache(NULL) == NULL);
  CHECK(nj_client_cache_get(NULL, NULL, NULL) == NULL);
  CHECK(nj_client_cache_put(NULL, NULL, 200, NULL, NULL, 0, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_cache_remove(NULL, url, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_cache_remove_prefix(NULL, url, NULL, NULL) == NJ_INVALID_ARGUMENT);
  size_t count = 7;
  CHECK(nj_cache_clear(NULL, &count, &error) == NJ_INVALID_ARGUMENT && count == 0);
  CHECK_TEXT(nj_error_message(error), "cache is NULL or a text that is not valid UTF-8");
  nj_error_release(error);
  CHECK(nj_cache_flush(NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_cache_statistics(NULL, NJ_CACHE_STATISTIC_HITS) == -1);
  CHECK(!nj_response_is_being_refreshed(NULL));
  nj_cache_free(NULL);
  nj_cache *cache = nj_cache_new(SIZE_MAX);
  CHECK(nj_cache_remove(cache, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_cache_remove(cache, "\xff", NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_cache_remove_prefix(cache, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_cache_remove_prefix(cache, "", NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_cache_flush(cache) == NJ_OK);
  nj_cache_free(cache);
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_cache_policy(config, NJ_CACHE_OFF) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_cache_policy(config, (nj_cache_policy)77) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_login_cookies(NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_login_cookies(config, (const char *[]){"a", "\xff", NULL}) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_login_cookies(config, (const char *[]){NULL}) == NJ_OK);
  CHECK(nj_config_set_login_cookies(config, NULL) == NJ_OK);
  nj_config_free(config);
  nj_request *request = nj_request_new("GET", "/");
  CHECK(nj_request_set_cache_policy(request, (nj_cache_policy)77) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_refresh(request, NULL, on_refreshed, NULL) == NJ_INVALID_ARGUMENT);
  nj_request_free(request);
}

typedef struct decision {
  int calls;
  int64_t call_id;
  bool stores;
} decision;

static bool decide(void *context, const nj_prepared_request *request, const nj_response *response) {
  decision *self = context;
  self->calls++;
  self->call_id = nj_prepared_request_call_id(request);
  CHECK(strstr(nj_prepared_request_url(request), "/cache/decided") != NULL);
  CHECK(nj_response_status(response) == 200);
  CHECK(nj_prepared_request_set_header((nj_prepared_request *)request, "A", "b") == NJ_INVALID_ARGUMENT);
  return self->stores;
}

static void a_hook_decides_what_is_stored(void) {
  decision decision = {.stores = false};
  nj_config *config = nj_config_new();
  nj_cache *cache = nj_cache_new(1 << 20);
  nj_config_set_base_url(config, url);
  nj_config_set_cache(config, cache);
  CHECK(nj_config_on_store(config, decide, &decision) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  for (int round = 0; round < 2; round++) {
    CHECK(source(client, "/cache/decided" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_NETWORK);
  }
  CHECK(decision.calls == 2 && decision.call_id > 0);
  decision.stores = true;
  CHECK(source(client, "/cache/decided" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_NETWORK);
  CHECK(source(client, "/cache/decided" FRESH, NJ_CACHE_PROTOCOL) == NJ_SOURCE_CACHE);
  CHECK(decision.calls == 3);
  nj_client_free(client);
  CHECK(nj_config_on_store(config, NULL, NULL) == NJ_OK);
  nj_config_free(config);
  nj_cache_free(cache);
}

int main(int count, char **words) {
  if (count != 3) return 2;
  url = words[1];
  folder = words[2];
  each_policy_does_as_it_says();
  partitions_share_no_responses();
  names_say_which_cookies_identify_a_login();
  a_policy_of_the_client_is_for_its_calls();
  looks_up_inserts_and_removes();
  a_stale_answer_comes_first_and_the_fresh_one_behind_it();
  a_disk_outlives_the_process_and_clients_share();
  a_folder_that_cannot_be_costs_no_call();
  a_forked_child_has_no_part_in_it();
  threads_may_do_all_of_it_at_once();
  sign_out_drops_what_was_the_logins();
  a_hook_decides_what_is_stored();
  misuse_is_answered();
  FINISH();
}
