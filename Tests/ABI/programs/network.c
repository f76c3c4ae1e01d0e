/* The status of the network, its changes, and calls that wait for the network. Needs no server. */
#include "check.h"
#include <math.h>
#include <nightjar.h>

static nj_client *mocked(double wait) {
  nj_config *config = nj_config_new();
  nj_error *error = NULL;
  CHECK(nj_config_set_base_url(config, "http://api.test/") == NJ_OK);
  static const char routes[] = "[{\"path\": \"/a\", \"response\": {\"status\": 204}}]";
  CHECK(nj_config_set_mock(config, routes, sizeof routes - 1, &error) == NJ_OK);
  CHECK(nj_config_set_allow_constrained(config, false) == NJ_OK);
  CHECK(nj_config_set_allow_metered(config, true) == NJ_OK);
  CHECK(nj_config_set_wait_for_connectivity(config, wait) == NJ_OK);
  CHECK(nj_config_set_wait_for_connectivity(config, -1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_wait_for_connectivity(config, NAN) == NJ_INVALID_ARGUMENT);
  nj_client *client = nj_client_new(config, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  nj_config_free(config);
  return client;
}

static void status(void) {
  nj_network *network = nj_network_status();
  CHECK(network != NULL);
  (void)nj_network_is_online(network);
  CHECK(nj_network_metered(network) >= NJ_UNKNOWN && nj_network_metered(network) <= NJ_YES);
  CHECK(nj_network_captive(network) >= NJ_UNKNOWN && nj_network_captive(network) <= NJ_YES);
  CHECK(!nj_network_is_constrained(network));
  const char *interface = nj_network_interface(network);
  CHECK(interface == NULL || strlen(interface) > 0);
  const char *kind = nj_network_kind(network);
  CHECK(kind == NULL || strlen(kind) > 0);
  nj_network_free(network);
  nj_network_free(NULL);
  CHECK(nj_network_is_online(NULL));
  CHECK(nj_network_metered(NULL) == NJ_UNKNOWN && nj_network_captive(NULL) == NJ_UNKNOWN);
  CHECK(!nj_network_is_constrained(NULL) && !nj_network_interface(NULL) && !nj_network_kind(NULL));
}

typedef struct events { int count, constrained; } events;

static void changed(void *context, const nj_network *network) {
  events *seen = context;
  seen->count++;
  seen->constrained = nj_network_is_constrained(network);
}

static void changes(void) {
  nj_queue *queue = nj_queue_new();
  events seen = {0};
  nj_network_observer *observer = nj_network_observer_new(queue, changed, &seen, NULL);
  CHECK(observer != NULL);
  while (seen.count == 0) nj_queue_poll(queue, 5);
  CHECK(seen.count == 1 && !seen.constrained);
  nj_network_set_constrained(true);
  nj_network_set_constrained(true);
  while (seen.count == 1) nj_queue_poll(queue, 5);
  CHECK(seen.count == 2 && seen.constrained);
  nj_network_set_constrained(false);
  nj_network_observer_free(observer); /* The event is in the queue. */
  nj_queue_poll(queue, 0);
  CHECK(seen.count == 2);
  nj_network_observer_free(NULL);
  nj_error *error = NULL;
  CHECK(nj_network_observer_new(NULL, changed, NULL, &error) == NULL && nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  CHECK(nj_network_observer_new(queue, NULL, NULL, NULL) == NULL);
  nj_queue_free(queue);
}

static void refused(void) {
  nj_error *error = NULL;
  nj_client *client = mocked(0);
  nj_request *request = nj_request_new("GET", "/a");
  nj_network_set_constrained(true);
  nj_response *response = nj_client_send(client, request, &error);
  CHECK(response == NULL && nj_error_kind(error) == NJ_OFFLINE);
  CHECK(nj_error_offline_reason(error) == NJ_OFFLINE_CONSTRAINED);
  nj_error_release(error);
  CHECK(nj_error_offline_reason(NULL) == NJ_OFFLINE_REASON_UNKNOWN);
  CHECK(nj_request_set_allow_constrained(request, true) == NJ_OK);
  CHECK(nj_request_set_allow_metered(request, true) == NJ_OK);
  response = nj_client_send(client, request, &error);
  CHECK(nj_response_status(response) == 204);
  nj_response_release(response);
  nj_network_set_constrained(false);
  CHECK(nj_request_set_wait_for_connectivity(request, -1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_wait_for_connectivity(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_allow_metered(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_allow_constrained(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_allow_metered(NULL, true) == NJ_INVALID_ARGUMENT);
  nj_request_free(request);
  nj_client_free(client);
}

typedef struct call { int waits; bool is_done; int status; } call;

static void waits(void *context, nj_task *task, nj_offline_reason reason) {
  (void)task;
  ((call *)context)->waits++;
  CHECK(reason == NJ_OFFLINE_CONSTRAINED);
  nj_network_set_constrained(false);
}

static void done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task, (void)error;
  ((call *)context)->status = nj_response_status(response);
  ((call *)context)->is_done = true;
}

static void waiting(void) {
  nj_client *client = mocked(30);
  nj_queue *queue = nj_queue_new();
  nj_request *request = nj_request_new("GET", "/a");
  call state = {0};
  CHECK(nj_request_on_waiting(request, waits, &state) == NJ_OK);
  CHECK(nj_request_on_waiting(NULL, waits, NULL) == NJ_INVALID_ARGUMENT);
  nj_network_set_constrained(true);
  nj_task *task = nj_client_start(client, request, queue, done, &state, NULL);
  while (!state.is_done) nj_queue_poll(queue, 5);
  CHECK(state.waits == 1 && state.status == 204);
  nj_task_release(task);

  /* A call that waits can be cancelled. */
  state = (call){0};
  CHECK(nj_request_on_waiting(request, NULL, NULL) == NJ_OK);
  nj_network_set_constrained(true);
  task = nj_client_start(client, request, queue, done, &state, NULL);
  nj_queue_poll(queue, 0.05);
  nj_task_cancel(task);
  while (!state.is_done) nj_queue_poll(queue, 5);
  CHECK(state.status == 0);
  nj_task_release(task);

  /* Closing the client ends the wait. */
  state = (call){0};
  task = nj_client_start(client, request, queue, done, &state, NULL);
  nj_client_free(client);
  while (!state.is_done) nj_queue_poll(queue, 5);
  nj_task_release(task);
  nj_network_set_constrained(false);
  nj_request_free(request);
  nj_queue_free(queue);
}

int main(void) {
  status();
  changes();
  refused();
  waiting();
  FINISH();
}
