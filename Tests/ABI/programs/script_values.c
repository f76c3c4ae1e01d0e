/* Values that a host and a script exchange as JSON: results, globals, arguments. */
#include "check.h"
#include <nightjar.h>

/* Runs a chunk and compares its results. */
static void returns(nj_script *script, const char *source, const char *expected) {
  char *results = NULL;
  size_t length = 99;
  nj_error *error = NULL;
  CHECK(nj_script_run(script, source, strlen(source), "test", &results, &length, &error) == NJ_OK);
  if (error) fprintf(stderr, "%s: %s\n", source, nj_error_message(error));
  CHECK_TEXT(results, expected);
  CHECK(length == strlen(expected));
  nj_text_free(results);
  nj_error_release(error);
}

/* Runs a chunk that fails, and looks for a part of the message. */
static void fails(nj_script *script, const char *source, const char *message) {
  char *results = "unchanged";
  size_t length = 99;
  nj_error *error = NULL;
  CHECK(nj_script_run(script, source, strlen(source), "test", &results, &length, &error) == NJ_SCRIPT);
  CHECK(results == NULL && length == 0);
  const char *text = nj_error_message(error);
  if (!text || !strstr(text, message)) fprintf(stderr, "%s: %s\n", source, text ? text : "no error");
  CHECK(text && strstr(text, message));
  nj_error_release(error);
}

static void chunks_return_values(bool is_sandboxed) {
  nj_script *script = nj_script_new(NULL);
  nj_script_set_sandboxed(script, is_sandboxed);
  returns(script, "", "[]");
  returns(script, "return nil", "[null]");
  returns(script, "return 1, nil, 'a\\0b', nil", "[1,null,\"a\\u0000b\",null]");
  returns(script, "return true, 2.0, 2.5, -0.0, math.mininteger", "[true,2,2.5,-0.0,-9223372036854775808]");
  returns(script, "return {b = {1, 2}, a = {}}", "[{\"a\":{},\"b\":[1,2]}]");
  returns(script, "local nightjar = require 'nightjar' return nightjar.array {}, {nightjar.null}", "[[],[null]]");
  returns(script, "return setmetatable({}, {__index = error, __pairs = error, __len = error, __tostring = error})", "[{}]");
  returns(script, "local nightjar = require 'nightjar' nightjar.sleep(0) return nightjar.spawn(function() return 7 end):join()",
          "[7]");

  fails(script, "return 1, {end_of = {function() end}}", "results[2].end_of[1]: a function cannot be represented in JSON");
  fails(script, "return 0/0", "results[1]: NaN");
  fails(script, "return -1/0", "results[1]: an infinite number");
  fails(script, "return '\\xff'", "results[1]: the string is not valid UTF-8");
  fails(script, "local t = {} t.t = t return t", "results[1].t: the table contains itself");
  fails(script, "local t = {} for i = 1, 2000 do t = {t} end return t", "1024 levels");
  fails(script, "return {1, x = 2}", "results[1]: the table has both names and indices");
  fails(script, "return coroutine.create(print or error)", "results[1]: a thread cannot be represented");
  fails(script, "return {[1.5] = 1}", "results[1]: a table key is a number");
  fails(script, "error 'no'", "no\nstack traceback:");

  /* The host does not request the results. */
  const char *function = "return function() end";
  CHECK(nj_script_run(script, function, strlen(function), NULL, NULL, NULL, NULL) == NJ_OK);
  nj_script_free(script);
}

static void results_have_limits(void) {
  /* A few tables whose text has 2^40 elements. */
  const char *source = "local t = {1} for i = 1, 40 do t = {t, t} end return t";
  nj_script *script = nj_script_new(NULL);
  nj_script_set_sandboxed(script, true);
  nj_script_set_memory_limit(script, 4 << 20);
  fails(script, source, "memory");
  returns(script, "return 1", "[1]");
  nj_script_free(script);

  script = nj_script_new(NULL);
  nj_script_set_sandboxed(script, true);
  nj_script_set_instruction_limit(script, 100000);
  fails(script, source, "instruction limit");
  const char *global = "t = {1} for i = 1, 40 do t = {t, t} end";
  CHECK(nj_script_run(script, global, strlen(global), NULL, NULL, NULL, NULL) == NJ_OK);
  nj_error *error = NULL;
  CHECK(nj_script_get_json(script, "t", NULL, &error) == NULL);
  CHECK(error && strstr(nj_error_message(error), "instruction limit"));
  nj_error_release(error);
  returns(script, "return 1", "[1]");
  nj_script_free(script);
}

static nj_status set(nj_script *script, const char *name, const char *json, nj_error **error) {
  return nj_script_set_json(script, name, json, strlen(json), error);
}

static void get(nj_script *script, const char *name, const char *expected) {
  char *json = nj_script_get_json(script, name, NULL, NULL);
  CHECK_TEXT(json, expected);
  nj_text_free(json);
}

static void globals_are_json(bool is_sandboxed) {
  nj_script *script = nj_script_new(NULL);
  nj_error *error = NULL;
  nj_script_set_sandboxed(script, is_sandboxed);
  get(script, "none", "null");
  CHECK(set(script, "config", " {\"list\":[1,null,{}],\"name\":\"caf\\u00e9\",\"empty\":[],\"f\":1.5}", &error) == NJ_OK);
  get(script, "config", "{\"empty\":[],\"f\":1.5,\"list\":[1,null,{}],\"name\":\"caf\xc3\xa9\"}");
  returns(script,
          "local null = require('nightjar').null assert(config.list[2] == null and #config.list == 3) "
          "config.list[4] = 4 return #config.empty, math.type(config.list[1])",
          "[0,\"integer\"]");
  get(script, "config", "{\"empty\":[],\"f\":1.5,\"list\":[1,null,{},4],\"name\":\"caf\xc3\xa9\"}");
  CHECK(set(script, "config", "null", NULL) == NJ_OK);
  returns(script, "return config == nil", "[true]");
  CHECK(set(script, "x", "{\"a\":", &error) == NJ_DECODING);
  CHECK(error && strstr(nj_error_message(error), "line 1"));
  nj_error_release(error);
  CHECK(set(script, "x", "", NULL) == NJ_DECODING);
  get(script, "x", "null");
  returns(script, "f = function() end t = {1, f} return 1", "[1]");
  CHECK(nj_script_get_json(script, "f", NULL, &error) == NULL && nj_error_kind(error) == NJ_SCRIPT);
  CHECK_TEXT(nj_error_message(error), "f: a function cannot be represented in JSON");
  nj_error_release(error);
  CHECK(nj_script_get_json(script, "t", NULL, &error) == NULL);
  CHECK_TEXT(nj_error_message(error), "t[2]: a function cannot be represented in JSON");
  nj_error_release(error);

  /* Metamethods of the globals and of values are not called. */
  returns(script,
          "local function loop() while true do end end "
          "strange = setmetatable({}, {__index = loop, __pairs = loop, __len = loop, __tostring = loop}) "
          "setmetatable(_G, {__index = loop, __newindex = loop})",
          "[]");
  get(script, "no_such_global", "null");
  get(script, "strange", "{}");
  CHECK(set(script, "new", "[true]", NULL) == NJ_OK);
  get(script, "new", "[true]");
  CHECK(nj_script_invoke(script, "no_such_global", NULL, 0, NULL, NULL, &error) == NJ_SCRIPT);
  CHECK_TEXT(nj_error_message(error), "invoke failed: the global 'no_such_global' is a nil value, not a function");
  nj_error_release(error);
  nj_script_free(script);
}

static void globals_have_limits(void) {
  nj_script *script = nj_script_new(NULL);
  nj_script_set_sandboxed(script, true);
  nj_script_set_memory_limit(script, 1 << 20);
  size_t length = 4 << 20;
  char *json = malloc(length);
  memset(json, ' ', length);
  json[0] = '"';
  json[length - 1] = '"';
  nj_error *error = NULL;
  CHECK(nj_script_set_json(script, "x", json, length, &error) == NJ_SCRIPT);
  CHECK(error && strstr(nj_error_message(error), "memory"));
  nj_error_release(error);
  free(json);
  get(script, "x", "null");
  returns(script, "return 1", "[1]");
  nj_script_free(script);
}

static void functions_are_called(bool is_sandboxed) {
  nj_script *script = nj_script_new(NULL);
  nj_error *error = NULL;
  char *results = NULL;
  nj_script_set_sandboxed(script, is_sandboxed);
  nj_script_set_instruction_limit(script, 10000000);
  returns(script,
          "nightjar = require 'nightjar' "
          "function echo(...) return select('#', ...), ... end "
          "function slow(t) nightjar.sleep(0.001) t.done = nightjar.null return t end "
          "function bad(x) local y = x.a.b end "
          "function endless() while true do end end "
          "callable = setmetatable({}, {__call = function(self, x) return x + 1 end})",
          "[]");
  static const char arguments[] = "[1, null, {\"a\": [null]}, \"x\"]";
  CHECK(nj_script_invoke(script, "echo", arguments, sizeof arguments - 1, &results, NULL, &error) == NJ_OK);
  CHECK_TEXT(results, "[4,1,null,{\"a\":[null]},\"x\"]");
  nj_text_free(results);
  CHECK(nj_script_invoke(script, "echo", NULL, 0, &results, NULL, &error) == NJ_OK);
  CHECK_TEXT(results, "[0]");
  nj_text_free(results);
  CHECK(nj_script_invoke(script, "echo", "[]", 2, &results, NULL, &error) == NJ_OK);
  CHECK_TEXT(results, "[0]");
  nj_text_free(results);
  CHECK(nj_script_invoke(script, "slow", "[{}]", 4, &results, NULL, &error) == NJ_OK);
  CHECK_TEXT(results, "[{\"done\":null}]");
  nj_text_free(results);
  CHECK(nj_script_invoke(script, "callable", "[41]", 4, &results, NULL, &error) == NJ_OK);
  CHECK_TEXT(results, "[42]");
  nj_text_free(results);

  CHECK(nj_script_invoke(script, "bad", "[{}]", 4, &results, NULL, &error) == NJ_SCRIPT);
  CHECK(results == NULL && strstr(nj_error_message(error), "attempt to index a nil value (field 'a')\nstack traceback:"));
  nj_error_release(error);
  CHECK(nj_script_invoke(script, "endless", NULL, 0, NULL, NULL, &error) == NJ_SCRIPT);
  CHECK(strstr(nj_error_message(error), "instruction limit") != NULL);
  nj_error_release(error);
  CHECK(nj_script_invoke(script, "none", NULL, 0, NULL, NULL, &error) == NJ_SCRIPT);
  CHECK_TEXT(nj_error_message(error), "invoke failed: the global 'none' is a nil value, not a function");
  nj_error_release(error);
  CHECK(nj_script_invoke(script, "echo", "{}", 2, NULL, NULL, &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "the arguments must be a JSON array");
  nj_error_release(error);
  CHECK(nj_script_invoke(script, "echo", "[1", 2, NULL, NULL, NULL) == NJ_DECODING);
  CHECK(nj_script_invoke(script, "echo", NULL, 2, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_invoke(script, "echo", "[1]", 3, NULL, NULL, NULL) == NJ_OK);
  nj_script_free(script);
}

static void swap(void *context, nj_script_call *call) {
  (void)context;
  const char *first = nj_script_call_json(call, 0, NULL), *second = nj_script_call_json(call, 1, NULL);
  if (!first || !second) return;
  CHECK(nj_script_call_return_json(call, second, strlen(second)) == NJ_OK);
  CHECK(nj_script_call_return_json(call, first, strlen(first)) == NJ_OK);
  CHECK(nj_script_call_return_json(call, "{", 1) == NJ_DECODING);
  CHECK(nj_script_call_return_json(call, NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_script_call_json(call, 99, NULL), "null");
}

static void reenter(void *context, nj_script_call *call) {
  nj_script *script = context;
  CHECK(nj_script_invoke(script, "again", NULL, 0, NULL, NULL, NULL) == NJ_REENTRANT);
  CHECK(nj_script_set_json(script, "seen", "{\"a\":1}", 7, NULL) == NJ_OK);
  get(script, "seen", "{\"a\":1}");
  (void)call;
}

static void host_functions_exchange_json(void) {
  nj_script *script = nj_script_new(NULL);
  nj_script_register(script, "swap", swap, NULL, NULL);
  nj_script_register(script, "again", reenter, script, NULL);
  returns(script, "local a, b, c = swap({x = {1, 2}}, nil) assert(c == nil) return a, b", "[null,{\"x\":[1,2]}]");
  returns(script, "return swap('text', 1.5)", "[1.5,\"text\"]");
  fails(script, "swap({f = print}, 1)", "test:1: argument 1.f: a function cannot be represented in JSON");
  returns(script, "return select(2, pcall(swap, 1, {0/0})):match 'argument 2%[1%]: NaN.*'",
          "[\"argument 2[1]: NaN cannot be represented in JSON\"]");
  returns(script, "again() return seen.a", "[1]");
  nj_script_free(script);
}

static void null_is_rejected(void) {
  nj_error *error = NULL;
  char *results = "unchanged";
  CHECK(nj_script_invoke(NULL, "f", NULL, 0, &results, NULL, &error) == NJ_INVALID_ARGUMENT && results == NULL);
  nj_error_release(error);
  CHECK(nj_script_set_json(NULL, "x", "1", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_get_json(NULL, "x", NULL, &error) == NULL && nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  CHECK(nj_script_call_json(NULL, 0, NULL) == NULL);
  CHECK(nj_script_call_return_json(NULL, "1", 1) == NJ_INVALID_ARGUMENT);
  nj_script *script = nj_script_new(NULL);
  CHECK(nj_script_invoke(script, NULL, NULL, 0, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_json(script, NULL, "1", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_json(script, "x", NULL, 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_get_json(script, "\xff", NULL, NULL) == NULL);
  nj_script_free(script);
}

int main(void) {
  for (int is_sandboxed = 0; is_sandboxed < 2; is_sandboxed++) {
    chunks_return_values(is_sandboxed);
    globals_are_json(is_sandboxed);
    functions_are_called(is_sandboxed);
  }
  results_have_limits();
  globals_have_limits();
  host_functions_exchange_json();
  null_is_rejected();
  FINISH();
}
