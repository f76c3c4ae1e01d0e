/* A callback removes the adapter and frees the queue: GLib and libuv. Also: a nested main loop of GLib inside of a callback,
 * with a call that ends meanwhile, returns without using the CPU.
 *
 *   removal DEMO_URL */
#include "nightjar_glib.h"
#include "nightjar_uv.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

typedef struct state {
  nj_client *client;
  nj_queue *queue;
  GMainLoop *loop;
  GSource *source;
  uv_poll_t watcher;
  int ended, closed;
} state;

static void start(state *state, const char *path, nj_done_fn done) {
  nj_request *request = nj_request_new("GET", path);
  nj_task *task = nj_client_start(state->client, request, state->queue, done, state, NULL);
  CHECK(task);
  nj_task_release(task);
  nj_request_free(request);
}

static void count(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task, (void)response, (void)error;
  ((state *)context)->ended++;
}

/* ------------------------------------------------------------------------------------------------------- GLib --- */

static void remove_source(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  state *state = context;
  (void)task, (void)error;
  CHECK(response);
  g_source_destroy(state->source);
  g_source_unref(state->source);
  nj_queue_free(state->queue); /* cancels the slow call, whose callback runs before nj_queue_poll returns */
  g_main_loop_quit(state->loop);
}

/* Returns the CPU time of this thread in seconds. */
static double cpu_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static gboolean quit(gpointer loop) {
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

static void nest(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  state *state = context;
  (void)task, (void)error;
  CHECK(response);
  start(state, "/v1/slow?ms=20", count);
  GMainLoop *nested = g_main_loop_new(NULL, FALSE);
  g_timeout_add(400, quit, nested);
  double before = cpu_time();
  g_main_loop_run(nested);
  CHECK(state->ended == 0);
  CHECK(cpu_time() - before < 0.2);
  g_main_loop_unref(nested);
  g_timeout_add(400, quit, state->loop);
}

static void attach(state *state) {
  state->queue = nj_queue_new();
  state->ended = 0;
  state->source = nightjar_glib_source_new(state->queue);
  CHECK(state->source && g_source_attach(state->source, NULL) > 0);
}

static void glib(state *state) {
  state->loop = g_main_loop_new(NULL, FALSE);
  attach(state);
  start(state, "/v1/slow?ms=30000", count);
  start(state, "/v1/articles/1", remove_source);
  g_main_loop_run(state->loop);
  CHECK(state->ended == 1);
  attach(state);
  start(state, "/v1/articles/1", nest);
  g_main_loop_run(state->loop);
  CHECK(state->ended == 1); /* the callback ran after the nested loop had ended */
  g_source_destroy(state->source);
  g_source_unref(state->source);
  nj_queue_free(state->queue);
  g_main_loop_unref(state->loop);
}

/* ------------------------------------------------------------------------------------------------------ libuv --- */

static void closed(uv_handle_t *watcher) { ((state *)uv_handle_get_loop(watcher)->data)->closed++; }

static void remove_watcher(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  state *state = context;
  (void)task, (void)error;
  CHECK(response);
  nightjar_uv_stop(&state->watcher, closed);
  nj_queue_free(state->queue);
}

static void uv(state *state) {
  uv_loop_t loop;
  CHECK(uv_loop_init(&loop) == 0);
  loop.data = state;
  CHECK(nightjar_uv_start(&loop, &state->watcher, NULL) == UV_EBADF);
  state->queue = nj_queue_new();
  state->ended = 0;
  CHECK(nightjar_uv_start(&loop, &state->watcher, state->queue) == 0);
  start(state, "/v1/slow?ms=30000", count);
  start(state, "/v1/articles/1", remove_watcher);
  CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
  CHECK(state->ended == 1 && state->closed == 1);
  CHECK(uv_loop_close(&loop) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  CHECK(nightjar_glib_source_new(NULL) == NULL);
  state state = {0};
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, argv[1]) == NJ_OK);
  state.client = nj_client_new(config, NULL);
  CHECK(state.client);
  glib(&state);
  uv(&state);
  nj_client_free(state.client);
  nj_config_free(config);
  return 0;
}
