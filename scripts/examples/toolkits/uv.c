/* Shows an article in the loop of libuv: loads it, loads it again when a timer of libuv ends, and exits.
 *
 *   uv BASE_URL PATH      the demo API: http://127.0.0.1:8080/v1 /articles/1 */
#include "nightjar_uv.h"
#include <stdio.h>

struct program {
  uv_poll_t watcher;
  uv_timer_t timer;
  nj_resource *article;
  bool has_timer, has_failed;
};

/* Ends the loop: it runs until all handles are closed. */
static void stop(struct program *program, const nj_error *err) {
  if (err) fprintf(stderr, "%s\n", nj_error_message(err));
  if (uv_is_closing((uv_handle_t *)&program->timer)) return;
  program->has_failed = err != NULL;
  nightjar_uv_stop(&program->watcher, NULL);
  uv_close((uv_handle_t *)&program->timer, NULL);
}

static void reloaded(void *context, const nj_response *res, const nj_error *err) {
  if (res) printf("reloaded: %d\n", nj_response_status(res));
  stop(context, err);
}

static void reload(uv_timer_t *timer) {
  struct program *program = timer->data;
  nj_task_release(nj_resource_reload(program->article, reloaded, program, NULL));
}

static void changed(void *context, const nj_snapshot *snapshot) {
  struct program *program = context;
  const char *title = NULL;
  nj_resource_phase phase = nj_snapshot_get_phase(snapshot);
  if (phase == NJ_RESOURCE_FAILED) stop(program, nj_snapshot_error(snapshot));
  if (phase != NJ_RESOURCE_LOADED || program->has_timer) return;
  nj_response_json_string(nj_snapshot_data(snapshot), "/title", &title, NULL, NULL);
  printf("loaded: %s\n", title ? title : "no title");
  uv_timer_start(&program->timer, reload, 50, 0);
  program->has_timer = true;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s BASE_URL PATH\n", argv[0]);
    return 2;
  }
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_error *err = NULL;
  nj_client *client = nj_client_new(config, &err);
  if (!client) fprintf(stderr, "%s\n", nj_error_message(err));
  nj_error_release(err);
  nj_queue *queue = nj_queue_new();
  nj_request *req = nj_request_new("GET", argv[2]);
  struct program program = {.article = nj_resource_new(client, req, NULL, 0, queue, NULL)};
  uv_loop_t *loop = uv_default_loop();
  uv_timer_init(loop, &program.timer);
  program.timer.data = &program;
  nj_resource_observer *observer = nj_resource_observe(program.article, changed, &program, NULL);
  program.has_failed = !observer || nightjar_uv_start(loop, &program.watcher, queue) != 0;
  if (!program.has_failed) uv_run(loop, UV_RUN_DEFAULT);

  nj_resource_observer_free(observer);
  nj_resource_free(program.article);
  nj_queue_free(queue);
  nj_request_free(req);
  nj_client_free(client);
  nj_config_free(config);
  if (!program.has_failed) uv_loop_close(loop);
  return program.has_failed ? 1 : 0;
}
