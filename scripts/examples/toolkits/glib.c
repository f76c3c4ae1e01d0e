/* Shows an article in the main loop of GLib: loads it, loads it again when a timer of GLib ends, and exits.
 *
 *   glib BASE_URL PATH      the demo API: http://127.0.0.1:8080/v1 /articles/1 */
#include "nightjar_glib.h"
#include <stdio.h>

struct program {
  GMainLoop *loop;
  nj_resource *article;
  bool has_timer, has_failed;
};

static void reloaded(void *context, const nj_response *res, const nj_error *err) {
  struct program *program = context;
  if (res) printf("reloaded: %d\n", nj_response_status(res));
  else fprintf(stderr, "%s\n", nj_error_message(err));
  program->has_failed = err != NULL;
  g_main_loop_quit(program->loop);
}

static gboolean reload(gpointer data) {
  struct program *program = data;
  nj_task_release(nj_resource_reload(program->article, reloaded, program, NULL));
  return G_SOURCE_REMOVE;
}

static void changed(void *context, const nj_snapshot *snapshot) {
  struct program *program = context;
  const char *title = NULL;
  nj_resource_phase phase = nj_snapshot_get_phase(snapshot);
  if (phase == NJ_RESOURCE_FAILED) {
    fprintf(stderr, "%s\n", nj_error_message(nj_snapshot_error(snapshot)));
    program->has_failed = true;
    g_main_loop_quit(program->loop);
  }
  if (phase != NJ_RESOURCE_LOADED || program->has_timer) return;
  nj_response_json_string(nj_snapshot_data(snapshot), "/title", &title, NULL, NULL);
  printf("loaded: %s\n", title ? title : "no title");
  g_timeout_add(50, reload, program);
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
  GSource *source = nightjar_glib_source_new(queue);
  struct program program = {g_main_loop_new(NULL, FALSE), nj_resource_new(client, req, NULL, 0, queue, NULL), false, false};
  nj_resource_observer *observer = nj_resource_observe(program.article, changed, &program, NULL);
  if (source && observer) {
    g_source_attach(source, NULL);
    g_main_loop_run(program.loop);
    g_source_destroy(source);
  } else {
    program.has_failed = true;
  }

  if (source) g_source_unref(source);
  nj_resource_observer_free(observer);
  nj_resource_free(program.article);
  nj_queue_free(queue);
  nj_request_free(req);
  nj_client_free(client);
  nj_config_free(config);
  g_main_loop_unref(program.loop);
  return program.has_failed ? 1 : 0;
}
