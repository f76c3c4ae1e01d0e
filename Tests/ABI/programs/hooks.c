/* Redirect callbacks, and hooks before and after each call, against the demo API whose URL is the argument. */
#define _GNU_SOURCE
#include "check.h"
#include <nightjar.h>
#include <time.h>

typedef struct seen {
  int before, responses, errors, redirects;
  nj_status action;
  nj_redirect_action redirect;
  const char *url;
} seen;

static nj_status before(void *context, nj_prepared_request *request) {
  seen *self = context;
  self->before++;
  CHECK_TEXT(nj_prepared_request_method(request), "GET");
  CHECK(strncmp(nj_prepared_request_url(request), "http://127.0.0.1:", 17) == 0);
  CHECK(nj_prepared_request_header(request, "X-Signature") == NULL);
  CHECK(nj_prepared_request_set_header(request, "X-Signature", "signed") == NJ_OK);
  CHECK_TEXT(nj_prepared_request_header(request, "x-signature"), "signed");
  CHECK(nj_prepared_request_set_header(request, "User-Agent", NULL) == NJ_OK);
  CHECK(nj_prepared_request_set_header(request, "X-Note", "two\r\nlines") == NJ_INVALID_REQUEST);
  CHECK(nj_prepared_request_set_header(request, "Content-Length", "7") == NJ_INVALID_REQUEST);
  CHECK(nj_prepared_request_set_header(request, "Host", NULL) == NJ_INVALID_REQUEST);
  CHECK(nj_prepared_request_set_header(request, NULL, "a") == NJ_INVALID_ARGUMENT);
  return self->action;
}

static void after(void *context, const nj_response *response, const nj_error *error) {
  seen *self = context;
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
  *status = response != NULL ? nj_response_status(response) : -(int)nj_error_kind(error);
}

static nj_client *client;
static seen hooks;

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
  hooks_see_each_call();
  a_host_that_never_polls_is_bounded();
  redirects_are_asked_about();
  nj_client_free(client);
  FINISH();
}
