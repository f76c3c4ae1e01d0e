/*
 * Delays calls at random, as a busy machine does, for tests that must not depend on its speed. Loaded with LD_PRELOAD by
 * scripts/with-delays:
 *
 *   DELAYS_RATE=15      delays 15 of 1,000 calls
 *   DELAYS_LONGEST=60   each delay takes up to 60 ms
 *
 * The calls are epoll_wait and epoll_pwait, which are delayed after their return, and read, recv, write and writev.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "random_delay.h"

static struct random_delay settings;

__attribute__((constructor)) static void read_settings(void) { settings = random_delay_settings("DELAYS_RATE"); }

#define SYSTEM(type, name, ...) \
  static type (*name##_of_system)(__VA_ARGS__); \
  if (name##_of_system == NULL) name##_of_system = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

int epoll_wait(int descriptor, struct epoll_event *events, int size, int timeout) {
  SYSTEM(int, epoll_wait, int, struct epoll_event *, int, int);
  int result = epoll_wait_of_system(descriptor, events, size, timeout);
  random_delay(&settings);
  return result;
}

int epoll_pwait(int descriptor, struct epoll_event *events, int size, int timeout, const sigset_t *signals) {
  SYSTEM(int, epoll_pwait, int, struct epoll_event *, int, int, const sigset_t *);
  int result = epoll_pwait_of_system(descriptor, events, size, timeout, signals);
  random_delay(&settings);
  return result;
}

ssize_t read(int descriptor, void *bytes, size_t size) {
  SYSTEM(ssize_t, read, int, void *, size_t);
  random_delay(&settings);
  return read_of_system(descriptor, bytes, size);
}

ssize_t recv(int descriptor, void *bytes, size_t size, int flags) {
  SYSTEM(ssize_t, recv, int, void *, size_t, int);
  random_delay(&settings);
  return recv_of_system(descriptor, bytes, size, flags);
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
  SYSTEM(ssize_t, write, int, const void *, size_t);
  random_delay(&settings);
  return write_of_system(descriptor, bytes, size);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  SYSTEM(ssize_t, writev, int, const struct iovec *, int);
  random_delay(&settings);
  return writev_of_system(descriptor, parts, count);
}
