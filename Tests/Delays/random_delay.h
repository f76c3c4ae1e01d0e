/* Random delays. Environment variables set their rate and their longest duration. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct random_delay {
  uint64_t rate;    /* the number of delays in 1,000 calls */
  uint64_t longest; /* microseconds */
  uint64_t seed;
};

/* Reads the rate from the given environment variable, and the longest duration from DELAYS_LONGEST. */
static struct random_delay random_delay_settings(const char *rate_variable) {
  const char *per_thousand = getenv(rate_variable), *milliseconds = getenv("DELAYS_LONGEST");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (struct random_delay){
    .rate = per_thousand == NULL ? 0 : strtoul(per_thousand, NULL, 10),
    .longest = milliseconds == NULL ? 0 : strtoul(milliseconds, NULL, 10) * 1000,
    .seed = (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32,
  };
}

/* Sleeps or returns immediately, and keeps errno. Can be called by several threads. */
static void random_delay(const struct random_delay *settings) {
  static _Atomic uint64_t calls;
  if (settings->rate == 0 || settings->longest == 0) return;
  uint64_t value = settings->seed + atomic_fetch_add(&calls, 1) * 0x9E3779B97F4A7C15; /* splitmix64 */
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
  value = (value ^ value >> 27) * 0x94D049BB133111EB;
  value ^= value >> 31;
  if (value % 1000 >= settings->rate) return;
  uint64_t duration = (value >> 20) % settings->longest;
  int before = errno;
  nanosleep(&(struct timespec){ .tv_sec = duration / 1000000, .tv_nsec = duration % 1000000 * 1000 }, NULL);
  errno = before;
}
