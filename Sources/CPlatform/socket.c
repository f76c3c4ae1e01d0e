#include "cplatform.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#ifdef __linux__
#include <linux/sockios.h>
#endif

/* Older versions of macOS lack the flag. There, SwiftNIO and CLocalSocket prevent SIGPIPE when they create a socket. */
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

ssize_t cplatform_send(int descriptor, const void *bytes, size_t count, bool waits) {
  return send(descriptor, bytes, count, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
}

int cplatform_unacknowledged(int descriptor) {
  int count = 0;
#ifdef __linux__
  return ioctl(descriptor, SIOCOUTQ, &count) == 0 ? count : -1;
#else
  socklen_t size = sizeof count;
  return getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 ? count : -1;
#endif
}
