/* njl_epoll.h - Linux's epoll for Swift. Swift's Glibc module does not include <sys/epoll.h>, and that header
 * conflicts with the module. */
#ifndef NJL_EPOLL_H
#define NJL_EPOLL_H

#include <stdbool.h>

typedef struct njl_readiness {
  int descriptor;
  bool reads, writes; /* the operations that do not block; both if the descriptor is broken */
} njl_readiness;

/* Creates a close-on-exec epoll descriptor. Returns -1 and sets errno on failure. */
int njl_epoll_new(void);
/* Watches the descriptor for these events from now on. Returns 0 or an errno value: EPERM for a descriptor that is
 * always ready. */
int njl_epoll_watch(int epoll, int descriptor, bool reads, bool writes);
void njl_epoll_forget(int epoll, int descriptor);
/* Waits for the first event, without a timeout. Returns the number of ready descriptors, which may be 0. */
int njl_epoll_wait(int epoll, njl_readiness *ready, int capacity);

#endif
