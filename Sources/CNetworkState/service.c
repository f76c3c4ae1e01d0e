#define _GNU_SOURCE
#include "network_state.h"
#include "cplatform.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The declarations of libdbus-1 that are used; its binary interface is stable. */

typedef struct DBusError {
  const char *name, *message;
  unsigned int flags;
  void *padding;
} DBusError;
/* DBusMessageIter has 14 words at most. */
typedef struct DBusMessageIter { void *words[24]; } DBusMessageIter;

enum { INVALID = 0, BOOLEAN = 'b', STRING = 's', UINT32 = 'u', VARIANT = 'v', ARRAY = 'a', ENTRY = 'e' };

/* name, result, parameters */
#define FUNCTIONS(F)                                                                                             \
  F(dbus_error_init, void, (DBusError *))                                                                        \
  F(dbus_error_free, void, (DBusError *))                                                                        \
  F(dbus_free, void, (void *))                                                                                   \
  F(dbus_address_escape_value, char *, (const char *))                                                           \
  F(dbus_bus_add_match, void, (void *, const char *, DBusError *))                                               \
  F(dbus_connection_open_private, void *, (const char *, DBusError *))                                           \
  F(dbus_connection_set_exit_on_disconnect, void, (void *, unsigned))                                            \
  F(dbus_connection_set_max_message_size, void, (void *, long))                                                  \
  F(dbus_connection_set_max_received_size, void, (void *, long))                                                 \
  F(dbus_connection_get_is_authenticated, unsigned, (void *))                                                    \
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

#ifdef __APPLE__
#define LIBRARY "libdbus-1.3.dylib"
#else
#define LIBRARY "libdbus-1.so.3"
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;

static void load_library(void) {
  void *library = cplatform_load_library(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return;
  is_loaded = true;
#define FIND(name, result, parameters)                      \
  p_##name = (result(*) parameters)dlsym(library, #name);   \
  if (!p_##name) is_loaded = false;
  FUNCTIONS(FIND)
}

/* --- The services --- */

#define BUS "org.freedesktop.DBus"

typedef struct property {
  const char *name;
  int type;
  size_t offset; /* of the member of cns_service_state */
} property;

/* A service whose reply to one call is a dictionary of properties, and whose signal reports that they have changed. */
typedef struct service {
  const char *name, *path, *interface, *method, *argument, *signal;
  property properties[3];
} service;

#define MEMBER(name) offsetof(cns_service_state, name)

static const service services[] = {
    [CNS_NETWORK_MANAGER] = {"org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager", BUS ".Properties",
                             "GetAll", "org.freedesktop.NetworkManager", "PropertiesChanged",
                             {{"Metered", UINT32, MEMBER(metered)},
                              {"Connectivity", UINT32, MEMBER(connectivity)},
                              {"PrimaryConnectionType", STRING, MEMBER(type)}}},
    [CNS_PORTAL] = {"org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop",
                    "org.freedesktop.portal.NetworkMonitor", "GetStatus", NULL, "changed",
                    {{"available", BOOLEAN, MEMBER(available)},
                     {"metered", BOOLEAN, MEMBER(metered)},
                     {"connectivity", UINT32, MEMBER(connectivity)}}},
};

struct cns_service {
  const service *service;
  void *bus;
};

/* --- The bus --- */

/* The unit is milliseconds. libdbus waits for 25 s by default. */
enum { LONGEST_WAIT = 1000 };
/* The replies of the services have a few KiB. A longer message ends the connection. */
enum { LONGEST_MESSAGE = 1 << 20 };

/* Returns whether all addresses of the list are unix sockets. For other transports, libdbus starts programs (autolaunch,
 * unixexec) or resolves names. */
static bool is_local(const char *addresses) {
  for (const char *address = addresses; strncmp(address, "unix:", 5) == 0; address++) {
    address = strchr(address, ';');
    if (!address || !address[1]) return true;
  }
  return false;
}

/* Returns a variable of the environment. NULL if it is not set, or in a program with more rights than its user. */
static const char *trusted_variable(const char *name) {
#ifdef __APPLE__
  return issetugid() ? NULL : getenv(name);
#else
  return secure_getenv(name);
#endif
}

/* Writes the address of the user's bus in XDG_RUNTIME_DIR. Returns false if there is no socket of this user. */
static bool runtime_address(char *address, size_t capacity) {
  char path[256];
  struct stat status;
  const char *folder = trusted_variable("XDG_RUNTIME_DIR");
  if (!folder || folder[0] != '/') return false;
  int length = snprintf(path, sizeof path, "%s/bus", folder);
  if (length < 0 || (size_t)length >= sizeof path) return false;
  if (lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_uid != geteuid()) return false;
  char *escaped = p_dbus_address_escape_value(path);
  if (!escaped) return false;
  length = snprintf(address, capacity, "unix:path=%s", escaped);
  p_dbus_free(escaped);
  return length > 0 && (size_t)length < capacity;
}

/* Opens a connection that this file alone uses. libdbus ignores SIGPIPE for the whole process when it opens a
 * connection, so the disposition of the host is restored. */
static void *open_bus(const char *address) {
  if (!is_local(address)) return NULL;
  struct sigaction before;
  sigaction(SIGPIPE, NULL, &before);
  DBusError error;
  p_dbus_error_init(&error);
  void *bus = p_dbus_connection_open_private(address, &error);
  p_dbus_error_free(&error);
  sigaction(SIGPIPE, &before, NULL);
  if (!bus) return NULL;
  /* By default, libdbus may end the process when the connection closes. */
  p_dbus_connection_set_exit_on_disconnect(bus, 0);
  p_dbus_connection_set_max_message_size(bus, LONGEST_MESSAGE);
  p_dbus_connection_set_max_received_size(bus, LONGEST_MESSAGE);
  return bus;
}

static void close_bus(void *bus) {
  p_dbus_connection_close(bus);
  p_dbus_connection_unref(bus);
}

static void *open_bus_of(cns_source source) {
  char address[1024];
  const char *given =
      trusted_variable(source == CNS_PORTAL ? "DBUS_SESSION_BUS_ADDRESS" : "DBUS_SYSTEM_BUS_ADDRESS");
  if (given) return open_bus(given);
  if (source == CNS_NETWORK_MANAGER) return open_bus("unix:path=/var/run/dbus/system_bus_socket");
  return runtime_address(address, sizeof address) ? open_bus(address) : NULL;
}

/* Calls a method with at most one argument. Returns the reply, or NULL after an error or without a reply in time. */
static void *call(void *bus, const char *name, const char *path, const char *interface, const char *method,
                  const char *argument) {
  void *request = p_dbus_message_new_method_call(name, path, interface, method);
  if (!request) return NULL;
  void *reply = NULL;
  p_dbus_message_set_auto_start(request, 0); /* does not start the service */
  if (!argument || p_dbus_message_append_args(request, STRING, &argument, INVALID)) {
    DBusError error;
    p_dbus_error_init(&error);
    reply = p_dbus_connection_send_with_reply_and_block(bus, request, LONGEST_WAIT, &error);
    p_dbus_error_free(&error);
  }
  p_dbus_message_unref(request);
  return reply;
}

static int64_t milliseconds(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A call would wait without limit for a bus that does not authenticate this process. */
static bool authenticate(void *bus) {
  int64_t end = milliseconds() + LONGEST_WAIT;
  while (!p_dbus_connection_get_is_authenticated(bus)) {
    int64_t left = end - milliseconds();
    if (left <= 0 || !p_dbus_connection_read_write(bus, (int)left)) return false;
  }
  return true;
}

/* dbus_bus_register is not used, because it waits for 25 s. */
static bool register_at(void *bus) {
  if (!authenticate(bus)) return false;
  void *reply = call(bus, BUS, "/org/freedesktop/DBus", BUS, "Hello", NULL);
  if (reply) p_dbus_message_unref(reply);
  return reply != NULL;
}

static void subscribe(void *bus, const service *service) {
  char rule[512];
  int length = snprintf(rule, sizeof rule, "type='signal',sender='%s',path='%s',interface='%s',member='%s'%s%s%s",
                        service->name, service->path, service->interface, service->signal,
                        service->argument ? ",arg0='" : "", service->argument ? service->argument : "",
                        service->argument ? "'" : "");
  /* Without an error argument, this function does not wait for the bus. */
  if (length > 0 && (size_t)length < sizeof rule) p_dbus_bus_add_match(bus, rule, NULL);
  length = snprintf(rule, sizeof rule,
                    "type='signal',sender='" BUS "',interface='" BUS "',member='NameOwnerChanged',arg0='%s'",
                    service->name);
  if (length > 0 && (size_t)length < sizeof rule) p_dbus_bus_add_match(bus, rule, NULL);
  p_dbus_connection_flush(bus);
}

/* --- The interface --- */

cns_service *cns_service_open(cns_source source) {
  pthread_once(&once, load_library);
  if (!is_loaded) return NULL;
  void *bus = open_bus_of(source);
  if (!bus) return NULL;
  cns_service *service = register_at(bus) ? malloc(sizeof *service) : NULL;
  if (!service) {
    close_bus(bus);
    return NULL;
  }
  *service = (cns_service){&services[source], bus};
  subscribe(bus, service->service);
  return service;
}

void cns_service_close(cns_service *service) {
  if (!service) return;
  close_bus(service->bus);
  free(service);
}

int cns_service_descriptor(const cns_service *service) {
  int descriptor = -1;
  return p_dbus_connection_get_unix_fd(service->bus, &descriptor) ? descriptor : -1;
}

cns_event cns_service_dispatch(cns_service *service) {
  if (!p_dbus_connection_read_write(service->bus, 0)) return CNS_LOST;
  cns_event event = CNS_NOTHING;
  void *message;
  while ((message = p_dbus_connection_pop_message(service->bus)) != NULL) {
    if (p_dbus_message_is_signal(message, BUS ".Local", "Disconnected")) event = CNS_LOST;
    else if (event != CNS_LOST &&
             (p_dbus_message_is_signal(message, service->service->interface, service->service->signal) ||
              p_dbus_message_is_signal(message, BUS, "NameOwnerChanged"))) {
      event = CNS_CHANGED;
    }
    p_dbus_message_unref(message);
  }
  return event;
}

/* Reads one entry of the dictionary of properties: a name and a variant. Ignores values of other types. */
static void read_property(DBusMessageIter *entry, const service *service, cns_service_state *state) {
  DBusMessageIter value;
  const char *name = NULL;
  if (p_dbus_message_iter_get_arg_type(entry) != STRING) return;
  p_dbus_message_iter_get_basic(entry, &name);
  if (!p_dbus_message_iter_next(entry) || p_dbus_message_iter_get_arg_type(entry) != VARIANT) return;
  p_dbus_message_iter_recurse(entry, &value);
  int type = p_dbus_message_iter_get_arg_type(&value);
  for (const property *each = service->properties; each < service->properties + 3; each++) {
    if (strcmp(name, each->name) != 0 || type != each->type) continue;
    if (type == STRING) {
      const char *text = NULL;
      p_dbus_message_iter_get_basic(&value, &text);
      snprintf(state->type, sizeof state->type, "%s", text);
    } else {
      p_dbus_message_iter_get_basic(&value, (char *)state + each->offset);
    }
  }
}

bool cns_service_read(cns_service *service, cns_service_state *state) {
  *state = (cns_service_state){CNS_ABSENT, CNS_ABSENT, CNS_ABSENT, ""};
  const struct service *called = service->service;
  void *reply = call(service->bus, called->name, called->path, called->interface, called->method, called->argument);
  if (!reply) return false;
  DBusMessageIter all, entries, entry;
  bool is_dictionary = p_dbus_message_iter_init(reply, &all) && p_dbus_message_iter_get_arg_type(&all) == ARRAY;
  if (is_dictionary) {
    p_dbus_message_iter_recurse(&all, &entries);
    while (p_dbus_message_iter_get_arg_type(&entries) == ENTRY) {
      p_dbus_message_iter_recurse(&entries, &entry);
      read_property(&entry, called, state);
      p_dbus_message_iter_next(&entries);
    }
  }
  p_dbus_message_unref(reply);
  return is_dictionary;
}
