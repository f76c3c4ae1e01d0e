#define _GNU_SOURCE /* O_NOFOLLOW, O_CLOEXEC */
#include "cplatform.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int cplatform_check_private(const struct stat *status) {
  if (!S_ISREG(status->st_mode)) return CPLATFORM_NO_FILE;
  if (status->st_uid != geteuid()) return CPLATFORM_FOREIGN;
  if ((status->st_mode & 077) != 0) return CPLATFORM_SHARED;
  return 0;
}

/* Checks and prepares an open file. Returns 0; -1 with errno; or a value of cplatform_private. */
static int prepare(int descriptor, int flags, struct stat *status) {
  if (fstat(descriptor, status) != 0) return -1;
  int refusal = cplatform_check_private(status);
  if ((flags & O_ACCMODE) == O_RDONLY) return refusal;
  if (refusal != 0 && refusal != CPLATFORM_SHARED) return refusal;
  if (status->st_nlink > 1) return CPLATFORM_MANY_NAMES;
  if ((status->st_mode & 0777) != 0600 && fchmod(descriptor, 0600) != 0) return -1;
  return (flags & O_TRUNC) == 0 || ftruncate(descriptor, 0) == 0 ? 0 : -1;
}

int cplatform_open_private(const char *path, int flags, struct stat *status) {
  int descriptor = open(path, (flags & ~O_TRUNC) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (descriptor < 0) {
    int code = errno;
    /* Opening a symbolic link fails with ELOOP, a pipe without a reader with ENXIO, and a socket with ENXIO or, on macOS,
     * EOPNOTSUPP. */
    bool is_there = (code == ELOOP || code == ENXIO || code == EOPNOTSUPP) && lstat(path, status) == 0;
    errno = code;
    return is_there ? CPLATFORM_NO_FILE : -1;
  }
  int refusal = prepare(descriptor, flags, status);
  if (refusal == 0) return descriptor;
  int code = errno;
  close(descriptor);
  errno = code;
  return refusal;
}
