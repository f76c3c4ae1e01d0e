/* Every function with an out_error sets it to NULL on success. websocket.c and download.c check the functions of
 * WebSockets and downloads. Tests/ABI/run checks that each function is in one of these programs.
 *
 *   out_error DIRECTORY */
#include "calls.h"

static const char routes[] =
    "[{\"path\": \"/a\", \"response\": {\"json\": {\"flag\": true, \"n\": 7, \"x\": 1.5, \"text\": \"t\", \"list\": [1, 2]}}},"
    " {\"path\": \"/events\", \"response\": {\"headers\": {\"content-type\": \"text/event-stream\"}, \"body\": \"data: a\\n\\n\"}},"
    " {\"path\": \"/list\", \"response\": {\"json\": {\"items\": [1, 2], \"next_cursor\": null}}},"
    " {\"path\": \"/api.json\", \"response\": {\"json\": {\"openapi\": \"3.1.0\", \"info\": {\"title\": \"t\", \"version\": \"1\"},"
    "   \"paths\": {\"/a\": {\"get\": {\"operationId\": \"getA\", \"responses\": {\"200\": {\"description\": \"ok\"}}}}}}}},"
    " {\"path\": \"/login\", \"method\": \"POST\", \"optional\": true,"
    "  \"response\": {\"json\": {\"access_token\": \"new\", \"expires_in\": 3600}}}]";

static const char auth[] = "{\"type\": \"login\", \"url\": \"/login\", \"json\": {\"user\": \"u\"}}";

static char place[4096];

static const char *file(const char *directory, const char *name) {
  snprintf(place, sizeof place, "%s/%s", directory, name);
  return place;
}

static void done(void *context, nj_task *task, const nj_response *response, const nj_error *failure) {
  (void)task;
  CHECK(response != NULL && failure == NULL);
  *(int *)context += 1;
}

static void login_done(void *context, const nj_error *failure) {
  CHECK(failure == NULL);
  *(int *)context += 1;
}

static void batch_finished(void *context, nj_batch *batch, const nj_error *failure) {
  (void)batch;
  CHECK(failure == NULL);
  *(int *)context += 1;
}

static void prompt(void *context, const nj_login_prompt *shown) {
  (void)context;
  (void)shown;
}

static void function(void *context, nj_script_call *call) {
  (void)context;
  (void)call;
}

static void wait_for(nj_queue *queue, const int *count, int expected) {
  while (*count < expected) nj_queue_poll(queue, 1);
}

static nj_client *client_of(void) {
  static const char options[] = "{\"base_url\": \"http://api.test\", \"retry\": {\"attempts\": 1}, \"cache\": true}";
  nj_config *config = nj_config_new();
  SUCCEEDS(nj_config_merge_json(config, options, sizeof options - 1, &error) == NJ_OK);
  SUCCEEDS(nj_config_set_mock(config, routes, strlen(routes), &error) == NJ_OK);
  SUCCEEDS(nj_config_set_auth_json(config, auth, sizeof auth - 1, &error) == NJ_OK);
  nj_client *client = NULL;
  SUCCEEDS((client = nj_client_new(config, &error)) != NULL);
  nj_config_free(config);
  return client;
}

static void logins(nj_client *client, nj_queue *queue) {
  static const char token[] = "{\"access_token\": \"t\"}";
  SUCCEEDS(nj_client_set_token(client, NULL, token, sizeof token - 1, &error) == NJ_OK);
  SUCCEEDS(nj_client_log_out(client, NULL, false, &error) == NJ_OK);
  SUCCEEDS(nj_client_log_in(client, NULL, 10, prompt, NULL, &error) == NJ_OK);
  int count = 0;
  nj_task *task = NULL;
  SUCCEEDS((task = nj_client_start_log_in(client, NULL, 10, queue, prompt, login_done, &count, &error)) != NULL);
  nj_task_release(task);
  wait_for(queue, &count, 1);
  SUCCEEDS((task = nj_client_start_log_out(client, NULL, false, queue, login_done, &count, &error)) != NULL);
  nj_task_release(task);
  wait_for(queue, &count, 2);
  SUCCEEDS((task = nj_client_start_log_in(client, NULL, 10, queue, prompt, login_done, &count, &error)) != NULL);
  nj_task_release(task);
  wait_for(queue, &count, 3);
}

static void responses(nj_client *client, nj_queue *queue) {
  nj_request *request = nj_request_new("GET", "/a");
  static const char schema[] = "{\"type\": \"object\"}", options[] = "{\"timeout\": 5}";
  SUCCEEDS(nj_request_set_schema(request, schema, sizeof schema - 1, &error) == NJ_OK);
  SUCCEEDS(nj_request_merge_json(request, options, sizeof options - 1, &error) == NJ_OK);
  nj_response *response = NULL;
  SUCCEEDS((response = nj_client_send(client, request, &error)) != NULL);
  bool flag;
  int64_t number;
  uint64_t unsigned_number;
  double real;
  const char *text;
  size_t length, count;
  SUCCEEDS(nj_response_json_bool(response, "/flag", &flag, &error) == NJ_OK);
  SUCCEEDS(nj_response_json_int64(response, "/n", &number, &error) == NJ_OK);
  SUCCEEDS(nj_response_json_uint64(response, "/n", &unsigned_number, &error) == NJ_OK);
  SUCCEEDS(nj_response_json_double(response, "/x", &real, &error) == NJ_OK);
  SUCCEEDS(nj_response_json_string(response, "/text", &text, &length, &error) == NJ_OK);
  SUCCEEDS(nj_response_json_count(response, "/list", &count, &error) == NJ_OK);
  SUCCEEDS(nj_response_json_text(response, "/list", &text, &length, &error) == NJ_OK);
  nj_response_release(response);

  int ended = 0;
  nj_task *task = NULL;
  SUCCEEDS((task = nj_client_start(client, request, queue, done, &ended, &error)) != NULL);
  nj_task_release(task);
  wait_for(queue, &ended, 1);
  const nj_request *requests[] = {request};
  nj_response *found[1];
  nj_error *failures[1];
  SUCCEEDS(nj_client_send_batch(client, requests, 1, 1, true, found, failures, &error) == NJ_OK);
  nj_response_release(found[0]);
  nj_batch *batch = NULL;
  SUCCEEDS((batch = nj_client_start_batch(client, requests, 1, 1, true, queue, NULL, batch_finished, &ended, &error)) !=
           NULL);
  wait_for(queue, &ended, 2);
  nj_batch_release(batch);
  nj_request_free(request);

  request = nj_request_new("POST", "/a");
  nj_form *form = nj_form_new();
  SUCCEEDS(nj_request_set_body_form(request, form, &error) == NJ_OK);
  nj_form_free(form);
  nj_request_free(request);
}

static void caches(nj_client *client, const char *directory) {
  nj_request *request = nj_request_new("GET", "/stored");
  const char *headers[] = {"Cache-Control", "max-age=60", NULL};
  SUCCEEDS(nj_client_cache_put(client, request, 200, headers, "x", 1, &error) == NJ_OK);
  nj_response *response = NULL;
  SUCCEEDS((response = nj_client_cache_get(client, request, &error)) != NULL);
  nj_response_release(response);
  nj_request_free(request);
  request = nj_request_new("GET", "/absent");
  SUCCEEDS((response = nj_client_cache_get(client, request, &error)) == NULL);
  nj_request_free(request);
  nj_cache *cache = NULL;
  size_t count;
  SUCCEEDS((cache = nj_cache_open(1 << 20, file(directory, "cache"), 1 << 20, &error)) != NULL);
  SUCCEEDS(nj_cache_remove(cache, "http://api.test/a", &count, &error) == NJ_OK);
  SUCCEEDS(nj_cache_remove_prefix(cache, "http://api.test/", &count, &error) == NJ_OK);
  SUCCEEDS(nj_cache_clear(cache, &count, &error) == NJ_OK);
  nj_cache_free(cache);
}

static void changed(void *context, const nj_network *network) { (void)context, (void)network; }

static void network(void) {
  nj_queue *queue = nj_queue_new();
  nj_network_observer *observer = NULL;
  SUCCEEDS((observer = nj_network_observer_new(queue, changed, NULL, &error)) != NULL);
  nj_network_observer_free(observer);
  nj_queue_free(queue);
}

static void cookies(const char *directory) {
  nj_cookies *jar = NULL;
  size_t skipped;
  SUCCEEDS((jar = nj_cookies_open(file(directory, "jar"), NJ_COOKIES_ALL, &error)) != NULL);
  SUCCEEDS(nj_cookies_set(jar, "http://api.test/", "a=1", &error) == NJ_OK);
  SUCCEEDS(nj_cookies_flush(jar, &error) == NJ_OK);
  SUCCEEDS(nj_cookies_export(jar, file(directory, "cookies.txt"), &error) == NJ_OK);
  SUCCEEDS(nj_cookies_import(jar, file(directory, "cookies.txt"), &skipped, &error) == NJ_OK);
  nj_cookies_free(jar);
}

static void catalogs(nj_client *client, const char *directory) {
  static const char endpoint[] =
      "{\"path\": \"/a/{id}\", \"method\": \"POST\", \"parameters\": {\"id\": \"integer\"}, \"body\": {\"type\": \"object\"}}";
  nj_catalog *catalog = NULL;
  SUCCEEDS((catalog = nj_client_load_catalog(client, "url:/api.json", &error)) != NULL);
  SUCCEEDS(nj_catalog_add_json(catalog, "make", endpoint, sizeof endpoint - 1, &error) == NJ_OK);
  nj_request *request = NULL;
  SUCCEEDS((request = nj_request_from_endpoint(catalog, "make", &error)) != NULL);
  SUCCEEDS(nj_request_set_argument_json(request, "id", "1", 1, &error) == NJ_OK);
  SUCCEEDS(nj_request_set_argument_body_json(request, "{}", 2, &error) == NJ_OK);
  nj_request_free(request);
  nj_catalog_free(catalog);
  FILE *stream = fopen(file(directory, "api.json"), "w");
  if (stream == NULL) return;
  fputs("{\"openapi\": \"3.1.0\", \"info\": {\"title\": \"t\", \"version\": \"1\"}, \"paths\": {}}", stream);
  fclose(stream);
  SUCCEEDS((catalog = nj_catalog_load_file(file(directory, "api.json"), &error)) != NULL);
  nj_catalog_free(catalog);
}

static void pages(nj_client *client) {
  static const char options[] = "{\"prefetch\": 0}";
  nj_request *request = nj_request_new("GET", "/list");
  nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_CURSOR);
  SUCCEEDS(nj_pagination_merge_json(pagination, options, sizeof options - 1, &error) == NJ_OK);
  nj_paginator *paginator = NULL;
  SUCCEEDS((paginator = nj_paginator_new(client, request, pagination, NULL, &error)) != NULL);
  const char *json;
  size_t length;
  SUCCEEDS(nj_paginator_next_item(paginator, &json, &length, &error) == NJ_NEXT_FOUND);
  nj_page *page;
  SUCCEEDS(nj_paginator_next_page(paginator, &page, &error) == NJ_NEXT_END);
  nj_paginator_free(paginator);
  nj_pagination_free(pagination);
  nj_request_free(request);
}

static void event(void *context, const nj_event *received) {
  (void)context;
  CHECK(received != NULL);
}

static void streams(nj_client *client, nj_queue *queue) {
  static const char options[] = "{\"reconnect\": false}";
  nj_request *request = nj_request_new("GET", "/events");
  nj_events *events = NULL;
  SUCCEEDS((events = nj_events_new(client, request, options, sizeof options - 1, &error)) != NULL);
  const nj_event *next;
  SUCCEEDS(nj_events_next(events, NJ_NO_LIMIT, &next, &error) == NJ_OK);
  nj_events_free(events);
  int count = 0;
  nj_task *task = NULL;
  SUCCEEDS((task = nj_client_start_events(client, request, options, sizeof options - 1, queue, event, login_done, &count,
                                          &error)) != NULL);
  wait_for(queue, &count, 1);
  nj_task_release(task);
  nj_request_free(request);
}

static void script_done(void *context, nj_task *task, const char *results, size_t length, const nj_error *failure) {
  (void)task;
  CHECK(results != NULL && length == strlen(results) && failure == NULL);
  *(int *)context += 1;
}

static void scripts(nj_client *client, nj_queue *queue, const char *directory) {
  nj_script *script = nj_script_new(client);
  SUCCEEDS(nj_script_run(script, "x = 1", 5, "test", NULL, NULL, &error) == NJ_OK);
  SUCCEEDS(nj_script_register(script, "f", function, NULL, &error) == NJ_OK);
  FILE *stream = fopen(file(directory, "x.lua"), "w");
  if (stream == NULL) return;
  fputs("x = 2", stream);
  fclose(stream);
  SUCCEEDS(nj_script_run_file(script, file(directory, "x.lua"), NULL, NULL, &error) == NJ_OK);
  SUCCEEDS(nj_script_set_json(script, "y", "{}", 2, &error) == NJ_OK);
  char *json = NULL;
  SUCCEEDS((json = nj_script_get_json(script, "y", NULL, &error)) != NULL);
  nj_text_free(json);
  SUCCEEDS(nj_script_invoke(script, "type", "[1]", 3, NULL, NULL, &error) == NJ_OK);
  int ended = 0;
  nj_task *task = NULL;
  SUCCEEDS((task = nj_script_start_run(script, "x = 3", 5, "test", queue, script_done, &ended, &error)) != NULL);
  nj_task_release(task);
  wait_for(queue, &ended, 1);
  SUCCEEDS((task = nj_script_start_invoke(script, "type", "[1]", 3, queue, script_done, &ended, &error)) != NULL);
  nj_task_release(task);
  wait_for(queue, &ended, 2);
  nj_script_free(script);
}

int main(int count, char **arguments) {
  if (count != 2) return 2;
  nj_client *client = client_of();
  if (client == NULL) return 1;
  nj_queue *queue = nj_queue_new();
  logins(client, queue);
  responses(client, queue);
  pages(client);
  streams(client, queue);
  catalogs(client, arguments[1]);
  SUCCEEDS(nj_client_mock_verify(client, &error) == NJ_OK);
  caches(client, arguments[1]);
  network();
  cookies(arguments[1]);
  scripts(client, queue, arguments[1]);
  nj_queue_free(queue);
  nj_client_free(client);
  FINISH();
}
