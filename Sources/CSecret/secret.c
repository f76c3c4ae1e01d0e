#define _GNU_SOURCE /* RTLD_NODELETE, explicit_bzero */
#define __STDC_WANT_LIB_EXT1__ 1 /* memset_s */
#include "csecret.h"
#include "cplatform.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The declarations of libsecret and GLib that are used; their binary interfaces are stable. */

typedef struct GError { uint32_t domain; int code; char *message; } GError;
typedef struct GList { void *data; struct GList *next, *previous; } GList;
typedef struct SecretSchema {
  const char *name;
  int flags;
  struct { const char *name; int type; } attributes[32];
  int reserved;
  void *more[7];
} SecretSchema;

enum { SESSION_BUS = 2, OPEN_SESSION = 1 << 1, SEARCH_ALL = 1 << 1 };

static const SecretSchema schema = {
    .name = "nightjar.Login", .attributes = {{"service", 0}, {"account", 0}, {NULL, 0}}};

/* name, result, parameters */
#define FUNCTIONS(F)                                                                                              \
  F(g_hash_table_new, void *, (unsigned (*)(const void *), int (*)(const void *, const void *)))                  \
  F(g_hash_table_insert, int, (void *, void *, void *))                                                           \
  F(g_hash_table_unref, void, (void *))                                                                           \
  F(g_str_hash, unsigned, (const void *))                                                                         \
  F(g_str_equal, int, (const void *, const void *))                                                               \
  F(g_error_free, void, (GError *))                                                                               \
  F(g_list_free, void, (GList *))                                                                                 \
  F(g_object_unref, void, (void *))                                                                               \
  F(g_bus_get_sync, void *, (int, void *, GError **))                                                             \
  F(g_dbus_connection_set_exit_on_close, void, (void *, int))                                                     \
  F(secret_service_get_sync, void *, (int, void *, GError **))                                                    \
  F(secret_service_search_sync, GList *, (void *, const SecretSchema *, void *, int, void *, GError **))          \
  F(secret_collection_for_alias_sync, void *, (void *, const char *, int, void *, GError **))                     \
  F(secret_collection_get_locked, int, (void *))                                                                  \
  F(secret_item_get_locked, int, (void *))                                                                        \
  F(secret_item_load_secret_sync, int, (void *, void *, GError **))                                               \
  F(secret_item_get_secret, void *, (void *))                                                                     \
  F(secret_value_get, const char *, (void *, size_t *))                                                           \
  F(secret_value_unref, void, (void *))                                                                           \
  F(secret_password_storev_sync, int,                                                                             \
    (const SecretSchema *, void *, const char *, const char *, const char *, void *, GError **))

#define DECLARE(name, result, parameters) static result(*p_##name) parameters;
FUNCTIONS(DECLARE)

#ifdef __APPLE__
#define LIBRARY "libsecret-1.0.dylib"
#else
#define LIBRARY "libsecret-1.so.0"
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *missing; /* why the library cannot be used; never freed */

static void load_library(void) {
  void *library = cplatform_load_library(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char *reason = dlerror();
    missing = strdup(reason ? reason : LIBRARY " cannot be loaded");
    return;
  }
  /* GLib's symbols are found through the same handle. */
#define FIND(name, result, parameters)                                            \
  p_##name = (result(*) parameters)dlsym(library, #name);                         \
  if (!p_##name) missing = LIBRARY " is too old: missing function " #name;
  FUNCTIONS(FIND)
}

static char *copy(const char *text) { return strdup(text ? text : "unknown error"); }

/* A session with the service. */
typedef struct Session { void *bus, *service, *attributes; } Session;

static csecret_result fail(GError *error, char **message) {
  *message = copy(error ? error->message : NULL);
  if (error) p_g_error_free(error);
  return CSECRET_FAILED;
}

static void end(Session *session) {
  if (session->attributes) p_g_hash_table_unref(session->attributes);
  if (session->service) p_g_object_unref(session->service);
  if (session->bus) p_g_object_unref(session->bus);
}

static csecret_result begin(Session *session, const char *service, const char *account, char **message) {
  GError *error = NULL;
  *session = (Session){0};
  *message = NULL;
  pthread_once(&once, load_library);
  if (missing) {
    *message = copy(missing);
    return CSECRET_NO_LIBRARY;
  }
  session->bus = p_g_bus_get_sync(SESSION_BUS, NULL, &error);
  if (!session->bus) return fail(error, message);
  /* By default, GLib would end the process when the bus connection closes. */
  p_g_dbus_connection_set_exit_on_close(session->bus, 0);
  session->service = p_secret_service_get_sync(OPEN_SESSION, NULL, &error);
  if (!session->service) {
    csecret_result result = fail(error, message);
    end(session);
    return result;
  }
  session->attributes = p_g_hash_table_new(p_g_str_hash, p_g_str_equal);
  p_g_hash_table_insert(session->attributes, (void *)"service", (void *)service);
  p_g_hash_table_insert(session->attributes, (void *)"account", (void *)account);
  return CSECRET_OK;
}

static void free_items(GList *items) {
  for (GList *at = items; at; at = at->next) p_g_object_unref(at->data);
  p_g_list_free(items);
}

static csecret_result read_item(void *item, char **text, char **message) {
  GError *error = NULL;
  if (!p_secret_item_load_secret_sync(item, NULL, &error)) return fail(error, message);
  void *value = p_secret_item_get_secret(item);
  if (!value) return fail(NULL, message);
  size_t length = 0;
  const char *start = p_secret_value_get(value, &length);
  *text = start ? strndup(start, length) : NULL;
  p_secret_value_unref(value);
  return *text ? CSECRET_OK : fail(NULL, message);
}

/* Returns CSECRET_OK if the default keyring exists and is unlocked. */
static csecret_result check_keyring(Session *session, char **message) {
  GError *error = NULL;
  void *keyring = p_secret_collection_for_alias_sync(session->service, "default", 0, NULL, &error);
  if (error) return fail(error, message);
  if (!keyring) return CSECRET_NO_KEYRING;
  int is_locked = p_secret_collection_get_locked(keyring);
  p_g_object_unref(keyring);
  return is_locked ? CSECRET_LOCKED : CSECRET_OK;
}

/* Finds the item and, unless `text` is NULL, reads it into `*text`. */
static csecret_result find(Session *session, char **text, char **message) {
  GError *error = NULL;
  GList *items = p_secret_service_search_sync(session->service, &schema, session->attributes, SEARCH_ALL, NULL, &error);
  if (error) return fail(error, message);
  csecret_result result = CSECRET_NONE;
  for (GList *at = items; at; at = at->next) {
    if (p_secret_item_get_locked(at->data)) {
      result = CSECRET_LOCKED;
      continue;
    }
    result = text ? read_item(at->data, text, message) : CSECRET_OK;
    break;
  }
  free_items(items);
  if (result != CSECRET_NONE) return result;
  /* A locked keyring may hide its items, so the item may exist although it was not found. */
  result = check_keyring(session, message);
  return result == CSECRET_OK || result == CSECRET_NO_KEYRING ? CSECRET_NONE : result;
}

csecret_result csecret_load(const char *service, const char *account, char **text, char **message) {
  Session session;
  *text = NULL;
  csecret_result result = begin(&session, service, account, message);
  if (result != CSECRET_OK) return result;
  result = find(&session, text, message);
  end(&session);
  return result;
}

static csecret_result store(Session *session, const char *label, const char *text, char **message) {
  csecret_result result = check_keyring(session, message);
  if (result != CSECRET_OK) return result;
  GError *error = NULL;
  if (!p_secret_password_storev_sync(&schema, session->attributes, "default", label, text, NULL, &error))
    return fail(error, message);
  return CSECRET_OK;
}

csecret_result csecret_store(const char *service, const char *account, const char *label, const char *text,
                             char **message) {
  Session session;
  csecret_result result = begin(&session, service, account, message);
  if (result != CSECRET_OK) return result;
  result = store(&session, label, text, message);
  end(&session);
  return result;
}

void csecret_free(char *text) {
  if (!text) return;
#ifdef __APPLE__
  memset_s(text, strlen(text), 0, strlen(text));
#else
  explicit_bzero(text, strlen(text));
#endif
  free(text);
}
