#define _GNU_SOURCE
#include "network_state.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* The declarations of libdbus-1 that are used; its binary interface is stable. */

typedef struct DBusError {
  const char *name, *message;
  unsigned int flags;
  void *padding;
} DBusError;
/* DBusMessageIter has 14 words at most. */
typedef struct DBusMessageIter { void *words[24]; } DBusMessageIter;

enum { SYSTEM_BUS = 1, INVALID = 0, STRING = 's', UINT32 = 'u', VARIANT = 'v', ARRAY = 'a', ENTRY = 'e' };

/* name, result, parameters */
#define FUNCTIONS(F)                                                                                             \
  F(dbus_error_init, void, (DBusError *))                                                                        \
  F(dbus_error_free, void, (DBusError *))                                                                        \
  F(dbus_bus_get_private, void *, (int, DBusError *))                                                            \
  F(dbus_bus_add_match, void, (void *, const char *, DBusError *))                                               \
  F(dbus_connection_set_exit_on_disconnect, void, (void *, unsigned))                                            \
  F(dbus_connection_get_unix_fd, unsigned, (void *, int *))                                                      \
  F(dbus_connection_read_write, unsigned, (void *, int))                                                         \
  F(dbus_connection_pop_message, void *, (void *))                                                               \
  F(dbus_connection_flush, void, (void *))                                                                       \
  F(dbus_connection_close, void, (void *))                                                                       \
  F(dbus_connection_unref, void, (void *))                                                                       \
  F(dbus_connection_send_with_reply_and_block, void *, (void *, void *, int, DBusError *))                       \
  F(dbus_message_new_method_call, void *, (const char *, const char *, const char *, const char *))              \
  F(dbus_message_set_auto_start, void, (void *, unsigned))                                                       \
  F(dbus_message_append_args, unsigned, (void *, int, ...))                                                      \
  F(dbus_message_is_signal, unsigned, (void *, const char *, const char *))                                      \
  F(dbus_message_unref, void, (void *))                                                                          \
  F(dbus_message_iter_init, unsigned, (void *, DBusMessageIter *))                                               \
  F(dbus_message_iter_get_arg_type, int, (DBusMessageIter *))                                                    \
  F(dbus_message_iter_recurse, void, (DBusMessageIter *, DBusMessageIter *))                                     \
  F(dbus_message_iter_next, unsigned, (DBusMessageIter *))                                                       \
  F(dbus_message_iter_get_basic, void, (DBusMessageIter *, void *))

#define DECLARE(name, result, parameters) static result(*p_##name) parameters;
FUNCTIONS(DECLARE)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;

static void load_library(void) {
  void *library = dlopen("libdbus-1.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return;
  is_loaded = true;
#define FIND(name, result, parameters)                      \
  p_##name = (result(*) parameters)dlsym(library, #name);   \
  if (!p_##name) is_loaded = false;
  FUNCTIONS(FIND)
}

#define NAME "org.freedesktop.NetworkManager"
#define PATH "/org/freedesktop/NetworkManager"
#define PROPERTIES "org.freedesktop.DBus.Properties"

struct cns_manager { void *bus; };

/* Opens a connection that this file alone uses. libdbus ignores SIGPIPE for the whole process when it opens a
 * connection, so the disposition of the host is restored. */
static void *open_bus(void) {
  struct sigaction before;
  sigaction(SIGPIPE, NULL, &before);
  DBusError error;
  p_dbus_error_init(&error);
  void *bus = p_dbus_bus_get_private(SYSTEM_BUS, &error);
  p_dbus_error_free(&error);
  sigaction(SIGPIPE, &before, NULL);
  /* By default, libdbus would end the process when the connection closes. */
  if (bus) p_dbus_connection_set_exit_on_disconnect(bus, 0);
  return bus;
}

cns_manager *cns_manager_open(void) {
  pthread_once(&once, load_library);
  if (!is_loaded) return NULL;
  cns_manager *manager = malloc(sizeof *manager);
  if (!manager) return NULL;
  manager->bus = open_bus();
  if (!manager->bus) {
    free(manager);
    return NULL;
  }
  /* Without an error argument, these functions do not wait for the bus. */
  p_dbus_bus_add_match(manager->bus,
                       "type='signal',sender='" NAME "',path='" PATH "',interface='" PROPERTIES "',"
                       "member='PropertiesChanged',arg0='" NAME "'",
                       NULL);
  p_dbus_bus_add_match(manager->bus,
                       "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                       "member='NameOwnerChanged',arg0='" NAME "'",
                       NULL);
  p_dbus_connection_flush(manager->bus);
  return manager;
}

void cns_manager_close(cns_manager *manager) {
  if (!manager) return;
  p_dbus_connection_close(manager->bus);
  p_dbus_connection_unref(manager->bus);
  free(manager);
}

int cns_manager_descriptor(const cns_manager *manager) {
  int descriptor = -1;
  return p_dbus_connection_get_unix_fd(manager->bus, &descriptor) ? descriptor : -1;
}

cns_event cns_manager_dispatch(cns_manager *manager) {
  if (!p_dbus_connection_read_write(manager->bus, 0)) return CNS_LOST;
  cns_event event = CNS_NOTHING;
  void *message;
  while ((message = p_dbus_connection_pop_message(manager->bus)) != NULL) {
    if (p_dbus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected")) event = CNS_LOST;
    else if (event != CNS_LOST &&
             (p_dbus_message_is_signal(message, PROPERTIES, "PropertiesChanged") ||
              p_dbus_message_is_signal(message, "org.freedesktop.DBus", "NameOwnerChanged"))) {
      event = CNS_CHANGED;
    }
    p_dbus_message_unref(message);
  }
  return event;
}

static void *call(cns_manager *manager) {
  void *request = p_dbus_message_new_method_call(NAME, PATH, PROPERTIES, "GetAll");
  if (!request) return NULL;
  const char *interface = NAME;
  void *reply = NULL;
  p_dbus_message_set_auto_start(request, 0); /* does not start NetworkManager */
  if (p_dbus_message_append_args(request, STRING, &interface, INVALID)) {
    DBusError error;
    p_dbus_error_init(&error);
    reply = p_dbus_connection_send_with_reply_and_block(manager->bus, request, 1000, &error);
    p_dbus_error_free(&error);
  }
  p_dbus_message_unref(request);
  return reply;
}

/* Reads one entry of the dictionary of properties: a name and a variant. */
static void read_property(DBusMessageIter *entry, cns_manager_state *state) {
  DBusMessageIter value;
  const char *name = NULL, *text = NULL;
  if (p_dbus_message_iter_get_arg_type(entry) != STRING) return;
  p_dbus_message_iter_get_basic(entry, &name);
  if (!p_dbus_message_iter_next(entry) || p_dbus_message_iter_get_arg_type(entry) != VARIANT) return;
  p_dbus_message_iter_recurse(entry, &value);
  int type = p_dbus_message_iter_get_arg_type(&value);
  if (strcmp(name, "Metered") == 0 && type == UINT32) {
    p_dbus_message_iter_get_basic(&value, &state->metered);
  } else if (strcmp(name, "Connectivity") == 0 && type == UINT32) {
    p_dbus_message_iter_get_basic(&value, &state->connectivity);
  } else if (strcmp(name, "PrimaryConnectionType") == 0 && type == STRING) {
    p_dbus_message_iter_get_basic(&value, &text);
    strncpy(state->type, text, sizeof state->type - 1);
  }
}

bool cns_manager_read(cns_manager *manager, cns_manager_state *state) {
  *state = (cns_manager_state){0};
  void *reply = call(manager);
  if (!reply) return false;
  DBusMessageIter all, entries, entry;
  bool is_dictionary = p_dbus_message_iter_init(reply, &all) && p_dbus_message_iter_get_arg_type(&all) == ARRAY;
  if (is_dictionary) {
    p_dbus_message_iter_recurse(&all, &entries);
    while (p_dbus_message_iter_get_arg_type(&entries) == ENTRY) {
      p_dbus_message_iter_recurse(&entries, &entry);
      read_property(&entry, state);
      p_dbus_message_iter_next(&entries);
    }
  }
  p_dbus_message_unref(reply);
  return is_dictionary;
}
