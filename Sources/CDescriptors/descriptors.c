#define _GNU_SOURCE
#include "include/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#else
#include <sys/event.h>
#endif

static const njd_loop none = {-1, -1, -1};

static void end(int *descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

int njd_above_standard(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int code = errno;
  close(descriptor);
  errno = code;
  return moved;
}

void njd_loop_close(njd_loop *loop) {
  end(&loop->epoll);
  end(&loop->event);
  end(&loop->timer);
}

#ifdef __linux__

int njd_loop_open(njd_loop *loop) {
  *loop = none;
  if ((loop->epoll = njd_above_standard(epoll_create1(EPOLL_CLOEXEC))) >= 0 &&
      (loop->event = njd_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) >= 0 &&
      (loop->timer = njd_above_standard(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK))) >= 0)
    return 0;
  int code = errno;
  njd_loop_close(loop);
  return code;
}

/* The descriptors for the next event loop of this thread. */
static _Thread_local njd_loop reserved = {-1, -1, -1};

static int take(int *descriptor) {
  int taken = *descriptor;
  *descriptor = -1;
  return taken;
}

void njd_loop_use(const njd_loop *loop) {
  reserved = *loop;
  if (!njd_wraps()) njd_loop_close(&reserved);
}

void njd_loop_created(void) { njd_loop_close(&reserved); }

/* The system's own functions. The linker defines these names only if it wraps the calls. */
extern int __real_socket(int domain, int type, int protocol) __attribute__((weak));
extern int __real_accept(int socket, struct sockaddr *address, socklen_t *length) __attribute__((weak));
extern int __real_accept4(int socket, struct sockaddr *address, socklen_t *length, int flags) __attribute__((weak));
extern int __real_eventfd(unsigned value, int flags) __attribute__((weak));
extern int __real_timerfd_create(int clock, int flags) __attribute__((weak));

bool njd_wraps(void) { return __real_socket != NULL; }

int __wrap_epoll_create(int size) {
  (void)size;
  int descriptor = take(&reserved.epoll);
  return descriptor >= 0 ? descriptor : epoll_create1(EPOLL_CLOEXEC);
}

int __wrap_eventfd(unsigned value, int flags) {
  int descriptor = value == 0 ? take(&reserved.event) : -1;
  return descriptor >= 0 ? descriptor : __real_eventfd(value, flags | EFD_CLOEXEC);
}

int __wrap_timerfd_create(int clock, int flags) {
  int descriptor = clock == CLOCK_MONOTONIC ? take(&reserved.timer) : -1;
  return descriptor >= 0 ? descriptor : __real_timerfd_create(clock, flags | TFD_CLOEXEC);
}

int __wrap_socket(int domain, int type, int protocol) {
  return njd_above_standard(__real_socket(domain, type | SOCK_CLOEXEC, protocol));
}

int __wrap_accept(int socket, struct sockaddr *address, socklen_t *length) {
  return accept4(socket, address, length, SOCK_CLOEXEC);
}

int __wrap_accept4(int socket, struct sockaddr *address, socklen_t *length, int flags) {
  return __real_accept4(socket, address, length, flags | SOCK_CLOEXEC);
}

#else

/* The event loops of SwiftNIO have one kqueue. The link step does not wrap its calls. */

int njd_loop_open(njd_loop *loop) {
  *loop = none;
  loop->epoll = njd_above_standard(kqueue());
  return loop->epoll >= 0 ? 0 : errno;
}

void njd_loop_use(const njd_loop *loop) {
  njd_loop checked = *loop;
  njd_loop_close(&checked);
}

void njd_loop_created(void) {}

bool njd_wraps(void) { return false; }

#endif
