#define _GNU_SOURCE /* CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME_COARSE, CLOCK_BOOTTIME, O_CLOEXEC */
#include "cplatform.h"

#include <fcntl.h>
#include <unistd.h>

#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

int64_t cplatform_coarse_time(void) {
#ifdef __APPLE__
  return (int64_t)clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW_APPROX);
#else
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
#endif
}

int64_t cplatform_coarse_date(void) {
  struct timespec now = {0};
#ifdef __APPLE__
  clock_gettime(CLOCK_REALTIME, &now); /* macOS has no coarse form of this clock */
#else
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
#endif
  return now.tv_sec;
}

int64_t cplatform_uptime(void) {
  struct timespec now = {0};
#ifdef __APPLE__
  clock_gettime(CLOCK_MONOTONIC_RAW, &now); /* includes the time of a sleep on macOS */
#else
  clock_gettime(CLOCK_BOOTTIME, &now);
#endif
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
