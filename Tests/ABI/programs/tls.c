/* HTTPS calls: accepted and rejected certificates, new and reused connections, and bodies. Leak-checked under valgrind.
 *
 *   tls HTTPS_URL CA_FILE      the server and the file of scripts/with-nginx
 */
#include "check.h"
#include <nightjar.h>
#include <sys/stat.h>
#include <unistd.h>

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
    const char *tls = nj_response_tls_json(response, NULL);
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

typedef struct steps {
  int connected, secured, sent, reused;
  double duration;
} steps;

static void count_steps(void *context, const nj_observation *step) {
  steps *seen = context;
  switch (nj_observation_step(step)) {
  case NJ_STEP_CONNECTED: seen->connected++; break;
  case NJ_STEP_SECURED:
    CHECK(seen->connected == seen->secured + 1 && seen->sent < seen->connected);
    CHECK(nj_observation_call_id(step) > 0 && nj_observation_time(step) > 0 && nj_observation_attempt(step) == 1);
    CHECK(nj_observation_url(step) == NULL && nj_observation_failure(step) == NJ_OK);
    seen->duration = nj_observation_duration(step);
    seen->secured++;
    break;
  case NJ_STEP_SENT:
    seen->sent++;
    if (nj_observation_reused_connection(step)) seen->reused++;
    break;
  default: break;
  }
}

/* Each new connection has a step for its handshake. A reused connection has none. */
static void observed_handshake(const char *url, const char *ca_file) {
  nj_queue *queue = nj_queue_new();
  steps seen = {0};
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK && nj_config_set_ca_file(config, ca_file) == NJ_OK);
  CHECK(nj_config_set_observer(config, queue, count_steps, &seen) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  for (int i = 0; i < 2; i++) nj_response_release(get(client, "1k", NULL));
  nj_client_free(client);
  while (nj_queue_poll(queue, 0) > 0) {}
  CHECK(seen.connected == 1 && seen.secured == 1 && seen.duration > 0 && seen.sent == 2 && seen.reused == 1);

  /* A handshake that fails has no such step. */
  seen = (steps){0};
  nj_config_free(config);
  config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK && nj_config_set_retry_attempts(config, 1) == NJ_OK);
  CHECK(nj_config_set_observer(config, queue, count_steps, &seen) == NJ_OK);
  client = nj_client_new(config, NULL);
  CHECK(get(client, "1k", NULL) == NULL);
  nj_client_free(client);
  while (nj_queue_poll(queue, 0) > 0) {}
  CHECK(seen.connected >= 1 && seen.secured == 0 && seen.sent == 0);
  nj_config_free(config);
  nj_queue_free(queue);
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

static char *contents(const char *path, size_t *length) {
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  char *text = calloc(1, 65536);
  *length = file ? fread(text, 1, 65535, file) : 0;
  if (file) fclose(file);
  return text;
}

/* Returns the message of the error with which the client is not created. The caller releases the error. */
static const char *rejected(nj_config *config, nj_status kind, nj_error **error) {
  CHECK(nj_client_new(config, error) == NULL && nj_error_kind(*error) == kind);
  const char *message = nj_error_message(*error);
  return message ? message : "";
}

static void certificates_in_memory(const char *url, const char *ca_file) {
  size_t length;
  char *ca = contents(ca_file, &length);
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_ca_pem(config, ca, length) == NJ_OK);
  memset(ca, 0, length); /* the text was copied */
  nj_client *client = nj_client_new(config, NULL);
  nj_response *response = get(client, "1k", NULL);
  CHECK(nj_response_status(response) == 200);
  nj_response_release(response);
  nj_client_free(client);

  nj_error *error = NULL;
  CHECK(nj_config_set_ca_file(config, ca_file) == NJ_OK);
  CHECK(strstr(rejected(config, NJ_INVALID_ARGUMENT, &error), "tls.ca and tls.ca_file") != NULL);
  nj_error_release(error);
  nj_config_free(config);
  free(ca);

  config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_ca_pem(config, "no certificate", 14) == NJ_OK);
  CHECK(strstr(rejected(config, NJ_TLS, &error), "contains no certificate in PEM form") != NULL);
  nj_error_release(error);
  nj_config_free(config);
}

static void invalid_client_certificates(const char *url, const char *ca_file) {
  size_t length;
  char *certificate = contents(ca_file, &length);
  nj_error *error = NULL;
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_client_certificate_pem(config, certificate, length, "hunter2", 7, "hunter3") == NJ_OK);
  const char *message = rejected(config, NJ_TLS, &error);
  CHECK(strstr(message, "contains no key in PEM form") != NULL && strstr(message, "hunter") == NULL);
  nj_error_release(error);
  CHECK(nj_config_set_client_certificate_pem(config, certificate, length, NULL, 0, NULL) == NJ_OK);
  CHECK(strstr(rejected(config, NJ_TLS, &error), "contains no key in PEM form") != NULL);
  nj_error_release(error);
  CHECK(nj_config_set_client_certificate_pkcs12(config, "hunter2", 7, "hunter3") == NJ_OK);
  message = rejected(config, NJ_TLS, &error);
  CHECK(strstr(message, "the PKCS #12 archive is invalid") != NULL && strstr(message, "hunter") == NULL);
  nj_error_release(error);
  nj_config_free(config);
  free(certificate);
}

static void key_log(const char *url, const char *ca_file) {
  char folder[] = "/tmp/nightjar-tls-XXXXXX", path[64];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/keys", folder);
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK && nj_config_set_ca_file(config, ca_file) == NJ_OK);
  CHECK(nj_config_set_key_log_file(config, path) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  nj_response *response = get(client, "1k", NULL);
  CHECK(nj_response_status(response) == 200);
  nj_response_release(response);
  nj_client_free(client);
  struct stat status;
  CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
  size_t length;
  char *keys = contents(path, &length);
  CHECK(strstr(keys, "CLIENT_TRAFFIC_SECRET_0 ") != NULL && keys[length - 1] == '\n');
  free(keys);
  unlink(path);
  CHECK(nj_config_set_key_log_file(config, folder) == NJ_OK);
  nj_error *error = NULL;
  CHECK(strstr(rejected(config, NJ_STORAGE, &error), "Is a directory") != NULL);
  nj_error_release(error);
  nj_config_free(config);
  rmdir(folder);
}

/* The status is an error, so the error has the connection. */
static void error_has_the_connection(const char *url, const char *ca_file) {
  nj_client *client = client_of(url, ca_file);
  nj_error *error = NULL;
  CHECK(get(client, "missing", &error) == NULL && nj_error_http_status(error) == 404);
  const char *tls = nj_error_tls_json(error, NULL);
  CHECK(tls && strstr(tls, "\"version\":\"1.3\"") && strstr(tls, "CN=localhost"));
  CHECK(nj_error_tls_json(error, NULL) == tls && nj_error_tls_json(NULL, NULL) == NULL);
  nj_error_release(error);
  nj_client_free(client);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  trusted_server(argv[1], argv[2]);
  observed_handshake(argv[1], argv[2]);
  large_request(argv[1], argv[2]);
  untrusted_server(argv[1]);
  freed_during_the_handshake(argv[1], argv[2]);
  invalid_authorities(argv[1]);
  certificates_in_memory(argv[1], argv[2]);
  invalid_client_certificates(argv[1], argv[2]);
  key_log(argv[1], argv[2]);
  error_has_the_connection(argv[1], argv[2]);
  FINISH();
}
