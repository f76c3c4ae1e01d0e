/* Redirect callbacks, and hooks before and after each call, against the demo API whose URL is the argument. */
#define _GNU_SOURCE
#include "check.h"
#include <nightjar.h>
#include <strings.h>
#include <time.h>

typedef struct seen {
  int before, responses, errors, redirects;
  int64_t call_id, ended_call_id;
  const char *method, *body, *digest;
  nj_status action;
  nj_redirect_action redirect;
  const char *url;
} seen;

static nj_status before(void *context, nj_prepared_request *request) {
  seen *self = context;
  self->before++;
  CHECK_TEXT(nj_prepared_request_method(request), self->method);
  CHECK(nj_prepared_request_call_id(request) > self->call_id);
  self->call_id = nj_prepared_request_call_id(request);
  size_t length = 77;
  const char *body = nj_prepared_request_body(request, &length);
  if (self->body == NULL) {
    CHECK(body == NULL && length == 0 && nj_prepared_request_body_sha256(request) == NULL);
  } else {
    CHECK(body != NULL && length == strlen(self->body) && memcmp(body, self->body, length) == 0);
    CHECK(nj_prepared_request_body(request, NULL) == body || length == 0);
    CHECK_TEXT(nj_prepared_request_body_sha256(request), self->digest);
  }
  size_t count = nj_prepared_request_header_count(request), hosts = 0;
  for (size_t index = 0; index < count; index++) {
    const char *name = nj_prepared_request_header_name_at(request, index);
    CHECK_TEXT(nj_prepared_request_header_value_at(request, index), nj_prepared_request_header(request, name));
    hosts += strcasecmp(name, "host") == 0;
  }
  CHECK(hosts == 1);
  CHECK(!nj_prepared_request_header_name_at(request, count) && !nj_prepared_request_header_value_at(request, count));
  const char *name = nj_prepared_request_header_name_at(request, 0);
  CHECK(strncmp(nj_prepared_request_url(request), "http://127.0.0.1:", 17) == 0);
  CHECK(nj_prepared_request_header(request, "X-Signature") == NULL);
  CHECK(nj_prepared_request_set_header(request, "X-Signature", "signed") == NJ_OK);
  CHECK_TEXT(nj_prepared_request_header(request, "x-signature"), "signed");
  CHECK(nj_prepared_request_header_count(request) == count + 1);
  CHECK_TEXT(name, nj_prepared_request_header_name_at(request, 0)); /* texts stay valid after a change */
  CHECK(nj_prepared_request_set_header(request, "User-Agent", NULL) == NJ_OK);
  CHECK(nj_prepared_request_set_header(request, "X-Note", "two\r\nlines") == NJ_INVALID_REQUEST);
  CHECK(nj_prepared_request_set_header(request, "Content-Length", "7") == NJ_INVALID_REQUEST);
  CHECK(nj_prepared_request_set_header(request, "Host", NULL) == NJ_INVALID_REQUEST);
  CHECK(nj_prepared_request_set_header(request, NULL, "a") == NJ_INVALID_ARGUMENT);
  return self->action;
}

static void after(void *context, const nj_prepared_request *request, const nj_response *response,
                  const nj_error *error) {
  seen *self = context;
  self->ended_call_id = nj_prepared_request_call_id(request);
  CHECK(self->ended_call_id == self->call_id);
  CHECK_TEXT(nj_prepared_request_method(request), self->method);
  CHECK(strncmp(nj_prepared_request_url(request), "http://127.0.0.1:", 17) == 0);
  if (response != NULL) CHECK_TEXT(nj_prepared_request_header(request, "X-Signature"), "signed");
  CHECK(nj_prepared_request_set_header((nj_prepared_request *)request, "A", "b") == NJ_INVALID_ARGUMENT);
  CHECK((response == NULL) != (error == NULL));
  if (response != NULL) self->responses++;
  else self->errors++;
}

static nj_redirect_action redirected(void *context, nj_task *task, nj_proposed_redirect *redirect) {
  seen *self = context;
  CHECK(task != NULL);
  CHECK(nj_proposed_redirect_status(redirect) == 302);
  CHECK(strstr(nj_proposed_redirect_source_url(redirect), "/redirect/") != NULL);
  CHECK(nj_proposed_redirect_url(redirect) != NULL);
  CHECK_TEXT(nj_proposed_redirect_method(redirect), "GET");
  if (self->url != NULL) CHECK(nj_proposed_redirect_set_url(redirect, self->url) == NJ_OK);
  self->redirects++;
  return self->redirect;
}

static void done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task;
  int *status = context;
  CHECK(task == NULL || nj_task_call_id(task) > 0);
  *status = response != NULL ? nj_response_status(response) : -(int)nj_error_kind(error);
}

static nj_client *client;
#define NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
static const char *base;
static seen hooks = {.method = "GET", .body = "", .digest = NOTHING};

/* The status of the response to a blocking call, or the negative error kind. */
static int call(nj_request *request) {
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  int status = response != NULL ? nj_response_status(response) : -(int)nj_error_kind(error);
  if (response != NULL && strcasestr(nj_response_body(response, NULL), "X-Signature") == NULL) status += 1000;
  nj_response_release(response);
  nj_error_release(error);
  return status;
}

static int start(nj_request *request, double timeout) {
  int status = 0;
  nj_queue *queue = nj_queue_new();
  nj_task *task = nj_client_start(client, request, queue, done, &status, NULL);
  for (int round = 0; round < 100 && status == 0; round++) nj_queue_poll(queue, timeout);
  nj_task_release(task);
  nj_queue_free(queue);
  return status;
}

static void hooks_see_each_call(void) {
  nj_request *request = nj_request_new("GET", "/echo");
  CHECK(call(request) == 200);
  CHECK(hooks.before == 1 && hooks.responses == 1 && hooks.errors == 0);
  CHECK(start(request, 1) == 200);
  CHECK(hooks.before == 2 && hooks.responses == 2);
  hooks.action = NJ_FORBIDDEN;
  CHECK(call(request) == -NJ_FORBIDDEN);
  CHECK(hooks.before == 3 && hooks.errors == 1);
  hooks.action = NJ_OK;
  nj_request_free(request);
}

static int64_t read_nothing(void *context, nj_task *task, void *buffer, size_t capacity) {
  (void)context, (void)task, (void)buffer, (void)capacity;
  return 0;
}

static void hooks_read_the_body(void) {
  nj_request *request = nj_request_new("POST", "/echo");
  CHECK(nj_request_set_body(request, "abc", 3) == NJ_OK);
  hooks.method = "POST";
  hooks.body = "abc";
  hooks.digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  CHECK(call(request) == 200);
  CHECK(nj_request_set_body_stream(request, -1, read_nothing, NULL) == NJ_OK);
  hooks.body = NULL;
  CHECK(call(request) == 200);
  hooks.method = "GET";
  hooks.body = "";
  hooks.digest = NOTHING;
  nj_request_free(request);
}

static void a_task_has_the_number_of_its_call(void) {
  int status = 0;
  nj_request *request = nj_request_new("GET", "/echo");
  nj_queue *queue = nj_queue_new();
  nj_task *task = nj_client_start(client, request, queue, done, &status, NULL);
  while (status == 0) nj_queue_poll(queue, 1);
  CHECK(nj_task_call_id(task) == hooks.ended_call_id && hooks.ended_call_id > 0);
  nj_task_release(task);
  nj_queue_free(queue);
  nj_request_free(request);
}

static void trailers_can_be_listed(void) {
  nj_client *plain = nj_client_new(NULL, NULL);
  char url[200];
  snprintf(url, sizeof url, "%s/trailers?bytes=10", base);
  nj_request *request = nj_request_new("GET", url);
  nj_response *response = nj_client_send(plain, request, NULL);
  CHECK(nj_response_trailer_count(response) == 2);
  CHECK(strcasecmp(nj_response_trailer_name_at(response, 0), "X-Length") == 0);
  CHECK_TEXT(nj_response_trailer_value_at(response, 0), "10");
  CHECK_TEXT(nj_response_trailer_value_at(response, 1), nj_response_trailer(response, "x-crc32"));
  CHECK(!nj_response_trailer_name_at(response, 2) && !nj_response_trailer_value_at(response, 2));
  nj_response_release(response);
  /* The response of an error has them, too. */
  nj_request_expect_status(request, 201, 201);
  nj_error *error = NULL;
  CHECK(nj_client_send(plain, request, &error) == NULL);
  CHECK(nj_response_trailer_count(nj_error_response(error)) == 2);
  nj_error_release(error);
  nj_request_free(request);
  nj_client_free(plain);
}

static void a_host_that_never_polls_is_bounded(void) {
  nj_request *request = nj_request_new("GET", "/echo");
  nj_request_set_total_timeout(request, 0.05);
  int status = 0;
  nj_queue *queue = nj_queue_new();
  nj_task *task = nj_client_start(client, request, queue, done, &status, NULL);
  for (int round = 0; round < 500 && !nj_task_is_finished(task); round++) {
    struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    nanosleep(&pause, NULL);
  }
  CHECK(nj_task_is_finished(task));
  while (status == 0) nj_queue_poll(queue, 1);
  CHECK(status == -NJ_TIMEOUT);
  nj_task_release(task);
  nj_queue_free(queue);
  nj_request_free(request);
}

static void redirects_are_asked_about(void) {
  nj_request *request = nj_request_new("GET", "/redirect/2");
  CHECK(nj_request_on_redirect(request, redirected, &hooks) == NJ_OK);
  nj_request *copy = nj_request_copy(request);
  CHECK(call(copy) == 200 && hooks.redirects == 2);
  CHECK(start(request, 1) == 200 && hooks.redirects == 4);
  hooks.redirect = NJ_REDIRECT_FAIL;
  CHECK(call(request) == -NJ_CANCELLED);
  hooks.redirect = NJ_REDIRECT_STOP;
  CHECK(call(request) == -NJ_CLIENT);
  nj_request_expect_status(copy, 302, 302);
  CHECK(start(copy, 1) == 302);
  hooks.redirect = NJ_REDIRECT_FOLLOW;
  hooks.url = "/echo?changed";
  hooks.redirects = 0;
  CHECK(call(request) == 200 && hooks.redirects == 1);
  hooks.url = "ftp://elsewhere/";
  CHECK(call(request) == -NJ_PROTOCOL);
  hooks.url = NULL;
  CHECK(nj_request_on_redirect(request, NULL, NULL) == NJ_OK);
  hooks.redirects = 0;
  CHECK(call(request) == 200 && hooks.redirects == 0);
  nj_request_free(request);
  nj_request_free(copy);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  CHECK(nj_config_on_request(config, before, &hooks) == NJ_OK);
  CHECK(nj_config_on_response(config, after, &hooks) == NJ_OK);
  client = nj_client_new(config, NULL);
  nj_config_free(config);
  CHECK(client != NULL);
  base = argv[1];
  hooks_see_each_call();
  hooks_read_the_body();
  a_task_has_the_number_of_its_call();
  trailers_can_be_listed();
  a_host_that_never_polls_is_bounded();
  redirects_are_asked_about();
  nj_client_free(client);
  FINISH();
}
