/* Signs each request with an HMAC, and posts a text to a server that checks the signature.
 *
 *   cc sign_hmac.c $(pkg-config --cflags --libs nightjar) && ./a.out http://127.0.0.1:8080/signed hello demo-signing-secret
 *
 * The signature covers the method, the target, the time and the digest of the body, each on its own line. */
#include <nightjar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The before hook. The context is the secret. */
static nj_status sign(void *context, nj_prepared_request *request) {
  const char *secret = context, *digest = nj_prepared_request_body_sha256(request);
  if (digest == NULL) return NJ_INVALID_REQUEST; /* a body that is read while it is sent */
  const char *target = strchr(strstr(nj_prepared_request_url(request), "://") + 3, '/');
  char timestamp[32], *text = NULL, signature[65];
  size_t length = 0;
  snprintf(timestamp, sizeof timestamp, "%lld", (long long)time(NULL));
  FILE *writer = open_memstream(&text, &length);
  if (writer == NULL) return NJ_INVALID_REQUEST;
  fprintf(writer, "%s\n%s\n%s\n%s", nj_prepared_request_method(request), target, timestamp, digest);
  fclose(writer);
  unsigned char code[32];
  nj_hmac_sha256(secret, strlen(secret), text, length, code);
  free(text);
  for (int index = 0; index < 32; index++) snprintf(signature + 2 * index, 3, "%02x", code[index]);
  nj_status status = nj_prepared_request_set_header(request, "X-Timestamp", timestamp);
  return status != NJ_OK ? status : nj_prepared_request_set_header(request, "X-Signature", signature);
}

/* The after hook. */
static void report(void *context, const nj_prepared_request *request, const nj_response *response, const nj_error *error) {
  (void)context;
  printf("call %lld: %s ", (long long)nj_prepared_request_call_id(request), nj_prepared_request_method(request));
  if (response) printf("%d\n", nj_response_status(response));
  else printf("%s\n", nj_status_name(nj_error_kind(error)));
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s URL TEXT SECRET\n", argv[0]);
    return 2;
  }
  nj_config *config = nj_config_new();
  nj_config_on_request(config, sign, argv[3]);
  nj_config_on_response(config, report, NULL);
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  nj_request *request = nj_request_new("POST", argv[1]);
  nj_request_set_body(request, argv[2], strlen(argv[2]));
  nj_response *response = client ? nj_client_send(client, request, &error) : NULL;
  if (response) printf("%s\n", nj_response_text(response, NULL));
  else fprintf(stderr, "%s: %s\n", nj_status_name(nj_error_kind(error)), nj_error_message(error));
  int status = response ? 0 : 1;
  nj_response_release(response);
  nj_error_release(error);
  nj_request_free(request);
  nj_client_free(client);
  nj_config_free(config);
  return status;
}
