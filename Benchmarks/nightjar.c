/* The Nightjar side of the benchmarks. Arguments: MODE URL COUNT. Prints the cost per request, or of the transfer. */
#define _GNU_SOURCE
#include "measure.h"
#include <fcntl.h>
#include <nightjar.h>
#include <unistd.h>

static nj_client *client;
static nj_queue *queue;
static nj_request *request;
static long total, started, finished, failed;
static int version = 11; /* of HTTP, which each response must have */

/* All policies that a careful program enables. None of them acts while all calls succeed. */
static const char policies[] =
  "{\"retry\":{\"attempts\":3},\"rate_limit\":{\"requests\":1000000,\"per\":1},\"concurrency\":1000,"
  "\"circuit_breaker\":true,\"coalesce\":false,"
  "\"auth\":{\"type\":\"oauth2\",\"token_url\":\"/token\",\"access_token\":\"token\",\"refresh_token\":\"token\"}}";

static void merge(nj_config *config, const char *options) {
  nj_error *err = NULL;
  if (nj_config_merge_json(config, options, strlen(options), &err) != NJ_OK)
    fprintf(stderr, "%s\n", nj_error_message(err)), exit(1);
}

static nj_config *configuration(const char *mode, const char *url) {
  nj_config *config = nj_config_new();
  int is_cached = strcmp(mode, "cached") == 0 || strcmp(mode, "uncached") == 0;
  const char *options = strcmp(mode, "policies") == 0   ? policies
                        : strcmp(mode, "coalesce") == 0 ? "{\"coalesce\":true}"
                        : is_cached                     ? "{\"cache\":true}"
                                                        : NULL;
  if (options) {
    nj_config_set_base_url(config, url);
    merge(config, options);
  }
  if (version == 20) merge(config, "{\"http\":{\"versions\":[\"2\"]}}");
  if (getenv("NIGHTJAR_CA_FILE")) nj_config_set_ca_file(config, getenv("NIGHTJAR_CA_FILE"));
  return config;
}

static void start(void);

static void done(void *context, nj_task *task, const nj_response *res, const nj_error *err) {
  (void)context, (void)task;
  if (err && failed++ == 0) fprintf(stderr, "%s\n", nj_error_message(err));
  if (res && (nj_response_status(res) != 200 || nj_response_http_version(res) != version) && failed++ == 0)
    fprintf(stderr, "status %d of HTTP version %d\n", nj_response_status(res), nj_response_http_version(res));
  finished++;
  if (started < total) start();
}

static void start(void) {
  started++;
  nj_task_release(nj_client_start(client, request, queue, done, NULL, NULL));
}

/* Keeps 64 requests in flight: each completion starts the next request. */
static void many(void) {
  double cpu = 0, wall = 0;
  total += WARM_UP;
  for (int i = 0; i < 64; i++) start();
  long from = 0;
  while (finished < total) {
    nj_queue_poll(queue, -1);
    if (!from && finished >= WARM_UP) from = finished, cpu = cpu_us(), wall = wall_us();
    if (!early_kib && finished >= total / 10) early_kib = memory_kib("VmRSS:");
  }
  report((cpu_us() - cpu) / (double)(finished - from), (wall_us() - wall) / (double)(finished - from));
}

/* As `many`, over one connection of HTTP/2. The server confirms that all requests have used the same connection. */
static void http2(const char *url) {
  many();
  char address[256], expected[64];
  snprintf(address, sizeof address, "%.*s/connection", (int)(strrchr(url, '/') - url), url);
  snprintf(expected, sizeof expected, "HTTP/2.0 %ld", total + 1);
  nj_request *last = nj_request_new("GET", address);
  nj_response *res = nj_client_send(client, last, NULL);
  const char *seen = res ? nj_response_text(res, NULL) : NULL;
  if (!seen || strcmp(seen, expected) != 0) fprintf(stderr, "%s, not %s\n", seen ? seen : "no response", expected), failed++;
  nj_response_release(res);
  nj_request_free(last);
}

/* All requests are concurrent and identical, so that they share one exchange. */
static void coalesce(void) {
  double cpu = cpu_us(), wall = wall_us();
  while (started < total) start();
  while (finished < total) nj_queue_poll(queue, -1);
  report((cpu_us() - cpu) / (double)total, (wall_us() - wall) / (double)total);
}

static void send_one(void) {
  nj_response *res = nj_client_send(client, request, NULL);
  if (!res) failed++;
  nj_response_release(res);
}

static void blocking(void) {
  for (int i = 0; i < WARM_UP; i++) send_one();
  double cpu = cpu_us(), wall = wall_us();
  for (long i = 0; i < total; i++) send_one();
  report((cpu_us() - cpu) / (double)total, (wall_us() - wall) / (double)total);
}

/* Sends requests that are not measured, and checks whether their connections resume a session. */
static void check_resumption(bool expected) {
  for (int i = 0; i < 20; i++) {
    nj_response *res = nj_client_send(client, request, NULL);
    const char *tls = res ? nj_response_tls_json(res, NULL) : NULL;
    bool resumed = tls && strstr(tls, "\"resumed\":true");
    if (!tls || resumed != expected) {
      fprintf(stderr, "a connection %s a session: %s\n", resumed ? "resumes" : "does not resume", tls ? tls : "no response");
      exit(1);
    }
    nj_response_release(res);
  }
}

/* Opens one connection per request, because the server closes each connection. */
static void handshake(bool resumes) {
  send_one(); /* receives the first session */
  check_resumption(resumes);
  double cpu = cpu_us(), wall = wall_us();
  for (long i = 0; i < total; i++) send_one();
  cpu = cpu_us() - cpu, wall = wall_us() - wall;
  check_resumption(resumes);
  report(cpu / (double)total, wall / (double)total);
}

static void download(const char *path, const char *connections) {
  char options[128];
  int length = snprintf(options, sizeof options, "{\"resume\": false, \"connections\": %s}", connections);
  nj_error *err = NULL;
  double cpu = cpu_us(), wall = wall_us();
  if (nj_client_download(client, request, path, options, (size_t)length, NULL, NULL, NULL, &err) != NJ_OK) {
    fprintf(stderr, "%s\n", nj_error_message(err));
    failed++;
  }
  report(cpu_us() - cpu, wall_us() - wall);
}

static void upload(const char *path) {
  nj_error *err = NULL;
  double cpu = cpu_us(), wall = wall_us();
  if (nj_client_upload(client, request, path, NULL, 0, NULL, NULL, NULL, &err) != NJ_OK) {
    fprintf(stderr, "%s\n", nj_error_message(err));
    failed++;
  }
  report(cpu_us() - cpu, wall_us() - wall);
}

/* Measures the resident memory of an idle client after a request, or with `total` requests in flight. */
static void memory(int in_flight) {
  if (!in_flight) {
    send_one();
  } else {
    double before = memory_kib("VmRSS:");
    long count = total;
    total = 0;
    for (long i = 0; i < count; i++) start();
    for (int i = 0; i < 50; i++) nj_queue_poll(queue, 0.02);
    fprintf(stderr, "%ld in flight\n", count - finished);
    printf("{\"bytes_each\": %.0f}\n", (memory_kib("VmRSS:") - before) * 1024 / (double)count);
    return;
  }
  report(0, 0);
}

/* Measures the memory of idle connections: each of the concurrent requests opens one. */
static void memory_of_connections(void) {
  send_one();
  holdings before = held();
  while (started < total) start();
  while (finished < total) nj_queue_poll(queue, -1);
  for (int i = 0; i < 10; i++) nj_queue_poll(queue, 0.02);
  report_growth(before);
}

/* `total` clients with one shared loop, each with an idle connection after a request. Prints the threads of the process, and
   the memory and the descriptors for each client. The first client loads what all clients share. */
static void memory_of_clients(nj_config *config) {
  if (nj_config_set_shared_loop(config, "clients") != NJ_OK) exit(1);
  nj_client **clients = calloc((size_t)total + 1, sizeof *clients);
  holdings before = {0};
  for (long i = 0; i <= total; i++) {
    nj_error *err = NULL;
    if (i == 1) before = held();
    client = clients[i] = nj_client_new(config, &err);
    if (!client) fprintf(stderr, "%s\n", nj_error_message(err)), exit(1);
    send_one();
  }
  holdings now = held();
  printf("{\"threads\": %ld, \"bytes_each\": %.0f, \"allocated_each\": %.0f, \"descriptors_each\": %.3f}\n", threads(),
         (now.resident - before.resident) / (double)total, (now.allocated - before.allocated) / (double)total,
         (double)(now.descriptors - before.descriptors) / (double)total);
  for (long i = 0; i < total; i++) nj_client_free(clients[i]);
  free(clients);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  total = atol(argv[3]);
  nj_error *err = NULL;
  if (strcmp(argv[1], "http2") == 0 || strcmp(argv[1], "memory-http2") == 0) version = 20;
  nj_config *config = configuration(argv[1], argv[2]);
  if (strcmp(argv[1], "memory-flight") == 0 || strcmp(argv[1], "memory-tls") == 0) {
    nj_config_set_max_connections_per_host(config, 65536);
    nj_config_set_connect_timeout(config, 60);
  }
  queue = nj_queue_new();
  request = nj_request_new("GET", argv[2]);
  if (strcmp(argv[1], "memory-clients") == 0) {
    memory_of_clients(config);
    nj_config_free(config);
    nj_client_free(client);
    nj_queue_free(queue);
    return failed ? 1 : 0;
  }
  client = nj_client_new(config, &err);
  if (!client) {
    fprintf(stderr, "%s\n", nj_error_message(err));
    return 1;
  }
  if (strcmp(argv[1], "many") == 0 || strcmp(argv[1], "policies") == 0 || strcmp(argv[1], "uncached") == 0) many();
  else if (strcmp(argv[1], "http2") == 0) http2(argv[2]);
  else if (strcmp(argv[1], "coalesce") == 0) coalesce();
  else if (strcmp(argv[1], "blocking") == 0 || strcmp(argv[1], "cached") == 0) blocking();
  else if (strcmp(argv[1], "handshake") == 0) handshake(false);
  else if (strcmp(argv[1], "handshake-resumed") == 0) handshake(true);
  else if (strcmp(argv[1], "download") == 0) download(argv[4], argc > 5 ? argv[5] : "1");
  else if (strcmp(argv[1], "upload") == 0) upload(argv[4]);
  else if (strcmp(argv[1], "memory-idle") == 0) memory(0);
  else if (strcmp(argv[1], "memory-flight") == 0 || strcmp(argv[1], "memory-http2") == 0) memory(1);
  else if (strcmp(argv[1], "memory-tls") == 0) memory_of_connections();
  else return 2;
  fflush(stdout);
  if (strcmp(argv[1], "memory-flight") == 0 || strcmp(argv[1], "memory-http2") == 0) _exit(failed ? 1 : 0);
  nj_client_free(client);
  nj_queue_free(queue);
  return failed ? 1 : 0;
}
