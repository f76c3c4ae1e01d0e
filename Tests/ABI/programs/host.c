/* Effects on the host process: signals, output, fork, dlopen and dlclose. Loads the library from the path in the
 * first argument; the second argument is the URL of the demo API. */
#define _GNU_SOURCE
#include "check.h"
#include <dirent.h>
#include <dlfcn.h>
#include <nightjar.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
  nj_client *(*client_new)(const nj_config *, nj_error **);
  void (*client_free)(nj_client *);
  nj_request *(*request_new)(const char *, const char *);
  void (*request_free)(nj_request *);
  nj_response *(*client_send)(nj_client *, const nj_request *, nj_error **);
  int (*response_status)(const nj_response *);
  void (*response_release)(nj_response *);
  nj_status (*error_kind)(const nj_error *);
  void (*error_release)(nj_error *);
  nj_queue *(*queue_new)(void);
  size_t (*queue_poll)(nj_queue *, double);
  int (*queue_fd)(nj_queue *);
  void (*queue_free)(nj_queue *);
} nj;

static void *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
#define BIND(name) *(void **)&nj.name = dlsym(library, "nj_" #name)
  BIND(client_new), BIND(client_free), BIND(request_new), BIND(request_free), BIND(client_send);
  BIND(response_status), BIND(response_release), BIND(error_kind), BIND(error_release);
  BIND(queue_new), BIND(queue_poll), BIND(queue_fd), BIND(queue_free);
  return library;
}

static void get(nj_client *client, const char *url) {
  nj_request *req = nj.request_new("GET", url);
  nj_error *err = NULL;
  nj_response *res = nj.client_send(client, req, &err);
  CHECK(nj.response_status(res) == 200);
  nj.error_release(err);
  nj.response_release(res);
  nj.request_free(req);
}

/* Every other thread blocks all signals, except those that report faults or cannot be blocked. */
static void our_threads_take_no_signals(void) {
  DIR *tasks = opendir("/proc/self/task");
  int ours = 0;
  for (struct dirent *entry; (entry = readdir(tasks));) {
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) continue;
    char path[300], line[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status)) {
      unsigned long long blocked;
      if (sscanf(line, "SigBlk: %llx", &blocked) == 1) {
        ours++;
        for (int signal = 1; signal < 32; signal++) {
          if (signal == SIGKILL || signal == SIGSTOP || signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
              signal == SIGFPE || signal == SIGTRAP || signal == SIGSYS)
            continue;
          if (!(blocked >> (signal - 1) & 1)) fprintf(stderr, "thread %s takes signal %d\n", entry->d_name, signal);
          CHECK(blocked >> (signal - 1) & 1);
        }
      }
    }
    if (status) fclose(status);
  }
  closedir(tasks);
  CHECK(ours > 0);
}

static void a_child_is_told_and_can_begin_anew(nj_client *client, const char *url) {
  nj_queue *queue = nj.queue_new();
  int descriptor = nj.queue_fd(queue);
  CHECK(descriptor >= 0);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    checks_failed = 0;
    nj_request *req = nj.request_new("GET", url);
    nj_error *err = NULL;
    CHECK(nj.client_send(client, req, &err) == NULL);
    CHECK(nj.error_kind(err) == NJ_FORKED);
    nj.error_release(err);
    nj.request_free(req);
    CHECK(nj.queue_poll(queue, -1) == 0);
    nj.queue_free(queue);
    nj.client_free(client);
    nj_client *own = nj.client_new(NULL, NULL);
    get(own, url);
    nj.client_free(own);
    _exit(checks_failed ? 1 : 0);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  get(client, url);
  nj.queue_free(queue);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  char url[256];
  snprintf(url, sizeof url, "%s/v1/articles/1", argv[2]);
  struct sigaction before[32], after;
  for (int signal = 1; signal < 32; signal++) sigaction(signal, NULL, &before[signal]);

  void *library = load(argv[1]);
  nj_client *client = nj.client_new(NULL, NULL);
  get(client, url);
  our_threads_take_no_signals();
  for (int signal = 1; signal < 32; signal++) {
    sigaction(signal, NULL, &after);
    CHECK(before[signal].sa_handler == after.sa_handler);
  }
  a_child_is_told_and_can_begin_anew(client, url);
  nj.client_free(client);
  a_child_is_told_and_can_begin_anew(client = nj.client_new(NULL, NULL), url);
  nj.client_free(client);
  dlclose(library);

  for (int i = 0; i < 20; i++) {
    library = load(argv[1]);
    client = nj.client_new(NULL, NULL);
    get(client, url);
    nj.client_free(client);
    dlclose(library);
  }
  FINISH();
}
