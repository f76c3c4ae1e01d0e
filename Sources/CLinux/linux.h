/* Declarations that Swift's Glibc module does not include. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Declares fd_set like the Glibc module, whose headers are read without _GNU_SOURCE. Two different declarations would
 * conflict. */
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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

/* GNU extensions from glibc 2.29 and 2.34, for functions that start child processes. `actions` is a
 * posix_spawn_file_actions_t, whose header conflicts with the Glibc module. */
extern int posix_spawn_file_actions_addchdir_np(void *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);

/* Locks (F_WRLCK) or unlocks (F_UNLCK) one byte of a file for this open file description, without waiting. Returns 0 or
 * an errno value: EAGAIN if another holder has the lock. Swift cannot call fcntl, which is variadic. */
static inline int clinux_lock_byte(int descriptor, short type, off_t offset) {
  struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1, .l_pid = 0};
  return fcntl(descriptor, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

/* The reasons why a file for secrets is rejected. */
enum clinux_private {
  CLINUX_NO_FILE = -2,     /* a folder, a pipe, a device or a symbolic link */
  CLINUX_FOREIGN = -3,     /* belongs to another user */
  CLINUX_SHARED = -4,      /* accessible to other users */
  CLINUX_MANY_NAMES = -5   /* has several hard links */
};

/* Checks whether an existing file may hold this user's secrets. Returns 0 or a value of clinux_private. */
static inline int clinux_check_private(const struct stat *status) {
  if (!S_ISREG(status->st_mode)) return CLINUX_NO_FILE;
  if (status->st_uid != geteuid()) return CLINUX_FOREIGN;
  if ((status->st_mode & 077) != 0) return CLINUX_SHARED;
  return 0;
}

/* Opens a file that holds secrets, or creates it (O_CREAT) with mode 0600. Does not follow a symbolic link at the
 * end of the path, and does not wait for the other end of a pipe. Rejects files of other users. For reading, rejects
 * files that other users may open. For writing, rejects files with several hard links and changes the mode to 0600.
 * O_TRUNC takes effect after all checks. Returns a descriptor; -1 with errno; or a value of clinux_private, with
 * `*status` set. */
static inline int clinux_open_private(const char *path, int flags, struct stat *status) {
  int descriptor = open(path, (flags & ~O_TRUNC) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  int refusal = -1;
  if (descriptor < 0) {
    int code = errno;
    /* FreeBSD reports a symbolic link as EMLINK. Opening a pipe without a reader fails with ENXIO. */
    bool is_there = (code == ELOOP || code == ENXIO || code == EMLINK) && lstat(path, status) == 0;
    errno = code;
    return is_there ? CLINUX_NO_FILE : -1;
  }
  bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (fstat(descriptor, status) != 0) goto refuse;
  refusal = clinux_check_private(status);
  if (writes && (refusal == 0 || refusal == CLINUX_SHARED)) {
    if (status->st_nlink > 1) {
      refusal = CLINUX_MANY_NAMES;
      goto refuse;
    }
    refusal = -1;
    if ((status->st_mode & 0777) != 0600 && fchmod(descriptor, 0600) != 0) goto refuse;
    if ((flags & O_TRUNC) != 0 && ftruncate(descriptor, 0) != 0) goto refuse;
    refusal = 0;
  }
  if (refusal == 0) return descriptor;
refuse:;
  int code = errno;
  close(descriptor);
  errno = code;
  return refusal;
}

/* Renames a file to a name that this function creates first, so that no existing file is replaced (EEXIST). Returns 0 or
 * an errno value. A process that is killed meanwhile leaves an empty file. */
static inline int clinux_rename_created(const char *old_name, const char *new_name) {
  int descriptor = open(new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return errno;
  close(descriptor);
  if (rename(old_name, new_name) == 0) return 0;
  int code = errno;
  unlink(new_name);
  return code;
}

/* Renames a file unless the new name exists (EEXIST). Returns 0 or an errno value. The Glibc module does not include
 * renameat2. */
static inline int clinux_rename_new(const char *old_name, const char *new_name) {
  if (renameat2(AT_FDCWD, old_name, AT_FDCWD, new_name, RENAME_NOREPLACE) == 0) return 0;
  /* File systems without RENAME_NOREPLACE. */
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (link(old_name, new_name) == 0) {
    /* The file has its new name, even if the old one cannot be removed. */
    unlink(old_name);
    return 0;
  }
  /* File systems without hard links. */
  bool has_no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
  return has_no_links ? clinux_rename_created(old_name, new_name) : errno;
}

/* Reads bytes of a file that are in memory, without waiting for the disk. Returns their number, or a negative errno value:
 * EAGAIN if they are not in memory, EOPNOTSUPP if the file system has no such reads. */
static inline ssize_t clinux_read_cached(int descriptor, void *bytes, size_t count, off_t offset) {
  struct iovec vector = {.iov_base = bytes, .iov_len = count};
  ssize_t found = preadv2(descriptor, &vector, 1, offset, 0x00000008 /* RWF_NOWAIT */);
  return found < 0 ? -errno : found;
}

/* Turns direct input and output (O_DIRECT) of an open file on or off. Returns 0 or an errno value: EINVAL if the file system
 * has none. */
static inline int clinux_set_direct(int descriptor, bool is_direct) {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) return errno;
  flags = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return fcntl(descriptor, F_SETFL, flags) == 0 ? 0 : errno;
}

/* Stores the path in sysfs of the disk of a file. The path does not exist for a file system without a disk of its own. */
static inline bool clinux_disk_entry(int descriptor, char *path, size_t size) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return false;
  snprintf(path, size, "/sys/dev/block/%u:%u", major(status.st_dev), minor(status.st_dev));
  return true;
}

/* Sets the time of the last modification. Returns 0 or an errno value. */
static inline int clinux_set_modified(int descriptor, time_t seconds) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds}};
  return futimens(descriptor, times) == 0 ? 0 : errno;
}

/* Returns the environment of this process. */
static inline char **clinux_environment(void) { return environ; }

/* Sets the timer slack of this thread: how many nanoseconds later than requested the system may wake the thread. The
 * default is 50,000. Swift cannot call prctl, which is variadic. */
static inline void clinux_set_timer_slack(unsigned long nanoseconds) { prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0); }
