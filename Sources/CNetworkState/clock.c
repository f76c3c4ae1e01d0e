#define _GNU_SOURCE
#include "network_state.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/timerfd.h>
#endif

static int64_t nanoseconds(clockid_t clock) {
  struct timespec now = {0};
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The clocks that include and exclude the time of a sleep. */
#ifdef __APPLE__
enum { INCLUDES_SLEEP = CLOCK_MONOTONIC_RAW, EXCLUDES_SLEEP = CLOCK_UPTIME_RAW };
#else
enum { INCLUDES_SLEEP = CLOCK_BOOTTIME, EXCLUDES_SLEEP = CLOCK_MONOTONIC };
#endif

int64_t cns_clock_difference(void) { return nanoseconds(INCLUDES_SLEEP) - nanoseconds(EXCLUDES_SLEEP); }

#ifdef __linux__
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
#else
int cns_clock_watch_open(void) { return -ENOTSUP; }

void cns_clock_watch_rearm(int descriptor) { (void)descriptor; }
#endif
