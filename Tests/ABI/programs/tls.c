/* HTTPS calls: accepted and rejected certificates, new and reused connections, and bodies. Leak-checked under valgrind.
 *
 *   tls HTTPS_URL CA_FILE      the server and the file of scripts/with-nginx
 */
#include "check.h"
#include <nightjar.h>

static nj_client *client_of(const char *url, const char *ca_file) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_retry_attempts(config, 1) == NJ_OK);
  if (ca_file) CHECK(nj_config_set_ca_file(config, ca_file) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  CHECK(client != NULL);
  nj_config_free(config);
  return client;
}

static nj_response *get(nj_client *client, const char *target, nj_error **error) {
  nj_request *request = nj_request_new("GET", target);
  nj_response *response = nj_client_send(client, request, error);
  nj_request_free(request);
  return response;
}

static void trusted_server(const char *url, const char *ca_file) {
  nj_client *client = client_of(url, ca_file);
  for (int i = 0; i < 3; i++) {
    nj_response *response = get(client, "1k", NULL);
    CHECK(nj_response_status(response) == 200 && nj_response_reused_connection(response) == (i > 0));
    const char *tls = nj_response_tls_json(response);
    CHECK(tls && strstr(tls, "\"version\":\"1.3\"") && strstr(tls, "CN=localhost"));
    nj_response_release(response);
  }
  /* The server closes these connections. */
  for (int i = 0; i < 3; i++) {
    nj_response *response = get(client, "close", NULL);
    CHECK(nj_response_status(response) == 200);
    nj_response_release(response);
  }
  nj_client_free(client);
}

/* The server rejects the method after it has received the body. */
static void large_request(const char *url, const char *ca_file) {
  nj_client *client = client_of(url, ca_file);
  size_t size = 900000;
  void *body = calloc(1, size);
  nj_request *request = nj_request_new("POST", "1k");
  CHECK(nj_request_set_body(request, body, size) == NJ_OK);
  nj_error *error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL && nj_error_http_status(error) == 405);
  nj_error_release(error);
  nj_request_free(request);
  free(body);
  nj_client_free(client);
}

static void untrusted_server(const char *url) {
  nj_client *client = client_of(url, NULL);
  for (int i = 0; i < 2; i++) {
    nj_error *error = NULL;
    CHECK(get(client, "1k", &error) == NULL && nj_error_kind(error) == NJ_TLS && nj_error_phase(error) == NJ_PHASE_TLS);
    CHECK(strstr(nj_error_message(error), "set tls.ca_file") != NULL);
    nj_error_release(error);
  }
  nj_client_free(client);
}

static void ignore(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)context, (void)task, (void)response, (void)error;
}

/* Freeing the client cancels the call, at any point of the handshake. */
static void freed_during_the_handshake(const char *url, const char *ca_file) {
  for (int i = 0; i < 4; i++) {
    nj_client *client = client_of(url, ca_file);
    nj_queue *queue = nj_queue_new();
    nj_request *request = nj_request_new("GET", "1k");
    nj_task_release(nj_client_start(client, request, queue, ignore, NULL, NULL));
    nj_queue_poll(queue, i * 0.01);
    nj_request_free(request);
    nj_client_free(client);
    nj_queue_free(queue);
  }
}

static void invalid_authorities(const char *url) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_ca_file(config, "/") == NJ_OK);
  nj_error *error = NULL;
  CHECK(nj_client_new(config, &error) == NULL && nj_error_kind(error) == NJ_TLS);
  CHECK(strstr(nj_error_message(error), "Is a directory") != NULL);
  nj_error_release(error);
  nj_config_free(config);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  trusted_server(argv[1], argv[2]);
  large_request(argv[1], argv[2]);
  untrusted_server(argv[1]);
  freed_during_the_handshake(argv[1], argv[2]);
  invalid_authorities(argv[1]);
  FINISH();
}
