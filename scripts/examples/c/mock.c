/* Tests a program with a mock server whose first responses fail.
 *   cc mock.c $(pkg-config --cflags --libs nightjar) && ./a.out */
#include <nightjar.h>
#include <stdio.h>
#include <string.h>

static const char routes[] =
    "[{\"name\": \"list\", \"method\": \"GET\", \"path\": \"/articles\","
    "  \"responses\": [{\"fault\": \"connection_lost\"}, 503, {\"json\": {\"results\": [1, 2, 3]}}]},"
    " {\"method\": \"POST\", \"path\": \"/articles\", \"json\": {\"title\": \"Hello\"}, \"response\": {\"status\": 201, \"delay\": 0.1}}]";

int main(void) {
  nj_error *err = NULL;
  nj_config *cfg = nj_config_new();
  nj_config_set_base_url(cfg, "http://api.example/v1");
  nj_config_set_network_profile(cfg, "3g", 7);
  if (nj_config_set_mock(cfg, routes, strlen(routes), &err) != NJ_OK) goto failed;
  nj_client *client = nj_client_new(cfg, &err);
  if (!client) goto failed;

  nj_request *req = nj_request_new("GET", "/articles");
  nj_response *res = nj_client_send(client, req, &err);
  nj_request_free(req);
  if (res) printf("%s after %zu attempts\n", nj_response_body(res, NULL), nj_client_mock_uses(client, "list"));
  nj_response_release(res);

  nj_error *unasked = NULL;
  if (nj_client_mock_verify(client, &unasked) != NJ_OK) printf("%s\n", nj_error_message(unasked));
  nj_error_release(unasked);
  nj_client_free(client);
  if (!err) {
    nj_config_free(cfg);
    return 0;
  }
failed:
  fprintf(stderr, "%s: %s\n", nj_status_name(nj_error_kind(err)), nj_error_message(err));
  nj_error_release(err);
  nj_config_free(cfg);
  return 1;
}
