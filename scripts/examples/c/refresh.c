/* Logs in at the demo API with a token that expires soon, and then starts 20 concurrent calls: all wait for one
 * token refresh.
 *   cc refresh.c $(pkg-config --cflags --libs nightjar) && ./a.out http://127.0.0.1:8080 */
#include <nightjar.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { calls = 20 };

/* A login call, the places of the tokens in its response, and the refresh call. The refresh token
 * rotates, so two concurrent refreshes would end the login. With "store": "file:PATH" the login outlives the program
 * and can be shared. */
static const char login[] =
    "{\"type\": \"login\", \"url\": \"/v1/auth/login\","
    " \"json\": {\"email\": \"ada@example.org\", \"password\": \"moonlight\", \"expires_in\": 2},"
    " \"access_token_pointer\": \"/access_token\", \"refresh_token_pointer\": \"/refresh_token\", \"lifetime\": \"/expires_in\","
    " \"refresh\": {\"url\": \"/v1/auth/refresh\"}}";

struct progress {
  int finished, responses;
};

static void done(void *context, nj_task *task, const nj_response *res, const nj_error *err) {
  (void)task;
  struct progress *progress = context;
  progress->finished++;
  if (!res) {
    fprintf(stderr, "%s: %s\n", nj_status_name(nj_error_kind(err)), nj_error_message(err));
    return;
  }
  if (progress->responses++ == 0) printf("%s\n", nj_response_explain(res));
}

/* The number of refreshes that the demo API has counted. */
static int64_t refreshes(nj_client *client) {
  nj_request *req = nj_request_new("GET", "/__stats");
  nj_request_set_use_auth(req, false);
  nj_response *res = nj_client_send(client, req, NULL);
  int64_t count = -1;
  nj_response_json_int64(res, "/auth/refreshes", &count, NULL);
  nj_response_release(res);
  nj_request_free(req);
  return count;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s DEMO_URL\n", argv[0]);
    return 2;
  }
  nj_error *err = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_client *client = NULL;
  if (nj_config_set_auth_json(config, login, strlen(login), &err) == NJ_OK) client = nj_client_new(config, &err);
  nj_config_free(config);

  nj_request *req = nj_request_new("GET", "/v1/me");
  nj_response *res = client ? nj_client_send(client, req, &err) : NULL; /* Logs in. */
  if (!res) {
    fprintf(stderr, "%s: %s\n", nj_status_name(nj_error_kind(err)), nj_error_message(err));
    nj_error_release(err);
    nj_request_free(req);
    nj_client_free(client);
    return 1;
  }
  nj_response_release(res);
  int64_t before = refreshes(client);
  sleep(2);

  struct progress progress = {0, 0};
  nj_queue *queue = nj_queue_new();
  for (int i = 0; i < calls; i++) nj_task_release(nj_client_start(client, req, queue, done, &progress, NULL));
  while (progress.finished < calls) nj_queue_poll(queue, -1);
  int64_t count = refreshes(client) - before;
  printf("%d calls, %d responses, %d refresh%s\n", calls, progress.responses, (int)count, count == 1 ? "" : "es");

  nj_queue_free(queue);
  nj_request_free(req);
  nj_client_free(client);
  return progress.responses == calls && count == 1 ? 0 : 1;
}
