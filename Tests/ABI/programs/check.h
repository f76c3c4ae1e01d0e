/* Checks for C tests. Each failed check prints a line with its position, and FINISH returns the exit status. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks_failed;

#define CHECK(claim)                                                  \
  do {                                                                \
    if (!(claim)) {                                                   \
      checks_failed++;                                                \
      fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #claim); \
    }                                                                 \
  } while (0)

#define CHECK_TEXT(actual, expected)                                                               \
  do {                                                                                             \
    const char *text_ = (actual);                                                                  \
    if (!text_ || strcmp(text_, (expected)) != 0) {                                                \
      checks_failed++;                                                                             \
      fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #actual,            \
              text_ ? text_ : "(null)", (expected));                                               \
    }                                                                                              \
  } while (0)

/* The version of HTTP that the tests use, as nj_response_http_version returns it. Tests/ABI/run sets the variable. */
static inline int expected_http_version(void) {
  const char *version = getenv("NIGHTJAR_TEST_HTTP");
  return version && strcmp(version, "2") == 0 ? 20 : 11;
}

#define FINISH() return checks_failed ? 1 : 0

#endif
