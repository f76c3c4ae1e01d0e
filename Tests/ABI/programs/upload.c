/* Uploads, against the demo API whose URL is the argument. The second argument is an empty folder. */
#define _DEFAULT_SOURCE
#include "calls.h"
#include "late_source.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static nj_client *client;
static const char *path;
enum { SIZE = 300000 };

static size_t length_of(const char *text) { return text == NULL ? 0 : strlen(text); }

static nj_status upload(const char *target, const char *file, const char *options, const nj_upload_callbacks *callbacks,
                        void *context, nj_upload **out_upload, nj_error **error) {
  nj_request *request = nj_request_new("POST", target);
  nj_status status =
      nj_client_upload(client, request, file, options, length_of(options), callbacks, context, out_upload, error);
  nj_request_free(request);
  return status;
}

static void continues_after_failures(void) {
  nj_upload *made = NULL;
  SUCCEEDS(upload("/tus?faults=none,cut@100000", path, "{\"protocol\": \"tus\", \"retry_delay\": 0.01}", NULL, NULL, &made,
                  &error) == NJ_OK);
  nj_uploaded_content content;
  CHECK(nj_upload_get_content(made, &content));
  CHECK(content.size == SIZE && content.resumed == 0 && content.attempts == 4);
  char *url = nj_upload_url(made);
  CHECK(url && strstr(url, "/tus/"));
  nj_text_free(url);
  nj_response *response = nj_upload_response(made);
  CHECK(nj_response_status(response) == 204);
  nj_response_release(response);
  CHECK(nj_upload_resume_state(made) == NULL);
  CHECK(nj_upload_get_progress(made).state == NJ_UPLOAD_ENDED);
  CHECK(nj_upload_get_progress(made).sent == SIZE);
  /* After the end, commands do nothing. */
  nj_upload_pause(made);
  nj_upload_resume(made);
  nj_upload_cancel(made, false);
  nj_upload *again = nj_upload_retain(made);
  CHECK(again == made);
  nj_upload_release(again);
  nj_upload_release(made);
}

static void continues_with_a_state(void) {
  nj_upload *made = NULL;
  FAILS(upload("/tus?faults=none,cut@100000", path, "{\"protocol\": \"tus\", \"attempts\": 1}", NULL, NULL, &made, &error),
        NJ_CONNECTION_LOST);
  char *state = nj_upload_resume_state(made);
  CHECK(state != NULL);
  CHECK(!nj_upload_get_content(made, NULL) && nj_upload_url(made) == NULL && nj_upload_response(made) == NULL);
  nj_upload_release(made);
  /* The state is JSON without control characters: its quotes are escaped for the options. */
  char options[4096] = "{\"protocol\": \"tus\", \"resume\": \"";
  size_t length = strlen(options);
  for (const char *byte = state; *byte != '\0' && length < sizeof options - 8; byte++) {
    if (*byte == '"' || *byte == '\\') options[length++] = '\\';
    options[length++] = *byte;
  }
  snprintf(options + length, sizeof options - length, "\"}");
  nj_text_free(state);
  SUCCEEDS(upload("/tus", path, options, NULL, NULL, &made, &error) == NJ_OK);
  nj_uploaded_content content;
  CHECK(nj_upload_get_content(made, &content) && content.resumed == 100000);
  nj_upload_release(made);
}

/* --- Callbacks --- */

typedef struct seen {
  int64_t left; /* bytes of the stream */
  int reads, reports, ends;
  nj_status end;
  bool cancels;
} seen;

static int64_t read_some(void *context, nj_upload *made, void *buffer, size_t capacity) {
  seen *seen = context;
  CHECK(made != NULL && capacity > 0);
  seen->reads++;
  if (seen->left < 0) return NJ_READ_FAILED;
  size_t count = (size_t)seen->left < capacity ? (size_t)seen->left : capacity;
  memset(buffer, 'x', count);
  seen->left -= (int64_t)count;
  return (int64_t)count;
}

static void on_progress(void *context, nj_upload *made, const nj_upload_progress *progress) {
  seen *seen = context;
  seen->reports++;
  CHECK(progress->sent >= 0);
  if (seen->cancels) nj_upload_cancel(made, false);
}

static void on_done(void *context, nj_upload *made, const nj_error *error) {
  seen *seen = context;
  CHECK(made != NULL);
  seen->ends++;
  seen->end = error == NULL ? NJ_OK : nj_error_kind(error);
}

static const nj_upload_callbacks all = {sizeof all, on_progress, read_some, on_done};

static void sends_streams(void) {
  static const char *const protocols[] = {"tus", "resumable", "post", "put"};
  for (size_t index = 0; index < sizeof protocols / sizeof *protocols; index++) {
    char options[64], target[32];
    snprintf(options, sizeof options, "{\"protocol\": \"%s\"%s}", protocols[index], index < 2 ? ", \"chunk_size\": 70000" : "");
    snprintf(target, sizeof target, "/%s", index < 2 ? protocols[index] : "echo");
    seen seen = {.left = SIZE};
    nj_upload *made = NULL;
    SUCCEEDS(upload(target, NULL, options, &all, &seen, &made, &error) == NJ_OK);
    nj_uploaded_content content;
    CHECK(nj_upload_get_content(made, &content) && content.size == SIZE);
    CHECK(seen.reads > 1 && seen.left == 0 && seen.ends == 0);
    nj_upload_release(made);
  }
  seen failing = {.left = -1};
  FAILS(upload("/tus", NULL, "{\"protocol\": \"tus\"}", &all, &failing, NULL, &error), NJ_INVALID_REQUEST);
}

/* An upload whose bytes another thread provides. */
typedef struct source {
  late_source bytes;
  nj_upload *upload;
  int ends;
  nj_status end;
} source;

static int64_t read_available(void *context, nj_upload *made, void *buffer, size_t capacity) {
  source *self = context;
  CHECK(made != NULL);
  return late_source_read(&self->bytes, buffer, capacity);
}

static void resume_upload(void *upload) { nj_upload_resume_body(upload); }

static void on_source_done(void *context, nj_upload *made, const nj_error *error) {
  source *self = context;
  CHECK(made != NULL);
  self->ends++;
  self->end = error == NULL ? NJ_OK : nj_error_kind(error);
}

/* Starts an upload of a source without data. */
static void start_source(source *self, nj_queue *queue, const char *target, const char *options) {
  const nj_upload_callbacks callbacks = {.size = sizeof callbacks, .read = read_available, .done = on_source_done};
  nj_request *request = nj_request_new("POST", target);
  SUCCEEDS((self->upload = nj_client_start_upload(client, request, NULL, options, length_of(options), queue, &callbacks,
                                                  self, &error)) != NULL);
  nj_request_free(request);
}

static void a_source_continues_later(void) {
  static const char *const protocols[] = {"tus", "resumable", "post", "put"};
  nj_queue *queue = nj_queue_new();
  for (size_t index = 0; index < sizeof protocols / sizeof *protocols; index++) {
    char options[64], target[32];
    snprintf(options, sizeof options, "{\"protocol\": \"%s\"%s}", protocols[index], index < 2 ? ", \"chunk_size\": 7000" : "");
    snprintf(target, sizeof target, "/%s", index < 2 ? protocols[index] : "echo");
    source self = {.bytes = {.lock = PTHREAD_MUTEX_INITIALIZER, .resume = resume_upload}};
    start_source(&self, queue, target, options);
    self.bytes.subject = self.upload;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, late_source_provide, &self.bytes) == 0);
    while (self.ends == 0) nj_queue_poll(queue, 1000);
    pthread_join(thread, NULL);
    CHECK(self.end == NJ_OK && self.bytes.taken == 20000 && self.bytes.waits > 0);
    nj_uploaded_content content;
    CHECK(nj_upload_get_content(self.upload, &content) && content.size == 20000);
    nj_upload_resume_body(self.upload); /* after the end */
    nj_upload_release(self.upload);
  }
  /* A source that never continues is cancelled. */
  source self = {.bytes = {.lock = PTHREAD_MUTEX_INITIALIZER}};
  start_source(&self, queue, "/tus", "{\"protocol\": \"tus\"}");
  for (int polls = 0; polls < 6000 && self.bytes.waits == 0; polls++) nj_queue_poll(queue, 0.01);
  for (int polls = 0; polls < 5; polls++) nj_queue_poll(queue, 0.01);
  CHECK(self.bytes.waits == 1 && self.ends == 0);
  nj_upload_cancel(self.upload, false);
  while (self.ends == 0) nj_queue_poll(queue, 1000);
  CHECK(self.end == NJ_CANCELLED && self.ends == 1);
  nj_upload_release(self.upload);
  nj_upload_resume_body(NULL);
  nj_queue_free(queue);
}

static nj_upload *start(nj_queue *queue, const char *target, const char *options, seen *seen) {
  nj_request *request = nj_request_new("POST", target);
  nj_upload *made;
  SUCCEEDS((made = nj_client_start_upload(client, request, path, options, length_of(options), queue, &all, seen,
                                          &error)) != NULL);
  nj_request_free(request);
  return made;
}

static void runs_on_a_queue(void) {
  nj_queue *queue = nj_queue_new();
  seen seen = {0};
  nj_upload *made = start(queue, "/resumable", "{\"protocol\": \"resumable\"}", &seen);
  nj_upload_pause(made);
  nj_upload_resume(made);
  while (seen.ends == 0) nj_queue_poll(queue, 1000);
  CHECK(seen.end == NJ_OK && seen.ends == 1 && seen.reports >= 1);
  nj_upload_release(made);
  /* The callback cancels, and the server removes the upload. A released upload continues. */
  seen = (struct seen){.cancels = true};
  nj_upload_release(start(queue, "/tus", "{\"protocol\": \"tus\", \"max_rate\": 100000}", &seen));
  while (seen.ends == 0) nj_queue_poll(queue, 1000);
  CHECK(seen.end == NJ_CANCELLED && seen.ends == 1);
  seen = (struct seen){0};
  nj_upload_release(start(queue, "/tus", "{\"protocol\": \"tus\", \"max_rate\": 100000}", &seen));
  nj_queue_free(queue);
  CHECK(seen.ends == 1 && seen.end == NJ_CANCELLED);
}

static void *cancel_later(void *made) {
  for (int round = 0; round < 50; round++) {
    nj_upload_pause(made);
    nj_upload_get_progress(made);
    nj_text_free(nj_upload_resume_state(made));
    nj_upload_resume(made);
  }
  nj_upload_cancel(made, true);
  return NULL;
}

static void works_from_several_threads(void) {
  nj_queue *queue = nj_queue_new();
  seen seen = {0};
  nj_upload *made = start(queue, "/tus", "{\"protocol\": \"tus\", \"max_rate\": 100000}", &seen);
  pthread_t threads[4];
  for (int index = 0; index < 4; index++) pthread_create(&threads[index], NULL, cancel_later, made);
  while (seen.ends == 0) nj_queue_poll(queue, 1000);
  for (int index = 0; index < 4; index++) pthread_join(threads[index], NULL);
  CHECK(seen.end == NJ_CANCELLED || seen.end == NJ_OK);
  nj_upload_release(made);
  nj_queue_free(queue);
}

static void reports_misuse(void) {
  nj_request *request = nj_request_new("POST", "/tus");
  FAILS(nj_client_upload(NULL, request, path, NULL, 0, NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_client_upload(client, NULL, path, NULL, 0, NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_client_upload(client, request, NULL, NULL, 0, NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(upload("/tus", path, "{\"protocol\": \"ftp\"}", NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(upload("/tus", path, "{", NULL, NULL, NULL, &error), NJ_DECODING);
  FAILS(upload("/tus", path, "{\"protocol\": \"tus\", \"resume\": \"x\"}", NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(upload("/tus", "/nonexistent", NULL, NULL, NULL, NULL, &error), NJ_INVALID_REQUEST);
  nj_upload_callbacks other = {.size = 1};
  FAILS(upload("/tus", path, NULL, &other, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  nj_queue *queue = nj_queue_new();
  other = (nj_upload_callbacks){.size = sizeof other};
  nj_error *error = NULL;
  CHECK(nj_client_start_upload(client, request, path, NULL, 0, queue, &other, NULL, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  nj_queue_free(queue);
  nj_request_set_body(request, "x", 1);
  FAILS(nj_client_upload(client, request, path, NULL, 0, NULL, NULL, NULL, &error), NJ_INVALID_REQUEST);
  nj_request_free(request);
  nj_upload_release(NULL);
  nj_upload_pause(NULL);
  nj_upload_resume(NULL);
  nj_upload_cancel(NULL, true);
  CHECK(nj_upload_retain(NULL) == NULL && nj_upload_url(NULL) == NULL && nj_upload_response(NULL) == NULL);
  CHECK(nj_upload_resume_state(NULL) == NULL && !nj_upload_get_content(NULL, NULL));
  CHECK(nj_upload_get_progress(NULL).state == NJ_UPLOAD_ENDED);
}

static void is_kept_in_the_journal(void) {
  const char *options = "{\"protocol\": \"tus\", \"attempts\": 1, \"id\": \"notes\"}";
  FAILS(upload("/tus?faults=none,cut@100000", path, options, NULL, NULL, NULL, &error), NJ_CONNECTION_LOST);
  nj_upload *made = NULL;
  SUCCEEDS(upload("/tus?faults=none,cut@100000", path, options, NULL, NULL, &made, &error) == NJ_OK);
  nj_uploaded_content content;
  CHECK(nj_upload_get_content(made, &content) && content.size == SIZE && content.resumed >= 50000);
  char *url = nj_upload_url(made);
  nj_upload_release(made);
  /* The result is returned without a request, which would fail. */
  SUCCEEDS(upload("/tus?faults=none,cut@100000", path, options, NULL, NULL, &made, &error) == NJ_OK);
  CHECK(nj_upload_get_content(made, &content) && content.size == SIZE && content.sent < SIZE);
  char *stored = nj_upload_url(made);
  CHECK(strcmp(url, stored) == 0 && nj_upload_response(made) == NULL);
  CHECK(nj_upload_get_progress(made).state == NJ_UPLOAD_ENDED && nj_upload_get_progress(made).sent == SIZE);
  nj_text_free(url);
  nj_text_free(stored);
  nj_upload_release(made);
  FAILS(upload("/tus", path, options, NULL, NULL, NULL, &error), NJ_INVALID_ARGUMENT);
  SUCCEEDS(nj_client_remove_transfer(client, "notes", &error) == NJ_OK);
  SUCCEEDS(nj_client_remove_transfer(client, "notes", &error) == NJ_OK);
  SUCCEEDS(upload("/tus", path, options, NULL, NULL, NULL, &error) == NJ_OK);
  SUCCEEDS(nj_client_remove_transfer(client, "notes", &error) == NJ_OK);
  FAILS(nj_client_remove_transfer(client, "", &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_client_remove_transfer(client, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_client_remove_transfer(NULL, "notes", &error), NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_journal(NULL, "journal.db") == NJ_INVALID_ARGUMENT);
}

static void belongs_to_its_process(void) {
  nj_queue *queue = nj_queue_new();
  seen seen = {0};
  nj_upload *made = start(queue, "/tus", "{\"protocol\": \"tus\", \"max_rate\": 100000}", &seen);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    nj_upload_pause(made);
    nj_upload_cancel(made, false);
    bool is_ended = nj_upload_get_progress(made).state == NJ_UPLOAD_ENDED && nj_upload_resume_state(made) == NULL;
    nj_upload_release(made);
    is_ended = is_ended && nj_client_remove_transfer(client, "notes", NULL) == NJ_FORKED;
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execl("/bin/sh", "sh", "-c", is_ended ? "exit 0" : "exit 1", (char *)NULL);
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  nj_upload_cancel(made, true);
  while (seen.ends == 0) nj_queue_poll(queue, 1000);
  nj_upload_release(made);
  nj_queue_free(queue);
}

int main(int count, char **words) {
  if (count != 3) return 2;
  static char buffer[4096];
  snprintf(buffer, sizeof buffer, "%s/content.bin", words[2]);
  path = buffer;
  FILE *file = fopen(path, "wb");
  for (int index = 0; index < SIZE; index++) fputc("0123456789"[index % 10], file);
  fclose(file);
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, words[1]);
  static char journal[4096];
  snprintf(journal, sizeof journal, "%s/state/journal.db", words[2]);
  CHECK(nj_config_set_journal(config, journal) == NJ_OK);
  nj_error *error = NULL;
  client = nj_client_new(config, &error);
  CHECK(client != NULL);
  nj_config_free(config);
  continues_after_failures();
  continues_with_a_state();
  sends_streams();
  a_source_continues_later();
  runs_on_a_queue();
  works_from_several_threads();
  reports_misuse();
  is_kept_in_the_journal();
  belongs_to_its_process();
  nj_client_free(client);
  FINISH();
}
