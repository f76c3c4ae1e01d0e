/* HTTPS calls in which the n-th allocation of a buffer for encrypted bytes fails, for n = 1, 2, 3, ... until a run is
 * clean. Each failure is NJ_NO_MEMORY, and the client can be used afterwards.
 *
 *   tls_allocations HTTPS_URL CA_FILE      the server and the file of scripts/with-nginx
 *
 * The client allocates these buffers with realloc(NULL, size), which nothing else in the library uses.
 */
#include "check.h"
#include <errno.h>
#include <nightjar.h>
#include <stdatomic.h>

extern void *__libc_realloc(void *, size_t);
static atomic_long left = -1; /* allocations until the one that fails; negative: none fails */

void *realloc(void *old, size_t size) {
  if (!old && atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_realloc(old, size);
}

/* The status of a call, or the negative kind of its error. */
static int get(nj_client *client) {
  nj_request *request = nj_request_new("GET", "close");
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  int status = response ? nj_response_status(response) : -(int)nj_error_kind(error);
  nj_response_release(response);
  nj_error_release(error);
  nj_request_free(request);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_config_set_ca_file(config, argv[2]);
  nj_config_set_retry_attempts(config, 1);
  nj_client *client = nj_client_new(config, NULL);
  nj_config_free(config);
  CHECK(get(client) == 200);
  int failed = 0;
  for (long n = 1; n < 50; n++) {
    atomic_store(&left, n);
    int status = get(client);
    int is_clean = atomic_load(&left) > 0;
    atomic_store(&left, -1);
    if (is_clean) {
      CHECK(status == 200);
      break;
    }
    failed++;
    CHECK(status == -NJ_NO_MEMORY);
    CHECK(get(client) == 200);
  }
  CHECK(failed > 0);
  nj_client_free(client);
  FINISH();
}
