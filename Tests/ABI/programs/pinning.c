/* Certificate pinning against the server NIGHTJAR_HTTPS_URL, whose certificate authority is the file NIGHTJAR_CA_FILE. */
#include "check.h"
#include <nightjar.h>

#define BACKUP "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define OTHER "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="

typedef struct seen {
  int enforced, reported;
  char server[80];
} seen;

static const char *url, *authorities;

static void mismatch(void *context, const nj_pin_report *report) {
  seen *self = context;
  CHECK_TEXT(nj_pin_report_host(report), "localhost");
  if (nj_pin_report_is_enforced(report)) self->enforced++;
  else self->reported++;
  CHECK(nj_pin_report_expected_count(report) == 2);
  CHECK_TEXT(nj_pin_report_expected_at(report, 0), BACKUP);
  CHECK_TEXT(nj_pin_report_expected_at(report, 1), OTHER);
  CHECK(nj_pin_report_expected_at(report, 2) == NULL);
  CHECK(nj_pin_report_served_count(report) == 2); /* the server's and its authority's */
  snprintf(self->server, sizeof self->server, "%s", nj_pin_report_served_at(report, 0));
  CHECK(strncmp(self->server, "sha256/", 7) == 0);
  CHECK(nj_pin_report_served_at(report, 1) != NULL);
  CHECK(nj_pin_report_served_at(report, 2) == NULL);
}

static nj_client *client_with(const char *first, nj_queue *queue, seen *self) {
  char json[512];
  int length = snprintf(json, sizeof json,
                        "{\"retry\": false, \"tls\": {\"pins\": {\"localhost\": {\"pins\": [\"%s\", \"%s\"],"
                        " \"report_only_after\": \"9999-12-31\"}}}}",
                        first, OTHER);
  nj_error *error = NULL;
  nj_config *config = nj_config_new();
  CHECK(nj_config_merge_json(config, json, (size_t)length, &error) == NJ_OK);
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_ca_file(config, authorities) == NJ_OK);
  CHECK(nj_config_on_pin_mismatch(config, queue, mismatch, self) == NJ_OK);
  nj_client *client = nj_client_new(config, &error);
  CHECK(client != NULL);
  nj_config_free(config);
  return client;
}

/* The status of the response, or the negative kind of the error. */
static int get(nj_client *client) {
  nj_error *error = NULL;
  nj_request *request = nj_request_new("GET", "/1k");
  nj_response *response = nj_client_send(client, request, &error);
  int status = response != NULL ? nj_response_status(response) : -(int)nj_error_kind(error);
  if (error != NULL) {
    CHECK(nj_error_phase(error) == NJ_PHASE_TLS);
    CHECK(!nj_error_is_retryable(error));
    CHECK(strstr(nj_error_message(error), BACKUP) != NULL);
  }
  nj_response_release(response);
  nj_error_release(error);
  nj_request_free(request);
  return status;
}

static nj_retry_action retry_always(void *context, nj_task *task, nj_failed_attempt *attempt) {
  (void)task, (void)attempt;
  ++*(int *)context;
  return NJ_RETRY_AGAIN;
}

static void mismatches_are_never_retried(nj_queue *queue) {
  seen self = {0};
  nj_client *client = client_with(BACKUP, queue, &self);
  int count = 0;
  nj_error *error = NULL;
  nj_request *request = nj_request_new("GET", "/1k");
  CHECK(nj_request_on_retry(request, retry_always, &count) == NJ_OK);
  CHECK(nj_client_send(client, request, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_PIN_MISMATCH && nj_error_attempts(error) == 1 && count == 0);
  CHECK(nj_error_tls_json(error, NULL) == NULL);
  CHECK(nj_queue_poll(queue, 5) == 1 && self.enforced == 1);
  nj_error_release(error);
  nj_request_free(request);
  nj_client_free(client);
}

static void modes(nj_queue *queue) {
  seen self = {0};
  nj_client *client = client_with(BACKUP, queue, &self);
  CHECK(get(client) == -NJ_PIN_MISMATCH);
  CHECK(nj_queue_poll(queue, 5) == 1);
  CHECK(self.enforced == 1 && self.reported == 0);
  CHECK(nj_client_set_pinning(client, NJ_PINNING_REPORT) == NJ_OK);
  CHECK(get(client) == 200);
  CHECK(nj_queue_poll(queue, 5) == 1);
  CHECK(self.enforced == 1 && self.reported == 1);
  CHECK(nj_client_set_pinning(client, NJ_PINNING_OFF) == NJ_OK);
  CHECK(get(client) == 200);
  CHECK(nj_client_set_pinning(client, NJ_PINNING_ENFORCE) == NJ_OK);
  CHECK(get(client) == -NJ_PIN_MISMATCH); /* the idle connection is not used */
  CHECK(nj_queue_poll(queue, 5) == 1);
  CHECK(self.enforced == 2 && self.reported == 1);
  nj_client_free(client);

  client = client_with(self.server, queue, &self);
  CHECK(get(client) == 200);
  CHECK(nj_queue_poll(queue, 0) == 0);
  nj_client_free(client);
}

static void misuse(nj_queue *queue) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_on_pin_mismatch(NULL, queue, mismatch, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_on_pin_mismatch(config, NULL, mismatch, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_on_pin_mismatch(config, NULL, NULL, NULL) == NJ_OK);
  const char *one = "{\"tls\": {\"pins\": {\"localhost\": [\"" BACKUP "\"]}}}";
  nj_error *error = NULL;
  CHECK(nj_config_merge_json(config, one, strlen(one), &error) == NJ_INVALID_ARGUMENT);
  CHECK(error != NULL && strstr(nj_error_message(error), "at least two different pins are required") != NULL);
  nj_error_release(error);
  const char *two = "{\"tls\": {\"verify\": false, \"pins\": {\"localhost\": [\"" BACKUP "\", \"" OTHER "\"]}}}";
  CHECK(nj_config_merge_json(config, two, strlen(two), &error) == NJ_OK);
  CHECK(nj_client_new(config, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  nj_config_free(config);

  nj_client *client = nj_client_new(NULL, NULL);
  CHECK(nj_client_set_pinning(client, (nj_pinning)3) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_set_pinning(client, NJ_PINNING_OFF) == NJ_OK); /* no pins: no effect */
  CHECK(nj_client_set_pinning(NULL, NJ_PINNING_OFF) == NJ_INVALID_ARGUMENT);
  nj_client_free(client);
  CHECK(nj_pin_report_host(NULL) == NULL);
  CHECK(!nj_pin_report_is_enforced(NULL));
  CHECK(nj_pin_report_expected_count(NULL) == 0 && nj_pin_report_expected_at(NULL, 0) == NULL);
  CHECK(nj_pin_report_served_count(NULL) == 0 && nj_pin_report_served_at(NULL, 0) == NULL);
}

int main(void) {
  url = getenv("NIGHTJAR_HTTPS_URL");
  authorities = getenv("NIGHTJAR_CA_FILE");
  CHECK(url != NULL && authorities != NULL);
  if (url == NULL || authorities == NULL) FINISH();
  nj_queue *queue = nj_queue_new();
  mismatches_are_never_retried(queue);
  modes(queue);
  misuse(queue);
  nj_queue_free(queue);
  FINISH();
}
