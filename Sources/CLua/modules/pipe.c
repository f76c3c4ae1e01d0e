/* pipe.c - non-blocking reading and writing of descriptors: standard input, and the pipes of child processes.
 *
 *   pipe:read(most)      the next bytes, at most `most`; nil at the end
 *   pipe:write(bytes)    writes all bytes; true, or false if the reading end is closed
 *   pipe:close()         also called by <close> and by the collector; waits in progress end with an error
 *
 * The pipes of child processes are set to non-blocking mode. Standard input is shared with other processes, so its mode
 * is not changed. Instead, unless it is a regular file, it is polled before each read, and read with RWF_NOWAIT if the
 * system supports this flag. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* preadv2 */
#endif
#include <errno.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/failure.h"
#include "core/gate.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/timers.h"
#include "core/wait.h"
#include "modules/modules.h"
#include "njl_calls.h"
#include "njl_future.h"

/* User values: the waits for reading and for writing. */
enum { READER = 1, WRITER, VALUES = WRITER };

/* The maximum number of bytes of one read: the capacity of a Linux pipe. */
enum { MOST_AT_ONCE = 64 * 1024 };

/* The number of reads or writes in a row after which a task lets other tasks run. */
enum { IN_A_ROW = 16 };

typedef struct pipe_end {
  njl_host *host;
  int descriptor; /* -1: closed */
  bool is_ours;
  bool is_file; /* always ready */
  /* the first read waits until data arrives; without this wait, a named pipe without a writer would seem to be at its
   * end */
  bool awaits;
  int in_a_row;
} pipe_end;

static pipe_end *check_pipe(lua_State *L) {
  pipe_end *self = njl_check(L, 1, NJL_PIPE);
  if (self->descriptor < 0) njl_raise(L, NJL_KIND_CLOSED, 0, "the pipe is closed");
  return self;
}

static const char *name_of(const pipe_end *self) { return self->is_ours ? "the pipe" : "standard input"; }

static bool is_taken(lua_State *L, int place) {
  lua_getiuservalue(L, 1, place);
  const njl_wait *wait = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return wait != NULL && wait->state == NJL_PENDING;
}

/* Waits until the pipe at index 1 is readable or writable, depending on `place`, then continues in `k`. */
static int await_pipe(lua_State *L, pipe_end *self, int place, lua_KFunction k) {
  self->in_a_row = 0;
  njl_wait *wait = njl_descriptor_wait_push(L, self->host, self->descriptor, place == WRITER);
  if (self->descriptor < 0) { /* A finalizer has closed the pipe. */
    njl_wait_end(wait, NJL_CANCELLED);
    check_pipe(L);
  }
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, place);
  return njl_await(L, wait, k);
}

/* Lets other tasks run, then continues in `k`. */
static int take_turns(lua_State *L, pipe_end *self, lua_KFunction k) {
  self->in_a_row = 0;
  njl_wait *wait = njl_wait_push(L, self->host);
  wait->deadline = njl_host_now(self->host);
  njl_timer_add(wait);
  return njl_await(L, wait, k);
}

/* --- Reading --- */

static bool is_ready(int descriptor) {
  struct pollfd look = {.fd = descriptor, .events = POLLIN};
  return poll(&look, 1, 0) > 0;
}

/* Like read(2), but fails with EAGAIN if it would block, as far as the system can determine. */
static ssize_t read_now(const pipe_end *self, char *bytes, size_t most) {
  if (self->is_ours || self->is_file) return read(self->descriptor, bytes, most);
  if (!is_ready(self->descriptor)) {
    errno = EAGAIN;
    return -1;
  }
  /* Another process may have read the data in the meantime. */
  struct iovec part = {.iov_base = bytes, .iov_len = most};
  ssize_t count = preadv2(self->descriptor, &part, 1, -1, RWF_NOWAIT);
  bool is_unknown = count < 0 && errno != EAGAIN && errno != EINTR;
  return is_unknown ? read(self->descriptor, bytes, most) : count;
}

static size_t expected(const pipe_end *self, lua_Integer most) {
  int waiting = 0;
  size_t size = MOST_AT_ONCE;
  if (most < MOST_AT_ONCE) size = most > 0 ? (size_t)most : 1;
  if (ioctl(self->descriptor, FIONREAD, &waiting) == 0 && waiting > 0 && (size_t)waiting < size) size = (size_t)waiting;
  else if (waiting <= 0 && size > 512) size = 512;
  return size;
}

static int try_read(lua_State *L);

static int readable(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_check_work(L, (njl_wait *)context);
  lua_settop(L, 2);
  return try_read(L);
}

/* Reads, or waits until the pipe is readable and tries again. The stack: the pipe, and the number of bytes. */
static int try_read(lua_State *L) {
  pipe_end *self = check_pipe(L);
  if (is_taken(L, READER)) return luaL_error(L, "another task already reads from this pipe");
  if (self->in_a_row >= IN_A_ROW) return take_turns(L, self, readable);
  if (self->awaits) {
    self->awaits = false;
    return await_pipe(L, self, READER, readable);
  }
  luaL_Buffer buffer;
  size_t size = expected(self, lua_tointeger(L, 2));
  char *bytes = luaL_buffinitsize(L, &buffer, size);
  ssize_t count = read_now(self, bytes, size);
  int code = errno;
  if (count > 0) {
    self->in_a_row++;
    luaL_pushresultsize(&buffer, (size_t)count);
    return 1;
  }
  lua_settop(L, 2);
  if (count == 0) return 0;
  if (code == EAGAIN || code == EINTR) return await_pipe(L, self, READER, readable);
  return njl_raise(L, NJL_KIND_STORAGE, 0, "cannot read %s: %s", name_of(self), strerror(code));
}

static int read_pipe(lua_State *L) {
  check_pipe(L);
  luaL_checkinteger(L, 2);
  lua_settop(L, 2);
  return try_read(L);
}

/* --- Writing --- */

/* Like write(2), but without SIGPIPE if the reading end of the pipe is closed. */
static ssize_t write_quietly(int descriptor, const char *bytes, size_t length) {
  sigset_t broken, pending, before;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  ssize_t count = write(descriptor, bytes, length);
  int code = errno;
  if (count < 0 && code == EPIPE && !sigismember(&pending, SIGPIPE)) {
    static const struct timespec at_once = {0, 0};
    sigtimedwait(&broken, NULL, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = code;
  return count;
}

static int try_write(lua_State *L);

static int writable(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_check_work(L, (njl_wait *)context);
  lua_settop(L, 3);
  return try_write(L);
}

/* Writes the remaining bytes, or waits until the pipe is writable and tries again. The stack: the pipe, the bytes, and
 * the number of bytes written. */
static int try_write(lua_State *L) {
  pipe_end *self = check_pipe(L);
  if (is_taken(L, WRITER)) return luaL_error(L, "another task already writes to this pipe");
  size_t length;
  const char *bytes = lua_tolstring(L, 2, &length);
  size_t done = (size_t)lua_tointeger(L, 3);
  while (done < length) {
    if (self->in_a_row >= IN_A_ROW) return take_turns(L, self, writable);
    ssize_t count = write_quietly(self->descriptor, bytes + done, length - done);
    if (count >= 0) {
      self->in_a_row++;
      done += (size_t)count;
      lua_pushinteger(L, (lua_Integer)done);
      lua_replace(L, 3);
    } else if (errno == EAGAIN) {
      return await_pipe(L, self, WRITER, writable);
    } else if (errno == EPIPE) {
      lua_pushboolean(L, false);
      return 1;
    } else if (errno != EINTR) {
      return njl_raise(L, NJL_KIND_STORAGE, 0, "cannot write to %s: %s", name_of(self), strerror(errno));
    }
  }
  lua_pushboolean(L, true);
  return 1;
}

static int write_pipe(lua_State *L) {
  check_pipe(L);
  luaL_checkstring(L, 2);
  lua_settop(L, 2);
  lua_pushinteger(L, 0);
  return try_write(L);
}

/* --- Creating and closing --- */

static void end_wait(lua_State *L, int place) {
  lua_getiuservalue(L, 1, place);
  njl_wait *wait = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (wait == NULL || wait->state != NJL_PENDING) return;
  njl_call_abandon(wait->call);
  njl_wait_end(wait, NJL_DONE);
}

static int close_pipe(lua_State *L) {
  pipe_end *self = njl_check(L, 1, NJL_PIPE);
  int descriptor = self->descriptor;
  if (descriptor < 0) return 0;
  end_wait(L, READER);
  end_wait(L, WRITER);
  self->descriptor = -1;
  if (self->is_ours) close(descriptor);
  return 0;
}

/* Closes the descriptor. No task waits for the pipe, because a waiting task keeps the pipe alive. */
static int pipe_gc(lua_State *L) {
  pipe_end *self = lua_touserdata(L, 1);
  int descriptor = self->descriptor;
  self->descriptor = -1;
  if (self->is_ours && descriptor >= 0) close(descriptor);
  return 0;
}

void njl_pipe_push(lua_State *L, njl_host *host) {
  pipe_end *self = lua_newuserdatauv(L, sizeof *self, VALUES);
  *self = (pipe_end){.host = host, .descriptor = -1, .is_ours = true};
  njl_set_type(L, NJL_PIPE);
  njl_own(L);
}

void njl_pipe_set(lua_State *L, int index, int descriptor) {
  pipe_end *self = lua_touserdata(L, index);
  self->descriptor = descriptor;
}

void njl_pipe_set_stream(lua_State *L, int index, int descriptor) {
  njl_pipe_set(L, index, descriptor);
  ((pipe_end *)lua_touserdata(L, index))->awaits = true;
}

/* standard_input() -> the pipe of descriptor 0 */
static int standard_input(lua_State *L) {
  njl_pipe_push(L, njl_host_of(L));
  pipe_end *self = lua_touserdata(L, -1);
  struct stat status;
  self->is_ours = false;
  self->is_file = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  self->descriptor = STDIN_FILENO;
  return 1;
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
static const char reader_source[] = {
#embed "lua/reader.lua"
};
#pragma clang diagnostic pop

/* Adds reader(source, name), which modules use to read lines. Its Lua text receives the functions of `table`. */
void njl_add_reader(lua_State *L, int table) {
  njl_add_part(L, table, "reader", "=nightjar.reader", reader_source, sizeof reader_source);
}

void njl_add_pipes(lua_State *L, int table) {
  static const luaL_Reg functions[] = {{"standard_input", standard_input}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", pipe_gc}, {"__close", close_pipe}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"read", read_pipe}, {"write", write_pipe}, {"close", close_pipe}, {NULL, NULL}};
  njl_add_type(L, NJL_PIPE, meta, methods, NULL);
  njl_add_functions(L, table, functions);
}

/* Adds the C functions of nightjar.stdin to the table at index 1. */
int njl_open_stdin(lua_State *L) {
  njl_add_gates(L, 1);
  njl_add_pipes(L, 1);
  njl_add_reader(L, 1);
  return 0;
}
