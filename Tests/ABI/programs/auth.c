/* Credentials and logins, against the demo API: auth DEMO_URL FOLDER. */
#include "check.h"
#include <nightjar.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *url;
static const char *folder;

static nj_client *client_of(nj_config *config) {
  nj_error *error = NULL;
  nj_config_set_base_url(config, url);
  nj_client *client = nj_client_new(config, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  nj_error_release(error);
  nj_config_free(config);
  return client;
}

static nj_client *client_with(const char *format, const char *argument) {
  char json[1024];
  snprintf(json, sizeof json, format, argument);
  nj_config *config = nj_config_new();
  nj_error *error = NULL;
  CHECK(nj_config_set_auth_json(config, json, strlen(json), &error) == NJ_OK);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  nj_error_release(error);
  return client_of(config);
}

/* The status of the response, or the negative error kind. */
static int call(nj_client *client, nj_request *request, char **out_body) {
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  int status = response ? nj_response_status(response) : -(int)nj_error_kind(error);
  if (out_body) *out_body = strdup(response ? nj_response_body(response, NULL) : nj_error_message(error));
  nj_response_release(response);
  nj_error_release(error);
  return status;
}

static int get(nj_client *client, const char *target) {
  nj_request *request = nj_request_new("GET", target);
  int status = call(client, request, NULL);
  nj_request_free(request);
  return status;
}

static void control(const char *json) {
  nj_config *config = nj_config_new();
  nj_client *client = client_of(config);
  nj_request *request = nj_request_new("POST", "/__control");
  nj_request_set_body_json(request, json, strlen(json));
  CHECK(call(client, request, NULL) == 200);
  nj_request_free(request);
  nj_client_free(client);
}

/* The server's counter at a JSON Pointer. */
static int64_t count(const char *pointer) {
  nj_client *client = client_of(nj_config_new());
  nj_request *request = nj_request_new("GET", "/__stats");
  nj_response *response = nj_client_send(client, request, NULL);
  int64_t number = -1;
  CHECK(nj_response_json_int64(response, pointer, &number, NULL) == NJ_OK);
  nj_response_release(response);
  nj_request_free(request);
  nj_client_free(client);
  return number;
}

static void schemes_let_in(void) {
  static const char *bad[] = {"nobody", ""};
  for (int round = 0; round < 3; round++) {
    const char *password = round == 0 ? "secret" : bad[round - 1];
    nj_config *config = nj_config_new();
    CHECK(nj_config_set_basic_auth(config, "demo", password) == NJ_OK);
    nj_client *client = client_of(config);
    CHECK(get(client, "/v1/basic") == (round == 0 ? 200 : -NJ_UNAUTHORIZED));
    nj_client_free(client);
    config = nj_config_new();
    CHECK(nj_config_set_digest_auth(config, "demo", password) == NJ_OK);
    client = client_of(config);
    CHECK(get(client, "/v1/digest") == (round == 0 ? 200 : -NJ_UNAUTHORIZED));
    nj_client_free(client);
  }
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_api_key_header(config, "X-Api-Key", "demo-key") == NJ_OK);
  nj_client *client = client_of(config);
  CHECK(get(client, "/v1/api-key") == 200);
  nj_client_free(client);
  config = nj_config_new();
  CHECK(nj_config_set_api_key_query(config, "api_key", "demo-key") == NJ_OK);
  client = client_of(config);
  nj_request *request = nj_request_new("GET", "/v1/api-key");
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(nj_response_status(response) == 200 && strstr(nj_response_url(response), "demo-key") == NULL);
  CHECK(strstr(nj_response_curl(response, false), "demo-key") == NULL);
  nj_response_release(response);
  nj_request_free(request);
  nj_client_free(client);
}

/* A client with credentials by scheme sends each endpoint the credentials that it requires. */
static void endpoints_are_sent_what_they_name(void) {
  static const char auth[] =
      "{\"schemes\": {\"key\": {\"type\": \"api_key\", \"key\": \"k1\"},"
      " \"sid\": {\"type\": \"api_key\", \"key\": \"s1\", \"cookie\": \"sid\"},"
      " \"oauth\": {\"type\": \"oauth2\", \"grant\": \"client_credentials\", \"token_url\": \"/v1/oauth/token\","
      "  \"client_id\": \"demo\", \"client_secret\": \"demo-secret\"}}}";
  static const char *const endpoints[][2] = {
      {"keyed", "{\"path\": \"/echo\", \"security\": [\"missing\", \"key\"]}"},
      {"cookied", "{\"path\": \"/echo\", \"security\": [{\"sid\": [], \"key\": []}]}"},
      {"me", "{\"path\": \"/v1/me\", \"security\": [{\"oauth\": [\"read\"]}]}"},
      {"nobody", "{\"path\": \"/echo\", \"security\": \"missing\"}"},
  };
  nj_error *error = NULL;
  nj_catalog *catalog = nj_catalog_new();
  for (int i = 0; i < 4; i++) {
    CHECK(nj_catalog_add_json(catalog, endpoints[i][0], endpoints[i][1], strlen(endpoints[i][1]), NULL) == NJ_OK);
  }
  CHECK(strstr(nj_catalog_endpoint_json(catalog, "me", NULL), "\"security\":[{\"oauth\":[\"read\"]}]") != NULL);
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_auth_json(config, auth, sizeof auth - 1, NULL) == NJ_OK);
  CHECK(nj_config_set_catalog(config, catalog) == NJ_OK);
  nj_client *client = client_of(config);
  char *body;
  nj_request *request = nj_request_from_endpoint(catalog, "keyed", NULL);
  CHECK(call(client, request, &body) == 200 && strstr(body, "k1") != NULL && strstr(body, "s1") == NULL);
  free(body);
  nj_request_free(request);
  request = nj_request_from_endpoint(catalog, "cookied", NULL);
  CHECK(call(client, request, &body) == 200 && strstr(body, "k1") != NULL && strstr(body, "sid=s1") != NULL);
  free(body);
  nj_request_free(request);
  request = nj_request_from_endpoint(catalog, "nobody", NULL);
  CHECK(call(client, request, &body) == -NJ_INVALID_REQUEST);
  CHECK(strcmp(body, "endpoint \"nobody\": authentication is required by \"missing\", and the client has credentials for "
                     "\"key\", \"oauth\", \"sid\"; set the required credentials in the option auth.schemes") == 0);
  free(body);
  nj_request_free(request);
  request = nj_request_from_endpoint(catalog, "me", NULL);
  CHECK(call(client, request, NULL) == 200);
  CHECK(nj_client_log_out(client, "oauht", false, &error) == NJ_INVALID_REQUEST);
  CHECK(strcmp(nj_error_message(error), "the client has no login for the scheme \"oauht\"; did you mean \"oauth\"?") == 0);
  nj_error_release(error);
  CHECK(nj_client_log_out(client, "oauth", false, NULL) == NJ_OK);
  CHECK(nj_client_set_token(client, "oauth", "{\"access_token\": \"wrong\"}", 25, NULL) == NJ_OK);
  CHECK(nj_client_set_token(client, "key", "{\"access_token\": \"wrong\"}", 25, NULL) == NJ_INVALID_REQUEST);
  CHECK(nj_client_set_token(client, "\xff", "{\"access_token\": \"wrong\"}", 25, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(call(client, request, NULL) == 200); /* The token is rejected and refreshed. */
  nj_request_free(request);
  request = nj_request_new("GET", "/echo");
  CHECK(call(client, request, &body) == 200 && strstr(body, "k1") == NULL && strstr(body, "s1") == NULL);
  free(body);
  CHECK(nj_request_merge_json(request, "{\"auth\": \"key\"}", 15, NULL) == NJ_OK);
  CHECK(call(client, request, &body) == 200 && strstr(body, "k1") != NULL);
  free(body);
  nj_request_free(request);
  nj_client_free(client);
  nj_catalog_free(catalog);
  config = nj_config_new();
  CHECK(nj_config_set_api_key_cookie(config, "sid", "a;b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_api_key_cookie(config, "sid", "s2") == NJ_OK);
  client = client_of(config);
  request = nj_request_new("GET", "/cookies");
  CHECK(call(client, request, &body) == 200 && strstr(body, "sid=s2") != NULL);
  free(body);
  nj_request_free(request);
  nj_client_free(client);
}

static void credentials_go_to_their_origin_alone(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_bearer(config, "sesame") == NJ_OK);
  nj_client *client = client_of(config);
  nj_request *request = nj_request_new("GET", "/echo");
  char *body;
  CHECK(call(client, request, &body) == 200 && strstr(body, "Bearer sesame") != NULL);
  free(body);
  CHECK(nj_request_set_use_auth(request, false) == NJ_OK);
  CHECK(call(client, request, &body) == 200 && strstr(body, "sesame") == NULL);
  free(body);
  nj_request_free(request);
  char elsewhere[256];
  snprintf(elsewhere, sizeof elsewhere, "http://localhost%s/echo", strrchr(url, ':'));
  request = nj_request_new("GET", elsewhere);
  CHECK(call(client, request, &body) == 200 && strstr(body, "sesame") == NULL);
  free(body);
  nj_request_free(request);
  CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_INVALID_REQUEST);
  nj_client_free(client);
}

#define LOGIN                                                                                                         \
  "{\"type\":\"login\",\"url\":\"/v1/auth/login\",\"json\":{\"email\":\"ada@example.org\",\"password\":\"moonlight\"},"  \
  "\"access_token_pointer\":\"/access_token\",\"refresh_token_pointer\":\"/refresh_token\",\"lifetime\":\"/expires_in\","                           \
  "\"refresh\":{\"url\":\"/v1/auth/refresh\"}%s}"

static void a_login_is_renewed_and_ended(void) {
  control("{\"reset\":true}");
  nj_client *client = client_with(LOGIN, "");
  CHECK(get(client, "/v1/me") == 200 && get(client, "/v1/me") == 200);
  CHECK(count("/auth/logins") == 1 && count("/auth/refreshes") == 0);
  control("{\"expire_access_tokens\":true}");
  nj_request *request = nj_request_new("GET", "/v1/me");
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(nj_response_status(response) == 200 && nj_response_attempts(response) == 2);
  CHECK(strstr(nj_response_explain(response), "sent again with the new token") != NULL);
  nj_response_release(response);
  nj_request_free(request);
  CHECK(count("/auth/logins") == 1 && count("/auth/refreshes") == 1);
  CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_OK);
  CHECK(get(client, "/v1/me") == -NJ_UNAUTHORIZED);
  static const char token[] = "{\"access_token\":\"wrong\",\"expires_in\":100}";
  CHECK(nj_client_set_token(client, NULL, token, sizeof token - 1, NULL) == NJ_OK);
  CHECK(get(client, "/v1/me") == 200); /* The token is rejected, and the client logs in again with its credentials. */
  CHECK(count("/auth/logins") == 2);
  nj_client_free(client);
}

static void lifetimes_may_be_in_milliseconds(void) {
  control("{\"reset\":true}");
  nj_client *client = client_with(LOGIN, ",\"lifetime_unit\":\"milliseconds\",\"skew\":0");
  CHECK(get(client, "/v1/me") == 200);
  nj_client_free(client);
  /* The demo API reports 60, which is 60 milliseconds here. */
  client = client_with("{\"type\":\"login\",\"url\":\"/v1/auth/login\",\"skew\":0,\"lifetime_unit\":\"%s\","
                       "\"json\":{\"email\":\"ada@example.org\",\"password\":\"moonlight\",\"expires_in\":60}}",
                       "milliseconds");
  int before = count("/auth/logins");
  CHECK(get(client, "/v1/me") == 200);
  usleep(100000);
  CHECK(get(client, "/v1/me") == 200);
  CHECK(count("/auth/logins") == before + 2);
  nj_client_free(client);
}

static void a_store_is_shared(void) {
  control("{\"reset\":true}");
  char store[512];
  snprintf(store, sizeof store, ",\"store\":\"file:%s/login\"", folder);
  nj_client *first = client_with(LOGIN, store), *second = client_with(LOGIN, store);
  CHECK(get(first, "/v1/me") == 200 && get(second, "/v1/me") == 200);
  CHECK(count("/auth/logins") == 1);
  nj_client_free(first);
  nj_client_free(second);
}

/* ----------------------------------------------------------------------------------------------- token provider --- */

typedef struct provider {
  enum { NOW, LATER, NEVER, NOT_NOW, NO_LOGIN, NESTED } manner;
  int requested, ended;
  bool was_refused;
  nj_client *client;
  pthread_t thread, helper;
} provider;

static void *answer_later(void *context) {
  nj_token_request *request = context;
  usleep(20000);
  CHECK(nj_token_request_respond(request, "later", NJ_NO_LIMIT) == NJ_OK);
  nj_token_request_release(request);
  return NULL;
}

static void provide(void *context, nj_token_request *request) {
  provider *self = context;
  self->requested++;
  self->was_refused = nj_token_request_was_rejected(request);
  CHECK(pthread_equal(self->thread, pthread_self()));
  switch (self->manner) {
  case NOW:
    CHECK(nj_token_request_respond(request, "two words", 10) == NJ_INVALID_ARGUMENT);
    CHECK(nj_token_request_respond(request, "now", -3) == NJ_INVALID_ARGUMENT);
    CHECK(nj_token_request_respond(request, "now", 100) == NJ_OK);
    CHECK(nj_token_request_respond(request, "twice", 100) == NJ_INVALID_ARGUMENT);
    CHECK(nj_token_request_fail(request, true, NULL) == NJ_INVALID_ARGUMENT);
    break;
  case LATER:
    CHECK(pthread_create(&self->helper, NULL, answer_later, nj_token_request_retain(request)) == 0);
    break;
  case NEVER: break;
  case NOT_NOW: CHECK(nj_token_request_fail(request, false, "the vault is closed") == NJ_OK); break;
  case NO_LOGIN: CHECK(nj_token_request_fail(request, true, NULL) == NJ_OK); break;
  case NESTED: {
    static const char json[] = "{\"email\":\"ada@example.org\",\"password\":\"moonlight\"}";
    nj_request *login = nj_request_new("POST", "/v1/auth/login");
    nj_request_set_body_json(login, json, sizeof json - 1);
    CHECK(nj_request_set_use_auth(login, false) == NJ_OK);
    nj_response *response = nj_client_send(self->client, login, NULL);
    const char *token = NULL;
    CHECK(nj_response_json_string(response, "/access_token", &token, NULL, NULL) == NJ_OK);
    CHECK(nj_token_request_respond(request, token, NJ_NO_LIMIT) == NJ_OK);
    nj_response_release(response);
    nj_request_free(login);
  }
  }
}

static void required(void *context) {
  provider *self = context;
  self->ended++;
  CHECK(pthread_equal(self->thread, pthread_self()));
}

static nj_client *provided(provider *self) {
  self->thread = pthread_self();
  nj_config *config = nj_config_new();
  CHECK(nj_config_on_login_required(config, required, self) == NJ_OK);
  CHECK(nj_config_set_token_provider(config, NULL, provide, self) == NJ_OK);
  return self->client = client_of(config);
}

/* Makes a blocking call. Returns whether its request contained the token. */
static bool echoes(nj_client *client, const char *token) {
  nj_request *request = nj_request_new("GET", "/echo");
  char *body;
  bool says = call(client, request, &body) == 200 && strstr(body, token) != NULL;
  if (!says) fprintf(stderr, "%s\n", body);
  free(body);
  nj_request_free(request);
  return says;
}

static void a_provider_answers_now_and_later(void) {
  provider self = {.manner = NOW};
  nj_client *client = provided(&self);
  CHECK(echoes(client, "Bearer now") && echoes(client, "Bearer now") && self.requested == 1 && !self.was_refused);
  nj_client_free(client);
  self = (provider){.manner = LATER};
  client = provided(&self);
  CHECK(echoes(client, "Bearer later"));
  pthread_join(self.helper, NULL);
  nj_client_free(client);
  self = (provider){.manner = NESTED};
  client = provided(&self);
  CHECK(get(client, "/v1/me") == 200 && self.requested == 1);
  control("{\"expire_access_tokens\":true}");
  CHECK(get(client, "/v1/me") == 200 && self.requested == 2 && self.was_refused);
  nj_client_free(client);
}

static void a_scheme_has_a_provider_of_its_own(void) {
  provider one = {.manner = NOW, .thread = pthread_self()}, other = {.manner = NEVER, .thread = pthread_self()};
  static const char auth[] = "{\"schemes\":{\"key\":{\"type\":\"api_key\",\"key\":\"demo-key\"}}}";
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_token_provider(config, "other", provide, &other) == NJ_OK);
  CHECK(nj_config_set_auth_json(config, auth, sizeof auth - 1, NULL) == NJ_OK);
  CHECK(nj_config_set_token_provider(config, "one", provide, &one) == NJ_OK);
  nj_client *client = client_of(config);
  static const char scheme[] = "{\"auth\":[\"one\",\"key\"]}", unanswered[] = "{\"auth\":\"other\"}";
  nj_request *request = nj_request_new("GET", "/echo");
  CHECK(nj_request_merge_json(request, scheme, sizeof scheme - 1, NULL) == NJ_OK);
  char *body;
  CHECK(call(client, request, &body) == 200 && strstr(body, "Bearer now") && strstr(body, "demo-key"));
  free(body);
  CHECK(one.requested == 1 && other.requested == 0);
  CHECK(nj_request_merge_json(request, unanswered, sizeof unanswered - 1, NULL) == NJ_OK);
  CHECK(call(client, request, &body) == -NJ_UNAUTHORIZED && strstr(body, "did not respond") != NULL);
  free(body);
  CHECK(one.requested == 1 && other.requested == 1);
  nj_request_free(request);
  nj_client_free(client);
}

static void a_provider_may_have_none(void) {
  provider self = {.manner = NEVER};
  nj_client *client = provided(&self);
  nj_request *request = nj_request_new("GET", "/echo");
  char *message;
  CHECK(call(client, request, &message) == -NJ_UNAUTHORIZED && strstr(message, "did not respond") != NULL);
  free(message);
  self.manner = NOT_NOW;
  CHECK(call(client, request, &message) == -NJ_UNAUTHORIZED && strstr(message, "the vault is closed") != NULL);
  free(message);
  CHECK(self.requested == 2 && self.ended == 0);
  self.manner = NO_LOGIN;
  CHECK(call(client, request, NULL) == -NJ_UNAUTHORIZED);
  CHECK(call(client, request, NULL) == -NJ_UNAUTHORIZED);
  CHECK(self.requested == 3 && self.ended == 1);
  static const char token[] = "{\"access_token\":\"given\"}";
  CHECK(nj_client_set_token(client, NULL, token, sizeof token - 1, NULL) == NJ_OK);
  CHECK(echoes(client, "Bearer given") && self.requested == 3);
  nj_request_free(request);
  nj_client_free(client);
}

static void done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task, (void)error;
  CHECK(response != NULL);
  ++*(int *)context;
}

/* The provider runs on the polled queue, even if the other queue was used first. */
static void whoever_polls_is_asked(void) {
  for (int idle = 0; idle < 2; idle++) {
    provider self = {.manner = NOW};
    nj_client *client = provided(&self);
    nj_request *request = nj_request_new("GET", "/echo");
    nj_queue *queues[2] = {nj_queue_new(), nj_queue_new()};
    int finished[2] = {0, 0};
    for (int number = 0; number < 2; number++) {
      nj_task_release(nj_client_start(client, request, queues[number], done, &finished[number], NULL));
    }
    while (finished[!idle] < 1 && nj_queue_poll(queues[!idle], 10) > 0) continue;
    CHECK(finished[!idle] == 1 && finished[idle] == 0 && self.requested == 1);
    while (finished[idle] < 1 && nj_queue_poll(queues[idle], 10) > 0) continue;
    CHECK(finished[idle] == 1 && self.requested == 1);
    nj_queue_free(queues[idle]);
    nj_request_free(request);
    nj_client_free(client);
    nj_queue_free(queues[!idle]);
  }
}

/* The call that waits for the token is a shared exchange, which has no queue. */
static void shared_exchanges_ask_on_the_thread_that_polls(void) {
  provider self = {.manner = NOW};
  nj_client *client = provided(&self);
  nj_request *request = nj_request_new("GET", "/delay/0.05");
  CHECK(nj_request_set_coalesce(request, true) == NJ_OK);
  nj_queue *queue = nj_queue_new();
  int finished = 0;
  for (int i = 0; i < 10; i++) nj_task_release(nj_client_start(client, request, queue, done, &finished, NULL));
  while (finished < 10 && nj_queue_poll(queue, 10) > 0) continue;
  CHECK(finished == 10 && self.requested == 1);
  nj_request_free(request);
  nj_client_free(client);
  nj_queue_free(queue);
}

static nj_token_request *kept;

static void keep(void *context, nj_token_request *request) {
  (void)context;
  kept = nj_token_request_retain(request);
}

static void a_forked_child_is_told(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_token_provider(config, NULL, keep, NULL) == NJ_OK);
  nj_client *client = client_of(config);
  nj_request *request = nj_request_new("GET", "/echo");
  nj_queue *queue = nj_queue_new();
  int finished = 0;
  nj_task_release(nj_client_start(client, request, queue, done, &finished, NULL));
  while (!kept && nj_queue_poll(queue, 10) > 0) continue;
  pid_t child = fork();
  if (child == 0) {
    nj_error *error = NULL;
    size_t length = 7;
    CHECK(nj_client_set_token(client, NULL, "{\"access_token\":\"a\"}", 20, &error) == NJ_FORKED);
    CHECK(nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_FORKED);
    CHECK(nj_token_request_respond(kept, "a", 10) == NJ_FORKED);
    CHECK(nj_token_request_fail(kept, true, NULL) == NJ_FORKED);
    char *limits = nj_client_limits_json(client, &length);
    CHECK_TEXT(limits, "[]");
    CHECK(length == 2);
    nj_text_free(limits);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execlp(checks_failed ? "false" : "true", "child", (char *)NULL);
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(nj_token_request_respond(kept, "a", 10) == NJ_OK);
  nj_token_request_release(kept);
  while (finished < 1 && nj_queue_poll(queue, 10) > 0) continue;
  CHECK(finished == 1);
  nj_request_free(request);
  nj_client_free(client);
  nj_queue_free(queue);
}

/* -------------------------------------------------------------------------------------------- interactive login --- */

typedef struct person {
  nj_client *browser;
  bool allows;
  int shown, logged_in;
  nj_status failed;
} person;

#define OAUTH                                                                                               \
  "{\"type\":\"oauth2\",\"token_url\":\"/v1/oauth/token\",\"client_id\":\"demo\",\"device_url\":\"/v1/oauth/device\"," \
  "\"authorize_url\":\"/v1/oauth/authorize\",\"grant\":\"%s\"}"

/* Acts like a user who enters a code. */
static void enter(void *context, const nj_login_prompt *prompt) {
  person *self = context;
  self->shown++;
  CHECK(strstr(nj_login_prompt_url(prompt), "/v1/oauth/device") != NULL);
  CHECK(strstr(nj_login_prompt_complete_url(prompt), nj_login_prompt_user_code(prompt)) != NULL);
  nj_request *request = nj_request_new("POST", "/v1/oauth/device/decide");
  nj_request_add_form_field(request, "user_code", nj_login_prompt_user_code(prompt));
  nj_request_add_form_field(request, "allow", self->allows ? "true" : "false");
  CHECK(call(self->browser, request, NULL) == 200);
  nj_request_free(request);
}

static void shown_page(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)context, (void)task;
  CHECK(response != NULL && error == NULL);
}

static nj_queue *desk;

/* Acts like a browser that opens a page. The loopback listener responds while the login is in progress. */
static void open_page(void *context, const nj_login_prompt *prompt) {
  person *self = context;
  self->shown++;
  CHECK(nj_login_prompt_user_code(prompt) == NULL && nj_login_prompt_complete_url(prompt) == NULL);
  nj_request *request = nj_request_new("GET", nj_login_prompt_url(prompt));
  nj_task_release(nj_client_start(self->browser, request, desk, shown_page, NULL, NULL));
  nj_request_free(request);
}

static void logged_in(void *context, const nj_error *error) {
  person *self = context;
  if (error) self->failed = nj_error_kind(error);
  else self->logged_in++;
}

static void people_log_in(void) {
  /* Without TLS, browsers use HTTP/1.1. */
  static const char versions[] = "{\"http\": {\"versions\": [\"1.1\"]}}";
  nj_config *config = nj_config_new();
  CHECK(nj_config_merge_json(config, versions, sizeof versions - 1, NULL) == NJ_OK);
  person self = {.browser = client_of(config), .allows = true};
  nj_client *client = client_with(OAUTH, "device_code");
  CHECK(get(client, "/v1/me") == -NJ_UNAUTHORIZED);
  CHECK(nj_client_log_in(client, NULL, 60, enter, &self, NULL) == NJ_OK && self.shown == 1);
  CHECK(get(client, "/v1/me") == 200);
  self.allows = false;
  nj_error *error = NULL;
  CHECK(nj_client_log_in(client, NULL, 60, enter, &self, &error) == NJ_UNAUTHORIZED && self.shown == 2);
  CHECK(nj_error_kind(error) == NJ_UNAUTHORIZED);
  nj_error_release(error);
  nj_client_free(client);

  client = client_with(OAUTH, "authorization_code");
  desk = nj_queue_new();
  nj_task *login = nj_client_start_log_in(client, NULL, 60, desk, open_page, logged_in, &self, NULL);
  CHECK(login != NULL);
  while (!self.logged_in && !self.failed && nj_queue_poll(desk, 30) > 0) continue;
  CHECK(self.logged_in == 1 && self.shown == 3 && nj_task_is_finished(login));
  nj_task_release(login);
  CHECK(get(client, "/v1/me") == 200);
  login = nj_client_start_log_in(client, NULL, 60, desk, enter, logged_in, &self, NULL);
  nj_task_cancel(login);
  nj_task_cancel(login);
  nj_task_release(login);
  while (!self.failed && nj_queue_poll(desk, 30) > 0) continue;
  CHECK(self.failed == NJ_CANCELLED && self.logged_in == 1);
  CHECK(nj_client_start_log_in(self.browser, NULL, 60, desk, enter, logged_in, &self, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_REQUEST);
  nj_error_release(error);
  nj_task *logout = nj_client_start_log_out(client, NULL, false, desk, logged_in, &self, NULL);
  CHECK(logout != NULL && get(client, "/v1/me") == -NJ_UNAUTHORIZED);
  while (self.logged_in < 2 && nj_queue_poll(desk, 30) > 0) continue;
  CHECK(self.logged_in == 2 && nj_task_is_finished(logout));
  nj_task_release(logout);
  CHECK(nj_client_start_log_out(self.browser, NULL, false, desk, logged_in, &self, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_REQUEST);
  nj_error_release(error);
  nj_client_free(client);
  nj_client_free(self.browser);
  nj_queue_free(desk);
}

static void what_cannot_work_is_refused(void) {
  nj_config *config = nj_config_new();
  nj_error *error = NULL;
  CHECK(nj_config_set_bearer(config, "sesame") == NJ_OK);
  CHECK(nj_client_new(config, &error) == NULL && nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  CHECK(strstr(nj_error_message(error), "base_url") != NULL && strstr(nj_error_message(error), "sesame") == NULL);
  nj_error_release(error);
  nj_config_set_base_url(config, url);
  nj_config_set_header(config, "Authorization", "Bearer other");
  CHECK(nj_client_new(config, NULL) == NULL);
  CHECK(nj_config_set_auth_json(config, "false", 5, NULL) == NJ_OK);
  nj_client_free(nj_client_new(config, NULL));
  nj_config_free(config);
  config = nj_config_new();
  nj_config_set_base_url(config, url);
  CHECK(nj_config_set_bearer(config, "two words") == NJ_OK);
  CHECK(nj_client_new(config, NULL) == NULL);
  CHECK(nj_config_set_basic_auth(config, "a:b", "c") == NJ_OK);
  CHECK(nj_client_new(config, NULL) == NULL);
  static const char *bad[] = {"{\"type\":\"oauth\"}", "{\"type\":\"oauth2\"}", "{\"type\":\"bearer\",\"tokn\":\"a\"}", "7"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    error = NULL;
    CHECK(nj_config_set_auth_json(config, bad[i], strlen(bad[i]), &error) == NJ_INVALID_ARGUMENT);
    CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
    nj_error_release(error);
  }
  nj_config_free(config);
}

int main(int count, char **words) {
  if (count != 3) return 2;
  url = words[1];
  folder = words[2];
  schemes_let_in();
  endpoints_are_sent_what_they_name();
  credentials_go_to_their_origin_alone();
  what_cannot_work_is_refused();
  a_login_is_renewed_and_ended();
  lifetimes_may_be_in_milliseconds();
  a_store_is_shared();
  a_provider_answers_now_and_later();
  a_scheme_has_a_provider_of_its_own();
  whoever_polls_is_asked();
  a_provider_may_have_none();
  shared_exchanges_ask_on_the_thread_that_polls();
  people_log_in();
  a_forked_child_is_told();
  FINISH();
}
