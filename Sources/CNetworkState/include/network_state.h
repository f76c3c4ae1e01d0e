/* network_state.h - the system calls and the bus messages that report the state of the network.
 *
 * All descriptors are close-on-exec and non-blocking. */
#ifndef CNETWORKSTATE_H
#define CNETWORKSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- netlink(7), rtnetlink(7) --- */

/* Opens a netlink socket for requests. If `notifies`, the socket also receives the changes of links, addresses and
 * routes. Returns a descriptor, or a negative errno value. */
int cns_netlink_open(bool notifies);

typedef enum cns_table { CNS_LINKS = 0, CNS_ADDRESSES = 1, CNS_ROUTES = 2 } cns_table;
/* Requests all entries of a table. Returns 0 or an errno value. */
int cns_netlink_request(int descriptor, cns_table table, uint32_t sequence);

/* Receives one datagram of the kernel, and discards the datagrams of other senders. Returns the number of bytes written
 * to `buffer`; 0 if no datagram has arrived; a negative errno value on failure: -ENOBUFS if datagrams were lost. */
ssize_t cns_netlink_receive(int descriptor, void *buffer, size_t capacity);

/* --- Clocks --- */

/* Returns CLOCK_BOOTTIME minus CLOCK_MONOTONIC in nanoseconds. The difference grows while the machine is asleep. */
int64_t cns_clock_difference(void);

/* Opens a descriptor that becomes readable when the machine resumes from sleep or the date is set (timerfd_create(2),
 * TFD_TIMER_CANCEL_ON_SET). Returns a descriptor, or a negative errno value. */
int cns_clock_watch_open(void);
/* Makes the descriptor wait for the next event. */
void cns_clock_watch_rearm(int descriptor);

/* --- TCP --- */

/* Sends a keep-alive probe after the connection has been idle for one second, and then each second. Without a response
 * to three probes, the socket fails with ETIMEDOUT. Returns 0 or an errno value. */
int cns_probe_start(int descriptor);
void cns_probe_stop(int descriptor);
/* Returns the milliseconds since the peer has last acknowledged data or a probe; -1 if unknown. */
int64_t cns_probe_silence(int descriptor);

/* --- NetworkManager, by libdbus-1, which is loaded on first use and never unloaded --- */

typedef struct cns_manager cns_manager;
typedef struct cns_manager_state {
  uint32_t metered;      /* NMMetered */
  uint32_t connectivity; /* NMConnectivityState */
  char type[64];         /* PrimaryConnectionType; empty: none */
} cns_manager_state;

/* Connects to the system bus. Blocks until the bus has accepted the connection. Returns NULL if the library or the bus
 * is not available. A connection is used by one thread at a time. */
cns_manager *cns_manager_open(void);
void cns_manager_close(cns_manager *manager);
/* The descriptor becomes readable when messages arrive. Owned by the manager. */
int cns_manager_descriptor(const cns_manager *manager);

typedef enum cns_event {
  CNS_NOTHING,
  CNS_CHANGED, /* read the state again */
  CNS_LOST,    /* the connection has ended; close it */
} cns_event;
/* Handles the messages that have arrived. Does not block. */
cns_event cns_manager_dispatch(cns_manager *manager);
/* Reads the properties. Waits up to one second. Returns false if NetworkManager is not running or does not respond. */
bool cns_manager_read(cns_manager *manager, cns_manager_state *state);

#endif
