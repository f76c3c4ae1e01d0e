/*
 * Kills the process at a call that changes files, for tests of crashes. Loaded with LD_PRELOAD:
 *
 *   KILL_AT=7          kills the process before its seventh call
 *   KILL_AFTER=7       kills it after this call
 *   KILL_FOLDER=/tmp/x counts only calls for files in this folder
 *
 * The calls are pwrite, ftruncate, fsync, fdatasync, fchmod, rename, renameat2, unlink, and open with O_CREAT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;

static long number(const char *name) {
  const char *text = getenv(name);
  return text == NULL ? 0 : atol(text);
}

static int is_inside(const char *path) {
  const char *folder = getenv("KILL_FOLDER");
  return folder != NULL && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_open_inside(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_inside(path);
}

/* Returns the number of the call, or 0 if it is not counted. */
static long before(int is_counted) {
  if (!is_counted) return 0;
  long call = ++calls;
  if (call == number("KILL_AT")) kill(getpid(), SIGKILL);
  return call;
}

static void after(long call) {
  if (call > 0 && call == number("KILL_AFTER")) kill(getpid(), SIGKILL);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define COUNTED(is_counted, type, call)   \
  long counted = before(is_counted);      \
  type result = call;                     \
  after(counted);                         \
  return result

ssize_t write(int descriptor, const void *bytes, size_t count) {
  COUNTED(is_open_inside(descriptor), ssize_t, NEXT(write)(descriptor, bytes, count));
}
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  COUNTED(is_open_inside(descriptor), ssize_t, NEXT(pwrite)(descriptor, bytes, count, offset));
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  COUNTED(is_open_inside(descriptor), ssize_t, NEXT(pwrite64)(descriptor, bytes, count, offset));
}
int ftruncate(int descriptor, off_t length) {
  COUNTED(is_open_inside(descriptor), int, NEXT(ftruncate)(descriptor, length));
}
int ftruncate64(int descriptor, off64_t length) {
  COUNTED(is_open_inside(descriptor), int, NEXT(ftruncate64)(descriptor, length));
}
int fsync(int descriptor) { COUNTED(is_open_inside(descriptor), int, NEXT(fsync)(descriptor)); }
int fdatasync(int descriptor) { COUNTED(is_open_inside(descriptor), int, NEXT(fdatasync)(descriptor)); }
int fchmod(int descriptor, mode_t mode) { COUNTED(is_open_inside(descriptor), int, NEXT(fchmod)(descriptor, mode)); }
int rename(const char *old, const char *new) { COUNTED(is_inside(new), int, NEXT(rename)(old, new)); }
int renameat2(int old_folder, const char *old, int new_folder, const char *new, unsigned flags) {
  COUNTED(is_inside(new), int, NEXT(renameat2)(old_folder, old, new_folder, new, flags));
}
int unlink(const char *path) { COUNTED(is_inside(path), int, NEXT(unlink)(path)); }

#define OPEN(name)                                                                       \
  int name(const char *path, int flags, ...) {                                           \
    va_list list;                                                                        \
    va_start(list, flags);                                                               \
    int mode = va_arg(list, int);                                                        \
    va_end(list);                                                                        \
    COUNTED((flags & O_CREAT) && is_inside(path), int, NEXT(name)(path, flags, mode));   \
  }
OPEN(open)
OPEN(open64)
