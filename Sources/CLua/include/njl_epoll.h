/* njl_epoll.h - Linux's epoll for Swift, whose Glibc module leaves it out; its header and that module do not go together. */
#ifndef NJL_EPOLL_H
#define NJL_EPOLL_H

#include <stdbool.h>

typedef struct njl_readiness {
  int descriptor;
  bool reads, writes; /* what it is ready for: both, when it is broken */
} njl_readiness;

/* Closed when a program is run; -1: errno says why not. */
int njl_epoll_new(void);
/* From here on it looks for these. 0, or the system's number: EPERM for what is always ready. */
int njl_epoll_watch(int epoll, int descriptor, bool reads, bool writes);
void njl_epoll_forget(int epoll, int descriptor);
/* Waits for the first, without bound; their number, also 0. */
int njl_epoll_wait(int epoll, njl_readiness *ready, int capacity);

#endif
