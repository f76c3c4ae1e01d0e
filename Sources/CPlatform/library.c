#include "cplatform.h"

#include <dlfcn.h>

#ifdef __APPLE__
#include <stdio.h>
#endif

void *cplatform_load_library(const char *name, int flags) {
#ifdef __APPLE__
  static const char *const folders[] = {"/opt/homebrew/lib", "/usr/local/lib", "/opt/local/lib"};
  void *library = NULL;
  for (size_t index = 0; index < sizeof folders / sizeof *folders && !library; index++) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folders[index], name);
    library = dlopen(path, flags);
  }
  return library;
#else
  return dlopen(name, flags);
#endif
}
