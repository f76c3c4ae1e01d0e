/* child.c - a child process: its handle, its status and its end. Waits only for processes that this Lua host started;
 * other children belong to the host program. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "modules/child.h"

bool njl_child_reap(njl_child *self) {
  if (self->is_over) return true;
  int status = 0;
  pid_t found;
  do found = waitpid(self->id, &status, WNOHANG);
  while (found < 0 && errno == EINTR);
  if (found == 0) return false;
  self->is_over = true;
  self->is_known = found == self->id; /* Otherwise the host program has taken the status, or ignores SIGCHLD. */
  self->status = status;
  return true;
}

int njl_child_signal(const njl_child *self, int number) {
  if (self->is_over || self->owner != getpid()) return ESRCH;
#ifdef SYS_pidfd_send_signal
  if (self->is_system_handle) return syscall(SYS_pidfd_send_signal, self->handle, number, NULL, 0) == 0 ? 0 : errno;
#endif
  return kill(self->id, number) == 0 ? 0 : errno;
}

/* --- Threads that wait for a child --- */

/* Starts a thread with all signals blocked. Returns 0 or an errno value. */
static int start_thread(void *(*body)(void *), void *context) {
  sigset_t all, before;
  pthread_t thread;
  pthread_attr_t attributes;
  int code = pthread_attr_init(&attributes);
  if (code != 0) return code;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  code = pthread_create(&thread, &attributes, body, context);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return code;
}

static void *bury(void *id) {
  while (waitpid((pid_t)(intptr_t)id, NULL, 0) < 0 && errno == EINTR) continue;
  return NULL;
}

/* Reaps a killed child on another thread, or waits for it if no thread can be started. The wait is short, because the
 * child has been killed. */
static void reap_later(pid_t id) {
  if (start_thread(bury, (void *)(intptr_t)id) != 0) bury((void *)(intptr_t)id);
}

typedef struct watch {
  pid_t id;
  int handle; /* the thread's duplicate; owned */
} watch;

/* Waits for the end of the child without reaping it. */
static void *watch_child(void *context) {
  const watch self = *(watch *)context;
  free(context);
  siginfo_t ended;
  while (waitid(P_PID, (id_t)self.id, &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
  eventfd_write(self.handle, 1);
  close(self.handle);
  return NULL;
}

/* Creates an eventfd in place of a pidfd, which requires Linux 5.3. Returns 0 or an errno value. */
static int make_handle(njl_child *self) {
  self->handle = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (self->handle < 0) return errno;
  watch *made = malloc(sizeof *made);
  if (made == NULL) return ENOMEM;
  *made = (watch){.id = self->id, .handle = fcntl(self->handle, F_DUPFD_CLOEXEC, 0)};
  int code = made->handle < 0 ? errno : start_thread(watch_child, made);
  if (code == 0) return 0;
  if (made->handle >= 0) close(made->handle);
  free(made);
  return code;
}

int njl_child_open_handle(njl_child *self) {
#ifdef SYS_pidfd_open
  self->handle = (int)syscall(SYS_pidfd_open, self->id, 0); /* close-on-exec */
  self->is_system_handle = self->handle >= 0;
  if (self->is_system_handle) return 0;
  if (errno != ENOSYS && errno != EPERM) return errno; /* EPERM: the process runs in a seccomp sandbox */
#endif
  return make_handle(self);
}

void njl_child_end(njl_child *self) {
  if (self->id <= 0 || self->is_over || self->owner != getpid()) return;
  if (njl_child_reap(self)) return;
  njl_child_signal(self, SIGKILL);
  if (njl_child_reap(self)) return;
  reap_later(self->id);
  self->is_over = self->is_known = true;
  self->status = SIGKILL;
}
