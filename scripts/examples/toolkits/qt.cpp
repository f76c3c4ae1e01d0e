/* Shows an article in the event loop of Qt: loads it, loads it again when a timer of Qt ends, and exits.
 *
 *   qt BASE_URL PATH      the demo API: http://127.0.0.1:8080/v1 /articles/1 */
#include "nightjar_qt.h"
#include <QCoreApplication>
#include <QTimer>
#include <cstdio>

struct Program {
  nj_resource *article = nullptr;
  bool has_timer = false;
};

static void fail(const nj_error *err) {
  std::fprintf(stderr, "%s\n", nj_error_message(err));
  QCoreApplication::exit(1);
}

static void reloaded(void *, const nj_response *res, const nj_error *err) {
  if (err) return fail(err);
  std::printf("reloaded: %d\n", nj_response_status(res));
  QCoreApplication::exit(0);
}

static void changed(void *context, const nj_snapshot *snapshot) {
  auto *program = static_cast<Program *>(context);
  const char *title = nullptr;
  nj_resource_phase phase = nj_snapshot_get_phase(snapshot);
  if (phase == NJ_RESOURCE_FAILED) fail(nj_snapshot_error(snapshot));
  if (phase != NJ_RESOURCE_LOADED || program->has_timer) return;
  nj_response_json_string(nj_snapshot_data(snapshot), "/title", &title, nullptr, nullptr);
  std::printf("loaded: %s\n", title ? title : "no title");
  QTimer::singleShot(50, [program] { nj_task_release(nj_resource_reload(program->article, reloaded, nullptr, nullptr)); });
  program->has_timer = true;
}

int main(int argc, char **argv) {
  QCoreApplication application(argc, argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s BASE_URL PATH\n", argv[0]);
    return 2;
  }
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_client *client = nj_client_new(config, nullptr);
  nj_queue *queue = nj_queue_new();
  nj_request *req = nj_request_new("GET", argv[2]);
  Program program{nj_resource_new(client, req, nullptr, 0, queue, nullptr)};
  nj_resource_observer *observer = nj_resource_observe(program.article, changed, &program, nullptr);
  int status = 1;
  {
    NightjarWatcher watcher(queue);
    if (observer && watcher.isValid()) status = application.exec();
  }

  nj_resource_observer_free(observer);
  nj_resource_free(program.article);
  nj_queue_free(queue);
  nj_request_free(req);
  nj_client_free(client);
  nj_config_free(config);
  return status;
}
