/* Prints the items of a paginated list, one per line. With a state it resumes where another run ended.
 *   cc pages.c $(pkg-config --cflags --libs nightjar) && ./a.out http://127.0.0.1:8080/v1 /articles [MOST [STATE]] */
#include <nightjar.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc < 3 || argc > 5) {
    fprintf(stderr, "usage: %s BASE_URL PATH [MOST [STATE]]\n", argv[0]);
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
  nj_request *request = nj_request_new("GET", argv[2]);
  long most = argc > 3 ? atol(argv[3]) : 1000000, count = 0;

  /* The pagination style is detected; an nj_pagination sets it explicitly. */
  nj_paginator *paginator = nj_paginator_new(client, request, NULL, argc > 4 ? argv[4] : NULL, &err);
  const char *item;
  while (paginator && count < most && nj_paginator_next_item(paginator, &item, NULL, &err) == NJ_NEXT_FOUND) {
    puts(item);
    count++;
  }

  if (err) {
    fprintf(stderr, "%s\n", nj_error_message(err));
  } else {
    char *explanation = nj_paginator_explanation(paginator), *state = nj_paginator_state(paginator);
    printf("%ld items; %s\nstate: %s\n", count, explanation, state);
    nj_text_free(state);
    nj_text_free(explanation);
  }
  int status = err != NULL;
  nj_error_release(err);
  nj_paginator_free(paginator);
  nj_request_free(request);
  nj_client_free(client);
  return status;
}
