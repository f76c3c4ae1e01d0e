/* Runs random programs in a sandbox, each with a limit or an interrupt. Exits with status 1 if a program does not
 * end in time.
 *
 *   sandbox GENERATOR FIRST_SEED SECONDS      GENERATOR: Tests/LuaFuzz/sandbox.lua
 *   sandbox GENERATOR SEED --print            prints the program for a seed */
#include <nightjar.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The maximum seconds per program. Its limits end a run after at most 1 s or a million instructions, but the machine
 * may be busy. */
enum { PATIENCE = 10 };

static char *program;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nj_script *running;
static int interrupts;
static uint64_t seed;
static double started;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void keep_program(void *context, nj_script_call *call) {
  (void)context;
  size_t length;
  const char *text = nj_script_call_string(call, 0, &length);
  free(program);
  program = text == NULL ? NULL : strndup(text, length);
}

/* Interrupts a run without a time limit repeatedly. Exits if the run does not end. */
static void *watch(void *context) {
  (void)context;
  for (;;) {
    usleep(20000);
    pthread_mutex_lock(&lock);
    double age = now() - started;
    if (running != NULL && interrupts && age > 0.05) nj_script_interrupt(running);
    if (running != NULL && age > PATIENCE) {
      fprintf(stderr, "seed %llu: the program did not end\n%s", (unsigned long long)seed, program);
      _exit(1);
    }
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

static bool make_program(nj_script *generator, const char *source) {
  nj_error *error = NULL;
  nj_script_set_integer(generator, "seed", (int64_t)seed);
  if (nj_script_run(generator, source, strlen(source), "generator", NULL, NULL, &error) == NJ_OK && program != NULL) return true;
  fprintf(stderr, "the generator failed: %s\n", error == NULL ? "no program" : nj_error_message(error));
  return false;
}

static void run(nj_client *client) {
  nj_script *script = nj_script_new(client);
  nj_script_set_sandboxed(script, true);
  nj_script_set_memory_limit(script, seed % 5 == 0 ? 8 << 20 : 64 << 20);
  nj_script_set_burst_limit(script, seed % 7 == 0 ? 1000000 : 0);
  nj_script_set_instruction_limit(script, seed % 3 == 0 ? 1000000 : 0);
  nj_script_set_time_limit(script, seed % 3 == 2 ? NJ_NO_LIMIT : 0.05 * (double)(seed % 3 == 1 ? 1 : 20));
  for (int round = 0; round < 2; round++) { /* The second run starts with the state that the first has left. */
    pthread_mutex_lock(&lock);
    started = now();
    interrupts = seed % 3 == 2;
    running = script;
    pthread_mutex_unlock(&lock);
    nj_script_run(script, program, strlen(program), "fuzz", NULL, NULL, NULL);
    pthread_mutex_lock(&lock);
    running = NULL;
    pthread_mutex_unlock(&lock);
  }
  nj_script_free(script);
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return NULL;
  char *text = NULL;
  size_t length = 0;
  ssize_t count = getdelim(&text, &length, 0, file);
  fclose(file);
  return count < 0 ? NULL : text;
}

int main(int argc, char **argv) {
  char *source = argc == 4 ? read_file(argv[1]) : NULL;
  if (source == NULL) return fprintf(stderr, "usage: sandbox GENERATOR FIRST_SEED SECONDS|--print\n"), 2;
  nj_script *generator = nj_script_new(NULL);
  nj_script_register(generator, "give", keep_program, NULL, NULL);
  uint64_t first = seed = strtoull(argv[2], NULL, 10);
  if (strcmp(argv[3], "--print") == 0) {
    bool made = make_program(generator, source);
    if (made) fputs(program, stdout);
    return !made;
  }
  static const char options[] =
      "{\"base_url\": \"http://fuzz.test/v1\", \"cache\": true, \"cookies\": true, \"mock\": ["
      "{\"path\": \"/a\", \"response\": {\"json\": [1, 2, 3], \"headers\": {\"Set-Cookie\": \"a=b\", \"Cache-Control\": \"max-age=9\"}}},"
      "{\"path\": \"/b\", \"response\": {\"fault\": \"hang\"}}, {\"response\": {\"status\": 302, \"headers\": {\"Location\": \"/v1/a\"}}}]}";
  nj_config *config = nj_config_new();
  nj_error *error = NULL;
  nj_client *client = NULL;
  if (nj_config_merge_json(config, options, strlen(options), &error) == NJ_OK) client = nj_client_new(config, &error);
  if (client == NULL) return fprintf(stderr, "no client: %s\n", nj_error_message(error)), 2;
  pthread_t watcher;
  pthread_create(&watcher, NULL, watch, NULL);
  double end = now() + strtod(argv[3], NULL);
  for (; now() < end; seed++) {
    if (!make_program(generator, source)) return 1;
    run(client);
  }
  printf("%llu programs, from seed %llu: all ended\n", (unsigned long long)(seed - first), (unsigned long long)first);
  return 0;
}
