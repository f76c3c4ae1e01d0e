/* child.h - a child process and its end. process.c is its Lua part. */
#ifndef NJL_CHILD_H
#define NJL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/host.h"

typedef struct njl_child {
  njl_host *host;
  pid_t id;
  pid_t owner; /* the process that started the child; a fork of that process must not touch the child */
  int handle;  /* becomes readable when the child has ended; -1: not started */
  bool is_system_handle; /* a pidfd, which also sends signals; otherwise an eventfd that a thread signals */
  bool is_over, is_known;
  int status;
} njl_child;

/* Returns whether the child has ended, and takes its status the first time. */
bool njl_child_reap(njl_child *self);
/* Returns 0 or an errno value: ESRCH if the child has ended. */
int njl_child_signal(const njl_child *self, int number);
/* Sets `handle`. Returns 0 or an errno value. */
int njl_child_open_handle(njl_child *self);
/* Kills the child unless it has ended. Waits for its end only if no thread can be started that waits. */
void njl_child_end(njl_child *self);

#endif
