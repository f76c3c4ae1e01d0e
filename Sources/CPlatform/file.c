#define _GNU_SOURCE /* F_OFD_SETLK, renameat2, preadv2, O_DIRECT */
#include "cplatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/sysmacros.h>
#endif

int cplatform_lock_byte(int descriptor, short type, off_t offset) {
  struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1, .l_pid = 0};
  return fcntl(descriptor, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

int cplatform_rename_created(const char *old_name, const char *new_name) {
  int descriptor = open(new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return errno;
  close(descriptor);
  if (rename(old_name, new_name) == 0) return 0;
  int code = errno;
  unlink(new_name);
  return code;
}

/* Renames a file if the file system has renames that replace no file. */
static int rename_exclusively(const char *old_name, const char *new_name) {
#ifdef __linux__
  return renameat2(AT_FDCWD, old_name, AT_FDCWD, new_name, RENAME_NOREPLACE);
#else
  return renamex_np(old_name, new_name, RENAME_EXCL);
#endif
}

int cplatform_rename_new(const char *old_name, const char *new_name) {
  if (rename_exclusively(old_name, new_name) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
  if (link(old_name, new_name) == 0) {
    /* The file has its new name, even if the old one cannot be removed. */
    unlink(old_name);
    return 0;
  }
  bool has_no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOTSUP || errno == ENOSYS || errno == EINVAL;
  return has_no_links ? cplatform_rename_created(old_name, new_name) : errno;
}

int cplatform_sync_content(int descriptor) {
#ifdef __linux__
  return fdatasync(descriptor) == 0 ? 0 : errno;
#else
  return cplatform_sync(descriptor);
#endif
}

int cplatform_sync(int descriptor) {
#ifdef F_FULLFSYNC
  /* On macOS, fsync does not flush the write cache of the disk. Not all file systems have F_FULLFSYNC. */
  if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
  return fsync(descriptor) == 0 ? 0 : errno;
}

ssize_t cplatform_read_cached(int descriptor, void *bytes, size_t count, off_t offset) {
#ifdef __linux__
  struct iovec vector = {.iov_base = bytes, .iov_len = count};
  ssize_t found = preadv2(descriptor, &vector, 1, offset, 0x00000008 /* RWF_NOWAIT */);
  return found < 0 ? -errno : found;
#else
  (void)descriptor, (void)bytes, (void)count, (void)offset;
  return -EOPNOTSUPP;
#endif
}

int cplatform_set_direct(int descriptor, bool is_direct) {
#ifdef __linux__
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) return errno;
  flags = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return fcntl(descriptor, F_SETFL, flags) == 0 ? 0 : errno;
#else
  (void)descriptor, (void)is_direct;
  return ENOTSUP;
#endif
}

bool cplatform_disk_entry(int descriptor, char *path, size_t size) {
#ifdef __linux__
  struct stat status;
  if (fstat(descriptor, &status) != 0) return false;
  snprintf(path, size, "/sys/dev/block/%u:%u", major(status.st_dev), minor(status.st_dev));
  return true;
#else
  (void)descriptor, (void)path, (void)size;
  return false;
#endif
}

int cplatform_set_modified(int descriptor, time_t seconds) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds}};
  return futimens(descriptor, times) == 0 ? 0 : errno;
}
