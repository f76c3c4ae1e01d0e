/* process.c - the C part of nightjar.process: starts child processes, waits for them and ends them.
 *
 *   child, input, output, errors = spawn(arguments, environment, folder, input, output, errors)
 *
 * `arguments` is a list that starts with the program's name or path. `environment` is a list of "NAME=value", or nil
 * for the current environment. `input`, `output` and `errors` are "pipe" (the other end is returned), "null", "inherit"
 * or, for errors only, "output".
 *
 *   child:wait() -> the exit status; or nil and the number of the signal that ended the child; or nil and nil if the
 *                   status is unknown
 *   child:kill(signal), child:pid(), child:close()
 *
 * close kills the process. It is also called by <close> and by the collector. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, posix_spawn_file_actions_addchdir_np */
#endif
#include <errno.h>
#include <fcntl.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/failure.h"
#include "core/host.h"
#include "core/metatable.h"
#include "core/timers.h"
#include "core/wait.h"
#include "modules/child.h"
#include "modules/modules.h"
#include "njl_future.h"
#include "descriptors.h"

extern char **environ;

/* Registry key of a table whose weak keys are the processes of the state, including ended processes. */
static const char children_key = 0;

static njl_child *check_child(lua_State *L) { return njl_check(L, 1, NJL_PROCESS); }

static int close_child(lua_State *L) {
  njl_child_end(check_child(L));
  return 0;
}

void njl_end_processes(lua_State *L) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &children_key) == LUA_TTABLE) {
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) njl_child_end(lua_touserdata(L, -2));
  }
  lua_pop(L, 1);
}

static int child_gc(lua_State *L) {
  close_child(L);
  njl_child *self = lua_touserdata(L, 1);
  if (self->handle >= 0) close(self->handle);
  self->handle = -1;
  return 0;
}

/* --- Waiting --- */

static int wait_for_end(lua_State *L);

static int looked(lua_State *L, int status, lua_KContext context) {
  (void)status;
  njl_check_work(L, (njl_wait *)context);
  lua_settop(L, 1);
  return wait_for_end(L);
}

static int wait_for_end(lua_State *L) {
  njl_child *self = check_child(L);
  if (self->owner == getpid() && !njl_child_reap(self)) {
    return njl_await_descriptor(L, self->host, self->handle, false, NJL_NEVER, looked);
  }
  if (self->is_known && WIFEXITED(self->status)) lua_pushinteger(L, WEXITSTATUS(self->status));
  else lua_pushnil(L);
  if (self->is_known && WIFSIGNALED(self->status)) lua_pushinteger(L, WTERMSIG(self->status));
  else lua_pushnil(L);
  return 2;
}

static int wait_child(lua_State *L) {
  check_child(L);
  lua_settop(L, 1);
  return wait_for_end(L);
}

/* child:kill(signal) -> whether the process still existed */
static int kill_child(lua_State *L) {
  njl_child *self = check_child(L);
  lua_Integer number = luaL_checkinteger(L, 2);
  luaL_argcheck(L, number >= 0 && number <= 64, 2, "a signal number from 0 to 64 expected");
  if (self->owner == getpid()) njl_child_reap(self);
  int code = njl_child_signal(self, (int)number);
  if (code != 0 && code != ESRCH) {
    return njl_raise(L, NJL_KIND_STORAGE, 0, "cannot send signal %d to process %d: %s", (int)number, (int)self->id,
                     strerror(code));
  }
  lua_pushboolean(L, code == 0);
  return 1;
}

static int child_id(lua_State *L) {
  lua_pushinteger(L, check_child(L)->id);
  return 1;
}

/* --- Starting --- */

/* Pushes a userdata with the strings of the list at `index`, terminated by NULL. The list keeps the strings alive. */
static char **push_strings(lua_State *L, int index, const char *what) {
  lua_Integer count = luaL_len(L, index);
  luaL_argcheck(L, count >= 0 && count < INT32_MAX, index, "too many");
  char **list = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *list, 0);
  for (lua_Integer place = 1; place <= count; place++) {
    size_t length;
    lua_rawgeti(L, index, place);
    if (lua_type(L, -1) != LUA_TSTRING) luaL_error(L, "%s must be strings, got %s", what, luaL_typename(L, -1));
    const char *text = lua_tolstring(L, -1, &length);
    if (strlen(text) != length) luaL_error(L, "%s must not contain a NUL", what);
    list[place - 1] = (char *)text; /* posix_spawn does not change the strings */
    lua_pop(L, 1);
  }
  list[count] = NULL;
  return list;
}

enum { FROM_PIPE, FROM_NULL, INHERITED, LIKE_OUTPUT };
static const char *const sources[] = {"pipe", "null", "inherit", "output", NULL};

/* Sets `*end` to the descriptor that becomes the child's descriptor `number`; -1: inherited. Stores the host's end of a
 * pipe in the userdata at `index`. Returns 0 or an errno value. */
static int make_end(lua_State *L, int index, int number, int source, int *end) {
  if (source == INHERITED || source == LIKE_OUTPUT) return 0;
  if (source == FROM_NULL) {
    *end = njd_above_standard(open("/dev/null", O_RDWR | O_CLOEXEC));
    return *end < 0 ? errno : 0;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  bool is_input = number == STDIN_FILENO;
  *end = njd_above_standard(ends[is_input ? 0 : 1]);
  int code = *end < 0 ? errno : 0;
  int ours = njd_above_standard(ends[is_input ? 1 : 0]);
  if (code == 0 && ours < 0) code = errno;
  if (ours >= 0 && fcntl(ours, F_SETFL, O_NONBLOCK) != 0 && code == 0) code = errno;
  if (ours >= 0) njl_pipe_set(L, index, ours);
  return code;
}

static int set_actions(posix_spawn_file_actions_t *actions, const int ends[3], const int kinds[3], const char *folder) {
  int code = 0;
  for (int number = 0; number < 3 && code == 0; number++) {
    if (ends[number] >= 0) code = posix_spawn_file_actions_adddup2(actions, ends[number], number);
    else if (kinds[number] == LIKE_OUTPUT) code = posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, number);
  }
  if (code == 0 && folder != NULL) code = posix_spawn_file_actions_addchdir_np(actions, folder);
  /* Closes the host's descriptors that are not close-on-exec. */
  if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
  return code;
}

/* Makes the child start with all signals unblocked and with the default action of SIGPIPE, which SwiftNIO may have
 * changed. */
static int set_signals(posix_spawnattr_t *attributes) {
  sigset_t none, reset;
  sigemptyset(&none);
  sigemptyset(&reset);
  sigaddset(&reset, SIGPIPE);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &reset);
  return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int start(njl_child *self, char **arguments, char **environment, const int ends[3], const int kinds[3],
                 const char *folder) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int code = posix_spawn_file_actions_init(&actions);
  if (code != 0) return code;
  code = posix_spawnattr_init(&attributes);
  if (code == 0) {
    code = set_actions(&actions, ends, kinds, folder);
    if (code == 0) code = set_signals(&attributes);
    if (code == 0) code = posix_spawnp(&self->id, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) self->id = 0;
  return code;
}

enum { ARGUMENTS = 1, ENVIRONMENT, FOLDER, INPUT, CHILD = 7, PIPES, TOP = PIPES + 2 };

static int spawn(lua_State *L) {
  njl_host *host = njl_host_of(L);
  luaL_checktype(L, ARGUMENTS, LUA_TTABLE);
  size_t length = 0;
  const char *folder = luaL_optlstring(L, FOLDER, NULL, &length);
  luaL_argcheck(L, folder == NULL || strlen(folder) == length, FOLDER, "the folder must not contain a NUL");
  int kinds[3], ends[3] = {-1, -1, -1};
  for (int number = 0; number < 3; number++) kinds[number] = luaL_checkoption(L, INPUT + number, NULL, sources);
  lua_settop(L, CHILD - 1);
  njl_child *self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = (njl_child){.host = host, .handle = -1, .owner = getpid()};
  njl_set_type(L, NJL_PROCESS);
  njl_own(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &children_key);
  lua_pushvalue(L, CHILD);
  lua_pushboolean(L, true);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  for (int number = 0; number < 3; number++) njl_pipe_push(L, host);
  char **arguments = push_strings(L, ARGUMENTS, "the arguments of a process");
  if (arguments[0] == NULL) {
    return luaL_error(L, "process: the list of arguments is empty; its first item must be the program");
  }
  char **environment =
      lua_isnil(L, ENVIRONMENT) ? environ : push_strings(L, ENVIRONMENT, "the environment of a process");

  int code = 0;
  for (int number = 0; number < 3 && code == 0; number++) {
    code = make_end(L, PIPES + number, number, kinds[number], &ends[number]);
  }
  if (code == 0) code = start(self, arguments, environment, ends, kinds, folder);
  if (code == 0) code = njl_child_open_handle(self);
  for (int number = 0; number < 3; number++) {
    if (ends[number] >= 0) close(ends[number]);
  }
  if (code != 0) {
    njl_child_end(self);
    const char *place = folder != NULL ? lua_pushfstring(L, " in \"%s\"", folder) : "";
    return njl_raise(L, NJL_KIND_STORAGE, 0, "cannot run \"%s\"%s: %s", arguments[0], place, strerror(code));
  }
  lua_settop(L, TOP);
  return 4;
}

/* environment() -> a list of "NAME=value" */
static int list_environment(lua_State *L) {
  lua_newtable(L);
  for (int index = 0; environ != NULL && environ[index] != NULL; index++) {
    lua_pushstring(L, environ[index]);
    lua_rawseti(L, -2, index + 1);
  }
  return 1;
}

static void add_signals(lua_State *L, int table) {
  static const struct {
    const char *name;
    int number;
  } signals[] = {{"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"BUS", SIGBUS},   {"CHLD", SIGCHLD}, {"CONT", SIGCONT},
                 {"FPE", SIGFPE},   {"HUP", SIGHUP},   {"ILL", SIGILL},   {"INT", SIGINT},   {"KILL", SIGKILL},
                 {"PIPE", SIGPIPE}, {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV}, {"STOP", SIGSTOP}, {"TERM", SIGTERM},
                 {"TRAP", SIGTRAP}, {"TSTP", SIGTSTP}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"WINCH", SIGWINCH},
                 {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {NULL, 0}};
  lua_newtable(L);
  for (int index = 0; signals[index].name != NULL; index++) {
    lua_pushinteger(L, signals[index].number);
    lua_setfield(L, -2, signals[index].name);
  }
  lua_setfield(L, table, "signals");
}

static void add_processes(lua_State *L, int table) {
  static const luaL_Reg functions[] = {{"spawn", spawn}, {"environment", list_environment}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", child_gc}, {"__close", close_child}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"wait", wait_child}, {"kill", kill_child}, {"pid", child_id}, {"close", close_child}, {NULL, NULL}};
  njl_add_type(L, NJL_PROCESS, meta, methods, NULL);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &children_key) == LUA_TNIL) {
    lua_newtable(L);
    njl_make_weak(L, "k");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &children_key);
  }
  lua_pop(L, 1);
  njl_add_functions(L, table, functions);
  add_signals(L, lua_absindex(L, table));
}

/* Adds the C functions of nightjar.process to the table at index 1. */
int njl_open_process(lua_State *L) {
  njl_open_stdin(L);
  add_processes(L, 1);
  return 0;
}
