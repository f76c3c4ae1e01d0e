/* Many clients on one shared loop, against the demo API whose URL is the first argument. The second argument is the number
   of clients. */
#include "calls.h"
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_MOST = 1000 };

static const char *url;

static long entries(const char *folder) {
  long count = 0;
  DIR *open = opendir(folder);
  while (open && readdir(open)) count++;
  if (open) closedir(open);
  return count;
}

static nj_client *new_client(const char *loop, const char *base, nj_error **error) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, base) == NJ_OK);
  CHECK(nj_config_set_shared_loop(config, loop) == NJ_OK);
  CHECK(nj_config_set_idle_connection_lifetime(config, 60) == NJ_OK);
  nj_client *client = nj_client_new(config, error);
  nj_config_free(config);
  return client;
}

static void done(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task;
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  if (response && nj_response_status(response) == 200) ++*(int *)context;
}

static bool succeeds(nj_client *client) {
  nj_request *request = nj_request_new("GET", "/v1/articles/1");
  nj_response *response = nj_client_send(client, request, NULL);
  bool is_ok = response && nj_response_status(response) == 200;
  nj_response_release(response);
  nj_request_free(request);
  return is_ok;
}

/* A host name, so that each client looks it up. */
static void many(int count) {
  static nj_client *clients[AT_MOST];
  static char name[256];
  const char *port = strrchr(url, ':');
  snprintf(name, sizeof name, "http://localhost%s", port);
  long descriptors = entries("/proc/self/fd");
  for (int i = 0; i < count; i++) SUCCEEDS((clients[i] = new_client("tenants", name, &error)) != NULL);
  CHECK(entries("/proc/self/fd") - descriptors < 8); /* those of the loop */
  nj_queue *queue = nj_queue_new();
  int succeeded = 0;
  for (int i = 0; i < count; i++) {
    nj_request *request = nj_request_new("GET", "/v1/articles/1");
    nj_task_release(nj_client_start(clients[i], request, queue, done, &succeeded, NULL));
    nj_request_free(request);
  }
  while (succeeded < count && nj_queue_poll(queue, 30) > 0) continue;
  CHECK(succeeded == count);
  /* The entries "." and "..", the main thread and the four threads of the library. */
  CHECK(entries("/proc/self/task") - 3 <= 4);
  CHECK(entries("/proc/self/fd") - descriptors <= count + 12);
  /* A client is closed while the others work. */
  for (int i = 0; i < count; i += 2) nj_client_free(clients[i]);
  for (int i = 1; i < count; i += 2) {
    CHECK(succeeds(clients[i]));
    nj_client_free(clients[i]);
  }
  nj_queue_free(queue);
}

static void forks(void) {
  nj_client *client = new_client("forked", url, NULL);
  CHECK(succeeds(client));
  pid_t child = fork();
  if (child == 0) {
    checks_failed = 0;
    nj_request *request = nj_request_new("GET", "/v1/articles/1");
    nj_error *error = NULL;
    CHECK(nj_client_send(client, request, &error) == NULL && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    nj_request_free(request);
    nj_client_free(client);
    nj_client *own = new_client("forked", url, NULL); /* a loop of the child */
    CHECK(succeeds(own));
    nj_client_free(own);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execlp(checks_failed ? "false" : "true", "child", (char *)NULL);
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(succeeds(client));
  nj_client_free(client);
}

/* A client that gets no descriptor for its loop fails, and the next one of this name works. */
static void exhausted(void) {
  struct rlimit before, none;
  getrlimit(RLIMIT_NOFILE, &before);
  nj_client *kept[5]; /* They use the loops that earlier clients have left. */
  for (int i = 0; i < 5; i++) {
    char name[16];
    snprintf(name, sizeof name, "kept %d", i);
    kept[i] = new_client(name, url, NULL);
  }
  none = before;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  nj_error *error = NULL;
  CHECK(new_client("exhausted", url, &error) == NULL && nj_error_kind(error) == NJ_CONNECT);
  nj_error_release(error);
  setrlimit(RLIMIT_NOFILE, &before);
  nj_client *client = new_client("exhausted", url, NULL);
  CHECK(client && succeeds(client));
  nj_client_free(client);
  for (int i = 0; i < 5; i++) nj_client_free(kept[i]);
}

int main(int argc, char **argv) {
  int count = argc > 2 ? atoi(argv[2]) : 0;
  if (count < 2 || count > AT_MOST) return 2;
  url = argv[1];
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_shared_loop(config, "") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_shared_loop(config, "\xff") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_shared_loop(config, "a") == NJ_OK);
  CHECK(nj_config_set_shared_loop(config, NULL) == NJ_OK);
  CHECK(nj_config_set_shared_loop(NULL, "a") == NJ_INVALID_ARGUMENT);
  nj_config_free(config);
  many(count);
  forks();
  exhausted();
  FINISH();
}
