#define _GNU_SOURCE
#include "library.h"
#include "chttp2.h"
#include "cplatform.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
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

#ifdef __APPLE__
#define LIBRARY "libnghttp2.14.dylib"
#else
#define LIBRARY "libnghttp2.so.14"
#endif

enum { REASON_SIZE = 256 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_loaded;
/* Why the library was not loaded, and whether that is permanent. */
static char reason[REASON_SIZE];
static bool is_unsuitable;
static const char *version;

/* Returns whether the library can be used. A failure of dlopen may be temporary, for lack of descriptors or memory, so that
 * the next call tries again. */
static bool load(void) {
  if (is_unsuitable) return false;
  void *library = cplatform_load_library(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | ISOLATION);
  if (!library) {
    const char *error = dlerror();
    snprintf(reason, sizeof reason, "%s", error ? error : LIBRARY " cannot be loaded");
    return false;
  }
#define FIND(name)                                                                                    \
  ch2_##name = (__typeof__(name) *)dlsym(library, #name);                                             \
  if (!ch2_##name) {                                                                                  \
    snprintf(reason, sizeof reason, LIBRARY " lacks the function %s", #name);                         \
    is_unsuitable = true;                                                                             \
    return false;                                                                                     \
  }
  NGHTTP2_FUNCTIONS(FIND)
  const nghttp2_info *info = ch2_nghttp2_version(0);
  version = info ? info->version_str : "";
  return true;
}

bool ch2_load(char *why, size_t capacity) {
  if (atomic_load_explicit(&is_loaded, memory_order_acquire)) return true;
  pthread_mutex_lock(&mutex);
  bool result = atomic_load_explicit(&is_loaded, memory_order_relaxed) || load();
  if (result) atomic_store_explicit(&is_loaded, true, memory_order_release);
  if (!result && why && capacity > 0) snprintf(why, capacity, "%s", reason);
  pthread_mutex_unlock(&mutex);
  return result;
}

const char *ch2_version(void) { return atomic_load_explicit(&is_loaded, memory_order_acquire) ? version : NULL; }
