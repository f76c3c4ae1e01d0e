/* Lua inside a C program: runs, errors, limits, interrupts. The demo API's URL is the argument. */
#include "check.h"
#include <nightjar.h>
#include <pthread.h>
#include <unistd.h>

static nj_status run(nj_script *script, const char *source, nj_error **err) {
  return nj_script_run(script, source, strlen(source), "test", err);
}

static void runs_a_workflow(const char *url) {
  char source[1024];
  snprintf(source, sizeof source,
           "local nightjar = require 'nightjar'\n"
           "local api = nightjar.client { base_url = '%s/v1' }\n"
           "local made = api:post('/articles', { json = { title = 'From Lua in C', body = 'text', author_id = 1 } })\n"
           "assert(made.status == 201)\n"
           "assert(api:get('/articles/' .. made.json.id).json.title == 'From Lua in C')\n"
           "seen = made.json.id\n",
           url);
  nj_script *script = nj_script_new();
  nj_error *err = NULL;
  nj_status status = run(script, source, &err);
  if (err) fprintf(stderr, "%s\n", nj_error_message(err));
  CHECK(status == NJ_OK && err == NULL);
  CHECK(run(script, "assert(math.type(seen) == 'integer')", NULL) == NJ_OK);
  CHECK(nj_script_set_memory_limit(script, 1 << 20) == NJ_INVALID_ARGUMENT);
  nj_script_free(script);
}

static void tells_what_went_wrong(void) {
  static const struct {
    const char *source, *message;
  } cases[] = {
      {"x = = 1", "unexpected symbol near '='"},
      {"error('no')", "no"},
      {"local t = nil; t.x = 1", "attempt to index a nil value"},
      {"require('nightjar').client { base_urll = 'x' }", "did you mean \"base_url\"?"},
      {"require('nightjar').client { base_url = 'ftp://x' }", "http"},
      {"\x1bLua", "binary"},
  };
  nj_script *script = nj_script_new();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nj_error *err = NULL;
    CHECK(run(script, cases[i].source, &err) != NJ_OK);
    const char *message = nj_error_message(err);
    if (!message) message = "nothing";
    if (!strstr(message, cases[i].message)) fprintf(stderr, "%s: %s\n", cases[i].source, message);
    CHECK(strstr(message, cases[i].message) != NULL);
    nj_error_free(err);
  }
  CHECK(nj_script_run_file(script, "/no/such/script.lua", NULL) == NJ_SCRIPT);
  nj_script_free(script);
}

static void limits_hold(void) {
  nj_error *err = NULL;
  nj_script *script = nj_script_new();
  CHECK(nj_script_set_memory_limit(script, 8 << 20) == NJ_OK);
  CHECK(run(script, "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", &err) == NJ_SCRIPT);
  CHECK(strstr(nj_error_message(err), "memory") != NULL);
  nj_error_free(err);
  CHECK(run(script, "return 1", NULL) == NJ_OK);
  nj_script_free(script);

  script = nj_script_new();
  CHECK(nj_script_set_instruction_limit(script, 1000000) == NJ_OK);
  CHECK(run(script, "while true do pcall(function() while true do end end) end", NULL) == NJ_SCRIPT);
  nj_script_free(script);

  script = nj_script_new();
  CHECK(nj_script_set_time_limit(script, 0.05) == NJ_OK);
  CHECK(run(script, "require('nightjar').sleep(30)", NULL) == NJ_SCRIPT);
  nj_script_free(script);

  script = nj_script_new();
  CHECK(nj_script_set_sandboxed(script, true) == NJ_OK);
  CHECK(run(script, "assert(io == nil and os == nil and debug == nil and package == nil)", NULL) == NJ_OK);
  nj_script_free(script);
}

static void *interrupt_soon(void *script) {
  usleep(50000);
  nj_script_interrupt(script);
  return NULL;
}

static void an_interrupt_ends_a_run(void) {
  static const char *sources[] = {"while true do end", "require('nightjar').sleep(60)"};
  nj_script *script = nj_script_new();
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    CHECK(run(script, "x = 1", NULL) == NJ_OK);
    pthread_create(&thread, NULL, interrupt_soon, script);
    CHECK(run(script, sources[i], NULL) == NJ_SCRIPT);
    pthread_join(thread, NULL);
    CHECK(run(script, "assert(x == 1)", NULL) == NJ_OK);
  }
  nj_script_free(script);
}

static void null_is_answered(void) {
  nj_error *err = NULL;
  CHECK(nj_script_run(NULL, "x", 1, NULL, &err) == NJ_INVALID_ARGUMENT);
  CHECK(nj_error_kind(err) == NJ_INVALID_ARGUMENT);
  nj_error_free(err);
  CHECK(nj_script_run_file(NULL, "x", NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_sandboxed(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_memory_limit(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_instruction_limit(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_time_limit(NULL, 1) == NJ_INVALID_ARGUMENT);
  nj_script_interrupt(NULL);
  nj_script_free(NULL);
  nj_script *script = nj_script_new();
  CHECK(nj_script_run(script, NULL, 3, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_run(script, "", 0, "\xff", NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_run(script, "", 0, NULL, NULL) == NJ_OK);
  CHECK(nj_script_run_file(script, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_time_limit(script, -3) == NJ_INVALID_ARGUMENT);
  nj_script_free(script);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  runs_a_workflow(argv[1]);
  tells_what_went_wrong();
  limits_hold();
  an_interrupt_ends_a_run();
  null_is_answered();
  FINISH();
}
