/* Callbacks for names and addresses: resolver DEMO_URL, which has an address and a port. Leak-checked under valgrind. */
#include "decisions.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static char url[128], local_url[128], localhost_url[128], token_url[128];

/* The behavior of a callback, and its observations. */
typedef struct plan {
  enum { LOCAL, DEFAULT, NOWHERE, FAIL, WRONG, KEEP, FORGET } what;
  int count;
  size_t addresses;
  nj_address_request *kept;
  pthread_t thread;
} plan;

static const char *const local[] = {"127.0.0.1", NULL};
static const char *const nowhere[] = {NULL};

static void decide(void *context, nj_address_request *request) {
  plan *self = context;
  self->count++;
  self->addresses = nj_address_request_count(request);
  self->thread = pthread_self();
  switch (self->what) {
  case LOCAL: CHECK(nj_address_request_respond(request, local) == NJ_OK); break;
  case DEFAULT: CHECK(nj_address_request_use_default(request) == NJ_OK); break;
  case NOWHERE: CHECK(nj_address_request_respond(request, nowhere) == NJ_OK); break;
  case FAIL: CHECK(nj_address_request_fail(request, "not here") == NJ_OK); break;
  case WRONG: {
    static const char *many[10001];
    for (int index = 0; index < 10000; index++) many[index] = "127.0.0.1";
    CHECK(nj_address_request_respond(request, many) == NJ_INVALID_ARGUMENT);
    CHECK(nj_address_request_respond(request, NULL) == NJ_INVALID_ARGUMENT);
    CHECK(nj_address_request_respond(request, (const char *[]){"localhost", NULL}) == NJ_INVALID_ARGUMENT);
    CHECK(nj_address_request_respond(request, (const char *[]){"", NULL}) == NJ_INVALID_ARGUMENT);
    CHECK(nj_address_request_respond(request, (const char *[]){"127.0.0.1\xff", NULL}) == NJ_INVALID_ARGUMENT);
    CHECK(nj_address_request_fail(request, "\xff") == NJ_INVALID_ARGUMENT);
    CHECK(nj_address_request_respond(request, local) == NJ_OK);
    break;
  }
  case KEEP: self->kept = nj_address_request_retain(request); return;
  case FORGET: return;
  }
  /* The request has a response. */
  CHECK(nj_address_request_respond(request, local) == NJ_INVALID_ARGUMENT);
  CHECK(nj_address_request_fail(request, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_address_request_use_default(request) == NJ_INVALID_ARGUMENT);
}

static nj_config *config_of(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_use_environment_proxy(config, false) == NJ_OK);
  CHECK(nj_config_set_retry_attempts(config, 1) == NJ_OK);
  return config;
}

static nj_client *client_of(nj_config *config) {
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(client != NULL);
  nj_config_free(config);
  return client;
}

static nj_client *resolving(plan *self) {
  nj_config *config = config_of();
  CHECK(nj_config_set_resolver(config, NULL, decide, self) == NJ_OK);
  return client_of(config);
}

static nj_client *deciding(plan *self) {
  nj_config *config = config_of();
  CHECK(nj_config_on_addresses(config, NULL, decide, self) == NJ_OK);
  return client_of(config);
}

/* Sends a GET request. Returns the status, or the negative kind of the error. `message` is a part of its message. */
static int get(nj_client *client, const char *target, const char *message) {
  nj_error *error = NULL;
  nj_request *request = nj_request_new("GET", target);
  nj_response *response = nj_client_send(client, request, &error);
  int status = response ? nj_response_status(response) : -(int)nj_error_kind(error);
  if (message && !(error && strstr(nj_error_message(error), message))) {
    CHECK(!"the message fits");
    fprintf(stderr, "%s\n", error ? nj_error_message(error) : "no error");
  }
  nj_response_release(response);
  nj_error_release(error);
  nj_request_free(request);
  return status;
}

static void names(void) {
  plan self = {.what = LOCAL};
  nj_client *client = resolving(&self);
  CHECK(get(client, url, NULL) == 200 && get(client, url, NULL) == 200);
  CHECK(self.count == 1 && self.addresses == 0);
  CHECK(pthread_equal(self.thread, pthread_self()));
  nj_client_free(client);
  static const struct {
    int what, status;
    const char *message;
  } cases[] = {
    {NOWHERE, -NJ_DNS, "it has no address"},
    {FAIL, -NJ_DNS, "the resolver callback has no addresses: not here"},
    {FORGET, -NJ_DNS, "released the request without a response"},
    {WRONG, 200, NULL},
  };
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    self = (plan){.what = cases[index].what};
    client = resolving(&self);
    CHECK(get(client, url, cases[index].message) == cases[index].status);
    CHECK(self.count == 1);
    nj_client_free(client);
  }
  /* The system resolves the name. */
  self = (plan){.what = DEFAULT};
  client = resolving(&self);
  CHECK(get(client, localhost_url, NULL) == 200);
  CHECK(get(client, "http://nowhere.invalid/", "resolving the host \"nowhere.invalid\" failed: ") == -NJ_DNS);
  CHECK(self.count == 2);
  nj_client_free(client);
}

static void addresses(void) {
  plan self = {.what = DEFAULT};
  nj_client *all = deciding(&self);
  CHECK(get(all, local_url, NULL) == 200 && self.count == 1);
  nj_client_free(all);
  self = (plan){.what = LOCAL};
  nj_client *client = deciding(&self);
  CHECK(get(client, local_url, NULL) == 200);
  CHECK(self.count == 1 && self.addresses == 1);
  nj_client_free(client);
  static const struct {
    int what;
    const char *message;
  } cases[] = {
    {NOWHERE, "the on_addresses callback allows none of its addresses"},
    {FAIL, "the on_addresses callback denies it: not here"},
    {FORGET, "released the request without a response"},
  };
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    self = (plan){.what = cases[index].what};
    client = deciding(&self);
    CHECK(get(client, local_url, cases[index].message) == -NJ_INVALID_REQUEST);
    CHECK(self.count == 1);
    nj_client_free(client);
  }
}

static void *respond_later(void *argument) {
  plan *self = argument;
  CHECK(nj_address_request_respond(self->kept, local) == NJ_OK);
  nj_address_request_release(self->kept);
  return NULL;
}

static void later(void) {
  nj_queue *queue = nj_queue_new();
  plan self = {.what = KEEP};
  nj_client *client = resolving(&self);
  int status = 0;
  nj_task *task = start(client, queue, url, &status);
  POLL_UNTIL(queue, self.kept != NULL);
  CHECK_TEXT(nj_address_request_host(self.kept), "api.test");
  CHECK(nj_address_request_port(self.kept) > 0 && !nj_address_request_is_proxy(self.kept));
  CHECK(nj_address_request_at(self.kept, 0) == NULL);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, respond_later, &self) == 0);
  while (status == 0 && nj_queue_poll(queue, 10) > 0) continue;
  pthread_join(thread, NULL);
  CHECK(status == 200);
  nj_task_release(task);
  nj_client_free(client);

  /* A response in a forked child, and after the client was closed. */
  self = (plan){.what = KEEP};
  client = resolving(&self);
  status = 0;
  task = start(client, queue, url, &status);
  POLL_UNTIL(queue, self.kept != NULL);
  pid_t child = fork();
  if (child == 0) {
    CHECK(nj_address_request_respond(self.kept, local) == NJ_FORKED);
    CHECK(nj_address_request_fail(self.kept, NULL) == NJ_FORKED);
    CHECK(nj_address_request_use_default(self.kept) == NJ_FORKED);
    nj_address_request_release(self.kept);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execlp(checks_failed ? "false" : "true", "child", (char *)NULL);
    _exit(1);
  }
  int result = -1;
  CHECK(waitpid(child, &result, 0) == child && result == 0);
  nj_client_free(client);
  while (status == 0 && nj_queue_poll(queue, 10) > 0) continue;
  CHECK(status == -NJ_CANCELLED);
  CHECK(nj_address_request_respond(self.kept, local) == NJ_OK);
  nj_address_request_release(self.kept);
  nj_task_release(task);

  /* The connect timeout ends the wait. */
  self = (plan){.what = KEEP};
  nj_config *config = config_of();
  CHECK(nj_config_set_resolver(config, NULL, decide, &self) == NJ_OK);
  CHECK(nj_config_set_connect_timeout(config, 0.2) == NJ_OK);
  client = client_of(config);
  CHECK(get(client, url, "the resolver callback did not respond") == -NJ_TIMEOUT);
  CHECK(nj_address_request_respond(self.kept, local) == NJ_OK);
  nj_address_request_release(self.kept);
  nj_client_free(client);
  nj_queue_free(queue);
}

/* The token request belongs to no call. Its callback runs inside the blocking function that waits for the token. */
static void token_requests(void) {
  char json[256];
  int length = snprintf(json, sizeof json, "{\"type\":\"oauth2\",\"grant\":\"client_credentials\",\"token_url\":\"%s\","
                        "\"client_id\":\"demo\",\"client_secret\":\"demo-secret\"}", token_url);
  plan self = {.what = LOCAL};
  nj_config *config = config_of();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_auth_json(config, json, (size_t)length, NULL) == NJ_OK);
  CHECK(nj_config_set_resolver(config, NULL, decide, &self) == NJ_OK);
  nj_client *client = client_of(config);
  get(client, url, NULL);
  CHECK(self.count == 2 || self.count == 1); /* the names of the token server and, if it has given a token, of the API */
  CHECK(pthread_equal(self.thread, pthread_self()));
  nj_client_free(client);
}

static void misuse(void) {
  plan self = {.what = LOCAL};
  CHECK(nj_config_set_resolver(NULL, NULL, decide, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_on_addresses(NULL, NULL, decide, NULL) == NJ_INVALID_ARGUMENT);
  nj_config *config = config_of();
  nj_queue *queue = nj_queue_new();
  CHECK(nj_config_set_resolver(config, queue, decide, &self) == NJ_OK);
  CHECK(nj_config_set_resolver(config, queue, NULL, NULL) == NJ_OK);
  CHECK(nj_config_on_addresses(config, queue, decide, &self) == NJ_OK);
  CHECK(nj_config_on_addresses(config, queue, NULL, NULL) == NJ_OK);
  nj_queue_free(queue);
  nj_client *client = client_of(config);
  CHECK(get(client, local_url, NULL) == 200);
  CHECK(self.count == 0);
  nj_client_free(client);
  CHECK(nj_address_request_retain(NULL) == NULL);
  nj_address_request_release(NULL);
  CHECK(nj_address_request_host(NULL) == NULL && nj_address_request_port(NULL) == 0);
  CHECK(!nj_address_request_is_proxy(NULL) && nj_address_request_count(NULL) == 0);
  CHECK(nj_address_request_at(NULL, 0) == NULL);
  CHECK(nj_address_request_respond(NULL, local) == NJ_INVALID_ARGUMENT);
  CHECK(nj_address_request_fail(NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_address_request_use_default(NULL) == NJ_INVALID_ARGUMENT);
}

int main(int argc, char **argv) {
  const char *port = argc > 1 ? strrchr(argv[1], ':') : NULL;
  if (!port) return 2;
  snprintf(url, sizeof url, "http://api.test%s/echo", port);
  snprintf(local_url, sizeof local_url, "http://127.0.0.1%s/echo", port);
  snprintf(localhost_url, sizeof localhost_url, "http://localhost%s/echo", port);
  snprintf(token_url, sizeof token_url, "http://tokens.test%s/v1/oauth/token", port);
  misuse();
  names();
  addresses();
  later();
  token_requests();
  FINISH();
}
