#define _GNU_SOURCE
#include "library.h"
#include "chttp2.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define DEFINE(name) __typeof__(name) *ch2_##name;
NGHTTP2_FUNCTIONS(DEFINE)

/* The host may contain another version of libnghttp2, such as Node does. RTLD_DEEPBIND prevents that the library's own
 * calls reach the host's functions. Sanitizers do not support it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ISOLATION 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ISOLATION 0
#endif
#endif
#if !defined(ISOLATION) && defined(RTLD_DEEPBIND)
#define ISOLATION RTLD_DEEPBIND
#elif !defined(ISOLATION)
#define ISOLATION 0
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char reason[256]; /* why the library cannot be used; empty: it can */
static const char *version;

static void load(void) {
  void *library = dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | ISOLATION);
  if (!library) {
    const char *error = dlerror();
    snprintf(reason, sizeof reason, "%s", error ? error : "libnghttp2.so.14 cannot be loaded");
    return;
  }
#define FIND(name)                                                                                    \
  ch2_##name = (__typeof__(name) *)dlsym(library, #name);                                             \
  if (!ch2_##name) snprintf(reason, sizeof reason, "libnghttp2.so.14 lacks the function %s", #name);
  NGHTTP2_FUNCTIONS(FIND)
  if (reason[0]) return;
  const nghttp2_info *info = ch2_nghttp2_version(0);
  version = info ? info->version_str : "";
}

const char *ch2_load(void) {
  pthread_once(&once, load);
  return reason[0] ? reason : NULL;
}

const char *ch2_version(void) { return ch2_load() ? NULL : version; }
