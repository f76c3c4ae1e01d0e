/* Mocks, cassettes and network profiles, against the demo API whose URL is the argument. */
#include "check.h"
#include <nightjar.h>
#include <unistd.h>

static const char *url;

static nj_response *get(nj_client *client, const char *target, nj_error **error) {
  nj_request *request = nj_request_new("GET", target);
  nj_response *response = nj_client_send(client, request, error);
  nj_request_free(request);
  return response;
}

static void mocks(void) {
  nj_error *error = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, "http://api.test");
  nj_config_set_retry_attempts(config, 1);
  CHECK(nj_config_set_mock(config, "[{\"path\": \"/a\"}]", 16, &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "option \"mock[1]\" is a route without a response; set response or responses");
  nj_error_release(error);
  error = NULL;
  CHECK(nj_config_set_mock(config, "[", 1, NULL) == NJ_DECODING);
  CHECK(nj_config_set_mock(NULL, "[]", 2, NULL) == NJ_INVALID_ARGUMENT);
  static const char routes[] = "[{\"name\": \"list\", \"method\": \"GET\", \"path\": \"/a\","
                               "  \"responses\": [503, {\"json\": {\"n\": 1}}], \"when_exhausted\": \"error\"}]";
  CHECK(nj_config_set_mock(config, routes, sizeof routes - 1, &error) == NJ_OK);
  nj_client *client = nj_client_new(config, &error);
  nj_config_free(config);
  CHECK(client != NULL);
  CHECK(nj_client_mock_uses(client, NULL) == 0);
  CHECK(nj_client_mock_verify(client, NULL) == NJ_INVALID_REQUEST);

  CHECK(get(client, "/a", &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_SERVER);
  nj_error_release(error);
  error = NULL;
  nj_response *response = get(client, "/a", &error);
  CHECK(response != NULL && strcmp(nj_response_body(response, NULL), "{\"n\":1}") == 0);
  nj_response_release(response);
  CHECK(nj_client_mock_uses(client, "list") == 2);
  CHECK(nj_client_mock_uses(client, "GET /a") == 2);
  CHECK(nj_client_mock_uses(client, "nothing") == 0);
  CHECK(nj_client_mock_verify(client, NULL) == NJ_OK);
  CHECK(get(client, "/a", NULL) == NULL);

  CHECK(get(client, "/b", &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_REQUEST);
  nj_error_release(error);
  error = NULL;
  CHECK(nj_client_mock_verify(client, NULL) == NJ_INVALID_REQUEST);
  nj_client_mock_reset(client);
  CHECK(nj_client_mock_uses(client, "list") == 0);
  nj_client_mock_reset(NULL);
  CHECK(nj_client_mock_uses(NULL, NULL) == 0);
  nj_client_free(client);
}

static nj_client *client_of(const char *file, nj_cassette_mode mode, nj_error **error) {
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, url);
  nj_config_set_bearer(config, mode == NJ_CASSETTE_RECORD ? "a-secret-token" : "another-secret");
  nj_config_set_retry_attempts(config, 1);
  CHECK(nj_config_set_cassette(config, file, mode) == NJ_OK);
  nj_client *client = nj_client_new(config, error);
  nj_config_free(config);
  return client;
}

static void cassettes(void) {
  char file[] = "/tmp/nightjar-cassette-XXXXXX";
  int descriptor = mkstemp(file);
  CHECK(descriptor >= 0);
  close(descriptor);
  nj_error *error = NULL;

  nj_client *client = client_of(file, NJ_CASSETTE_RECORD, &error);
  nj_response *recorded = get(client, "/v1/articles?page=1", &error);
  CHECK(recorded != NULL);
  nj_client_free(client);

  FILE *stream = fopen(file, "r");
  static char text[1 << 20];
  size_t length = stream == NULL ? 0 : fread(text, 1, sizeof text - 1, stream);
  if (stream != NULL) fclose(stream);
  text[length] = 0;
  CHECK(strstr(text, "\"format\": \"nightjar-cassette\"") != NULL);
  CHECK(strstr(text, "a-secret-token") == NULL);

  client = client_of(file, NJ_CASSETTE_REPLAY, &error);
  CHECK(client != NULL);
  nj_response *replayed = get(client, "/v1/articles?page=1", &error);
  CHECK(replayed != NULL && recorded != NULL);
  CHECK(strcmp(nj_response_body(replayed, NULL), nj_response_body(recorded, NULL)) == 0);
  nj_response_release(recorded);
  nj_response_release(replayed);
  CHECK(get(client, "/v1/articles?page=2", &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_REQUEST);
  nj_error_release(error);
  error = NULL;
  nj_client_free(client);

  unlink(file);
  CHECK(client_of(file, NJ_CASSETTE_REPLAY, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_STORAGE);
  nj_error_release(error);
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_cassette(config, "x", (nj_cassette_mode)9) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_cassette(config, "", NJ_CASSETTE_AUTO) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_cassette(config, NULL, NJ_CASSETTE_AUTO) == NJ_OK);
  nj_config_free(config);
}

static void profiles(void) {
  nj_error *error = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, url);
  nj_config_set_retry_attempts(config, 1);
  CHECK(nj_config_set_network_profile(config, "4g", 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_network_profile(config, NULL, 1) == NJ_OK);
  CHECK(nj_config_set_network_profile(config, "offline", 1) == NJ_OK);
  nj_client *client = nj_client_new(config, &error);
  CHECK(get(client, "/v1/articles", &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_OFFLINE);
  nj_error_release(error);
  nj_client_free(client);
  nj_config_free(config);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  url = argv[1];
  mocks();
  cassettes();
  profiles();
  FINISH();
}
