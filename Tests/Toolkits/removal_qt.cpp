/* A callback deletes the watcher and frees the queue. A nested event loop inside of a callback, with a call that ends
 * meanwhile, returns without using the CPU.
 *
 *   removal_qt DEMO_URL */
#include "nightjar_qt.h"
#include <QCoreApplication>
#include <QEventLoop>
#include <QTimer>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1); \
    } \
  } while (0)

struct State {
  nj_client *client;
  nj_queue *queue;
  NightjarWatcher *watcher;
  int ended;
};

static void start(State &state, const char *path, nj_done_fn done) {
  nj_request *request = nj_request_new("GET", path);
  nj_task *task = nj_client_start(state.client, request, state.queue, done, &state, nullptr);
  CHECK(task);
  nj_task_release(task);
  nj_request_free(request);
}

static void count(void *context, nj_task *, const nj_response *, const nj_error *) { static_cast<State *>(context)->ended++; }

static void removeWatcher(void *context, nj_task *, const nj_response *response, const nj_error *) {
  auto *state = static_cast<State *>(context);
  CHECK(response);
  delete state->watcher;
  nj_queue_free(state->queue);
  QCoreApplication::quit();
}

/* Returns the CPU time of this thread in seconds. */
static double cpuTime() {
  std::timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}

static void nest(void *context, nj_task *, const nj_response *response, const nj_error *) {
  auto *state = static_cast<State *>(context);
  CHECK(response);
  start(*state, "/v1/slow?ms=20", count);
  QEventLoop nested;
  QTimer::singleShot(400, &nested, &QEventLoop::quit);
  double before = cpuTime();
  nested.exec();
  CHECK(state->ended == 0);
  CHECK(cpuTime() - before < 0.2);
  QTimer::singleShot(400, &QCoreApplication::quit);
}

int main(int argc, char **argv) {
  QCoreApplication application(argc, argv);
  CHECK(argc == 2);
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, argv[1]) == NJ_OK);
  State state{nj_client_new(config, nullptr), nj_queue_new(), nullptr, 0};
  CHECK(state.client);
  state.watcher = new NightjarWatcher(state.queue);
  CHECK(state.watcher->isValid());
  start(state, "/v1/slow?ms=30000", count);
  start(state, "/v1/articles/1", removeWatcher);
  CHECK(application.exec() == 0 && state.ended == 1);

  state.queue = nj_queue_new();
  state.ended = 0;
  state.watcher = new NightjarWatcher(state.queue, &application);
  start(state, "/v1/articles/1", nest);
  CHECK(application.exec() == 0 && state.ended == 1); // the callback ran after the nested loop had ended
  delete state.watcher;
  nj_queue_free(state.queue);
  nj_client_free(state.client);
  nj_config_free(config);
  return 0;
}
