/* cplatform.h - system calls that differ between Linux and macOS, or that Swift cannot call.
 *
 * Functions that return an errno value return 0 on success. */
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* --- Files: file.c --- */

/* Locks (F_WRLCK) or unlocks (F_UNLCK) one byte of a file for this open file description, without waiting. Returns an
 * errno value: EAGAIN if another holder has the lock. */
int cplatform_lock_byte(int descriptor, short type, off_t offset);

/* Renames a file unless the new name exists (EEXIST). Returns an errno value. On a file system that has neither such renames
 * nor hard links, a process that is killed meanwhile leaves an empty file. */
int cplatform_rename_new(const char *old_name, const char *new_name);
/* Renames a file to a name that this function creates first, so that no existing file is replaced (EEXIST). Returns an errno
 * value. Used by cplatform_rename_new. */
int cplatform_rename_created(const char *old_name, const char *new_name);

/* Writes the content and the length of a file to the disk. Returns an errno value. */
int cplatform_sync_content(int descriptor);
/* Writes a file or a folder with all its metadata to the disk. Returns an errno value. */
int cplatform_sync(int descriptor);

/* Reads bytes of a file that are in memory, without waiting for the disk. Returns their number, or a negative errno value:
 * EAGAIN if they are not in memory, EOPNOTSUPP if the system or the file system has no such reads. */
ssize_t cplatform_read_cached(int descriptor, void *bytes, size_t count, off_t offset);

/* Turns reads and writes without the page cache on or off. Returns an errno value: EINVAL if the file system has none, ENOTSUP
 * if the system is not Linux. */
int cplatform_set_direct(int descriptor, bool is_direct);
/* The unit of direct reads and writes in bytes, also of their addresses in memory: at least the block of any disk. */
enum { CPLATFORM_DIRECT_BLOCK = 4096 };

/* Stores the sysfs path of a file's disk. The path does not exist for a file system without a disk of its own.
 * Returns false if the system has no sysfs. */
bool cplatform_disk_entry(int descriptor, char *path, size_t size);

/* Sets the time of the last modification. Returns an errno value. */
int cplatform_set_modified(int descriptor, time_t seconds);

/* --- Files for secrets: private_file.c --- */

/* The reasons why a file for secrets is rejected. */
enum cplatform_private {
  CPLATFORM_NO_FILE = -2,   /* a folder, a pipe, a device or a symbolic link */
  CPLATFORM_FOREIGN = -3,   /* belongs to another user */
  CPLATFORM_SHARED = -4,    /* accessible to other users */
  CPLATFORM_MANY_NAMES = -5 /* has several hard links */
};

/* Checks whether an existing file may hold this user's secrets. Returns 0 or a value of cplatform_private. */
int cplatform_check_private(const struct stat *status);

/* Opens a file that holds secrets, or creates it (O_CREAT) with mode 0600. Does not follow a symbolic link at the
 * end of the path, and does not wait for the other end of a pipe. Rejects files of other users. For reading, rejects
 * files that other users may open. For writing, rejects files with several hard links and changes the mode to 0600.
 * O_TRUNC takes effect after all checks. Returns a descriptor; -1 with errno; or a value of cplatform_private, with
 * `*status` set. */
int cplatform_open_private(const char *path, int flags, struct stat *status);

/* --- Libraries that are loaded at run time: library.c --- */

/* Loads a library with the flags of dlopen(3). On Linux, dlopen searches `name`. On macOS, where dlopen would also search the
 * working directory, the folders of Homebrew and MacPorts are searched. Returns NULL on failure, with the reason in
 * dlerror(3). */
void *cplatform_load_library(const char *name, int flags);

/* --- Programs: program.c --- */

/* Returns the environment of this process. */
char **cplatform_environment(void);

/* Starts a program with no descriptors but its standard streams, which are /dev/null, with no blocked signals and with the
 * default action for each signal.
 *
 * path             searched in PATH if it has no slash
 * arguments        ends with NULL
 * variables        the environment; ends with NULL
 * has_own_session  whether the program gets a session of its own, so that no terminal ends it
 *
 * Stores the process in `*child`. Returns an errno value. */
int cplatform_start_program(
    pid_t *child, const char *path, char *const arguments[], char *const variables[], bool has_own_session);

/* --- Threads: thread.c --- */

typedef struct cplatform_started_thread {
  int code; /* 0 or an errno value */
  pthread_t thread;
} cplatform_started_thread;

/* Starts a thread. `stack_size` is in bytes; 0: the default of Linux. The caller joins or detaches the thread. */
cplatform_started_thread cplatform_start_thread(size_t stack_size, void (*run)(void *argument), void *argument);

/* Names the calling thread. `name` has at most 15 bytes. */
void cplatform_name_thread(const char *name);

/* Sets the timer slack of the calling thread: how many nanoseconds later than requested Linux may wake the thread. The
 * default is 50,000. Other systems choose the slack themselves. */
void cplatform_set_timer_slack(unsigned long nanoseconds);

/* Initializes a condition variable whose deadlines are on the monotonic clock. */
void cplatform_init_condition(pthread_cond_t *condition);
/* Waits for a signal until `deadline` on the monotonic clock. May return without a signal. */
void cplatform_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline);

/* Removes a blocked signal that is pending for the calling thread. Has no effect if none is pending, and on macOS, whose
 * kernel sends SIGXFSZ to the process and not to a thread. */
void cplatform_discard_signal(int number);

/* --- Clocks: clock.c --- */

/* Returns nanoseconds of a monotonic clock that may lag by a few milliseconds. Takes a few nanoseconds. */
int64_t cplatform_coarse_time(void);
/* Returns seconds since 1970 of a clock that may lag by a few milliseconds. Takes a few nanoseconds. */
int64_t cplatform_coarse_date(void);
/* Returns the milliseconds since the system was started, including the time of a sleep. */
int64_t cplatform_uptime(void);
/* Stores the identifier of this start of the system. Returns false if the system does not provide it. */
bool cplatform_boot_id(char *text, size_t size);

/* --- Alarms: alarm.c --- */

/* Creates an alarm: a descriptor that becomes readable when the alarm is set. The descriptor is close-on-exec and does not
 * block; it is only polled. Returns -1 with errno if no descriptor is left. */
int cplatform_open_alarm(void);
/* Sets an alarm. Any thread. */
void cplatform_set_alarm(int alarm);
/* Closes an alarm. `is_inherited`: whether it belongs to the parent of this forked process. On macOS, a child does not inherit
 * alarms, and their numbers may belong to other files. */
void cplatform_close_alarm(int alarm, bool is_inherited);
/* Clears an alarm, so that the descriptor is not readable until the alarm is set again. */
void cplatform_clear_alarm(int alarm);

/* --- Sockets: socket.c --- */

/* Sends bytes to a connected stream socket without SIGPIPE. Like send(2), returns the number of bytes, or -1 with errno.
 *
 * waits  whether the call may wait; if false, it fails with EAGAIN instead. A call on a non-blocking socket never waits. */
ssize_t cplatform_send(int descriptor, const void *bytes, size_t count, bool waits);
/* Returns the number of sent bytes that the peer of a TCP connection has not acknowledged; -1 if unknown. */
int cplatform_unacknowledged(int descriptor);

#endif
