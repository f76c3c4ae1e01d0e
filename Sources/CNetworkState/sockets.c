#define _GNU_SOURCE
#include "network_state.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int64_t nanoseconds(clockid_t clock) {
  struct timespec now = {0};
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cns_clock_difference(void) { return nanoseconds(CLOCK_BOOTTIME) - nanoseconds(CLOCK_MONOTONIC); }

/* Sets the timer to the year 2255, because the kernel's times end in 2262. After a change of the clock, setting the
 * timer fails with ECANCELED but takes effect (timerfd_create(2)). */
static void arm(int descriptor) {
  struct itimerspec end = {.it_value = {.tv_sec = 9000000000}};
  timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &end, NULL);
}

int cns_clock_watch_open(void) {
  int descriptor = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (descriptor < 0) return -errno;
  arm(descriptor);
  return descriptor;
}

void cns_clock_watch_rearm(int descriptor) {
  uint64_t count;
  ssize_t ignored = read(descriptor, &count, sizeof count);
  (void)ignored; /* fails with ECANCELED */
  arm(descriptor);
}

static int set(int descriptor, int level, int option, int value) {
  return setsockopt(descriptor, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

int cns_probe_start(int descriptor) {
  int code = set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  if (code == 0) code = set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
  if (code == 0) code = set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  /* Last, because this option starts the timer. */
  if (code == 0) code = set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  return code;
}

void cns_probe_stop(int descriptor) { set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 0); }

/* Returns a member of the state of a TCP connection; -1 if it is unknown. */
static int64_t tcp_state(int descriptor, size_t offset) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  uint32_t value;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
  if (length < offset + sizeof value) return -1;
  memcpy(&value, (const char *)&info + offset, sizeof value);
  return value;
}

int64_t cns_probe_silence(int descriptor) {
  return tcp_state(descriptor, offsetof(struct tcp_info, tcpi_last_ack_recv));
}

int64_t cns_round_trip(int descriptor) { return tcp_state(descriptor, offsetof(struct tcp_info, tcpi_rtt)); }
