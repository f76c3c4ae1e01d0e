/*
 * A host that runs out of memory: memory CASE URL [N]
 *
 * Each case ends with status 0 and the line "ok", or prints the failed check. URL is that of the server in memory.py.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "nightjar.h"

#define REQUIRE(claim)                                                  \
  do {                                                                  \
    if (!(claim)) {                                                     \
      printf("line %d: check failed: %s\n", __LINE__, #claim);          \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

/* --- Failing allocations --- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

enum { NONE, ONE, ALL }; /* the allocations that fail: none, one, or all from that one on */
static atomic_int mode;
static atomic_size_t smallest; /* bytes; smaller allocations do not fail and are not counted */
static atomic_long left;       /* allocations before the one that fails */

static int fails(size_t size) {
  if (atomic_load(&mode) == NONE || size < atomic_load(&smallest)) return 0;
  long place = atomic_fetch_sub(&left, 1);
  if (atomic_load(&mode) == ONE ? place != 0 : place > 0) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return fails(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(count * size) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails(size) ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails(size) ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  if (fails(size)) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

/* --- Calls --- */

static const char *url;

static nj_client *client(const char *options) {
  nj_config *config = nj_config_new();
  REQUIRE(nj_config_set_base_url(config, url) == NJ_OK);
  REQUIRE(nj_config_merge_json(config, options, strlen(options), NULL) == NJ_OK);
  nj_client *made = nj_client_new(config, NULL);
  REQUIRE(made);
  nj_config_free(config);
  return made;
}

static nj_response *get(nj_client *from, const char *target, nj_error **err) {
  nj_request *request = nj_request_new("GET", target);
  nj_response *response = nj_client_send(from, request, err);
  nj_request_free(request);
  return response;
}

static void works(nj_client *from) {
  nj_error *err = NULL;
  nj_response *response = get(from, "/small", &err);
  if (!response) printf("%s\n", nj_error_message(err));
  REQUIRE(response);
  nj_response_release(response);
}

/* Limits the process to `bytes` of further address space. */
static void limit_memory(size_t bytes) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  REQUIRE(file && fscanf(file, "%ld", &pages) == 1);
  fclose(file);
  struct rlimit limit = {(size_t)pages * 4096 + bytes, (size_t)pages * 4096 + bytes};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  void *control = malloc(bytes * 2);
  REQUIRE(!control);
}

static void fails_with_no_memory(nj_client *from, const char *target) {
  nj_error *err = NULL;
  nj_response *response = get(from, target, &err);
  REQUIRE(!response);
  if (nj_error_kind(err) != NJ_NO_MEMORY) printf("%s: %s\n", target, nj_error_message(err));
  REQUIRE(nj_error_kind(err) == NJ_NO_MEMORY);
  REQUIRE(!nj_error_is_retryable(err));
  nj_error_release(err);
}

/* A response of 300 MB fails, and the client stays usable. */
static void response_body(void) {
  nj_client *made = client("{\"max_body\": \"500MB\", \"cache\": true}");
  works(made);
  limit_memory(48 << 20);
  const char *targets[] = {"/known", "/chunked", "/gzip", "/known"};
  for (int round = 0; round < 4; round++) {
    fails_with_no_memory(made, targets[round]);
    works(made);
  }
  nj_client_free(made);
}

/* Copying a request body fails when the body is set. */
static void request_body(void) {
  nj_client *made = client("{}");
  works(made);
  size_t length = 200 << 20;
  char *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(bytes != MAP_FAILED);
  limit_memory(48 << 20);
  nj_request *request = nj_request_new("POST", "/small");
  REQUIRE(nj_request_set_body(request, bytes, length) == NJ_NO_MEMORY);
  nj_request_free(request);
  works(made);
  nj_client_free(made);
}

/* A JSON document whose values need more memory than its text. */
static void json(void) {
  nj_client *made = client("{}");
  works(made);
  limit_memory(96 << 20);
  nj_error *err = NULL;
  nj_response *response = get(made, "/json", &err);
  REQUIRE(response);
  int64_t number;
  REQUIRE(nj_response_json_int64(response, "/0", &number, &err) == NJ_NO_MEMORY);
  nj_error_release(err);
  nj_response_release(response);
  works(made);
  nj_client_free(made);
}

/* The default limit: 64 MiB. */
static void default_limit(void) {
  nj_client *made = client("{}");
  nj_error *err = NULL;
  REQUIRE(!get(made, "/known", &err) && nj_error_kind(err) == NJ_TOO_LARGE);
  nj_error_release(err);
  nj_client_free(made);
}

/* Runs calls with large bodies while allocations fail. Returns the number of errors. */
static int use(nj_client *made, bool reads_json) {
  int errors = 0;
  const char *targets[] = {"/large", "/large-chunked", "/large-gzip", "/large-json"};
  for (int index = 0; index < (reads_json ? 4 : 3); index++) {
    nj_error *err = NULL;
    nj_response *response = get(made, targets[index], &err);
    if (!response) {
      errors++;
      if (nj_error_kind(err) != NJ_NO_MEMORY) printf("%s: %s\n", targets[index], nj_error_message(err));
      REQUIRE(nj_error_kind(err) == NJ_NO_MEMORY);
      nj_error_release(err);
      continue;
    }
    int64_t number;
    if (index == 3 && nj_response_json_int64(response, "/0", &number, &err) != NJ_OK) {
      errors++;
      REQUIRE(nj_error_kind(err) == NJ_NO_MEMORY);
      nj_error_release(err);
    }
    nj_response_release(response);
  }
  static char text[3000000];
  memset(text, 'x', sizeof text - 1);
  nj_request *request = nj_request_new("POST", "/small");
  nj_error *err = NULL;
  nj_response *response = NULL;
  if (nj_request_set_body(request, text, sizeof text) == NJ_OK) response = nj_client_send(made, request, &err);
  if (!response) errors++;
  if (err) nj_error_release(err);
  if (response) nj_response_release(response);
  nj_request_free(request);
  return errors;
}

/* The N-th allocation of more than 64 KiB fails. Prints "clean" if there are fewer. JSON values are excluded: Swift
 * allocates them after a check that enough memory is available. */
static void one_fails(long number) {
  nj_client *made = client("{\"cache\": true, \"max_body\": \"10MB\"}");
  works(made);
  atomic_store(&smallest, 65537);
  atomic_store(&left, number);
  atomic_store(&mode, ONE);
  int errors = use(made, false);
  atomic_store(&mode, NONE);
  works(made);
  nj_client_free(made);
  REQUIRE(errors <= 1);
  if (atomic_load(&left) >= 0) puts("clean");
}

/* Every allocation of more than N bytes fails. Prints "clean" if there was none. */
static void large_fail(long number) {
  nj_client *made = client("{\"cache\": true, \"max_body\": \"10MB\"}");
  works(made);
  atomic_store(&smallest, (size_t)number + 1);
  atomic_store(&left, 0);
  atomic_store(&mode, ALL);
  int errors = use(made, true);
  atomic_store(&mode, NONE);
  works(made);
  nj_client_free(made);
  if (errors == 0) puts("clean");
}

/* Every allocation after the N-th fails. Swift may end the process, but the process must not hang. */
static void all_fail(long number) {
  nj_client *made = client("{\"cache\": true, \"max_body\": \"10MB\"}");
  works(made);
  atomic_store(&left, number);
  atomic_store(&mode, ALL);
  int errors = use(made, true);
  nj_client_free(made);
  atomic_store(&mode, NONE);
  if (errors == 0) puts("clean");
}

int main(int count, char **words) {
  REQUIRE(count >= 3);
  url = words[2];
  long number = count > 3 ? atol(words[3]) : 0;
  const char *name = words[1];
  if (strcmp(name, "response_body") == 0) response_body();
  else if (strcmp(name, "request_body") == 0) request_body();
  else if (strcmp(name, "json") == 0) json();
  else if (strcmp(name, "default_limit") == 0) default_limit();
  else if (strcmp(name, "one_fails") == 0) one_fails(number);
  else if (strcmp(name, "large_fail") == 0) large_fail(number);
  else if (strcmp(name, "all_fail") == 0) all_fail(number);
  else return 2;
  puts("ok");
  return 0;
}
