/** Local (Unix domain) stream sockets between processes of one user. Swift's Glibc module lacks parts of their headers. */
#ifndef NIGHTJAR_LOCAL_SOCKET_H
#define NIGHTJAR_LOCAL_SOCKET_H

#include <stdbool.h>

/** Listens on a local socket that only its owner can connect to. The path must not exist. Returns a descriptor that does not
 * block, or a negative errno value. */
int njs_listen(const char *path);

/** Connects to a local socket. Returns a descriptor that does not block, or a negative errno value: EAGAIN if too many peers
 * wait. */
int njs_connect(const char *path);

/** Accepts a connection. Returns a descriptor that does not block, or a negative errno value. */
int njs_accept(int listener);

/** Returns whether the process at the other end of a local socket runs as this user. */
bool njs_peer_is_this_user(int descriptor);

/** Lets a local stream socket that listens not block, and closes it on exec. Returns false if the descriptor is another one. */
bool njs_adopt_listener(int descriptor);

#endif
