/* epoll.c - Linux's epoll, for Descriptors.swift. */
#include <errno.h>
#include <sys/epoll.h>

#include "njl_epoll.h"

int njl_epoll_new(void) { return epoll_create1(EPOLL_CLOEXEC); }

/* EPOLL_CTL_MOD fails with ENOENT if the descriptor is new, or was closed and opened again under the same number. The
 * descriptor is then added. */
int njl_epoll_watch(int epoll, int descriptor, bool reads, bool writes) {
  struct epoll_event event = {.events = (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u), .data.fd = descriptor};
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0) return 0;
  if (errno != ENOENT) return errno;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
}

void njl_epoll_forget(int epoll, int descriptor) {
  epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &(struct epoll_event){0});
}

int njl_epoll_wait(int epoll, njl_readiness *ready, int capacity) {
  enum { BATCH = 64 };
  struct epoll_event events[BATCH];
  int count = epoll_wait(epoll, events, capacity < BATCH ? capacity : BATCH, -1);
  for (int index = 0; index < count; index++) {
    bool is_broken = (events[index].events & (EPOLLERR | EPOLLHUP)) != 0;
    ready[index].descriptor = events[index].data.fd;
    ready[index].reads = is_broken || (events[index].events & EPOLLIN) != 0;
    ready[index].writes = is_broken || (events[index].events & EPOLLOUT) != 0;
  }
  return count > 0 ? count : 0;
}
