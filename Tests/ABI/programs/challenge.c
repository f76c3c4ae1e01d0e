/* Challenges of servers: challenge DEMO_URL. The TLS server is NIGHTJAR_HTTPS_URL, whose certificate authority is the file
 * NIGHTJAR_CA_FILE. */
#include "decisions.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *url, *secure_url, *authorities;

/* The behavior of a callback, and its observations. */
typedef struct plan {
  enum { RIGHT, WRONG_FIRST, DEFAULT, CANCEL, KEEP, FORGET } what;
  int count;
  nj_challenge *kept;
  pthread_t thread;
} plan;

static void decide(void *context, nj_challenge *challenge) {
  plan *self = context;
  self->count++;
  self->thread = pthread_self();
  switch (self->what) {
  case RIGHT: CHECK(nj_challenge_use_password(challenge, "demo", "secret") == NJ_OK); break;
  case WRONG_FIRST:
    CHECK(nj_challenge_rejections(challenge) == (size_t)self->count - 1);
    CHECK(nj_challenge_use_password(challenge, "demo", self->count == 1 ? "wrong" : "secret") == NJ_OK);
    break;
  case DEFAULT: CHECK(nj_challenge_use_default(challenge) == NJ_OK); break;
  case CANCEL: CHECK(nj_challenge_cancel(challenge, "not now") == NJ_OK); break;
  case KEEP: self->kept = nj_challenge_retain(challenge); return;
  case FORGET: return;
  }
  CHECK(nj_challenge_use_default(challenge) == NJ_INVALID_ARGUMENT); /* it has a response */
}

static nj_client *client_with(const char *base, nj_challenge_fn callback, plan *self) {
  nj_error *error = NULL;
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, base) == NJ_OK);
  CHECK(nj_config_set_ca_file(config, authorities) == NJ_OK);
  CHECK(nj_config_on_challenge(config, callback, self) == NJ_OK);
  nj_client *client = nj_client_new(config, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(client != NULL);
  nj_config_free(config);
  return client;
}

/* The status of the response, or the negative kind of the error, whose message is copied to `message`. */
static int get(nj_client *client, const char *target, char message[256]) {
  nj_error *error = NULL;
  nj_request *request = nj_request_new("GET", target);
  nj_response *response = nj_client_send(client, request, &error);
  int status = response != NULL ? nj_response_status(response) : -(int)nj_error_kind(error);
  if (error != NULL && message != NULL) snprintf(message, 256, "%s", nj_error_message(error));
  nj_response_release(response);
  nj_error_release(error);
  nj_request_free(request);
  return status;
}

static void passwords(void) {
  plan right = {.what = RIGHT};
  nj_client *client = client_with(url, decide, &right);
  CHECK(get(client, "/v1/basic", NULL) == 200);
  CHECK(get(client, "/v1/digest", NULL) == 200);
  CHECK(get(client, "/v1/basic", NULL) == 200);
  CHECK(right.count == 2);
  CHECK(pthread_equal(right.thread, pthread_self()));
  CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_OK);
  CHECK(get(client, "/v1/basic", NULL) == 200);
  CHECK(right.count == 3);
  nj_client_free(client);

  plan wrong = {.what = WRONG_FIRST};
  client = client_with(url, decide, &wrong);
  CHECK(get(client, "/v1/digest", NULL) == 200);
  CHECK(wrong.count == 2);
  nj_client_free(client);
}

static void refusals(void) {
  char message[256] = "";
  plan plans[] = {{.what = DEFAULT}, {.what = FORGET}, {.what = CANCEL}};
  for (int index = 0; index < 3; index++) {
    nj_client *client = client_with(url, decide, &plans[index]);
    CHECK(get(client, "/v1/basic", message) == (index < 2 ? -NJ_UNAUTHORIZED : -NJ_CANCELLED));
    CHECK(plans[index].count == 1);
    nj_client_free(client);
  }
  CHECK(strstr(message, ": not now") != NULL);
  nj_client *client = client_with(url, NULL, NULL);
  CHECK(get(client, "/v1/basic", NULL) == -NJ_UNAUTHORIZED);
  nj_client_free(client);
}

static void *respond_later(void *argument) {
  plan *self = argument;
  CHECK(nj_challenge_use_password(self->kept, "demo", "secret") == NJ_OK);
  nj_challenge_release(self->kept);
  return NULL;
}

static void later(void) {
  nj_queue *queue = nj_queue_new();
  plan self = {.what = KEEP};
  nj_client *client = client_with(url, decide, &self);
  int status = 0;
  nj_task *task = start(client, queue, "/v1/basic", &status);
  POLL_UNTIL(queue, self.kept != NULL);
  CHECK(nj_challenge_kind(self.kept) == NJ_CHALLENGE_HTTP);
  CHECK_TEXT(nj_challenge_host(self.kept), "127.0.0.1");
  CHECK(nj_challenge_port(self.kept) > 0);
  CHECK(!nj_challenge_is_proxy(self.kept) && !nj_challenge_is_encrypted(self.kept));
  CHECK_TEXT(nj_challenge_scheme(self.kept), "Basic");
  CHECK_TEXT(nj_challenge_realm(self.kept), "demo");
  CHECK(strstr(nj_challenge_json(self.kept, NULL), "\"kind\":\"http\"") != NULL);
  /* Responses that do not fit leave the challenge pending. */
  CHECK(nj_challenge_use_password(self.kept, NULL, "p") == NJ_INVALID_ARGUMENT);
  CHECK(nj_challenge_use_password(self.kept, "a:b", "p") == NJ_INVALID_ARGUMENT);
  CHECK(nj_challenge_use_certificate_file(self.kept, "/nonexistent", NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_challenge_use_certificate_pkcs12(self.kept, "/nonexistent", NULL) == NJ_INVALID_ARGUMENT);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, respond_later, &self) == 0);
  while (status == 0 && nj_queue_poll(queue, 10) > 0) continue;
  pthread_join(thread, NULL);
  CHECK(status == 200);
  nj_task_release(task);
  nj_client_free(client);

  /* A response after the end of the call and of the client, and in a forked child. */
  self = (plan){.what = KEEP};
  client = client_with(url, decide, &self);
  status = 0;
  task = start(client, queue, "/v1/basic", &status);
  POLL_UNTIL(queue, self.kept != NULL);
  pid_t child = fork();
  if (child == 0) {
    CHECK(nj_challenge_use_password(self.kept, "demo", "secret") == NJ_FORKED);
    CHECK(nj_challenge_use_default(self.kept) == NJ_FORKED);
    CHECK(nj_challenge_cancel(self.kept, NULL) == NJ_FORKED);
    nj_challenge_release(self.kept);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execlp(checks_failed ? "false" : "true", "child", (char *)NULL);
    _exit(1);
  }
  int result = -1;
  CHECK(waitpid(child, &result, 0) == child && result == 0);
  nj_task_cancel(task);
  while (status == 0 && nj_queue_poll(queue, 10) > 0) continue;
  CHECK(status == -(int)NJ_CANCELLED);
  nj_client_free(client);
  CHECK(nj_challenge_use_password(self.kept, "demo", "secret") == NJ_OK);
  nj_challenge_release(self.kept);
  nj_task_release(task);
  nj_queue_free(queue);
}

static void trust(void *context, nj_challenge *challenge) {
  plan *self = context;
  self->count++;
  CHECK(nj_challenge_kind(challenge) == NJ_CHALLENGE_SERVER_TRUST);
  CHECK_TEXT(nj_challenge_host(challenge), "localhost");
  CHECK(nj_challenge_is_encrypted(challenge));
  CHECK(nj_challenge_scheme(challenge) == NULL && nj_challenge_realm(challenge) == NULL);
  CHECK(nj_challenge_rejections(challenge) == 0);
  CHECK(strstr(nj_challenge_json(challenge, NULL), "\"chain\":[{\"subject\":") != NULL);
  CHECK(nj_challenge_use_password(challenge, "demo", "secret") == NJ_INVALID_ARGUMENT);
  if (self->what == CANCEL) CHECK(nj_challenge_cancel(challenge, NULL) == NJ_OK);
}

static void handshakes(void) {
  char message[256] = "";
  plan self = {.what = FORGET};
  nj_client *client = client_with(secure_url, trust, &self);
  CHECK(get(client, "/1k", NULL) == 200);
  CHECK(self.count == 1);
  nj_client_free(client);
  self = (plan){.what = CANCEL};
  client = client_with(secure_url, trust, &self);
  CHECK(get(client, "/1k", message) == -NJ_CANCELLED);
  CHECK(strncmp(message, "the challenge callback rejected the certificate of localhost:", 61) == 0);
  CHECK(self.count == 1);
  nj_client_free(client);
}

static void misuse(void) {
  CHECK(nj_config_on_challenge(NULL, decide, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_challenge_retain(NULL) == NULL);
  nj_challenge_release(NULL);
  CHECK(nj_challenge_kind(NULL) == NJ_CHALLENGE_NONE);
  CHECK(nj_challenge_host(NULL) == NULL && nj_challenge_port(NULL) == 0);
  CHECK(!nj_challenge_is_proxy(NULL) && !nj_challenge_is_encrypted(NULL));
  CHECK(nj_challenge_scheme(NULL) == NULL && nj_challenge_realm(NULL) == NULL);
  CHECK(nj_challenge_rejections(NULL) == 0 && nj_challenge_json(NULL, NULL) == NULL);
  CHECK(nj_challenge_use_default(NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_challenge_use_password(NULL, "u", "p") == NJ_INVALID_ARGUMENT);
  CHECK(nj_challenge_use_certificate_file(NULL, "f", NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_challenge_use_certificate_pkcs12(NULL, "f", NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_challenge_cancel(NULL, NULL) == NJ_INVALID_ARGUMENT);
}

int main(int argc, char **argv) {
  url = argc > 1 ? argv[1] : "";
  secure_url = getenv("NIGHTJAR_HTTPS_URL");
  authorities = getenv("NIGHTJAR_CA_FILE");
  if (secure_url == NULL || authorities == NULL) return 2;
  misuse();
  passwords();
  refusals();
  later();
  handshakes();
  FINISH();
}
