#define _GNU_SOURCE /* CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME_COARSE, CLOCK_BOOTTIME, O_CLOEXEC */
#include "cplatform.h"

#include <fcntl.h>
#include <unistd.h>

#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

/* The clocks of the functions below. The clock of the uptime includes the time of a sleep. */
#ifdef __APPLE__
/* macOS has no coarse clock of the date. */
enum { COARSE = CLOCK_MONOTONIC_RAW_APPROX, COARSE_DATE = CLOCK_REALTIME, UPTIME = CLOCK_MONOTONIC_RAW };
#else
enum { COARSE = CLOCK_MONOTONIC_COARSE, COARSE_DATE = CLOCK_REALTIME_COARSE, UPTIME = CLOCK_BOOTTIME };
#endif

static struct timespec time_of(clockid_t clock) {
  struct timespec now = {0};
  clock_gettime(clock, &now);
  return now;
}

int64_t cplatform_coarse_time(void) {
  struct timespec now = time_of(COARSE);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cplatform_coarse_date(void) { return time_of(COARSE_DATE).tv_sec; }

int64_t cplatform_uptime(void) {
  struct timespec now = time_of(UPTIME);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool cplatform_boot_id(char *text, size_t size) {
  if (size == 0) return false;
#ifdef __APPLE__
  return sysctlbyname("kern.bootsessionuuid", text, &size, NULL, 0) == 0;
#else
  int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  ssize_t count = read(descriptor, text, size - 1);
  close(descriptor);
  if (count <= 0) return false;
  if (text[count - 1] == '\n') count--;
  text[count] = 0;
  return count > 0;
#endif
}
