/* Scripts that run in the events of a queue, and host functions whose results the host provides later. The demo API's URL
 * is the argument. */
#include "check.h"
#include <nightjar.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

typedef struct outcome {
  int count;
  nj_status status;
  char text[512]; /* the results, or the message */
  pthread_t thread;
  nj_script *freed; /* freed by `done`; may be NULL */
} outcome;

static void done(void *context, nj_task *task, const char *results, size_t length, const nj_error *error) {
  outcome *outcome = context;
  CHECK(task && nj_task_is_finished(task));
  CHECK((results == NULL) == (error != NULL) && length == (results ? strlen(results) : 0));
  outcome->count++;
  outcome->status = error ? nj_error_kind(error) : NJ_OK;
  snprintf(outcome->text, sizeof outcome->text, "%s", results ? results : nj_error_message(error));
  outcome->thread = pthread_self();
  nj_script_free(outcome->freed);
}

static nj_task *start(nj_script *script, const char *source, nj_queue *queue, outcome *outcome) {
  nj_error *error = NULL;
  nj_task *task = nj_script_start_run(script, source, strlen(source), "test", queue, done, outcome, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(task && !error);
  nj_error_release(error);
  return task;
}

static void finish(nj_queue *queue, outcome *outcome) {
  for (int i = 0; i < 1000 && outcome->count == 0; i++) nj_queue_poll(queue, 0.1);
  CHECK(outcome->count == 1);
}

static void a_run_is_awaited(void) {
  nj_queue *queue = nj_queue_new();
  nj_script *script = nj_script_new(NULL);
  outcome outcome = {0};
  nj_task *task = start(script, "require('nightjar').sleep(0.05) return 7", queue, &outcome);
  CHECK(nj_task_wait(task, 60, NULL) == NJ_OK && outcome.count == 1);
  CHECK_TEXT(outcome.text, "[7]");
  nj_task_release(task);
  nj_script_free(script);
  nj_queue_free(queue);
}

/* Runs a chunk on the queue and compares the end. */
static void ends(nj_script *script, nj_queue *queue, const char *source, nj_status status, const char *text) {
  outcome outcome = {0};
  nj_task_release(start(script, source, queue, &outcome));
  finish(queue, &outcome);
  CHECK(outcome.status == status && pthread_equal(outcome.thread, pthread_self()));
  if (!strstr(outcome.text, text)) fprintf(stderr, "%s: %s\n", source, outcome.text);
  CHECK(strstr(outcome.text, text) != NULL);
}

static void twice(void *context, nj_script_call *call) {
  CHECK(pthread_equal(*(pthread_t *)context, pthread_self()));
  nj_script_call_return_integer(call, 2 * nj_script_call_integer(call, 0));
}

static void runs_end_in_the_queue(const char *url) {
  char source[512];
  nj_queue *queue = nj_queue_new();
  nj_script *script = nj_script_new(NULL);
  pthread_t thread = pthread_self();
  nj_script_set_time_limit(script, 30);
  nj_script_register(script, "twice", twice, &thread, NULL);
  ends(script, queue, "", NJ_OK, "[]");
  ends(script, queue, "return 1, {a = {}}", NJ_OK, "[1,{\"a\":{}}]");
  ends(script, queue, "local nightjar = require 'nightjar' nightjar.sleep(0.01) return twice(21)", NJ_OK, "[42]");
  ends(script, queue, "x = = 1", NJ_SCRIPT, "unexpected symbol");
  ends(script, queue, "error 'no'", NJ_SCRIPT, "no\nstack traceback:");
  ends(script, queue, "return print", NJ_SCRIPT, "results[1]: a function");
  ends(script, queue, "local nightjar = require 'nightjar' nightjar.channel(0):receive()", NJ_SCRIPT, "deadlock");
  ends(script, queue,
       "local nightjar = require 'nightjar' table.sort({2, 1}, function(a, b) nightjar.sleep(0.001) return a < b end) "
       "return #nightjar.map({1, 2, 3}, function(i) nightjar.sleep(0.001) return i end)",
       NJ_OK, "[3]");
  snprintf(source, sizeof source,
           "local api = require('nightjar').client { base_url = '%s/v1' } local count = 0 "
           "for item in api:paginate('/articles', { items = '/results' }) do count = count + 1 end return count >= 25",
           url);
  ends(script, queue, source, NJ_OK, "[true]");

  outcome outcome = {0};
  CHECK(nj_script_run(script, "function f(t) return t.a end", 28, NULL, NULL, NULL, NULL) == NJ_OK);
  nj_task_release(nj_script_start_invoke(script, "f", "[{\"a\":7}]", 9, queue, done, &outcome, NULL));
  finish(queue, &outcome);
  CHECK_TEXT(outcome.text, "[7]");
  outcome.count = 0;
  nj_task_release(nj_script_start_invoke(script, "none", NULL, 0, queue, done, &outcome, NULL));
  finish(queue, &outcome);
  CHECK(outcome.status == NJ_SCRIPT && strstr(outcome.text, "the global 'none' is a nil value"));
  nj_script_free(script);
  nj_queue_free(queue);
}

/* nj_queue_poll returns while the script waits, and the descriptor reports that it can continue. */
static void polls_do_not_block(void) {
  nj_queue *queue = nj_queue_new();
  nj_script *script = nj_script_new(NULL);
  outcome outcome = {0};
  nj_task *task = start(script, "require('nightjar').sleep(0.2) return 1", queue, &outcome);
  CHECK(!nj_task_is_finished(task));
  while (nj_queue_poll(queue, 0) > 0) {}
  CHECK(outcome.count == 0);
  CHECK(nj_script_run(script, "return", 6, NULL, NULL, NULL, NULL) == NJ_REENTRANT);
  nj_error *error = NULL;
  CHECK(nj_script_start_run(script, "return", 6, NULL, queue, done, &outcome, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_REENTRANT);
  CHECK_TEXT(nj_error_message(error), "the script is already running; wait for the end of the run that was started");
  nj_error_release(error);
  CHECK(nj_script_set_json(script, "x", "[1]", 3, NULL) == NJ_OK); /* between two steps */
  char *json = nj_script_get_json(script, "x", NULL, NULL);
  CHECK_TEXT(json, "[1]");
  nj_text_free(json);
  struct pollfd ready = {.fd = nj_queue_fd(queue), .events = POLLIN};
  while (outcome.count == 0) {
    CHECK(poll(&ready, 1, 10000) == 1);
    nj_queue_poll(queue, 0);
  }
  CHECK_TEXT(outcome.text, "[1]");
  CHECK(nj_task_is_finished(task));
  nj_task_cancel(task); /* no effect */
  nj_task_release(task);
  nj_script_free(script);
  nj_queue_free(queue);
}

static void *cancel_soon(void *task) {
  usleep(20000);
  nj_task_cancel(task);
  return NULL;
}

static void *interrupt_soon(void *script) {
  usleep(20000);
  nj_script_interrupt(script);
  return NULL;
}

static void runs_are_cancelled(void) {
  static const char *const sources[] = {"require('nightjar').sleep(60)", "while true do end"};
  nj_queue *queue = nj_queue_new();
  nj_script *script = nj_script_new(NULL);
  pthread_t thread;
  for (int i = 0; i < 2; i++) {
    outcome outcome = {0};
    nj_task *task = start(script, sources[i], queue, &outcome);
    pthread_create(&thread, NULL, cancel_soon, task);
    finish(queue, &outcome);
    pthread_join(thread, NULL);
    CHECK(outcome.status == NJ_CANCELLED);
    CHECK_TEXT(outcome.text, "the run of the script was cancelled");
    nj_task_release(task);

    outcome.count = 0;
    nj_task_release(start(script, sources[i], queue, &outcome));
    pthread_create(&thread, NULL, interrupt_soon, script);
    finish(queue, &outcome);
    pthread_join(thread, NULL);
    CHECK(outcome.status == NJ_SCRIPT && strstr(outcome.text, "interrupted"));

    outcome.count = 0; /* before the first step */
    task = start(script, "x = true", queue, &outcome);
    nj_task_cancel(task);
    finish(queue, &outcome);
    CHECK(outcome.status == NJ_CANCELLED);
    nj_task_release(task);
    ends(script, queue, "return x", NJ_OK, "[null]");
  }
  /* The queue ends first. */
  outcome outcome = {0};
  nj_task_release(start(script, sources[0], queue, &outcome));
  nj_queue_poll(queue, 0);
  nj_queue_free(queue);
  CHECK(outcome.count == 1 && outcome.status == NJ_CANCELLED);
  nj_script_free(script);

  /* The script ends first: before its run, during its run, in `done`. */
  for (int polls = 0; polls < 3; polls++) {
    queue = nj_queue_new();
    script = nj_script_new(NULL);
    outcome.count = 0;
    nj_task_release(start(script, sources[0], queue, &outcome));
    for (int i = 0; i < polls; i++) nj_queue_poll(queue, 0.1);
    nj_script_free(script);
    finish(queue, &outcome);
    CHECK(outcome.status == NJ_CANCELLED);
    nj_queue_free(queue);
  }
  queue = nj_queue_new();
  script = nj_script_new(NULL);
  outcome.count = 0;
  outcome.freed = script;
  nj_task_release(start(script, "return 1", queue, &outcome));
  finish(queue, &outcome);
  CHECK_TEXT(outcome.text, "[1]");
  nj_queue_free(queue);
}

static void runs_have_limits(void) {
  nj_queue *queue = nj_queue_new();
  nj_script *script = nj_script_new(NULL);
  nj_script_set_sandboxed(script, true);
  nj_script_set_time_limit(script, 0.05);
  ends(script, queue, "nightjar.sleep(60)", NJ_SCRIPT, "time limit");
  nj_script_free(script);
  script = nj_script_new(NULL);
  nj_script_set_sandboxed(script, true);
  nj_script_set_burst_limit(script, 1000000);
  nj_script_set_memory_limit(script, 4 << 20);
  ends(script, queue, "while true do end", NJ_SCRIPT, "without a wait");
  ends(script, queue, "local t = {} while true do t[#t + 1] = {} end", NJ_SCRIPT, "memory");
  ends(script, queue, "return 1", NJ_OK, "[1]");
  nj_script_free(script);
  nj_queue_free(queue);
}

/* --- Deferred results --- */

enum { MOST = 8 };

typedef struct host {
  nj_script_reply *replies[MOST];
  _Atomic int count;
} host;

static void later(void *context, nj_script_call *call) {
  host *host = context;
  nj_script_call_return_integer(call, 1); /* discarded */
  host->replies[host->count % MOST] = nj_script_call_defer(call);
  CHECK(host->replies[host->count % MOST] != NULL);
  CHECK(nj_script_call_defer(call) == NULL);
  host->count++;
}

static nj_status respond(nj_script_reply *reply, const char *json) {
  nj_status status = nj_script_reply_return_json(reply, json, strlen(json));
  nj_script_reply_release(reply);
  return status;
}

static void *respond_soon(void *context) {
  host *host = context;
  while (host->count == 0) usleep(1000);
  CHECK(respond(host->replies[0], "[1,{\"a\":null}]") == NJ_OK);
  return NULL;
}

static void at_once(void *context, nj_script_call *call) {
  (void)context;
  CHECK(respond(nj_script_call_defer(call), "\"now\"") == NJ_OK);
}

static void never(void *context, nj_script_call *call) {
  (void)context;
  nj_script_reply_release(nj_script_call_defer(call));
}

static void fails_first(void *context, nj_script_call *call) {
  (void)context;
  nj_script_reply *reply = nj_script_call_defer(call);
  nj_script_call_fail(call, "refused");
  CHECK(nj_script_reply_fail(reply, "earlier") == NJ_OK); /* The failure of the call comes first. */
  nj_script_reply_release(reply);
}

static void results_come_later(void) {
  host host = {0};
  nj_queue *queue = nj_queue_new();
  nj_script *script = nj_script_new(NULL);
  nj_script_set_time_limit(script, 30);
  nj_script_register(script, "later", later, &host, NULL);
  nj_script_register(script, "at_once", at_once, NULL, NULL);
  nj_script_register(script, "never", never, NULL, NULL);
  nj_script_register(script, "fails_first", fails_first, NULL, NULL);
  ends(script, queue, "return at_once()", NJ_OK, "[\"now\"]");
  ends(script, queue, "never()", NJ_SCRIPT, "test:1: the host released the reply to the call without a result");
  ends(script, queue, "fails_first()", NJ_SCRIPT, "test:1: refused");

  /* The result comes from the thread that polls; other tasks of the script continue meanwhile. */
  outcome outcome = {0};
  nj_task_release(start(script,
                        "local nightjar = require 'nightjar' local count = 0 "
                        "local task = nightjar.spawn(function() for i = 1, 5 do nightjar.sleep(0.001) count = count + 1 end end) "
                        "local a, b = later(), later() task:join() return a, b, count",
                        queue, &outcome));
  for (int i = 0; i < 1000 && outcome.count == 0; i++) {
    nj_queue_poll(queue, 0.01);
    if (host.count > 0 && host.replies[0]) {
      CHECK(respond(host.replies[0], "{\"x\":1}") == NJ_OK);
      host.replies[0] = NULL;
    }
    if (host.count > 1 && host.replies[1]) {
      CHECK(respond(host.replies[1], "null") == NJ_OK);
      host.replies[1] = NULL;
    }
  }
  CHECK_TEXT(outcome.text, "[{\"x\":1},null,5]");

  /* The result comes from another thread, to a blocking run and to a run on the queue. */
  pthread_t thread;
  char *results = NULL;
  host.count = 0;
  pthread_create(&thread, NULL, respond_soon, &host);
  CHECK(nj_script_run(script, "return later()", 14, NULL, &results, NULL, NULL) == NJ_OK);
  pthread_join(thread, NULL);
  CHECK_TEXT(results, "[[1,{\"a\":null}]]");
  nj_text_free(results);
  host.count = 0;
  outcome.count = 0;
  nj_task_release(start(script, "return later()", queue, &outcome));
  pthread_create(&thread, NULL, respond_soon, &host);
  finish(queue, &outcome);
  pthread_join(thread, NULL);
  CHECK_TEXT(outcome.text, "[[1,{\"a\":null}]]");

  /* Errors, and results that come too late. */
  host.count = 0;
  outcome.count = 0;
  nj_task_release(start(script, "return later()", queue, &outcome));
  while (host.count == 0) nj_queue_poll(queue, 0.1);
  CHECK(nj_script_reply_return_json(host.replies[0], "{", 1) == NJ_DECODING);
  CHECK(nj_script_reply_fail(host.replies[0], "not today") == NJ_OK);
  CHECK(nj_script_reply_fail(host.replies[0], "again") == NJ_CLOSED);
  CHECK(respond(host.replies[0], "1") == NJ_CLOSED);
  finish(queue, &outcome);
  CHECK(outcome.status == NJ_SCRIPT && strstr(outcome.text, "test:1: not today"));

  host.count = 0;
  ends(script, queue, "local nightjar = require 'nightjar' return select(2, nightjar.try(nightjar.timeout, 0.01, later)).kind",
       NJ_OK, "[\"timeout\"]");
  CHECK(respond(host.replies[0], "1") == NJ_CLOSED);

  /* A reply that is not used: a cancellation, the time limit, the end of the script. */
  host.count = 0;
  outcome.count = 0;
  nj_task *task = start(script, "return later()", queue, &outcome);
  while (host.count == 0) nj_queue_poll(queue, 0.1);
  nj_task_cancel(task);
  nj_task_release(task);
  finish(queue, &outcome);
  CHECK(outcome.status == NJ_CANCELLED);
  CHECK(respond(host.replies[0], "1") == NJ_CLOSED);
  host.count = 0;
  outcome.count = 0;
  nj_task_release(start(script, "return later()", queue, &outcome));
  while (host.count == 0) nj_queue_poll(queue, 0.1);
  nj_script_free(script);
  finish(queue, &outcome);
  CHECK(outcome.status == NJ_CANCELLED);
  CHECK(respond(host.replies[0], "1") == NJ_CLOSED);

  script = nj_script_new(NULL);
  nj_script_set_sandboxed(script, true);
  nj_script_set_time_limit(script, 0.05);
  nj_script_register(script, "later", later, &host, NULL);
  host.count = 0;
  CHECK(nj_script_run(script, "return later()", 14, NULL, NULL, NULL, NULL) == NJ_SCRIPT);
  CHECK(nj_script_reply_fail(host.replies[0], NULL) == NJ_CLOSED);
  nj_script_reply_release(host.replies[0]);
  nj_script_free(script);
  nj_queue_free(queue);
}

static void null_is_rejected(void) {
  nj_queue *queue = nj_queue_new();
  nj_script *script = nj_script_new(NULL);
  nj_error *error = NULL;
  CHECK(nj_script_start_run(NULL, "", 0, NULL, queue, done, NULL, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  CHECK(nj_script_start_run(script, NULL, 0, NULL, queue, done, NULL, NULL) == NULL);
  CHECK(nj_script_start_run(script, "", 0, NULL, NULL, done, NULL, NULL) == NULL);
  CHECK(nj_script_start_run(script, "", 0, NULL, queue, NULL, NULL, NULL) == NULL);
  CHECK(nj_script_start_invoke(script, NULL, NULL, 0, queue, done, NULL, NULL) == NULL);
  CHECK(nj_script_start_invoke(script, "f", "{}", 2, queue, done, NULL, NULL) == NULL);
  CHECK(nj_script_call_defer(NULL) == NULL);
  CHECK(nj_script_reply_return_json(NULL, "1", 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_reply_fail(NULL, "x") == NJ_INVALID_ARGUMENT);
  nj_script_reply_release(NULL);
  CHECK(nj_script_run(script, "", 0, NULL, NULL, NULL, NULL) == NJ_OK); /* No call above has started a run. */
  nj_script_free(script);
  nj_queue_free(queue);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  runs_end_in_the_queue(argv[1]);
  a_run_is_awaited();
  polls_do_not_block();
  runs_are_cancelled();
  runs_have_limits();
  results_come_later();
  null_is_rejected();
  FINISH();
}
