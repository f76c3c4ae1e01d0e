#define _GNU_SOURCE /* environ, POSIX_SPAWN_SETSID, posix_spawn_file_actions_addclosefrom_np */
#include "cplatform.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#ifdef __APPLE__
#include <crt_externs.h>
#endif

char **cplatform_environment(void) {
#ifdef __APPLE__
  return *_NSGetEnviron(); /* libraries cannot link to `environ` on macOS */
#else
  return environ;
#endif
}

/* Sets the descriptors of the program: its standard streams and no others. Returns an errno value. */
static int set_descriptors(posix_spawn_file_actions_t *actions) {
  int code = 0;
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO && code == 0; stream++) {
    code = posix_spawn_file_actions_addopen(actions, stream, "/dev/null", O_RDWR, 0);
  }
#ifndef POSIX_SPAWN_CLOEXEC_DEFAULT
  if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
#endif
  return code;
}

/* Sets the signals and the session of the program. Returns an errno value. */
static int set_attributes(posix_spawnattr_t *attributes, bool has_own_session) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (has_own_session) flags |= POSIX_SPAWN_SETSID;
#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
  flags |= POSIX_SPAWN_CLOEXEC_DEFAULT; /* macOS: the descriptors that no file action names are closed */
#endif
  int code = posix_spawnattr_setsigmask(attributes, &none);
  if (code == 0) code = posix_spawnattr_setsigdefault(attributes, &all);
  if (code == 0) code = posix_spawnattr_setflags(attributes, (short)flags);
  return code;
}

int cplatform_start_program(
    pid_t *child, const char *path, char *const arguments[], char *const variables[], bool has_own_session) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int code = posix_spawn_file_actions_init(&actions);
  if (code != 0) return code;
  code = posix_spawnattr_init(&attributes);
  if (code == 0) {
    code = set_descriptors(&actions);
    if (code == 0) code = set_attributes(&attributes, has_own_session);
    if (code == 0) code = posix_spawnp(child, path, &actions, &attributes, arguments, variables);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return code;
}
