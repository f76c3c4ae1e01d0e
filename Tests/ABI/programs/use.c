/* The behavior documented in nightjar.h, against the demo API whose URL is the argument. */
#include <unistd.h>

#include "check.h"
#include <nightjar.h>

static nj_client *client;

static nj_response *get(const char *path, nj_error **err) {
  nj_request *req = nj_request_new("GET", path);
  nj_response *res = nj_client_send(client, req, err);
  nj_request_free(req);
  return res;
}

static void reads_an_answer(void) {
  nj_error *err = NULL;
  nj_response *res = get("/articles/1", &err);
  CHECK(res != NULL);
  CHECK(err == NULL);
  CHECK(nj_response_status(res) == 200);
  CHECK(nj_response_http_version(res) == expected_http_version());
  CHECK_TEXT(nj_response_header(res, "Content-Type"), "application/json");
  CHECK(nj_response_header(res, "no-such-header") == NULL);
  CHECK(nj_response_header_count(res) > 1);
  CHECK(nj_response_header_name_at(res, nj_response_header_count(res)) == NULL);
  size_t length;
  const char *body = nj_response_body(res, &length);
  CHECK(length > 10 && body[0] == '{' && strlen(body) == length);
  CHECK(strstr(nj_response_url(res), "/v1/articles/1") != NULL);
  CHECK(nj_response_attempts(res) == 1);
  CHECK(nj_response_time_total(res) > 0 && nj_response_time_total(res) >= nj_response_time_first_byte(res));
  CHECK(nj_response_time_connect(res) > 0 || nj_response_reused_connection(res));
  CHECK(nj_response_time_dns(res) < 0 && nj_response_time_tls(res) < 0);
  CHECK(strncmp(nj_response_peer_address(res), "127.0.0.1:", 10) == 0);
  CHECK(strncmp(nj_response_curl(res, false), "curl 'http://127.0.0.1:", 23) == 0);
  CHECK(nj_response_curl(res, true) == nj_response_curl(res, true));
  CHECK(nj_response_source(res) == NJ_SOURCE_NETWORK);
  CHECK(nj_response_retain(res) == res);
  nj_response_release(res);
  CHECK(nj_response_status(res) == 200);
  nj_response_release(res);
}

/* The demo accepts HTTP/2 with prior knowledge. */
static void http2_has_streams(const char *url) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_http_versions(config, (const char *const[]){"2", NULL}) == NJ_OK);
  nj_client *other = nj_client_new(config, NULL);
  nj_config_free(config);
  nj_request *req = nj_request_new("GET", "/articles/1");
  for (int number = 0; number < 2; number++) {
    nj_response *res = nj_client_send(other, req, NULL);
    CHECK(nj_response_http_version(res) == 20 && nj_response_stream_id(res) == 2 * number + 1);
    CHECK(strstr(nj_response_explain(res), number == 0 ? "HTTP/2, stream 1 of a new connection to 127.0.0.1:"
                                                       : "HTTP/2, stream 3 of a reused connection to 127.0.0.1:"));
    nj_response_release(res);
  }
  nj_request_free(req);
  nj_client_free(other);
}

static void an_unexpected_status_is_an_error_with_its_answer(void) {
  nj_error *err = NULL;
  CHECK(get("/articles/999999", &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_NOT_FOUND);
  CHECK(nj_error_http_status(err) == 404);
  CHECK(nj_error_phase(err) == NJ_PHASE_RECEIVE);
  CHECK(!nj_error_is_retryable(err));
  CHECK(nj_error_attempts(err) == 1);
  CHECK(nj_error_retry_after(err) < 0);
  CHECK(nj_error_user_message(err) != NULL);
  CHECK_TEXT(nj_response_header(nj_error_response(err), "content-type"), "application/problem+json");
  CHECK(strstr(nj_error_curl(err, false), "/articles/999999'") != NULL);
  nj_error *kept = nj_error_retain(err);
  nj_error_release(err);
  CHECK_TEXT(nj_error_message(kept), "GET returned 404 Not Found: \"there is no article 999999\"");
  nj_error_release(kept);
}

static void an_expected_status_is_an_answer(void) {
  nj_request *req = nj_request_new("GET", "/articles/999999");
  CHECK(nj_request_expect_status(req, 404, 404) == NJ_OK);
  nj_response *res = nj_client_send(client, req, NULL);
  CHECK(nj_response_status(res) == 404);
  nj_response_release(res);
  nj_request_free(req);
}

static void writes_what_it_is_given(void) {
  static const char json[] = "{\"title\":\"From C\",\"body\":\"text\",\"author_id\":1}";
  nj_request *req = nj_request_new("POST", "/articles");
  CHECK(nj_request_set_body_json(req, json, strlen(json)) == NJ_OK);
  nj_error *err = NULL;
  nj_response *res = nj_client_send(client, req, &err);
  if (!res) fprintf(stderr, "%s %s\n", nj_error_message(err), nj_response_body(nj_error_response(err), NULL));
  CHECK(nj_response_status(res) == 201);
  CHECK(nj_response_header(res, "location") != NULL);
  CHECK(res && strstr(nj_response_body(res, NULL), "From C") != NULL);
  nj_response_release(res);
  nj_request_free(req);
}

/* Sends `req` to a path of the demo API outside of /v1 and returns the response body, which the caller frees. */
static char *response_to(nj_request *req) {
  nj_error *err = NULL;
  nj_response *res = nj_client_send(client, req, &err);
  if (!res) fprintf(stderr, "%s\n", nj_error_message(err));
  CHECK(res != NULL);
  char *text = res ? strdup(nj_response_body(res, NULL)) : calloc(1, 1);
  nj_error_release(err);
  nj_response_release(res);
  return text;
}

static nj_request *post(const char *origin, const char *path) {
  char url[256];
  snprintf(url, sizeof url, "%s%s", origin, path);
  return nj_request_new("POST", url);
}

static void sends_files_and_forms(const char *origin) {
  char path[] = "/tmp/nightjar-use-XXXXXX.png";
  int descriptor = mkstemps(path, 4);
  CHECK(write(descriptor, "content", 7) == 7);
  close(descriptor);

  nj_request *req = post(origin, "/echo");
  CHECK(nj_request_set_body_file(req, path) == NJ_OK);
  CHECK(nj_request_set_expect_continue(req, true) == NJ_OK);
  char *text = response_to(req);
  CHECK(strstr(text, "image/png") && strstr(text, "\"content\"") && strstr(text, "100-continue"));
  free(text);
  nj_request_free(req);

  req = post(origin, "/echo");
  CHECK(nj_request_set_body_file_range(req, path, -1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body_file_range(req, path, 0, -2) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body_file_range(req, path, 2, 3) == NJ_OK);
  text = response_to(req);
  CHECK(strstr(text, "image/png") && strstr(text, "\"nte\""));
  free(text);
  CHECK(nj_request_set_body_file_range(req, path, 3, -1) == NJ_OK);
  text = response_to(req);
  CHECK(strstr(text, "\"tent\""));
  free(text);
  CHECK(nj_request_set_body_file_range(req, path, INT64_MAX, INT64_MAX) == NJ_OK);
  nj_error *range_error = NULL;
  CHECK(nj_client_send(client, req, &range_error) == NULL);
  CHECK(nj_error_kind(range_error) == NJ_INVALID_REQUEST && strstr(nj_error_message(range_error), "out of bounds"));
  nj_error_release(range_error);
  nj_request_free(req);

  nj_form *form = nj_form_new();
  CHECK(nj_form_add_text(form, "t\u00edtulo", "H\u00e9") == NJ_OK);
  CHECK(nj_form_add_bytes(form, "raw", "raw.bin", NULL, "a\0b", 3) == NJ_OK);
  CHECK(nj_form_add_file(form, "pic", path, NULL, NULL) == NJ_OK);
  CHECK(nj_form_add_file(form, "pic", path, "other.txt", "text/x-other") == NJ_OK);
  req = post(origin, "/form");
  CHECK(nj_request_set_body_form(req, form, NULL) == NJ_OK);
  /* The request has its own copy. */
  CHECK(nj_form_add_text(form, "late", "") == NJ_OK);
  text = response_to(req);
  CHECK(strstr(text, "t\u00edtulo") && strstr(text, "raw.bin") && strstr(text, "image/png") && strstr(text, "text/x-other"));
  CHECK(!strstr(text, "late"));
  free(text);
  CHECK(nj_form_add_text(form, "", "nameless") == NJ_OK);
  nj_error *err = NULL;
  CHECK(nj_request_set_body_form(req, form, &err) == NJ_INVALID_REQUEST);
  CHECK_TEXT(nj_error_message(err), "part 6 of the form, \"\": it has no name; set one");
  nj_error_release(err);
  nj_form_free(form);
  nj_request_free(req);

  unlink(path);
  req = post(origin, "/upload");
  CHECK(nj_request_set_body_file(req, path) == NJ_OK);
  err = NULL;
  CHECK(nj_client_send(client, req, &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_INVALID_REQUEST && strstr(nj_error_message(err), path));
  nj_error_release(err);
  nj_request_free(req);
}

static void sends_fields_compressed_and_on_get(const char *origin) {
  nj_request *req = post(origin, "/form");
  CHECK(nj_request_set_body(req, "gone", 4) == NJ_OK);
  CHECK(nj_request_add_form_field(req, "a b", "1&2") == NJ_OK);
  CHECK(nj_request_add_form_field(req, "a b", "\u00e9") == NJ_OK);
  nj_request *copy = nj_request_copy(req);
  CHECK(nj_request_add_form_field(req, "c", "") == NJ_OK);
  char *text = response_to(req);
  CHECK(strstr(text, "a+b=1%262&a+b=%C3%A9&c="));
  free(text);
  text = response_to(copy);
  CHECK(!strstr(text, "&c="));
  free(text);
  nj_request_free(copy);
  nj_request_free(req);

  static char large[100000];
  memset(large, 'x', sizeof large);
  req = post(origin, "/echo");
  CHECK(nj_request_set_body(req, large, sizeof large) == NJ_OK && nj_request_set_compress(req, true) == NJ_OK);
  text = response_to(req);
  CHECK(strstr(text, "\"gzip\""));
  free(text);
  nj_request_free(req);

  char url[256];
  snprintf(url, sizeof url, "%s/echo", origin);
  req = nj_request_new("GET", url);
  CHECK(nj_request_set_body(req, "query", 5) == NJ_OK);
  nj_error *err = NULL;
  CHECK(nj_client_send(client, req, &err) == NULL && nj_error_kind(err) == NJ_INVALID_REQUEST);
  nj_error_release(err);
  CHECK(nj_request_set_allow_body_on_get(req, true) == NJ_OK);
  text = response_to(req);
  CHECK(strstr(text, "\"query\""));
  free(text);
  nj_request_free(req);
}

struct parts {
  size_t bytes, calls, head_status;
};

static void on_head(void *context, nj_task *task, const nj_response *head) {
  struct parts *parts = context;
  CHECK(task != NULL);
  parts->head_status = (size_t)nj_response_status(head);
}

static void on_body(void *context, nj_task *task, const void *bytes, size_t length) {
  struct parts *parts = context;
  CHECK(task != NULL && bytes != NULL && length > 0);
  parts->bytes += length;
  parts->calls++;
}

static void streams_an_answer(const char *origin) {
  char url[256];
  snprintf(url, sizeof url, "%s/bytes/5000000", origin);
  struct parts parts = {0};
  nj_request *req = nj_request_new("GET", url);
  CHECK(nj_request_on_head(req, on_head, &parts) == NJ_OK);
  CHECK(nj_request_on_body(req, on_body, &parts) == NJ_OK);
  nj_response *res = nj_client_send(client, req, NULL);
  CHECK(res != NULL);
  size_t length = 1;
  nj_response_body(res, &length);
  CHECK(length == 0);
  CHECK(parts.bytes == 5000000 && parts.calls > 1 && parts.head_status == 200);
  nj_response_release(res);
  nj_request_free(req);
}

struct moves {
  nj_progress last;
  int calls;
};

static void on_progress(void *context, nj_task *task, const nj_progress *progress) {
  struct moves *moves = context;
  CHECK(task != NULL);
  CHECK(progress->sent >= moves->last.sent && progress->received >= moves->last.received);
  moves->last = *progress;
  moves->calls++;
}

static void tells_how_far_it_has_come(const char *origin) {
  char url[256];
  snprintf(url, sizeof url, "%s/drip?bytes=20&delay=0.03", origin);
  struct moves moves = {0};
  nj_request *req = nj_request_new("GET", url);
  CHECK(nj_request_on_progress(req, on_progress, &moves) == NJ_OK);
  nj_response *res = nj_client_send(client, req, NULL);
  CHECK(res != NULL);
  CHECK(moves.calls > 2 && moves.last.received == 20 && moves.last.received_total == 20);
  CHECK(moves.last.sent == 0 && moves.last.sent_total == 0);
  nj_response_release(res);
  int before = moves.calls;
  CHECK(nj_request_on_progress(req, NULL, NULL) == NJ_OK);
  res = nj_client_send(client, req, NULL);
  CHECK(res != NULL && moves.calls == before);
  nj_response_release(res);
  nj_request_free(req);
}

static int64_t read_part(void *context, nj_task *task, void *buffer, size_t capacity) {
  int *left = context;
  CHECK(task != NULL);
  if (*left == 0) return 0;
  if (*left < 0) return NJ_READ_FAILED;
  size_t count = capacity < (size_t)*left ? capacity : (size_t)*left;
  memset(buffer, 'x', count);
  *left -= (int)count;
  return (int64_t)count;
}

static void streams_a_body(const char *origin) {
  char url[256];
  snprintf(url, sizeof url, "%s/upload", origin);
  for (int known = 0; known < 2; known++) {
    int left = 1000000;
    nj_request *req = nj_request_new("POST", url);
    CHECK(nj_request_set_body_stream(req, known ? left : -1, read_part, &left) == NJ_OK);
    nj_error *err = NULL;
    nj_response *res = nj_client_send(client, req, &err);
    CHECK(res != NULL && left == 0);
    CHECK(res && strstr(nj_response_body(res, NULL), "1000000") != NULL);
    nj_error_release(err);
    nj_response_release(res);
    nj_request_free(req);
  }
  int broken = -1;
  nj_request *req = nj_request_new("POST", url);
  nj_request_set_body_stream(req, -1, read_part, &broken);
  nj_error *err = NULL;
  CHECK(nj_client_send(client, req, &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_INVALID_REQUEST);
  CHECK_TEXT(nj_error_message(err), "the body's source failed: nj_read_fn returned NJ_READ_FAILED");
  nj_error_release(err);
  nj_request_free(req);
}

struct tally {
  int done, ok, cancelled;
  nj_client *client;
  nj_request *next;
  nj_queue *queue;
};

static void count(void *context, nj_task *task, const nj_response *res, const nj_error *err) {
  struct tally *tally = context;
  CHECK((res == NULL) != (err == NULL));
  CHECK(nj_task_is_finished(task));
  tally->done++;
  if (res) tally->ok++;
  if (err && nj_error_kind(err) == NJ_CANCELLED) {
    tally->cancelled++;
    CHECK(nj_error_user_message(err) == NULL);
  }
  CHECK(nj_queue_poll(tally->queue, 1) == 0);
  if (tally->next) {
    nj_request *next = tally->next;
    tally->next = NULL;
    nj_task_release(nj_client_start(tally->client, next, tally->queue, count, tally, NULL));
  }
}

static void many_calls_share_a_queue(void) {
  nj_queue *queue = nj_queue_new();
  struct tally tally = {.client = client, .queue = queue};
  nj_request *req = nj_request_new("GET", "/articles/1");
  tally.next = req;
  for (int i = 0; i < 100; i++) {
    nj_task_release(nj_client_start(client, req, queue, count, &tally, NULL));
  }
  while (tally.done < 101) nj_queue_poll(queue, -1);
  CHECK(tally.ok == 101);
  nj_request_free(req);
  nj_queue_free(queue);
}

static void a_cancelled_call_completes_once(const char *origin) {
  char url[256];
  snprintf(url, sizeof url, "%s/delay/30", origin);
  nj_queue *queue = nj_queue_new();
  struct tally tally = {.client = client, .queue = queue};
  nj_request *req = nj_request_new("GET", url);
  nj_task *task = nj_client_start(client, req, queue, count, &tally, NULL);
  CHECK(!nj_task_is_finished(task));
  nj_task_cancel(task);
  nj_task_cancel(task);
  while (!tally.done) nj_queue_poll(queue, -1);
  nj_task_cancel(task);
  CHECK(nj_queue_poll(queue, 0) == 0);
  CHECK(tally.done == 1 && tally.cancelled == 1);
  nj_task_release(task);

  for (int i = 0; i < 5; i++) nj_task_release(nj_client_start(client, req, queue, count, &tally, NULL));
  nj_queue_free(queue);
  CHECK(tally.done == 6 && tally.cancelled == 6);
  nj_request_free(req);
}

static void a_freed_client_finishes_its_calls(const char *origin) {
  char url[256];
  snprintf(url, sizeof url, "%s/delay/30", origin);
  nj_client *own = nj_client_new(NULL, NULL);
  nj_queue *queue = nj_queue_new();
  struct tally tally = {.client = own, .queue = queue};
  nj_request *req = nj_request_new("GET", url);
  for (int i = 0; i < 5; i++) nj_task_release(nj_client_start(own, req, queue, count, &tally, NULL));
  nj_client_free(own);
  while (nj_queue_poll(queue, 0) > 0) continue;
  CHECK(tally.done == 5 && tally.cancelled == 5);
  nj_request_free(req);
  nj_queue_free(queue);
}

static void limits_of_time_hold(const char *origin) {
  char url[256];
  snprintf(url, sizeof url, "%s/delay/30", origin);
  nj_request *req = nj_request_new("GET", url);
  nj_request_set_total_timeout(req, 0.05);
  nj_error *err = NULL;
  CHECK(nj_client_send(client, req, &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_TIMEOUT && nj_error_phase(err) == NJ_PHASE_TOTAL);
  CHECK(nj_error_is_retryable(err) && nj_error_may_have_been_processed(err));
  nj_error_release(err);
  nj_request_set_total_timeout(req, NJ_NO_LIMIT);
  nj_request_set_idle_timeout(req, 0.05);
  err = NULL;
  CHECK(nj_client_send(client, req, &err) == NULL);
  CHECK(nj_error_phase(err) == NJ_PHASE_IDLE);
  nj_error_release(err);
  nj_request_free(req);
}

/* The Content-Type of a JSON body is the request's, then the client's, then application/json. */
static void json_keeps_a_content_type(const char *origin) {
  const char *of_client[] = {NULL, "application/vnd.api+json", "application/vnd.api+json"};
  const char *of_request[] = {NULL, NULL, "application/merge-patch+json"};
  const char *sent[] = {"\"application/json\"", "\"application/vnd.api+json\"", "\"application/merge-patch+json\""};
  for (int i = 0; i < 3; i++) {
    nj_config *config = nj_config_new();
    nj_config_set_base_url(config, origin);
    if (of_client[i] != NULL) nj_config_set_header(config, "Content-Type", of_client[i]);
    nj_client *typed = nj_client_new(config, NULL);
    nj_config_free(config);
    nj_request *req = nj_request_new("POST", "/echo");
    if (of_request[i] != NULL) nj_request_set_header(req, "Content-Type", of_request[i]);
    CHECK(nj_request_set_body_json(req, "1", 1) == NJ_OK);
    nj_response *res = nj_client_send(typed, req, NULL);
    size_t length;
    const char *body = nj_response_body(res, &length);
    for (int other = 0; other < 3; other++) CHECK((strstr(body, sent[other]) != NULL) == (other == i));
    nj_response_release(res);
    nj_request_free(req);
    nj_client_free(typed);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char base[256];
  snprintf(base, sizeof base, "%s/v1", argv[1]);
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, base) == NJ_OK);
  client = nj_client_new(config, NULL);
  nj_config_free(config);
  CHECK(client != NULL);
  reads_an_answer();
  an_unexpected_status_is_an_error_with_its_answer();
  an_expected_status_is_an_answer();
  writes_what_it_is_given();
  sends_files_and_forms(argv[1]);
  sends_fields_compressed_and_on_get(argv[1]);
  streams_an_answer(argv[1]);
  tells_how_far_it_has_come(argv[1]);
  streams_a_body(argv[1]);
  many_calls_share_a_queue();
  a_cancelled_call_completes_once(argv[1]);
  a_freed_client_finishes_its_calls(argv[1]);
  limits_of_time_hold(argv[1]);
  json_keeps_a_content_type(argv[1]);
  http2_has_streams(base);
  nj_client_free(client);
  FINISH();
}
