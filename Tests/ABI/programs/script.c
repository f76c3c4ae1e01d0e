/* Lua inside a C program: runs, errors, limits, interrupts. The demo API's URL is the argument. */
#include "check.h"
#include <nightjar.h>
#include <pthread.h>
#include <unistd.h>

static nj_status run(nj_script *script, const char *source, nj_error **err) {
  return nj_script_run(script, source, strlen(source), "test", NULL, NULL, err);
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
  nj_script *script = nj_script_new(NULL);
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
  nj_script *script = nj_script_new(NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nj_error *err = NULL;
    CHECK(run(script, cases[i].source, &err) != NJ_OK);
    const char *message = nj_error_message(err);
    if (!message) message = "nothing";
    if (!strstr(message, cases[i].message)) fprintf(stderr, "%s: %s\n", cases[i].source, message);
    CHECK(strstr(message, cases[i].message) != NULL);
    nj_error_release(err);
  }
  CHECK(nj_script_run_file(script, "/no/such/script.lua", NULL, NULL, NULL) == NJ_SCRIPT);
  nj_script_free(script);
}

static void limits_hold(void) {
  nj_error *err = NULL;
  nj_script *script = nj_script_new(NULL);
  CHECK(nj_script_set_memory_limit(script, 8 << 20) == NJ_OK);
  CHECK(run(script, "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", &err) == NJ_SCRIPT);
  CHECK(strstr(nj_error_message(err), "memory") != NULL);
  nj_error_release(err);
  CHECK(run(script, "return 1", NULL) == NJ_OK);
  nj_script_free(script);

  script = nj_script_new(NULL);
  CHECK(nj_script_set_instruction_limit(script, 1000000) == NJ_OK);
  CHECK(run(script, "while true do pcall(function() while true do end end) end", NULL) == NJ_SCRIPT);
  nj_script_free(script);

  script = nj_script_new(NULL);
  CHECK(nj_script_set_time_limit(script, 0.05) == NJ_OK);
  CHECK(run(script, "require('nightjar').sleep(30)", NULL) == NJ_SCRIPT);
  nj_script_free(script);

  script = nj_script_new(NULL);
  CHECK(nj_script_set_burst_limit(script, 1000000) == NJ_OK);
  CHECK(run(script, "for i = 1, 20 do for j = 1, 1e5 do end require('nightjar').sleep(0) end", NULL) == NJ_OK);
  CHECK(run(script, "while true do end", &err) == NJ_SCRIPT);
  CHECK(strstr(nj_error_message(err), "without a wait") != NULL);
  nj_error_release(err);
  nj_script_free(script);

  script = nj_script_new(NULL); /* Without limits. */
  CHECK(nj_script_set_memory_limit(script, 0) == NJ_OK);
  CHECK(nj_script_set_instruction_limit(script, 0) == NJ_OK);
  CHECK(nj_script_set_burst_limit(script, 0) == NJ_OK);
  CHECK(nj_script_set_time_limit(script, NJ_NO_LIMIT) == NJ_OK);
  CHECK(run(script, "for i = 1, 1e6 do end", NULL) == NJ_OK);
  nj_script_free(script);

  script = nj_script_new(NULL);
  CHECK(nj_script_allow_origin(script, "not a URL") == NJ_INVALID_URL);
  CHECK(nj_script_allow_origin(script, "http://127.0.0.1:9") == NJ_OK);
  CHECK(nj_script_allow_origin(script, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(run(script, "return 1", NULL) == NJ_INVALID_ARGUMENT); /* It is not sandboxed. */
  CHECK(nj_script_set_sandboxed(script, true) == NJ_OK);
  CHECK(run(script, "return 1", NULL) == NJ_OK);
  nj_script_free(script);

  script = nj_script_new(NULL);
  CHECK(nj_script_set_path_scope(script, "v1") == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_path_scope(script, "/v1/..") == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_path_scope(script, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_path_scope(script, "/v1") == NJ_OK);
  CHECK(run(script, "return 1", NULL) == NJ_INVALID_ARGUMENT); /* It is not sandboxed. */
  nj_script_free(script);

  script = nj_script_new(NULL);
  CHECK(nj_script_set_sandboxed(script, true) == NJ_OK);
  CHECK(nj_script_set_instruction_limit(script, 1000000) == NJ_OK);
  CHECK(run(script, "(('a'):rep(30)):find(('a?'):rep(30) .. ('a'):rep(31))", &err) == NJ_SCRIPT);
  CHECK(strstr(nj_error_message(err), "instruction limit") != NULL);
  nj_error_release(err);
  CHECK(run(script, "xpcall(error, function() while true do end end)", NULL) == NJ_SCRIPT);
  nj_script_free(script);

  script = nj_script_new(NULL);
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
  nj_script *script = nj_script_new(NULL);
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

static void sum(void *context, nj_script_call *call) {
  int64_t total = *(int64_t *)context;
  for (size_t i = 0; i < nj_script_call_count(call); i++) {
    if (nj_script_call_kind(call, i) != NJ_VALUE_INTEGER) {
      nj_script_call_fail(call, "sum takes integers");
      return;
    }
    total += nj_script_call_integer(call, i);
  }
  nj_script_call_return_integer(call, total);
}

static void echo(void *context, nj_script_call *call) {
  (void)context;
  for (size_t i = 0; i <= nj_script_call_count(call); i++) {
    size_t length;
    const char *bytes;
    switch (nj_script_call_kind(call, i)) {
      case NJ_VALUE_BOOLEAN: nj_script_call_return_boolean(call, nj_script_call_boolean(call, i)); break;
      case NJ_VALUE_INTEGER: nj_script_call_return_integer(call, nj_script_call_integer(call, i)); break;
      case NJ_VALUE_NUMBER: nj_script_call_return_number(call, nj_script_call_number(call, i)); break;
      case NJ_VALUE_STRING:
        bytes = nj_script_call_string(call, i, &length);
        CHECK(bytes[length] == 0);
        nj_script_call_return_string(call, bytes, length);
        break;
      case NJ_VALUE_NIL: nj_script_call_return_nil(call); break;
      default: nj_script_call_return_string(call, "other", 5);
    }
  }
}

static void a_host_gives_functions_globals_and_its_client(const char *url) {
  char base[256];
  snprintf(base, sizeof base, "%s/v1", url);
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, base);
  nj_client *client = nj_client_new(config, NULL);
  nj_config_free(config);
  nj_script *script = nj_script_new(client);
  int64_t start = 100;
  nj_error *err = NULL;
  CHECK(nj_script_set_sandboxed(script, true) == NJ_OK);
  CHECK(nj_script_register(script, "sum", sum, &start, &err) == NJ_OK);
  CHECK(nj_script_register(script, "echo", echo, NULL, &err) == NJ_OK);
  CHECK(nj_script_set_boolean(script, "flag", true) == NJ_OK);
  CHECK(nj_script_set_integer(script, "count", INT64_MIN) == NJ_OK);
  CHECK(nj_script_set_number(script, "ratio", 0.5) == NJ_OK);
  CHECK(nj_script_set_string(script, "data", "a\0b", 3) == NJ_OK);
  nj_status status = run(script,
                         "assert(sum(1, 2, 3) == 106 and sum() == 100)\n"
                         "local ok, message = pcall(sum, 'x')\n"
                         "assert(not ok and tostring(message):find 'sum takes integers', message)\n"
                         "local a, b, c, d, e, f = echo(true, 7, 0.25, 'x\\0y', nil, {})\n"
                         "assert(a == true and b == 7 and c == 0.25 and d == 'x\\0y' and e == nil and f == 'other')\n"
                         "assert(flag == true and count == math.mininteger and ratio == 0.5 and data == 'a\\0b')\n"
                         "assert(nightjar.client():get('/articles/1').status == 200)\n"
                         "assert(not pcall(nightjar.client, { base_url = 'http://127.0.0.1:1' }))\n",
                         &err);
  if (err) fprintf(stderr, "%s\n", nj_error_message(err));
  CHECK(status == NJ_OK);
  nj_error_release(err);
  nj_script_free(script);
  nj_client_free(client);
}

static void null_is_answered(void) {
  nj_error *err = NULL;
  CHECK(nj_script_register(NULL, "f", sum, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_string(NULL, "s", "x", 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_boolean(NULL, "s", true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_integer(NULL, "s", 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_number(NULL, "s", 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_call_count(NULL) == 0 && nj_script_call_kind(NULL, 0) == NJ_VALUE_NIL);
  CHECK(!nj_script_call_boolean(NULL, 0) && nj_script_call_integer(NULL, 0) == 0 && nj_script_call_number(NULL, 0) == 0);
  CHECK(nj_script_call_string(NULL, 0, NULL) == NULL);
  nj_script_call_return_nil(NULL);
  nj_script_call_return_boolean(NULL, true);
  nj_script_call_return_integer(NULL, 1);
  nj_script_call_return_number(NULL, 1);
  nj_script_call_return_string(NULL, "x", 1);
  nj_script_call_fail(NULL, "x");
  CHECK(nj_script_run(NULL, "x", 1, NULL, NULL, NULL, &err) == NJ_INVALID_ARGUMENT);
  CHECK(nj_error_kind(err) == NJ_INVALID_ARGUMENT);
  nj_error_release(err);
  CHECK(nj_script_run_file(NULL, "x", NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_sandboxed(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_memory_limit(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_instruction_limit(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_burst_limit(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_allow_origin(NULL, "http://127.0.0.1") == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_time_limit(NULL, 1) == NJ_INVALID_ARGUMENT);
  nj_script_interrupt(NULL);
  nj_script_free(NULL);
  nj_script *script = nj_script_new(NULL);
  CHECK(nj_script_run(script, NULL, 3, NULL, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_run(script, "", 0, "\xff", NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_run(script, "", 0, NULL, NULL, NULL, NULL) == NJ_OK);
  CHECK(nj_script_register(script, NULL, sum, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_register(script, "f", NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_string(script, "s", NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_run_file(script, NULL, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_time_limit(script, -3) == NJ_INVALID_ARGUMENT);
  nj_script_free(script);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  runs_a_workflow(argv[1]);
  tells_what_went_wrong();
  limits_hold();
  an_interrupt_ends_a_run();
  a_host_gives_functions_globals_and_its_client(argv[1]);
  null_is_answered();
  FINISH();
}
