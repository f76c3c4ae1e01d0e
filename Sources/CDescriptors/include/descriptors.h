/** Creates the descriptors that SwiftNIO uses. SwiftNIO ends the process if it cannot create the descriptors of an
 * event loop, and it creates sockets that child processes of the host would inherit.
 *
 * The link step of libnightjar and of the nightjar command wraps the system calls that NIO makes (`--wrap`, see
 * scripts/build-library). An event loop gets descriptors that were created and checked beforehand, and every
 * descriptor is close-on-exec from its creation. Programs linked by SwiftPM do not have these wrappers: the library
 * checks that descriptors can be created, shortly afterwards NIO creates its own, and child processes inherit the
 * sockets. */
#ifndef NIGHTJAR_DESCRIPTORS_H
#define NIGHTJAR_DESCRIPTORS_H

#include <stdbool.h>

/** The descriptors of one event loop, each -1 if there is none. */
typedef struct {
  int epoll; /* a kqueue on macOS, where the others are -1 */
  int event;
  int timer;
} njd_loop;

/** Creates the descriptors of an event loop. Returns 0 or an errno value; on an error all descriptors are -1. */
int njd_loop_open(njd_loop *loop);

/** Closes the descriptors that are not -1, and sets them to -1. */
void njd_loop_close(njd_loop *loop);

/** Passes these descriptors to the next event loop that is created on this thread. The caller no longer owns them.
 * Descriptors that the event loop did not take are closed by `njd_loop_created`, or immediately in a program without
 * the wrappers. */
void njd_loop_use(const njd_loop *loop);

/** Closes the descriptors that `njd_loop_use` passed on this thread and that no event loop has taken. */
void njd_loop_created(void);

/** Replaces a descriptor 0, 1 or 2 by a higher one with close-on-exec. Other descriptors are returned unchanged.
 * Without this replacement, a program that runs with its standard streams closed would use the library's descriptors
 * as its standard streams.
 *
 * @param descriptor  closed if it is 0, 1 or 2, even if it cannot be replaced; -1 is returned with errno unchanged
 * @return -1 with errno if no descriptor is available */
int njd_above_standard(int descriptor);

/** Returns whether this program was linked with the wrappers. */
bool njd_wraps(void);

#endif
