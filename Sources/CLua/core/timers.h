/* timers.h - time, and waits with a deadline. */
#ifndef NJL_TIMERS_H
#define NJL_TIMERS_H

#include <stdint.h>

#include "njl_types.h"

typedef struct njl_host njl_host;

/* Nanoseconds of the monotonic clock. */
typedef uint64_t njl_moment;
#define NJL_NEVER UINT64_MAX

njl_moment njl_now(void);                       /* real time */
njl_moment njl_deadline_after(double seconds);  /* a deadline in real time; used for the limits of a run */
njl_moment njl_host_now(const njl_host *host);  /* the time that timers use: virtual or real */
/* a deadline on the clock of njl_host_now; used for all waits */
njl_moment njl_host_deadline_after(const njl_host *host, double seconds);
void njl_timers_shift(njl_host *host, int64_t span);
void njl_timer_add(njl_wait *wait);
void njl_timer_remove(njl_wait *wait);

#endif
