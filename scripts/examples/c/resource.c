/* Shows a list of articles, adds one, and shows the list again: the write reloads the resource. The event loop of the
 * program watches the descriptor of the queue.
 *
 *   resource BASE_URL      the demo API: http://127.0.0.1:8080/v1 */
#include <nightjar.h>
#include <poll.h>
#include <stdio.h>

struct view {
  bool has_failed;
  int shown; /* how many lists of the server were shown */
};

/* Runs in nj_queue_poll, with the newest snapshot. */
static void changed(void *context, const nj_snapshot *snapshot) {
  struct view *view = context;
  const nj_error *err = nj_snapshot_error(snapshot);
  const nj_response *data = nj_snapshot_data(snapshot);
  if (err) {
    view->has_failed = true;
    fprintf(stderr, "%s%s\n", nj_error_message(err), data ? " (the list may be out of date)" : "");
  }
  bool is_busy = nj_snapshot_get_phase(snapshot) == NJ_RESOURCE_LOADING ||
                 nj_snapshot_get_mutation(snapshot) != NJ_RESOURCE_UNCHANGED;
  if (!data || is_busy) return; /* a user interface would draw the data so far, and show that it is busy */
  const char *title = NULL;
  int64_t total = 0;
  nj_response_json_string(data, "/results/0/title", &title, NULL, NULL);
  nj_response_json_int64(data, "/total", &total, NULL);
  printf("loaded: %d articles, first: %s\n", (int)total, title ? title : "none");
  view->shown++;
}

static void created(void *context, const nj_response *res, const nj_error *err) {
  (void)context;
  if (res) printf("created: %d\n", nj_response_status(res));
  else fprintf(stderr, "not created: %s\n", nj_error_message(err));
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s BASE_URL\n", argv[0]);
    return 2;
  }
  nj_error *err = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_client *client = nj_client_new(config, &err);
  nj_queue *queue = nj_queue_new();
  nj_request *req = nj_request_new("GET", "/articles?per_page=5");
  nj_resource *articles = client ? nj_resource_new(client, req, NULL, 0, queue, &err) : NULL;
  struct view view = {false, 0};
  nj_resource_observer *observer = articles ? nj_resource_observe(articles, changed, &view, &err) : NULL;

  nj_request *post = nj_request_new("POST", "/articles");
  static const char article[] = "{\"title\": \"A new article\", \"body\": \"Text.\", \"author_id\": 1}";
  nj_request_set_body_json(post, article, sizeof article - 1);
  nj_task *task = NULL;
  struct pollfd watched = {nj_queue_fd(queue), POLLIN, 0};
  while (observer && view.shown < 2 && !view.has_failed && poll(&watched, 1, 10000) > 0) {
    nj_queue_poll(queue, 0);
    if (view.shown == 1 && !task) task = nj_resource_mutate(articles, post, NULL, 0, created, NULL, &err);
  }
  if (err) fprintf(stderr, "%s\n", nj_error_message(err));
  int status = view.shown == 2 ? 0 : 1;

  nj_task_release(task);
  nj_resource_observer_free(observer);
  nj_resource_free(articles);
  nj_request_free(post);
  nj_request_free(req);
  nj_queue_free(queue);
  nj_client_free(client);
  nj_config_free(config);
  nj_error_release(err);
  return status;
}
