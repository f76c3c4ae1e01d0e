/* What Swift's Glibc module leaves out. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* fd_set as Glibc's module has it, whose headers are read without _GNU_SOURCE: two of one name do not get along. */
#include <features.h>
#pragma push_macro("__USE_XOPEN")
#undef __USE_XOPEN
#include <sys/select.h>
#pragma pop_macro("__USE_XOPEN")
#include <pthread.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <errno.h>
#include <fcntl.h>

/* For the tests: what a child is left. GNU's, from glibc 2.29 and 2.34; `actions` is a posix_spawn_file_actions_t, whose header
 * brings types that are Glibc's module's. */
extern int posix_spawn_file_actions_addchdir_np(void *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);

/* Takes (F_WRLCK) or gives back (F_UNLCK) one byte of a file for this open description, without waiting. fcntl is
 * variadic. Returns 0 or the system's number: EAGAIN when another has it. */
static inline int clinux_lock_byte(int descriptor, short type, off_t offset) {
  struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1, .l_pid = 0};
  return fcntl(descriptor, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

/* How much later than asked the system may wake this thread, in nanoseconds; it is 50,000 by default. prctl is variadic. */
static inline void clinux_set_timer_slack(unsigned long nanoseconds) { prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0); }
