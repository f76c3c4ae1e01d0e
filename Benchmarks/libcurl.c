/* The libcurl side of the benchmarks. Arguments: MODE URL COUNT, as for nightjar.c. The mode `many` uses
 * curl_multi_socket_action and epoll, the fastest interface of libcurl. */
#define _GNU_SOURCE
#include "measure.h"
#include <curl/curl.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

static const char *url;
static long total, failed;
static int epoll_fd;
static long timeout_ms = -1;
static long version = CURL_HTTP_VERSION_1_1;

static size_t collect(char *bytes, size_t size, size_t count, void *context) {
  (void)bytes;
  *(size_t *)context += size * count;
  return size * count;
}

static size_t write_part(char *bytes, size_t size, size_t count, void *context) {
  ssize_t written = write(*(int *)context, bytes, size * count);
  return written < 0 ? 0 : (size_t)written;
}

static CURL *easy(size_t *received) {
  CURL *handle = curl_easy_init();
  curl_easy_setopt(handle, CURLOPT_URL, url);
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, version);
  curl_easy_setopt(handle, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, collect);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, received);
  curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
  if (getenv("NIGHTJAR_CA_FILE")) curl_easy_setopt(handle, CURLOPT_CAINFO, getenv("NIGHTJAR_CA_FILE"));
  return handle;
}

static int on_socket(CURL *handle, curl_socket_t fd, int what, void *context, void *socket_context) {
  (void)handle, (void)context, (void)socket_context;
  struct epoll_event event = {.data.fd = fd};
  if (what == CURL_POLL_REMOVE) return epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL), 0;
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0) epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
  return 0;
}

static int on_timer(CURLM *multi, long timeout, void *context) {
  (void)multi, (void)context;
  timeout_ms = timeout;
  return 0;
}

/* Returns whether a transfer has received a response in the required version of HTTP. */
static int has_succeeded(CURL *handle, CURLcode result) {
  long seen = 0;
  curl_easy_getinfo(handle, CURLINFO_HTTP_VERSION, &seen);
  return result == CURLE_OK && (seen == CURL_HTTP_VERSION_2_0) == (version != CURL_HTTP_VERSION_1_1);
}

static CURLM *many(void) {
  static size_t received[64];
  double cpu = 0, wall = 0;
  long started = 64, finished = 0, from = 0;
  int running;
  total += WARM_UP;
  epoll_fd = epoll_create1(0);
  CURLM *multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 64L);
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  if (version != CURL_HTTP_VERSION_1_1) curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
  for (int i = 0; i < 64; i++) curl_multi_add_handle(multi, easy(&received[i]));
  while (finished < total) {
    struct epoll_event events[64];
    int count = epoll_wait(epoll_fd, events, 64, timeout_ms < 0 ? 1000 : (int)timeout_ms);
    for (int i = 0; i < count; i++) {
      int bits = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);
      curl_multi_socket_action(multi, events[i].data.fd, bits, &running);
    }
    if (count == 0 || timeout_ms == 0) {
      timeout_ms = -1;
      curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL *handle = message->easy_handle;
      if (!has_succeeded(handle, message->data.result)) failed++;
      finished++;
      curl_multi_remove_handle(multi, handle);
      if (started < total) started++, curl_multi_add_handle(multi, handle);
      if (finished == WARM_UP) from = finished, cpu = cpu_us(), wall = wall_us();
    }
  }
  report((cpu_us() - cpu) / (double)(finished - from), (wall_us() - wall) / (double)(finished - from));
  return multi;
}

/* Keeps the start of a body as text. */
static size_t keep(char *bytes, size_t size, size_t count, void *context) {
  snprintf(context, 64, "%.*s", (int)(size * count), bytes);
  return size * count;
}

/* As `many`, over one connection of HTTP/2. The server confirms that all requests have used the same connection. */
static void http2(void) {
  version = CURL_HTTP_VERSION_2TLS;
  CURLM *multi = many();
  char address[256], expected[64], seen[64] = "no response";
  snprintf(address, sizeof address, "%.*s/connection", (int)(strrchr(url, '/') - url), url);
  snprintf(expected, sizeof expected, "HTTP/2.0 %ld", total + 1);
  CURL *handle = easy(NULL);
  curl_easy_setopt(handle, CURLOPT_URL, address);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, seen);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, NULL);
  curl_multi_add_handle(multi, handle);
  int running = 1;
  while (running) {
    curl_multi_perform(multi, &running);
    curl_multi_poll(multi, NULL, 0, running ? 100 : 0, NULL);
  }
  if (strcmp(seen, expected) != 0) fprintf(stderr, "%s, not %s\n", seen, expected), failed++;
}

static void perform(CURL *handle, long count) {
  for (long i = 0; i < count; i++) {
    if (curl_easy_perform(handle) != CURLE_OK) failed++;
  }
}

static void blocking(int fresh) {
  size_t received = 0;
  CURL *handle = easy(&received);
  if (fresh) {
    curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(handle, CURLOPT_SSL_SESSIONID_CACHE, 0L);
  }
  perform(handle, fresh ? 20 : WARM_UP);
  double cpu = cpu_us(), wall = wall_us();
  perform(handle, total);
  report((cpu_us() - cpu) / (double)total, (wall_us() - wall) / (double)total);
}

static void download(const char *path) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  size_t received = 0;
  CURL *handle = easy(&received);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, write_part);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &file);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 512L * 1024);
  double cpu = cpu_us(), wall = wall_us();
  perform(handle, 1);
  report(cpu_us() - cpu, wall_us() - wall);
  close(file);
}

static void upload(const char *path) {
  FILE *file = fopen(path, "rb");
  fseek(file, 0, SEEK_END);
  size_t received = 0;
  CURL *handle = easy(&received);
  curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(handle, CURLOPT_READDATA, file);
  curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t)ftell(file));
  curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, 512L * 1024);
  rewind(file);
  double cpu = cpu_us(), wall = wall_us();
  perform(handle, 1);
  report(cpu_us() - cpu, wall_us() - wall);
  fclose(file);
}

/* Measures the memory of idle connections, which the multi handle holds after the transfers have ended. */
static void memory_of_connections(void) {
  size_t received = 0;
  int running = 0;
  CURLM *multi = curl_multi_init();
  CURL **handles = calloc((size_t)total + 1, sizeof *handles);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, total + 1);
  holdings before = {0};
  for (long from = 0, to = 1; from <= total; from = to, to = total + 1) { /* one request, and then the others */
    if (from == 1) before = held();
    for (long i = from; i < to; i++) curl_multi_add_handle(multi, handles[i] = easy(&received));
    do {
      curl_multi_perform(multi, &running);
      curl_multi_poll(multi, NULL, 0, running ? 100 : 0, NULL);
    } while (running);
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) failed += message->data.result != CURLE_OK;
    for (long i = from; i < to; i++) curl_multi_remove_handle(multi, handles[i]), curl_easy_cleanup(handles[i]);
  }
  report_growth(before);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  url = argv[2];
  total = atol(argv[3]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  if (strcmp(argv[1], "many") == 0) many();
  else if (strcmp(argv[1], "http2") == 0) http2();
  else if (strcmp(argv[1], "blocking") == 0) blocking(0);
  else if (strcmp(argv[1], "handshake") == 0) blocking(1);
  else if (strcmp(argv[1], "download") == 0) download(argv[4]);
  else if (strcmp(argv[1], "upload") == 0) upload(argv[4]);
  else if (strcmp(argv[1], "memory-tls") == 0) memory_of_connections();
  else return 2;
  return failed ? 1 : 0;
}
