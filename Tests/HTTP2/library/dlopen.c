/* Replaces dlopen for tests of an absent or old libnghttp2 (LD_PRELOAD). NIGHTJAR_NGHTTP2 is `missing`, `once` (only the
 * first call fails), or the path of the library to load instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *dlopen(const char *name, int flags) {
  static void *(*original)(const char *, int);
  static int calls;
  if (!original) original = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  const char *mode = getenv("NIGHTJAR_NGHTTP2");
  if (!mode || !name || strncmp(name, "libnghttp2", strlen("libnghttp2")) != 0) return original(name, flags);
  if (strcmp(mode, "missing") == 0 || (strcmp(mode, "once") == 0 && calls++ == 0)) {
    return original("libnghttp2-absent.so", flags); /* sets the error */
  }
  return original(strcmp(mode, "once") == 0 ? name : mode, flags);
}
