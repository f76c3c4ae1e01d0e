/* Background transfers. The arguments are the URL of the demo API, an empty folder, and the nightjar executable, which works
 * as `nightjar transferd`. */
#define _DEFAULT_SOURCE
#include "calls.h"
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static const char *url, *folder, *command;
static char journal[4096];
static nj_transfers *transfers;

/* Starts a worker, which ends when it has no work. */
static pid_t start_worker(void) {
  char *arguments[] = {(char *)command, "transferd", "--journal", journal, "--idle", "0.5", NULL};
  pid_t worker = 0;
  CHECK(posix_spawn(&worker, command, NULL, NULL, arguments, environ) == 0);
  return worker;
}

static void await_worker(pid_t worker) {
  int status = 0;
  CHECK(waitpid(worker, &status, 0) == worker && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static nj_transfer *start(const char *id, const char *options, nj_error **error) {
  return nj_transfers_start(transfers, id, options, strlen(options), error);
}

/* Returns the options of a download to the file `name` in the folder. */
static const char *download(const char *target, const char *name) {
  static char text[8192];
  snprintf(text, sizeof text, "{\"download\": \"%s%s\", \"to\": \"%s/%s\", \"retry_delay\": 0.01}", url, target, folder, name);
  return text;
}

static void downloads_and_uploads(void) {
  nj_transfer *made = NULL;
  SUCCEEDS((made = start("film", download("/cache/film?length=300000&etag=strong&cut=100000", "film"), &error)) != NULL);
  CHECK_TEXT(nj_transfer_id(made), "film");
  CHECK(nj_transfer_get_state(made) == NJ_TRANSFER_WAITING && !nj_transfer_is_upload(made));
  CHECK(nj_transfer_transferred(made) == 0 && nj_transfer_total(made) == -1 && nj_transfer_attempts(made) == 0);
  CHECK(nj_transfer_error(made) == NULL && nj_transfer_upload_url(made) == NULL);
  nj_transfer_free(made);
  /* The same id and options are the same transfer. */
  SUCCEEDS((made = start("film", download("/cache/film?length=300000&etag=strong&cut=100000", "film"), &error)) != NULL);
  nj_transfer_free(made);
  pid_t worker = start_worker();
  SUCCEEDS((made = nj_transfers_wait(transfers, "film", 60, &error)) != NULL);
  CHECK(nj_transfer_get_state(made) == NJ_TRANSFER_DONE && nj_transfer_attempts(made) == 1);
  CHECK(nj_transfer_transferred(made) == 300000 && nj_transfer_total(made) == 300000);
  CHECK(strncmp(nj_transfer_url(made), url, strlen(url)) == 0);
  char source[4096], options[8192];
  snprintf(source, sizeof source, "%s", nj_transfer_path(made));
  CHECK(access(source, R_OK) == 0);
  nj_transfer_free(made);
  snprintf(options, sizeof options, "{\"upload\": \"%s/tus\", \"from\": \"%s\", \"protocol\": \"tus\"}", url, source);
  SUCCEEDS((made = start("copy", options, &error)) != NULL);
  CHECK(nj_transfer_is_upload(made));
  nj_transfer_free(made);
  SUCCEEDS((made = nj_transfers_wait(transfers, "copy", 60, &error)) != NULL);
  CHECK(nj_transfer_upload_url(made) && strstr(nj_transfer_upload_url(made), "/tus/"));
  CHECK(nj_transfer_transferred(made) == 300000);
  nj_transfer_free(made);
  await_worker(worker);
}

static void lists(void) {
  nj_transfer_list *list = NULL;
  SUCCEEDS((list = nj_transfers_list(transfers, &error)) != NULL);
  CHECK(nj_transfer_list_count(list) == 2);
  CHECK_TEXT(nj_transfer_id(nj_transfer_list_at(list, 0)), "film");
  CHECK_TEXT(nj_transfer_id(nj_transfer_list_at(list, 1)), "copy");
  CHECK(nj_transfer_list_at(list, 2) == NULL);
  nj_transfer_list_free(list);
}

static nj_transfer_state state_of(const char *id) {
  nj_error *error = NULL;
  nj_transfer *found = nj_transfers_get(transfers, id, &error);
  CHECK(found != NULL && error == NULL);
  nj_transfer_state state = nj_transfer_get_state(found);
  nj_transfer_free(found);
  return state;
}

static void is_controlled(void) {
  nj_transfer_free(start("later", download("/v1/articles", "later"), NULL));
  SUCCEEDS(nj_transfers_pause(transfers, "later", &error) == NJ_OK);
  CHECK(state_of("later") == NJ_TRANSFER_PAUSED);
  SUCCEEDS(nj_transfers_resume(transfers, "later", &error) == NJ_OK);
  CHECK(state_of("later") == NJ_TRANSFER_WAITING);
  FAILS(nj_transfers_retry(transfers, "later", &error), NJ_STORAGE);
  SUCCEEDS(nj_transfers_cancel(transfers, "later", &error) == NJ_OK);
  CHECK(state_of("later") == NJ_TRANSFER_CANCELLED);
  FAILS(nj_transfers_wait(transfers, "later", 1, &error) ? NJ_OK : NJ_CANCELLED, NJ_CANCELLED);
  FAILS(nj_transfers_pause(transfers, "later", &error), NJ_STORAGE);
  FAILS(nj_transfers_resume(transfers, "later", &error), NJ_STORAGE);
  SUCCEEDS(nj_transfers_retry(transfers, "later", &error) == NJ_OK);
  FAILS(nj_transfers_wait(transfers, "later", 0.01, &error) ? NJ_OK : NJ_TIMEOUT, NJ_TIMEOUT);
  SUCCEEDS(nj_transfers_remove(transfers, "later", &error) == NJ_OK);
  SUCCEEDS(nj_transfers_remove(transfers, "later", &error) == NJ_OK);
  SUCCEEDS(nj_transfers_get(transfers, "later", &error) == NULL);
}

static void failures_are_reported(void) {
  nj_transfer_free(start("missing", download("/no-such-file", "missing"), NULL));
  pid_t worker = start_worker();
  FAILS(nj_transfers_wait(transfers, "missing", 60, &error) ? NJ_OK : NJ_NOT_FOUND, NJ_NOT_FOUND);
  await_worker(worker);
  nj_transfer *found = nj_transfers_get(transfers, "missing", NULL);
  CHECK(nj_transfer_get_state(found) == NJ_TRANSFER_FAILED);
  const nj_error *error = nj_transfer_error(found);
  CHECK(error && nj_error_kind(error) == NJ_NOT_FOUND && strstr(nj_error_message(error), "404"));
  nj_transfer_free(found);
}

static nj_status start_status(const char *id, const char *options, nj_error **error) {
  nj_transfer *made = nj_transfers_start(transfers, id, options, options ? strlen(options) : 0, error);
  nj_status status = made ? NJ_OK : error && *error ? nj_error_kind(*error) : NJ_OK;
  nj_transfer_free(made);
  return status;
}

static void misuse_is_an_error(void) {
  FAILS(start_status("x", NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(start_status(NULL, "{}", &error), NJ_INVALID_ARGUMENT);
  FAILS(start_status("", download("/", "x"), &error), NJ_INVALID_ARGUMENT);
  FAILS(start_status("x", "{", &error), NJ_DECODING);
  FAILS(start_status("x", "[]", &error), NJ_INVALID_ARGUMENT);
  FAILS(start_status("x", "{\"download\": \"ftp://localhost/\", \"to\": \"/tmp/\"}", &error), NJ_INVALID_URL);
  FAILS(start_status("x", "{\"download\": \"http://localhost/\", \"to\": \"/no/such/folder/x\"}", &error), NJ_STORAGE);
  FAILS(start_status("film", download("/other", "film"), &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_pause(transfers, "unknown", &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_resume(transfers, "unknown", &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_cancel(transfers, "unknown", &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_retry(transfers, "unknown", &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_remove(NULL, "film", &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_wait(transfers, "unknown", 1, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_wait(transfers, "film", -1, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_get(NULL, "film", &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_list(NULL, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  nj_transfers *other = NULL;
  SUCCEEDS((other = nj_transfers_new("/proc/nightjar/journal.db", &error)) != NULL);
  FAILS(nj_transfers_list(other, &error) ? NJ_OK : NJ_STORAGE, NJ_STORAGE);
  nj_transfers_free(other);
  nj_transfers_free(NULL);
  nj_transfer_free(NULL);
  nj_transfer_list_free(NULL);
  CHECK(nj_transfer_id(NULL) == NULL && nj_transfer_url(NULL) == NULL && nj_transfer_path(NULL) == NULL);
  CHECK(nj_transfer_list_count(NULL) == 0 && nj_transfer_list_at(NULL, 0) == NULL && nj_transfer_total(NULL) == -1);
}

/* A forked child must not use the journal of its parent. */
static void belongs_to_its_process(void) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    nj_error *error = NULL;
    nj_transfer *found = nj_transfers_get(transfers, "film", &error);
    bool is_forked = found == NULL && error != NULL && nj_error_kind(error) == NJ_FORKED;
    nj_error_release(error);
    nj_transfers_free(transfers);
    /* Replaces the process, so that valgrind does not report the memory of the parent as lost. */
    execl("/bin/sh", "sh", "-c", is_forked ? "exit 0" : "exit 1", (char *)NULL);
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(state_of("film") == NJ_TRANSFER_DONE);
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  url = arguments[1], folder = arguments[2], command = arguments[3];
  snprintf(journal, sizeof journal, "%s/journal.db", folder);
  SUCCEEDS((transfers = nj_transfers_new(journal, &error)) != NULL);
  downloads_and_uploads();
  lists();
  is_controlled();
  failures_are_reported();
  misuse_is_an_error();
  belongs_to_its_process();
  nj_transfers_free(transfers);
  FINISH();
}
