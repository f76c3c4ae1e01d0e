/**
 * Descriptors for SwiftNIO, which ends the process when it cannot create those of an event loop, and creates sockets that the
 * programs a host starts would inherit.
 *
 * The link step of libnightjar and of the nightjar command wraps the system calls that NIO makes (`--wrap`, see
 * scripts/build-library): an event loop gets descriptors that were created and checked before, and every descriptor is
 * close-on-exec from its creation. Programs that SwiftPM links have no such wrappers. There NIO makes the calls itself: the
 * descriptors of a loop are checked shortly before they are created, and sockets are inherited.
 */
#ifndef NIGHTJAR_DESCRIPTORS_H
#define NIGHTJAR_DESCRIPTORS_H

#include <stdbool.h>

/** The descriptors of one event loop, each -1 if there is none. */
typedef struct {
  int epoll;
  int event;
  int timer;
} njd_loop;

/** Creates the descriptors of an event loop. Returns 0, or the system's error number; then there are none. */
int njd_loop_open(njd_loop *loop);

/** Closes those that are still there. */
void njd_loop_close(njd_loop *loop);

/**
 * Runs `body` so that the event loop that it creates on this thread uses these descriptors, which it then owns. Those that
 * are not taken when `njd_loop_created` is called are closed.
 */
void njd_loop_use(const njd_loop *loop);

/** Ends the effect of `njd_loop_use` on this thread. */
void njd_loop_created(void);

/** Whether this program was linked with the wrappers. */
bool njd_wraps(void);

#endif
