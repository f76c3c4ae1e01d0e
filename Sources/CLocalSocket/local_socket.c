#define _GNU_SOURCE /* accept4, ucred */
#include "local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef __linux__
/* Makes a new socket close-on-exec and non-blocking, and prevents SIGPIPE on it. Returns the descriptor, or a negative
 * errno value if `descriptor` is -1 or cannot be changed. */
static int prepared(int descriptor) {
  if (descriptor < 0) return -errno;
  int enabled = 1;
  if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0
      && setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &enabled, sizeof enabled) == 0)
    return descriptor;
  /* The option fails with EINVAL if the peer has closed the connection. */
  int code = errno == EINVAL ? ECONNABORTED : errno;
  close(descriptor);
  return -code;
}
#endif

/* Stores the address of a local socket. Returns false if the path is too long for an address. */
static bool njs_address(const char *path, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  size_t length = strlen(path);
  if (length >= sizeof address->sun_path) return false;
  memcpy(address->sun_path, path, length);
  return true;
}

/* Creates a local stream socket that does not block. Returns a negative errno value on failure. */
static int open_socket(void) {
#ifdef __linux__
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return descriptor < 0 ? -errno : descriptor;
#else
  return prepared(socket(AF_UNIX, SOCK_STREAM, 0));
#endif
}

int njs_listen(const char *path) {
  struct sockaddr_un address;
  if (!njs_address(path, &address)) return -ENAMETOOLONG;
  int descriptor = open_socket();
  if (descriptor < 0) return descriptor;
  /* No process can connect before listen, so the mode is right when the first peer connects. */
  int code = bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0 ? errno : 0;
  if (code == 0) {
    if (chmod(path, 0600) != 0 || listen(descriptor, 64) != 0) {
      code = errno;
      unlink(path);
    }
  }
  if (code == 0) return descriptor;
  close(descriptor);
  return -code;
}

int njs_connect(const char *path) {
  struct sockaddr_un address;
  if (!njs_address(path, &address)) return -ENAMETOOLONG;
  int descriptor = open_socket();
  if (descriptor < 0) return descriptor;
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int code = errno;
  close(descriptor);
  return -code;
}

int njs_accept(int listener) {
#ifdef __linux__
  int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  return descriptor < 0 ? -errno : descriptor;
#else
  return prepared(accept(listener, NULL, NULL));
#endif
}

bool njs_peer_is_this_user(int descriptor) {
#ifdef __linux__
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof peer
    && peer.uid == geteuid();
#else
  uid_t user;
  gid_t group;
  return getpeereid(descriptor, &user, &group) == 0 && user == geteuid();
#endif
}

bool njs_adopt_listener(int descriptor) {
  struct sockaddr_storage local = {0};
  int type = 0, listens = 0;
  socklen_t size = sizeof local;
  if (getsockname(descriptor, (struct sockaddr *)&local, &size) != 0 || local.ss_family != AF_UNIX) return false;
  size = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM
    && getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0
    && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0;
}
