/* A library that makes the clients of a program use only HTTP/2: it sets the option http.versions of each new configuration
 * to ["2"], and uses such a configuration for clients that are created without one. Link it with libnightjar.
 *
 *   LD_PRELOAD=prefer.so program      for programs that are linked with libnightjar
 *
 * Programs that load libnightjar with dlopen load prefer.so in its place: dlsym finds the other functions in its
 * dependency libnightjar. */
#include <dlfcn.h>
#include <nightjar.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns a function of libnightjar. Pointers are not stored, because the libraries may be unloaded. */
static void *original(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) {
    fprintf(stderr, "prefer: %s was not found\n", name);
    abort();
  }
  return function;
}

NJ_API nj_config *nj_config_new(void) {
  nj_config *(*new)(void) = (nj_config *(*)(void))original("nj_config_new");
  nj_status (*merge)(nj_config *, const char *, size_t, nj_error **) =
      (nj_status (*)(nj_config *, const char *, size_t, nj_error **))original("nj_config_merge_json");
  static const char options[] = "{\"http\": {\"versions\": [\"2\"]}}";
  nj_config *config = new();
  if (config && merge(config, options, sizeof options - 1, NULL) != NJ_OK) abort();
  return config;
}

NJ_API nj_client *nj_client_new(const nj_config *config, nj_error **out_error) {
  nj_client *(*new)(const nj_config *, nj_error **) =
      (nj_client *(*)(const nj_config *, nj_error **))original("nj_client_new");
  void (*release)(nj_config *) = (void (*)(nj_config *))original("nj_config_free");
  nj_config *own = config ? NULL : nj_config_new();
  nj_client *client = new(config ? config : own, out_error);
  if (own) release(own);
  return client;
}
