/* Sends many concurrent requests in the event loop of the program: epoll watches the descriptor of the queue. */
#include <nightjar.h>
#include <stdio.h>
#include <sys/epoll.h>

struct progress {
  int failed;
  bool is_drained;
};

/* Runs inside nj_queue_poll, on this program's only thread. */
static void done(void *context, nj_task *task, const nj_response *res, const nj_error *err) {
  (void)task;
  struct progress *progress = context;
  if (res) {
    size_t length;
    nj_response_body(res, &length);
    printf("%d %zu bytes %s\n", nj_response_status(res), length, nj_response_url(res));
  } else {
    progress->failed++;
    printf("%s: %s\n", nj_status_name(nj_error_kind(err)), nj_error_message(err));
  }
}

/* Called when all calls have ended. */
static void drained(void *context, const nj_error *err) {
  (void)err;
  ((struct progress *)context)->is_drained = true;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s BASE_URL PATH...\n", argv[0]);
    return 2;
  }
  nj_error *err = NULL;
  nj_config *config = nj_config_new();
  nj_client *client = NULL;
  if (nj_config_set_base_url(config, argv[1]) != NJ_OK) fprintf(stderr, "%s\n", nj_error_message(nj_error_last()));
  else if (!(client = nj_client_new(config, &err))) fprintf(stderr, "%s\n", nj_error_message(err));
  nj_error_release(err);
  nj_config_free(config);
  if (!client) return 1;

  struct progress progress = {0, false};
  nj_queue *queue = nj_queue_new();
  for (int i = 2; i < argc; i++) {
    nj_request *req = nj_request_new("GET", argv[i]);
    nj_task *task = req ? nj_client_start(client, req, queue, done, &progress, NULL) : NULL;
    if (!req) fprintf(stderr, "%s\n", nj_error_message(nj_error_last()));
    if (!task) progress.failed++;
    nj_task_release(task);
    nj_request_free(req);
  }
  nj_task_release(nj_client_start_drain(client, NJ_NO_LIMIT, queue, drained, &progress, NULL));

  int loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = nj_queue_fd(queue)};
  epoll_ctl(loop, EPOLL_CTL_ADD, event.data.fd, &event);
  while (!progress.is_drained && epoll_wait(loop, &event, 1, -1) > 0) nj_queue_poll(queue, 0);

  nj_client_free(client);
  nj_queue_free(queue); /* runs the callbacks that are still due */
  return progress.failed ? 1 : 0;
}
