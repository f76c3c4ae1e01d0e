/* Downloads, against the demo API whose URL is the argument. The second argument is an empty folder. */
#define _DEFAULT_SOURCE
#include "calls.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The demo closes the connection after 100,000 bytes of each response. */
#define FILM "/cache/film?length=300000&etag=strong&cut=100000"

static nj_client *client;
static const char *folder;

static const char *file_in_folder(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static off_t size_of(const char *name) {
  struct stat status;
  return stat(file_in_folder(name), &status) == 0 ? status.st_size : -1;
}

static size_t length_of(const char *text) { return text == NULL ? 0 : strlen(text); }

static nj_status download(const char *target, const char *name, const char *options,
                          const nj_download_callbacks *callbacks, void *context, nj_download **out_download,
                          nj_error **error) {
  nj_request *request = nj_request_new("GET", target);
  nj_status status = nj_client_download(client, request, file_in_folder(name), options, length_of(options), callbacks,
                                        context, out_download, error);
  nj_request_free(request);
  return status;
}

static void continues_after_failures(void) {
  nj_download *made = NULL;
  SUCCEEDS(download(FILM, "film", "{\"retry_delay\": 0.01}", NULL, NULL, &made, &error) == NJ_OK);
  nj_downloaded_file file;
  CHECK(nj_download_get_file(made, &file));
  CHECK(file.size == 300000 && file.received == 300000 && file.resumed == 0 && file.attempts == 3);
  CHECK(size_of("film") == 300000 && size_of("film.nightjar-part") == -1);
  char *path = nj_download_path(made);
  CHECK(path && strstr(path, "/film") == path + strlen(path) - 5);
  nj_text_free(path);
  CHECK(nj_download_resume_state(made) == NULL);
  CHECK(nj_download_get_progress(made).state == NJ_DOWNLOAD_ENDED);
  CHECK(nj_download_get_progress(made).received == 300000);
  /* After the end, commands do nothing. */
  nj_download_pause(made);
  nj_download_resume(made);
  nj_download_cancel(made, false);
  nj_download *again = nj_download_retain(made);
  CHECK(again == made);
  nj_download_release(again);
  nj_download_release(made);
}

static void continues_in_another_download(void) {
  nj_download *first = NULL;
  FAILS(download(FILM, "part", "{\"attempts\": 1}", NULL, NULL, &first, &error), NJ_CONNECTION_LOST);
  char *state = nj_download_resume_state(first);
  CHECK(state != NULL);
  CHECK(!nj_download_get_file(first, NULL));
  CHECK(nj_download_path(first) == NULL);
  nj_download_release(first);
  CHECK(size_of("part.nightjar-part") == 100000 && size_of("part") == -1);
  char options[8192], *end = options;
  end += sprintf(end, "{\"resume\": \"");
  for (const char *next = state; next && *next; next++) {
    if (*next == '"' || *next == '\\') *end++ = '\\';
    *end++ = *next;
  }
  sprintf(end, "\"}");
  nj_text_free(state);
  nj_download *second = NULL;
  SUCCEEDS(download(FILM, "part", options, NULL, NULL, &second, &error) == NJ_OK);
  nj_downloaded_file file;
  CHECK(nj_download_get_file(second, &file) && file.resumed == 100000 && file.received == 200000);
  CHECK(size_of("part") == 300000);
  nj_download_release(second);
}

typedef struct events {
  int heads, reports, ends;
  nj_status end;
  nj_download *download;
  bool cancels, keeps;
} events;

static void on_head(void *context, nj_download *made, const nj_response *response) {
  events *seen = context;
  seen->heads++;
  CHECK(made != NULL && nj_response_status(response) >= 200);
  if (seen->cancels) nj_download_cancel(made, seen->keeps);
}

static void on_progress(void *context, nj_download *made, const nj_download_progress *progress) {
  events *seen = context;
  seen->reports++;
  CHECK(made != NULL && progress->received >= 0);
  seen->download = made;
}

static void on_done(void *context, nj_download *made, const nj_error *error) {
  events *seen = context;
  seen->ends++;
  seen->end = error == NULL ? NJ_OK : nj_error_kind(error);
  CHECK(made != NULL);
}

static const nj_download_callbacks all = {sizeof all, on_head, on_progress, on_done};

static void callbacks_of_a_blocking_download(void) {
  events seen = {0};
  SUCCEEDS(download(FILM, "film", NULL, &all, &seen, NULL, &error) == NJ_OK);
  CHECK(seen.heads == 3 && seen.reports > 0 && seen.ends == 0);
}

static nj_download *start(const char *target, const char *name, const char *options, nj_queue *queue, events *seen) {
  nj_request *request = nj_request_new("GET", target);
  nj_download *made = NULL;
  SUCCEEDS((made = nj_client_start_download(client, request, file_in_folder(name), options, length_of(options), queue,
                                            &all, seen, &error)) != NULL);
  nj_request_free(request);
  return made;
}

static void runs_on_a_queue(void) {
  nj_queue *queue = nj_queue_new();
  events seen = {0};
  nj_download *made = start(FILM, "queued", NULL, queue, &seen);
  while (seen.ends == 0) nj_queue_poll(queue, 30);
  CHECK(seen.ends == 1 && seen.end == NJ_OK && seen.heads == 3 && seen.download == made);
  CHECK(size_of("queued") == 300000);
  nj_download_release(made);
  /* A cancel in a callback. */
  for (int keeps = 0; keeps < 2; keeps++) {
    events cancelled = {.cancels = true, .keeps = keeps};
    made = start(FILM, "cancelled", NULL, queue, &cancelled);
    while (cancelled.ends == 0) nj_queue_poll(queue, 30);
    CHECK(cancelled.end == NJ_CANCELLED && size_of("cancelled") == -1);
    if (!keeps) CHECK(size_of("cancelled.nightjar-part") == -1);
    nj_download_release(made);
  }
  /* A released download continues. Freeing the queue ends it. */
  events released = {0};
  nj_download_release(start("/drip?bytes=1000&delay=1", "released", NULL, queue, &released));
  nj_queue_free(queue);
  CHECK(released.ends == 1 && released.end == NJ_CANCELLED);
  CHECK(size_of("released") == -1 && size_of("released.nightjar-part") == -1);
}

/* The state of a streamed response that becomes a download. */
typedef struct streamed {
  nj_queue *queue;
  const char *options;
  nj_download *made;
  nj_error *error;
  int ends, parts;
} streamed;

static void ended(void *context, nj_download *made, const nj_error *error) {
  streamed *state = context;
  CHECK(made == state->made && error == NULL);
  state->ends++;
}

static void starts_download(void *context, nj_task *task, const nj_response *head) {
  streamed *state = context;
  nj_download_callbacks callbacks = {.size = sizeof callbacks, .done = ended};
  CHECK(nj_response_status(head) == 200);
  state->made = nj_task_start_download(task, file_in_folder("streamed"), state->options, length_of(state->options),
                                       state->queue, &callbacks, state, &state->error);
  /* A second download of the response is an error, and a cancel has no effect. */
  if (state->made != NULL) {
    CHECK(nj_task_start_download(task, "x", NULL, 0, state->queue, &callbacks, state, NULL) == NULL);
    nj_task_cancel(task);
  }
}

static void counts_parts(void *context, nj_task *task, const void *bytes, size_t length) {
  (void)bytes, (void)length;
  nj_download_callbacks callbacks = {.size = sizeof callbacks, .done = ended};
  CHECK(nj_task_start_download(task, "x", NULL, 0, ((streamed *)context)->queue, &callbacks, context, NULL) == NULL);
  ((streamed *)context)->parts++;
}

static void call_ended(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)context, (void)task, (void)response, (void)error;
}

/* The download continues with another request when the queue of the call is freed. */
static void frees_the_queue_of_the_call(streamed *state) {
  nj_queue *queue = nj_queue_new();
  state->options = "{\"retry_delay\": 0.01, \"max_rate\": 400000}";
  state->made = NULL;
  state->ends = state->parts = 0;
  nj_request *request = nj_request_new("GET", "/cache/film?length=300000&etag=strong");
  nj_request_on_head(request, starts_download, state);
  nj_request_on_body(request, counts_parts, state);
  nj_error *error = NULL;
  nj_task *task = nj_client_start(client, request, queue, call_ended, NULL, &error);
  CHECK(task != NULL);
  while (state->made == NULL) nj_queue_poll(queue, 1000);
  nj_task_release(task);
  nj_queue_free(queue);
  while (state->ends == 0) nj_queue_poll(state->queue, 1000);
  nj_downloaded_file file;
  CHECK(state->parts == 0 && nj_download_get_file(state->made, &file) && file.size == 300000);
  nj_download_release(state->made);
  nj_request_free(request);
}

static void streamed_response_becomes_a_download(void) {
  streamed state = {.queue = nj_queue_new(), .options = "{\"retry_delay\": 0.01}"};
  nj_request *request = nj_request_new("GET", FILM);
  nj_request_on_head(request, starts_download, &state);
  nj_request_on_body(request, counts_parts, &state);
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  CHECK(response != NULL && nj_response_status(response) == 200 && state.made != NULL);
  nj_response_release(response);
  while (state.made != NULL && state.ends == 0) nj_queue_poll(state.queue, 1000);
  nj_downloaded_file file;
  CHECK(state.parts == 0 && nj_download_get_file(state.made, &file));
  CHECK(file.size == 300000 && file.received == 300000 && file.attempts == 3 && size_of("streamed") == 300000);
  nj_download_release(state.made);
  /* If the download cannot be started, the callback receives the body. */
  nj_request_free(request);
  request = nj_request_new("GET", "/bytes/1000");
  nj_request_on_head(request, starts_download, &state);
  nj_request_on_body(request, counts_parts, &state);
  state.options = "{\"connections\": 2}";
  response = nj_client_send(client, request, &error);
  CHECK(response != NULL && state.made == NULL && state.parts > 0);
  CHECK(nj_error_kind(state.error) == NJ_INVALID_ARGUMENT);
  nj_error_release(state.error);
  nj_response_release(response);
  nj_request_free(request);
  frees_the_queue_of_the_call(&state);
  nj_queue_free(state.queue);
  CHECK(nj_task_start_download(NULL, "x", NULL, 0, NULL, NULL, NULL, NULL) == NULL);
}

static void waits_while_it_is_paused(void) {
  nj_queue *queue = nj_queue_new();
  events seen = {0};
  nj_download *made = start("/drip?bytes=5&delay=0.05", "paused", NULL, queue, &seen);
  nj_download_pause(made);
  nj_queue_poll(queue, 0.5);
  CHECK(seen.ends == 0);
  CHECK(nj_download_get_progress(made).state == NJ_DOWNLOAD_PAUSED);
  nj_download_resume(made);
  while (seen.ends == 0) nj_queue_poll(queue, 30);
  CHECK(seen.end == NJ_OK && size_of("paused") == 5);
  nj_download_release(made);
  nj_queue_free(queue);
}

static void reports_failures(void) {
  FAILS(download("/status/404", "none", NULL, NULL, NULL, NULL, &error), NJ_NOT_FOUND);
  CHECK(size_of("none") == -1 && size_of("none.nightjar-part") == -1);
  FAILS(download("/bytes/10", "no/such/folder", NULL, NULL, NULL, NULL, &error), NJ_STORAGE);
  FAILS(download("/bytes/10", "film", "{\"overwrite\": false}", NULL, NULL, NULL, &error), NJ_STORAGE);
  FAILS(download("/bytes/10", "sum", "{\"checksum\": \"md5:00000000000000000000000000000000\"}", NULL, NULL, NULL, &error),
        NJ_CHECKSUM_MISMATCH);
  CHECK(size_of("sum") == -1 && size_of("sum.nightjar-part") == -1);
  FAILS(download("/bytes/10", "large", "{\"max_size\": 9}", NULL, NULL, NULL, &error), NJ_TOO_LARGE);
  FAILS(download("/bytes/10", "x", "{\"conections\": 2}", NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(download("/bytes/10", "x", "{\"resume\": \"text\"}", NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(download("/bytes/10", "x", "{", NULL, NULL, NULL, &error), NJ_DECODING);
  nj_request *request = nj_request_new("GET", "/bytes/10");
  nj_download *none = (nj_download *)(uintptr_t)1;
  FAILS(nj_client_download(NULL, request, "x", NULL, 0, NULL, NULL, &none, &error), NJ_INVALID_ARGUMENT);
  CHECK(none == NULL);
  FAILS(nj_client_download(client, NULL, "x", NULL, 0, NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_client_download(client, request, NULL, NULL, 0, NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_client_download(client, request, "", NULL, 0, NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  nj_download_callbacks other_size = {.size = 1};
  FAILS(nj_client_download(client, request, "x", NULL, 0, &other_size, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  nj_request_add_header(request, "Range", "bytes=0-1");
  FAILS(nj_client_download(client, request, "x", NULL, 0, NULL, NULL, NULL, &error), NJ_INVALID_REQUEST);
  nj_request_free(request);
  nj_error *error = NULL;
  nj_queue *queue = nj_queue_new();
  request = nj_request_new("GET", "/bytes/10");
  CHECK(nj_client_start_download(client, request, "x", NULL, 0, queue, NULL, NULL, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  nj_request_free(request);
  nj_queue_free(queue);
}

static void accepts_null(void) {
  CHECK(nj_download_retain(NULL) == NULL);
  nj_download_release(NULL);
  nj_download_pause(NULL);
  nj_download_resume(NULL);
  nj_download_cancel(NULL, true);
  CHECK(nj_download_get_progress(NULL).state == NJ_DOWNLOAD_ENDED);
  nj_downloaded_file file = {1, 1, 1, 1};
  CHECK(!nj_download_get_file(NULL, &file) && file.size == 0 && file.attempts == 0);
  CHECK(nj_download_path(NULL) == NULL && nj_download_resume_state(NULL) == NULL);
}

static void child_of_a_fork_gets_errors(void) {
  nj_queue *queue = nj_queue_new();
  events seen = {0};
  nj_download *made = start("/drip?bytes=1000&delay=1", "forked", NULL, queue, &seen);
  pid_t child = fork();
  if (child == 0) {
    checks_failed = 0;
    FAILS(download("/bytes/10", "child", NULL, NULL, NULL, NULL, &error), NJ_FORKED);
    nj_download_pause(made);
    nj_download_cancel(made, false);
    CHECK(nj_download_get_progress(made).state == NJ_DOWNLOAD_ENDED);
    CHECK(nj_download_path(made) == NULL);
    nj_download_release(made);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execl("/bin/sh", "sh", "-c", checks_failed ? "exit 1" : "exit 0", (char *)NULL);
    _exit(2);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  nj_download_cancel(made, false);
  while (seen.ends == 0) nj_queue_poll(queue, 30);
  CHECK(seen.end == NJ_CANCELLED && size_of("forked.nightjar-part") == -1);
  nj_download_release(made);
  nj_queue_free(queue);
}

int main(int count, char **words) {
  if (count != 3) return 2;
  folder = words[2];
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, words[1]);
  nj_error *error = NULL;
  client = nj_client_new(config, &error);
  nj_config_free(config);
  CHECK(client != NULL);
  continues_after_failures();
  continues_in_another_download();
  callbacks_of_a_blocking_download();
  runs_on_a_queue();
  streamed_response_becomes_a_download();
  waits_while_it_is_paused();
  reports_failures();
  accepts_null();
  child_of_a_fork_gets_errors();
  nj_client_free(client);
  FINISH();
}
