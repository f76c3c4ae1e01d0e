/*
 * A host that cannot create threads, or has few descriptors: resources CASE URL FOLDER
 *
 * Each case ends with status 0 and the line "ok", or prints the failed check. URL is that of the demo API, with a host
 * name.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "nightjar.h"

#define REQUIRE(claim)                                                  \
  do {                                                                  \
    if (!(claim)) {                                                     \
      printf("line %d: check failed: %s\n", __LINE__, #claim);          \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

static const char *url, *folder;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *nothing(void *context) { return context; }

/* Prevents this process from creating threads. The limit does not apply to root, so root changes its user. */
static void forbid_threads(void) {
  if (getuid() == 0) REQUIRE(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
  struct rlimit limit = {1, 1};
  REQUIRE(setrlimit(RLIMIT_NPROC, &limit) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, nothing, NULL) == EAGAIN); /* verifies the limit */
}

static nj_client *client(nj_cache *cache, nj_error **err) {
  nj_config *config = nj_config_new();
  REQUIRE(nj_config_set_base_url(config, url) == NJ_OK);
  if (cache) REQUIRE(nj_config_set_cache(config, cache) == NJ_OK);
  nj_client *made = nj_client_new(config, err);
  nj_config_free(config);
  return made;
}

static nj_response *get(nj_client *from, const char *target, nj_error **err) {
  nj_request *request = nj_request_new("GET", target);
  nj_response *response = nj_client_send(from, request, err);
  nj_request_free(request);
  return response;
}

static void end(nj_client *made) {
  double start = now();
  nj_client_free(made);
  REQUIRE(now() - start < 5);
}

/* No client can be created, and the error contains the reason. */
static void no_client(void) {
  forbid_threads();
  for (int round = 0; round < 3; round++) {
    nj_error *err = NULL;
    double start = now();
    REQUIRE(client(NULL, &err) == NULL);
    REQUIRE(now() - start < 5);
    REQUIRE(nj_error_kind(err) == NJ_CONNECT && strstr(nj_error_message(err), "thread"));
    nj_error_release(err);
  }
}

/* Name resolution fails for an existing client. The client is freed without a delay, and its loop is reused. */
static void no_look_up(void) {
  nj_client *made = client(NULL, NULL);
  REQUIRE(made);
  forbid_threads();
  nj_error *err = NULL;
  REQUIRE(get(made, "/v1/articles/1", &err) == NULL);
  REQUIRE(nj_error_kind(err) == NJ_CONNECT && strstr(nj_error_message(err), "thread"));
  nj_error_release(err);
  end(made);
  for (int round = 0; round < 20; round++) {
    made = client(NULL, NULL);
    REQUIRE(made);
    end(made);
  }
}

/* Calls succeed although the disk cache cannot start its thread. Removing entries fails. */
static void no_disk_cache(void) {
  char own[4096];
  snprintf(own, sizeof own, "%s/cache", folder);
  nj_cache *cache = nj_cache_open(1 << 20, own, 1 << 20, NULL);
  REQUIRE(cache);
  nj_client *made = client(cache, NULL);
  REQUIRE(made);
  forbid_threads();
  nj_error *err = NULL;
  /* The URL has an address, so no name is resolved. */
  nj_response *response = get(made, getenv("NIGHTJAR_DEMO_ADDRESS"), &err);
  if (!response) printf("%s\n", nj_error_message(err));
  REQUIRE(response);
  nj_response_release(response);
  REQUIRE(nj_cache_clear(cache, NULL, &err) == NJ_STORAGE);
  REQUIRE(strstr(nj_error_message(err), "thread"));
  nj_error_release(err);
  end(made);
  nj_cache_free(cache);
}

static atomic_int busy = 1;

/* Opens and closes descriptors as fast as possible. */
static void *take_descriptors(void *context) {
  int descriptors[64];
  while (atomic_load(&busy)) {
    int count = 0;
    while (count < 64 && (descriptors[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) count++;
    while (count > 0) close(descriptors[--count]);
  }
  return context;
}

/* A client is created or rejected, even if another thread opens descriptors between a check and a creation. */
static void few_descriptors(void) {
  nj_client_free(client(NULL, NULL));
  struct rlimit limit = {64, 64};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  pthread_t threads[3];
  for (int index = 0; index < 3; index++) REQUIRE(pthread_create(&threads[index], NULL, take_descriptors, NULL) == 0);
  int made = 0, refused = 0;
  double until = now() + 3;
  nj_client *kept[8] = {0};
  for (int turn = 0; now() < until; turn = (turn + 1) % 8) { /* more clients than parked loops */
    if (kept[turn]) nj_client_free(kept[turn]);
    nj_error *err = NULL;
    kept[turn] = client(NULL, &err);
    if (kept[turn]) made++;
    else refused++;
    if (err) nj_error_release(err);
  }
  for (int turn = 0; turn < 8; turn++)
    if (kept[turn]) nj_client_free(kept[turn]);
  atomic_store(&busy, 0);
  for (int index = 0; index < 3; index++) pthread_join(threads[index], NULL);
  printf("%d made, %d refused\n", made, refused);
}

/* Child processes of the host inherit no descriptors. */
static void close_on_exec(void) {
  nj_client *made = client(NULL, NULL);
  nj_response *response = get(made, "/v1/articles/1", NULL);
  REQUIRE(response);
  for (int descriptor = 3; descriptor < 256; descriptor++) {
    int flags = fcntl(descriptor, F_GETFD);
    if (flags < 0 || flags & FD_CLOEXEC) continue;
    char link[64], name[256] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, name, sizeof name - 1);
    printf("descriptor %d is inherited: %.*s\n", descriptor, (int)(length < 0 ? 0 : length), name);
    exit(1);
  }
  nj_response_release(response);
  nj_client_free(made);
}

/* Replaces libc's resolver, also for the library. Names that begin with "slow" take up to 3 ms and do not exist. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  static int (*resolve)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  if (!resolve) *(void **)&resolve = dlsym(RTLD_NEXT, "getaddrinfo");
  if (!node || strncmp(node, "slow", 4) != 0) return resolve(node, service, hints, result);
  static atomic_uint count;
  struct timespec wait = {0, (long)(atomic_fetch_add(&count, 1) * 7919 % 3000) * 1000};
  nanosleep(&wait, NULL);
  return EAI_NONAME;
}

static void completed(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task;
  REQUIRE((response != NULL) != (error != NULL));
  ++*(int *)context;
}

static long resident(void) { /* bytes */
  malloc_trim(0);
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  REQUIRE(file && fscanf(file, "%*d %ld", &pages) == 1);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Clients that are freed during name lookups and reads of the disk cache leak no memory, and complete every task. */
static void freed_clients(void) {
  enum { rounds = 1500, warm = 500, each = 6 };
  const char *origin = getenv("NIGHTJAR_DEMO_ORIGIN");
  REQUIRE(origin);
  char own[4096];
  snprintf(own, sizeof own, "%s/freed", folder);
  nj_cache *cache = nj_cache_open(1 << 16, own, 4 << 20, NULL);
  REQUIRE(cache);
  nj_queue *queue = nj_queue_new();
  long before = 0;
  for (int round = 0; round < warm + rounds; round++) {
    if (round == warm) before = resident();
    nj_client *made = client(cache, NULL);
    REQUIRE(made);
    int completions = 0;
    for (int index = 0; index < each; index++) {
      char target[256];
      if (index % 2) snprintf(target, sizeof target, "http://slow%d.test/", index);
      else snprintf(target, sizeof target, "%s/cache/freed-%d", origin, index);
      nj_request *request = nj_request_new("GET", target);
      nj_task *task = nj_client_start(made, request, queue, completed, &completions, NULL);
      nj_request_free(request);
      REQUIRE(task);
      nj_task_release(task);
    }
    if (round % 3 == 1) nj_queue_poll(queue, 0.001);
    nj_client_free(made);
    double until = now() + 10;
    while (completions < each && now() < until) nj_queue_poll(queue, 0.1);
    REQUIRE(completions == each);
  }
  long growth = resident() - before;
  printf("%ld kB more after %d clients\n", growth / 1024, rounds);
  REQUIRE(growth < 4 << 20);
  nj_queue_free(queue);
  nj_cache_free(cache);
}

int main(int count, char **words) {
  REQUIRE(count == 4);
  url = words[2];
  folder = words[3];
  static const struct {
    const char *name;
    void (*run)(void);
  } cases[] = {{"no_client", no_client},           {"no_look_up", no_look_up},
               {"no_disk_cache", no_disk_cache},   {"few_descriptors", few_descriptors},
               {"close_on_exec", close_on_exec},   {"freed_clients", freed_clients}};
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    if (strcmp(words[1], cases[index].name) != 0) continue;
    cases[index].run();
    puts("ok");
    return 0;
  }
  return 2;
}
