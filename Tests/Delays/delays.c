/*
 * Delays system calls at random, as a busy machine does, to find tests that depend on its speed. scripts/with-delays loads
 * this library with LD_PRELOAD:
 *
 *   DELAYS_RATE=15      delays 15 of 1,000 calls
 *   DELAYS_LONGEST=60   each delay takes up to 60 ms
 *
 * epoll_wait, epoll_pwait and poll are delayed after they return. read, recv, write, writev and send are delayed before
 * they are called. New threads start late ten times as often.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "random_delay.h"

static struct random_delay settings, start_settings;

__attribute__((constructor)) static void read_settings(void) {
  settings = start_settings = random_delay_settings("DELAYS_RATE");
  start_settings.rate *= 10;
}

/* Declares name_of_system, the function of the C library that the function of this file replaces. */
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

int poll(struct pollfd *descriptors, nfds_t count, int timeout) {
  SYSTEM(int, poll, struct pollfd *, nfds_t, int);
  int result = poll_of_system(descriptors, count, timeout);
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

ssize_t send(int descriptor, const void *bytes, size_t size, int flags) {
  SYSTEM(ssize_t, send, int, const void *, size_t, int);
  random_delay(&settings);
  return send_of_system(descriptor, bytes, size, flags);
}

struct thread_start {
  void *(*function)(void *);
  void *argument;
};

static void *start_late(void *start) {
  struct thread_start thread = *(struct thread_start *)start;
  free(start);
  random_delay(&start_settings);
  return thread.function(thread.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
  SYSTEM(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  struct thread_start *start = malloc(sizeof *start);
  if (start == NULL) return EAGAIN;
  *start = (struct thread_start){ function, argument };
  int error = pthread_create_of_system(thread, attributes, start_late, start);
  if (error != 0) free(start);
  return error;
}
