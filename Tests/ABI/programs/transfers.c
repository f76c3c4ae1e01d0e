/* Background transfers. The arguments are the URL of the demo API, an empty folder, and the nightjar executable, which works
 * as `nightjar transferd`. */
#define _DEFAULT_SOURCE
#include "calls.h"
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/* Waits for the workers that the library has started, which must end without an error. */
static void await_detached_workers(void) {
  int status = 0;
  while (waitpid(-1, &status, 0) > 0) CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
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
  FAILS(nj_transfers_next_ended(transfers, -1, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_next_ended(NULL, 1, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_acknowledge(transfers, NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_acknowledge(NULL, "film", &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_wake(NULL, &error), NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_log_json(NULL, NULL, NULL, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_get(NULL, "film", &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  FAILS(nj_transfers_list(NULL, &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  nj_transfers *other = NULL;
  SUCCEEDS((other = nj_transfers_new("/proc/nightjar/journal.db", NULL, &error)) != NULL);
  FAILS(nj_transfers_list(other, &error) ? NJ_OK : NJ_STORAGE, NJ_STORAGE);
  FAILS(nj_transfers_next_ended(other, 0, &error) ? NJ_OK : NJ_STORAGE, NJ_STORAGE);
  FAILS(nj_transfers_acknowledge(other, "film", &error), NJ_STORAGE);
  nj_transfers_free(other);
  nj_transfers_free(NULL);
  nj_transfer_free(NULL);
  nj_transfer_list_free(NULL);
  CHECK(nj_transfer_id(NULL) == NULL && nj_transfer_url(NULL) == NULL && nj_transfer_path(NULL) == NULL);
  CHECK(nj_transfer_list_count(NULL) == 0 && nj_transfer_list_at(NULL, 0) == NULL && nj_transfer_total(NULL) == -1);
  CHECK(nj_transfer_rate(NULL) == -1 && nj_transfer_transferred(NULL) == 0);
}

/* Acknowledges the ends of all transfers that this object has not returned. Returns their number. */
static size_t acknowledge_all(nj_transfers *all) {
  size_t count = 0;
  for (;; count++) {
    nj_transfer *ended = NULL;
    SUCCEEDS(((ended = nj_transfers_next_ended(all, 60, &error)), true));
    if (ended == NULL) return count;
    CHECK(nj_transfer_get_state(ended) >= NJ_TRANSFER_DONE);
    SUCCEEDS(nj_transfers_acknowledge(all, nj_transfer_id(ended), &error) == NJ_OK);
    nj_transfer_free(ended);
  }
}

static void ends_are_returned_until_they_are_acknowledged(void) {
  static const char *const expected[] = {"film", "copy", "missing"};
  for (size_t place = 0; place < 3; place++) {
    nj_transfer *ended = NULL;
    SUCCEEDS((ended = nj_transfers_next_ended(transfers, 0, &error)) != NULL);
    CHECK_TEXT(nj_transfer_id(ended), expected[place]);
    nj_transfer_free(ended);
  }
  SUCCEEDS(nj_transfers_next_ended(transfers, 0, &error) == NULL);
  nj_transfer_free(start("later", download("/v1/articles", "later"), NULL));
  FAILS(nj_transfers_next_ended(transfers, 0.01, &error) ? NJ_OK : NJ_TIMEOUT, NJ_TIMEOUT);
  FAILS(nj_transfers_acknowledge(transfers, "later", &error), NJ_STORAGE);
  CHECK(state_of("later") == NJ_TRANSFER_WAITING);
  SUCCEEDS(nj_transfers_cancel(transfers, "later", &error) == NJ_OK);
  nj_transfers *other = NULL;
  SUCCEEDS((other = nj_transfers_new(journal, NULL, &error)) != NULL);
  CHECK(acknowledge_all(other) == 4);
  nj_transfers_free(other);
  SUCCEEDS(nj_transfers_get(transfers, "film", &error) == NULL);
  SUCCEEDS(nj_transfers_acknowledge(transfers, "film", &error) == NJ_OK);
  SUCCEEDS(nj_transfers_next_ended(transfers, 0, &error) == NULL);
}

/* Waits until the worker reports the progress of a transfer that is not complete. */
static void await_progress(nj_transfers *all, const char *id) {
  for (int count = 0; count < 600; count++, usleep(50 * 1000)) {
    nj_transfer *found = nj_transfers_get(all, id, NULL);
    bool is_known = nj_transfer_rate(found) > 0 && nj_transfer_transferred(found) > 0;
    CHECK(!is_known || nj_transfer_transferred(found) <= nj_transfer_total(found));
    CHECK(!is_known || nj_transfer_get_state(found) == NJ_TRANSFER_RUNNING);
    nj_transfer_free(found);
    if (is_known) return;
  }
  CHECK(!"the worker reports the progress within 30 s");
}

/* Writes a program that works as `nightjar` and soon ends without work. */
static void write_program(char *path, size_t size) {
  snprintf(path, size, "%s/nightjar", folder);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  fprintf(file, "#!/bin/sh\nexec \"%s\" \"$@\" --idle 0.5\n", command);
  fclose(file);
  CHECK(chmod(path, 0700) == 0);
}

/* The transfer is recorded, although its worker cannot be started. */
static void a_removed_program_is_an_error(nj_transfers *all) {
  /* valgrind replaces vfork by fork, so posix_spawn does not report the error of the child process. */
  const char *libraries = getenv("LD_PRELOAD");
  if (libraries && strstr(libraries, "vgpreload")) return;
  FAILS(nj_transfers_wake(all, &error), NJ_STORAGE);
  const char *options = download("/v1/articles", "removed");
  FAILS(nj_transfers_start(all, "removed", options, strlen(options), &error) ? NJ_OK : NJ_STORAGE, NJ_STORAGE);
  CHECK(state_of("removed") == NJ_TRANSFER_WAITING);
  SUCCEEDS(nj_transfers_remove(all, "removed", &error) == NJ_OK);
}

static void starts_a_worker(void) {
  char program[4096], options[8192];
  write_program(program, sizeof program);
  nj_transfers *all = NULL;
  SUCCEEDS((all = nj_transfers_new(journal, program, &error)) != NULL);
  snprintf(options, sizeof options, "{\"upload\": \"%s/tus\", \"from\": \"%s/film\", \"protocol\": \"tus\", \"max_rate\": 100000}",
           url, folder);
  nj_transfer *made = NULL;
  SUCCEEDS((made = nj_transfers_start(all, "slow", options, strlen(options), &error)) != NULL);
  CHECK(nj_transfer_rate(made) == -1);
  nj_transfer_free(made);
  await_progress(all, "slow");
  /* A worker that runs is not started again. */
  SUCCEEDS(nj_transfers_wake(all, &error) == NJ_OK);
  SUCCEEDS((made = nj_transfers_next_ended(all, 60, &error)) != NULL);
  CHECK_TEXT(nj_transfer_id(made), "slow");
  CHECK(nj_transfer_get_state(made) == NJ_TRANSFER_DONE && nj_transfer_transferred(made) == 300000);
  CHECK(nj_transfer_rate(made) == -1);
  nj_transfer_free(made);
  await_detached_workers();
  /* The wait starts a worker for transfers that were recorded without one. */
  nj_transfer_free(start("later", download("/v1/articles", "later"), NULL));
  SUCCEEDS((made = nj_transfers_wait(all, "later", 60, &error)) != NULL);
  nj_transfer_free(made);
  CHECK(acknowledge_all(all) == 1);
  await_detached_workers();
  SUCCEEDS(nj_transfers_wake(all, &error) == NJ_OK);
  await_detached_workers();
  /* Without a program, no worker is needed. */
  SUCCEEDS(nj_transfers_wake(transfers, &error) == NJ_OK);
  CHECK(unlink(program) == 0);
  a_removed_program_is_an_error(all);
  nj_transfers_free(all);
}

static void an_invalid_program_is_an_error(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/film", folder);
  const char *const programs[] = {"/no/such/program", path};
  for (size_t place = 0; place < 2; place++) {
    FAILS(nj_transfers_new(journal, programs[place], &error) ? NJ_OK : NJ_INVALID_ARGUMENT, NJ_INVALID_ARGUMENT);
  }
}

static void logs_are_returned(void) {
  char *log = NULL;
  size_t length = 0;
  SUCCEEDS((log = nj_transfers_log_json(transfers, NULL, &length, &error)) != NULL);
  CHECK(length == strlen(log) && log[0] == '[' && log[length - 1] == ']');
  CHECK(strstr(log, "\"id\":\"film\",\"event\":\"started\"") && strstr(log, "\"id\":\"copy\",\"event\":\"done\""));
  CHECK(strstr(log, "\"id\":\"missing\",\"event\":\"failed\",\"message\":\"GET returned 404"));
  nj_text_free(log);
  SUCCEEDS((log = nj_transfers_log_json(transfers, "missing", NULL, &error)) != NULL);
  CHECK(strstr(log, "404") && !strstr(log, "film"));
  nj_text_free(log);
  SUCCEEDS((log = nj_transfers_log_json(transfers, "unknown", &length, &error)) != NULL);
  CHECK_TEXT(log, "[]");
  CHECK(length == 2);
  nj_text_free(log);
  /* A folder instead of the log. */
  char path[4096];
  snprintf(path, sizeof path, "%s/other.db.log", folder);
  CHECK(mkdir(path, 0700) == 0);
  path[strlen(path) - strlen(".log")] = 0;
  nj_transfers *other = NULL;
  SUCCEEDS((other = nj_transfers_new(path, NULL, &error)) != NULL);
  FAILS(nj_transfers_log_json(other, NULL, &length, &error) ? NJ_OK : NJ_STORAGE, NJ_STORAGE);
  CHECK(length == 0);
  nj_transfers_free(other);
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
  /* The workers that the library starts become children of this process, which can wait for their ends. */
  CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  snprintf(journal, sizeof journal, "%s/journal.db", folder);
  SUCCEEDS((transfers = nj_transfers_new(journal, NULL, &error)) != NULL);
  downloads_and_uploads();
  lists();
  is_controlled();
  failures_are_reported();
  misuse_is_an_error();
  belongs_to_its_process();
  ends_are_returned_until_they_are_acknowledged();
  starts_a_worker();
  an_invalid_program_is_an_error();
  logs_are_returned();
  nj_transfers_free(transfers);
  FINISH();
}
