/* The outbox. The arguments are the URL of the demo API and an empty folder. */
#define _DEFAULT_SOURCE
#include "calls.h"
#include <string.h>

static const char *url;
static char journal[4096];
static int changes;
static nj_outbox_state last_state;

static void changed(void *context, const nj_outbox_entry *entry) {
  CHECK(context == &changes && nj_outbox_entry_id(entry) != NULL);
  changes++;
  last_state = nj_outbox_entry_state(entry);
}

static nj_client *new_client(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_journal(config, journal) == NJ_OK);
  nj_client *client = NULL;
  SUCCEEDS((client = nj_client_new(config, &error)) != NULL);
  nj_config_free(config);
  return client;
}

static nj_outbox_entry *record(nj_outbox *outbox, const char *method, const char *target, const char *body,
                               const char *options, nj_error **error) {
  nj_request *request = nj_request_new(method, target);
  nj_request_set_body(request, body, strlen(body));
  nj_request_set_header(request, "Content-Type", "application/json");
  nj_outbox_entry *entry = nj_outbox_record(outbox, request, options, options ? strlen(options) : 0, error);
  nj_request_free(request);
  return entry;
}

/* Polls until the callback was called. */
static void await_change(nj_queue *queue) {
  for (int before = changes, round = 0; changes == before && round < 600; round++) nj_queue_poll(queue, 0.1);
}

static void delivers(nj_client *client, nj_queue *queue) {
  static const char options[] = "{\"name\": \"c\", \"retry_delay\": 0.01}";
  nj_outbox *outbox = NULL;
  SUCCEEDS((outbox = nj_outbox_new(client, options, strlen(options), queue, changed, &changes, &error)) != NULL);
  nj_outbox_entry *entry = NULL;
  SUCCEEDS((entry = record(outbox, "POST", "/v1/orders", "{\"item\": \"tea\"}", "{\"id\": \"order\"}", &error)) != NULL);
  CHECK_TEXT(nj_outbox_entry_id(entry), "order");
  nj_outbox_entry_free(entry);
  SUCCEEDS((entry = nj_outbox_wait(outbox, "order", 60, &error)) != NULL);
  CHECK(nj_outbox_entry_state(entry) == NJ_OUTBOX_DONE && nj_outbox_entry_error(entry) == NULL);
  CHECK(strstr(nj_outbox_entry_json(entry, NULL), "\"status\":201") != NULL);
  nj_outbox_entry_free(entry);
  await_change(queue);
  CHECK(changes == 1 && last_state == NJ_OUTBOX_DONE);

  /* A conflict, which is resolved. */
  SUCCEEDS((entry = record(outbox, "PATCH", "/v1/articles/4", "{\"title\": \"Mine\"}",
                           "{\"id\": \"title\", \"if_match\": \"\\\"old\\\"\"}", &error)) != NULL);
  nj_outbox_entry_free(entry);
  await_change(queue);
  CHECK(last_state == NJ_OUTBOX_CONFLICT);
  SUCCEEDS((entry = nj_outbox_get(outbox, "title", &error)) != NULL);
  CHECK(nj_outbox_entry_state(entry) == NJ_OUTBOX_CONFLICT);
  CHECK(nj_error_kind(nj_outbox_entry_error(entry)) == NJ_CONTENT_CHANGED);
  CHECK(strstr(nj_outbox_entry_json(entry, NULL), "\"theirs\":{\"status\":200") != NULL);
  nj_outbox_entry_free(entry);
  FAILS(nj_outbox_wait(outbox, "title", 60, &error) ? NJ_OK : NJ_CONTENT_CHANGED, NJ_CONTENT_CHANGED);
  SUCCEEDS(nj_outbox_retry(outbox, "title", &error) == NJ_OK);
  await_change(queue);
  CHECK(last_state == NJ_OUTBOX_CONFLICT);
  static const char merged[] = "{\"json\": {\"title\": \"Merged\"}}";
  SUCCEEDS(nj_outbox_resolve(outbox, "title", merged, strlen(merged), &error) == NJ_OK);
  SUCCEEDS((entry = nj_outbox_wait(outbox, "title", 60, &error)) != NULL);
  nj_outbox_entry_free(entry);
  FAILS(nj_outbox_resolve(outbox, "title", NULL, 0, &error), NJ_STORAGE);

  size_t length = 0;
  char *list = NULL;
  SUCCEEDS((list = nj_outbox_list_json(outbox, &length, &error)) != NULL);
  CHECK(length == strlen(list) && strstr(list, "\"order\"") < strstr(list, "\"title\""));
  nj_text_free(list);
  SUCCEEDS(nj_outbox_remove(outbox, "order", &error) == NJ_OK);
  SUCCEEDS(nj_outbox_remove(outbox, "order", &error) == NJ_OK);
  SUCCEEDS((nj_outbox_get(outbox, "order", &error)) == NULL);
  nj_outbox_free(outbox);
}

static void survives(nj_client *client, nj_queue *queue) {
  nj_outbox *outbox = NULL;
  nj_outbox_entry *entry = NULL;
  SUCCEEDS((outbox = nj_outbox_new(client, NULL, 0, queue, NULL, NULL, &error)) != NULL);
  SUCCEEDS((entry = record(outbox, "POST", "http://127.0.0.1:1/", "{}", "{\"id\": \"kept\"}", &error)) != NULL);
  nj_outbox_entry_free(entry);
  FAILS(nj_outbox_wait(outbox, "kept", 0.1, &error) ? NJ_OK : NJ_TIMEOUT, NJ_TIMEOUT);
  nj_outbox_free(outbox);
  SUCCEEDS((outbox = nj_outbox_new(client, NULL, 0, queue, NULL, NULL, &error)) != NULL);
  SUCCEEDS((entry = nj_outbox_get(outbox, "kept", &error)) != NULL);
  nj_outbox_entry_free(entry);
  nj_outbox_free(outbox);
}

/* An outbox that does not send records, reads and decides. */
static void is_quiet(nj_client *client, nj_queue *queue) {
  static const char options[] = "{\"name\": \"quiet\", \"send\": false}", sending[] = "{\"name\": \"quiet\"}";
  nj_outbox *quiet = NULL, *outbox = NULL;
  nj_outbox_entry *entry = NULL;
  SUCCEEDS((quiet = nj_outbox_new(client, options, strlen(options), queue, NULL, NULL, &error)) != NULL);
  SUCCEEDS((entry = record(quiet, "POST", "/v1/orders", "{", "{\"id\": \"quiet\"}", &error)) != NULL);
  nj_outbox_entry_free(entry);
  FAILS(nj_outbox_wait(quiet, "quiet", 0.2, &error) ? NJ_OK : NJ_TIMEOUT, NJ_TIMEOUT);
  SUCCEEDS(nj_outbox_retry(quiet, "quiet", &error) == NJ_OK);
  SUCCEEDS((entry = nj_outbox_get(quiet, "quiet", &error)) != NULL);
  CHECK(nj_outbox_entry_state(entry) == NJ_OUTBOX_PENDING);
  nj_outbox_entry_free(entry);
  SUCCEEDS((outbox = nj_outbox_new(client, sending, strlen(sending), queue, NULL, NULL, &error)) != NULL);
  FAILS(nj_outbox_wait(outbox, "quiet", 60, &error) ? NJ_OK : NJ_CLIENT, NJ_CLIENT);
  nj_outbox_free(outbox);
  SUCCEEDS((entry = nj_outbox_get(quiet, "quiet", &error)) != NULL);
  CHECK(nj_outbox_entry_state(entry) == NJ_OUTBOX_PARKED);
  CHECK(strstr(nj_outbox_entry_json(entry, NULL), "\"mine\":{\"body\":\"{\"}") != NULL);
  nj_outbox_entry_free(entry);
  SUCCEEDS(nj_outbox_remove(quiet, "quiet", &error) == NJ_OK);
  nj_outbox_free(quiet);
}

static void rejects(nj_client *client, nj_queue *queue) {
  nj_outbox *outbox = NULL;
  FAILS(nj_outbox_new(NULL, NULL, 0, queue, NULL, NULL, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_outbox_new(client, "{\"nme\": 1}", 10, queue, NULL, NULL, &error) ? NJ_OK : NJ_INVALID_ARGUMENT,
        NJ_INVALID_ARGUMENT);
  FAILS(nj_outbox_new(client, NULL, 0, NULL, changed, NULL, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  SUCCEEDS((outbox = nj_outbox_new(client, NULL, 0, queue, NULL, NULL, &error)) != NULL);
  FAILS(nj_outbox_record(outbox, NULL, NULL, 0, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(record(outbox, "GET", "/", "", NULL, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(record(outbox, "POST", "/", "", "{\"ids\": 1}", &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  nj_request *request = nj_request_new("POST", "/");
  nj_request_set_header(request, "Authorization", "Bearer secret");
  FAILS(nj_outbox_record(outbox, request, NULL, 0, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  nj_request_free(request);
  FAILS(nj_outbox_get(NULL, "a", &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_outbox_list_json(NULL, NULL, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_outbox_wait(outbox, "none", 1, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_outbox_retry(outbox, "none", &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_outbox_resolve(outbox, "none", "{}", 2, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_outbox_remove(outbox, NULL, &error), NJ_INVALID_ARGUMENT);
  CHECK(nj_outbox_entry_id(NULL) == NULL && nj_outbox_entry_json(NULL, NULL) == NULL && nj_outbox_entry_error(NULL) == NULL);
  CHECK(nj_outbox_entry_state(NULL) == NJ_OUTBOX_PENDING);
  nj_outbox_entry_free(NULL);
  nj_outbox_free(NULL);
  nj_outbox_free(outbox);
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  url = argv[1];
  snprintf(journal, sizeof journal, "%s/journal.db", argv[2]);
  nj_client *client = new_client();
  nj_queue *queue = nj_queue_new();
  delivers(client, queue);
  survives(client, queue);
  is_quiet(client, queue);
  rejects(client, queue);
  nj_client_free(client);
  nj_queue_free(queue);
  FINISH();
}
