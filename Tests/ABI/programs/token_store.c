/* Token stores of the program: token_store DEMO_URL. Leak-checked under valgrind. */
#include "decisions.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *url;

/* A store with one record, and what happens to its requests. */
typedef struct store {
  enum { WORK, FAIL, FORGET, KEEP, DAMAGE } manner;
  char *record;
  size_t length;
  int loads, saves, deletes;
  nj_store_request *kept;
  pthread_t thread;
} store;

static void put(store *self, const void *record, size_t length) {
  free(self->record);
  self->record = length > 0 ? malloc(length) : NULL;
  self->length = length;
  if (length > 0) memcpy(self->record, record, length);
}

static void access_store(void *context, nj_store_request *request) {
  store *self = context;
  CHECK_TEXT(nj_store_request_key(request), "main");
  CHECK(pthread_equal(self->thread, pthread_self()));
  size_t length = 7;
  const void *record = nj_store_request_record(request, &length);
  nj_store_operation operation = nj_store_request_operation(request);
  CHECK((record != NULL) == (operation == NJ_STORE_SAVE) && (length > 0) == (operation == NJ_STORE_SAVE));
  switch (operation) {
  case NJ_STORE_LOAD: self->loads++; break;
  case NJ_STORE_SAVE: self->saves++; break;
  case NJ_STORE_DELETE: self->deletes++; break;
  default: CHECK(!"a known operation");
  }
  switch (self->manner) {
  case FAIL: CHECK(nj_store_request_fail(request, "the keychain is locked") == NJ_OK); break;
  case FORGET: return;
  case KEEP: self->kept = nj_store_request_retain(request); return;
  case DAMAGE: CHECK(nj_store_request_respond(request, operation == NJ_STORE_LOAD ? "junk" : NULL, 4) == NJ_OK); break;
  case WORK:
    if (operation == NJ_STORE_LOAD) {
      CHECK(nj_store_request_respond(request, "x", (1 << 20) + 1) == NJ_INVALID_ARGUMENT);
      CHECK(nj_store_request_respond(request, "x", SIZE_MAX) == NJ_INVALID_ARGUMENT);
      CHECK(nj_store_request_respond(request, self->record, self->length) == NJ_OK);
      break;
    }
    CHECK(nj_store_request_respond(request, "x", 1) == NJ_INVALID_ARGUMENT);
    put(self, record, length);
    CHECK(nj_store_request_respond(request, NULL, 0) == NJ_OK);
  }
  CHECK(nj_store_request_respond(request, NULL, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_store_request_fail(request, NULL) == NJ_INVALID_ARGUMENT);
}

#define LOGIN                                                                                                       \
  "{\"type\":\"login\",\"url\":\"/v1/auth/login\",\"json\":{\"email\":\"ada@example.org\",\"password\":\"moonlight\"}," \
  "\"access_token_pointer\":\"/access_token\",\"refresh_token_pointer\":\"/refresh_token\","                          \
  "\"lifetime\":\"/expires_in\",\"refresh\":{\"url\":\"/v1/auth/refresh\"},\"store\":\"host:main\"}"

static nj_config *config_of(store *self, nj_queue *queue) {
  self->thread = pthread_self();
  nj_config *config = nj_config_new();
  CHECK(nj_config_use_environment_proxy(config, false) == NJ_OK);
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_auth_json(config, LOGIN, sizeof LOGIN - 1, NULL) == NJ_OK);
  CHECK(nj_config_set_token_store(config, queue, access_store, self) == NJ_OK);
  return config;
}

static nj_client *client_of(nj_config *config) {
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(client != NULL);
  nj_error_release(error);
  return client;
}

static nj_client *storing(store *self) {
  nj_config *config = config_of(self, NULL);
  nj_client *client = client_of(config);
  nj_config_free(config);
  return client;
}

/* Sends a GET request. Returns the status, or the negative kind of the error. `message` is a part of its message. */
static int get(nj_client *client, const char *target, const char *message) {
  nj_error *error = NULL;
  nj_request *request = nj_request_new("GET", target);
  nj_response *response = nj_client_send(client, request, &error);
  int status = response ? nj_response_status(response) : -(int)nj_error_kind(error);
  if (message && !(error && strstr(nj_error_message(error), message))) {
    CHECK(!"the message fits");
    fprintf(stderr, "%d %s\n", status, error ? nj_error_message(error) : "no error");
  }
  nj_response_release(response);
  nj_error_release(error);
  nj_request_free(request);
  return status;
}

/* The server's counter at a JSON Pointer. */
static int64_t count(const char *pointer) {
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, url);
  nj_client *client = client_of(config);
  nj_request *request = nj_request_new("GET", "/__stats");
  nj_response *response = nj_client_send(client, request, NULL);
  int64_t number = -1;
  CHECK(nj_response_json_int64(response, pointer, &number, NULL) == NJ_OK);
  nj_response_release(response);
  nj_request_free(request);
  nj_client_free(client);
  nj_config_free(config);
  return number;
}

static void login_outlives_the_client(void) {
  store self = {.manner = WORK};
  int64_t logins = count("/auth/logins");
  nj_client *client = storing(&self);
  CHECK(get(client, "/v1/me", NULL) == 200);
  CHECK(self.loads > 0 && self.saves > 0 && self.length > 0);
  nj_client_free(client);
  int saves = self.saves;
  client = storing(&self);
  CHECK(get(client, "/v1/me", NULL) == 200);
  CHECK(count("/auth/logins") == logins + 1 && self.saves == saves);

  /* A logout deletes the record. The other client of the configuration adopts the logout. */
  CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_OK);
  CHECK(self.deletes == 1 && self.length == 0);
  CHECK(get(client, "/v1/me", NULL) == -NJ_UNAUTHORIZED);
  static const char token[] = "{\"access_token\":\"wrong\"}";
  CHECK(nj_client_set_token(client, NULL, token, sizeof token - 1, NULL) == NJ_OK);
  CHECK(get(client, "/v1/me", NULL) == 200); /* The token is rejected, and the client logs in again. */
  CHECK(self.length > 0);
  nj_client_free(client);
  free(self.record);
}

static void clients_share_the_login(void) {
  store self = {.manner = WORK};
  int64_t logins = count("/auth/logins");
  nj_config *config = config_of(&self, NULL);
  nj_client *clients[2] = {client_of(config), client_of(config)};
  nj_config_free(config);
  CHECK(get(clients[0], "/v1/me", NULL) == 200 && get(clients[1], "/v1/me", NULL) == 200);
  CHECK(count("/auth/logins") == logins + 1);
  nj_client_free(clients[0]);
  nj_client_free(clients[1]);
  free(self.record);
}

static void failures(void) {
  static const struct {
    int manner;
    const char *message;
  } cases[] = {
    {FAIL, "loading the login in the token host store \"main\" failed: the keychain is locked"},
    {FORGET, "released the request without a response"},
    {DAMAGE, "the token host store \"main\" is not a token store and was not changed"},
  };
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    store self = {.manner = cases[index].manner};
    nj_client *client = storing(&self);
    CHECK(get(client, "/v1/me", cases[index].message) < 0);
    CHECK(self.loads > 0 && self.saves == 0);
    nj_client_free(client);
  }
}

static void *respond_later(void *argument) {
  store *self = argument;
  self->manner = WORK;
  CHECK(nj_store_request_respond(self->kept, NULL, 0) == NJ_OK);
  nj_store_request_release(self->kept);
  return NULL;
}

static void later(void) {
  nj_queue *queue = nj_queue_new();
  store self = {.manner = KEEP};
  nj_client *client = storing(&self);
  int status = 0;
  nj_task *task = start(client, queue, "/v1/me", &status);
  POLL_UNTIL(queue, self.kept != NULL);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, respond_later, &self) == 0);
  while (status == 0 && nj_queue_poll(queue, 10) > 0) continue;
  pthread_join(thread, NULL);
  CHECK(status == 200 && self.saves > 0);
  nj_task_release(task);
  nj_client_free(client);
  free(self.record);

  /* A response in a forked child, and after the client was closed. */
  self = (store){.manner = KEEP};
  client = storing(&self);
  status = 0;
  task = start(client, queue, "/v1/me", &status);
  POLL_UNTIL(queue, self.kept != NULL);
  pid_t child = fork();
  if (child == 0) {
    CHECK(nj_store_request_respond(self.kept, NULL, 0) == NJ_FORKED);
    CHECK(nj_store_request_fail(self.kept, NULL) == NJ_FORKED);
    nj_store_request_release(self.kept);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execlp(checks_failed ? "false" : "true", "child", (char *)NULL);
    _exit(1);
  }
  int result = -1;
  CHECK(waitpid(child, &result, 0) == child && result == 0);
  nj_client_free(client);
  while (status == 0 && nj_queue_poll(queue, 10) > 0) continue;
  CHECK(status == -NJ_CANCELLED);
  CHECK(nj_store_request_respond(self.kept, NULL, 0) == NJ_OK);
  nj_store_request_release(self.kept);
  nj_task_release(task);
  nj_queue_free(queue);
}

/* The queue of the store runs the callback for work that belongs to no call. */
static void own_queue(void) {
  nj_queue *queue = nj_queue_new();
  store self = {.manner = WORK};
  nj_config *config = config_of(&self, queue);
  nj_client *client = client_of(config);
  nj_config_free(config);
  static const char token[] = "{\"access_token\":\"stored\"}";
  CHECK(nj_client_set_token(client, NULL, token, sizeof token - 1, NULL) == NJ_OK);
  while (self.saves == 0 && nj_queue_poll(queue, 10) > 0) continue;
  CHECK(self.saves == 1 && self.length > 0);
  nj_client_free(client);
  nj_queue_free(queue);
  free(self.record);
}

/* A drain waits for the save, and runs the callback. */
static void drain_saves(void) {
  store self = {.manner = WORK};
  nj_client *client = storing(&self);
  static const char token[] = "{\"access_token\":\"stored\"}";
  CHECK(nj_client_set_token(client, NULL, token, sizeof token - 1, NULL) == NJ_OK);
  CHECK(nj_client_drain(client, 10, NULL) == NJ_OK);
  CHECK(self.saves == 1 && self.length > 0);
  nj_client_free(client);
  free(self.record);
}

static void misuse(void) {
  nj_error *error = NULL;
  store self = {.manner = WORK};
  CHECK(nj_config_set_token_store(NULL, NULL, access_store, NULL) == NJ_INVALID_ARGUMENT);
  nj_config *config = config_of(&self, NULL);
  CHECK(nj_config_set_token_store(config, NULL, NULL, NULL) == NJ_OK);
  CHECK(nj_client_new(config, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  CHECK(strstr(nj_error_message(error), "host store \"main\" has no callback") != NULL);
  nj_error_release(error);
  static const char no_key[] = "{\"type\":\"oauth2\",\"token_url\":\"/t\",\"store\":\"host:\"}";
  CHECK(nj_config_set_auth_json(config, no_key, sizeof no_key - 1, NULL) == NJ_INVALID_ARGUMENT);
  nj_config_free(config);
  CHECK(nj_store_request_retain(NULL) == NULL);
  nj_store_request_release(NULL);
  size_t length = 7;
  CHECK(nj_store_request_operation(NULL) == NJ_STORE_NONE && nj_store_request_key(NULL) == NULL);
  CHECK(nj_store_request_record(NULL, &length) == NULL && length == 0);
  CHECK(nj_store_request_record(NULL, NULL) == NULL);
  CHECK(nj_store_request_respond(NULL, NULL, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_store_request_fail(NULL, NULL) == NJ_INVALID_ARGUMENT);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  url = argv[1];
  misuse();
  login_outlives_the_client();
  clients_share_the_login();
  failures();
  later();
  own_queue();
  drain_saves();
  FINISH();
}
