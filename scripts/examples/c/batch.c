/* Sends many requests with bounded concurrency, and prints the results.
 *   cc batch.c $(pkg-config --cflags --libs nightjar) && ./a.out http://127.0.0.1:8080/v1 /articles/1 /articles/2 ... */
#include <nightjar.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s BASE_URL PATH...\n", argv[0]);
    return 2;
  }
  nj_error *err = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_client *client = nj_client_new(config, &err);
  nj_config_free(config);
  if (!client) {
    fprintf(stderr, "%s\n", nj_error_message(err));
    nj_error_release(err);
    return 1;
  }

  size_t count = (size_t)argc - 2, failures = 0;
  nj_request **requests = calloc(count, sizeof *requests);
  nj_response **responses = calloc(count, sizeof *responses);
  nj_error **errors = calloc(count, sizeof *errors);
  for (size_t i = 0; i < count; i++) requests[i] = nj_request_new("GET", argv[i + 2]);

  /* Errors are collected, so each request has its own result, at its own index. */
  nj_status status = nj_client_send_batch(client, (const nj_request *const *)requests, count, NJ_BATCH_CONCURRENCY, true,
                                          responses, errors, &err);
  if (status != NJ_OK) {
    fprintf(stderr, "%s\n", nj_error_message(err));
    nj_error_release(err);
  }
  for (size_t i = 0; i < count; i++) {
    if (responses[i]) printf("%d %s\n", nj_response_status(responses[i]), nj_response_url(responses[i]));
    if (errors[i]) printf("%s %s\n", nj_status_name(nj_error_kind(errors[i])), argv[i + 2]);
    failures += responses[i] == NULL;
    nj_response_release(responses[i]);
    nj_error_release(errors[i]);
    nj_request_free(requests[i]);
  }
  printf("%zu of %zu failed\n", failures, count);

  free(errors);
  free(responses);
  free(requests);
  nj_client_free(client);
  return 0;
}
