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
 * routes. Returns a descriptor, or a negative errno value: -EAFNOSUPPORT if the system has no netlink. */
int cns_netlink_open(bool notifies);

typedef enum cns_table { CNS_LINKS = 0, CNS_ADDRESSES = 1, CNS_ROUTES = 2 } cns_table;
/* Requests all entries of a table. Returns 0 or an errno value. */
int cns_netlink_request(int descriptor, cns_table table, uint32_t sequence);

/* Receives one datagram of the kernel, and discards the datagrams of other senders. Returns the number of bytes written
 * to `buffer`; 0 if no datagram has arrived; a negative errno value on failure: -ENOBUFS if datagrams were lost. */
ssize_t cns_netlink_receive(int descriptor, void *buffer, size_t capacity);

/* --- Clocks --- */

/* Returns the time since the system was started minus the time that it was awake, in nanoseconds. */
int64_t cns_clock_difference(void);

/* Opens a descriptor that becomes readable when the machine resumes from sleep or the date is set (timerfd_create(2),
 * TFD_TIMER_CANCEL_ON_SET). Returns a descriptor, or a negative errno value: -ENOTSUP if the system is not Linux. */
int cns_clock_watch_open(void);
/* Makes the descriptor wait for the next event. */
void cns_clock_watch_rearm(int descriptor);

/* --- TCP --- */

/* Sends a keep-alive probe after the connection has been idle for one second, and then each second. Without a response
 * to three probes, the socket fails with ETIMEDOUT. Returns 0 or an errno value: ENOTSUP if the system does not report
 * responses to probes. */
int cns_probe_start(int descriptor);
void cns_probe_stop(int descriptor);
/* Returns the milliseconds since the peer has last acknowledged data or a probe; -1 if unknown. */
int64_t cns_probe_silence(int descriptor);
/* Returns the smoothed round-trip time in microseconds; -1 if unknown. */
int64_t cns_round_trip(int descriptor);

/* Makes an unconnected TCP socket use an interface. Without the privilege for this, and if `has_address` is false, binds
 * the socket to an address of the interface and of the socket's family instead. Returns 0 or an errno value: ENODEV for
 * an unknown interface, EADDRNOTAVAIL if the interface has no address of the family. */
int cns_bind_interface(int descriptor, const char *interface, bool has_address);
/* Binds an unconnected TCP socket to a local address of 4 or 16 bytes in network order. `interface` is the scope of a
 * link-local IPv6 address; NULL: none. Returns 0 or an errno value. */
int cns_bind_address(int descriptor, const uint8_t *address, size_t length, const char *interface);

/* --- NetworkManager and the desktop portal, by libdbus-1, which is loaded on first use and never unloaded --- */

typedef enum cns_source {
  CNS_NETWORK_MANAGER = 0, /* org.freedesktop.NetworkManager on the system bus */
  CNS_PORTAL = 1,          /* org.freedesktop.portal.NetworkMonitor on the session bus, which sandboxed programs reach */
} cns_source;

typedef struct cns_service cns_service;
/* The value of a number that the service does not report. */
#define CNS_ABSENT UINT32_MAX
typedef struct cns_service_state {
  uint32_t available;    /* portal: 0 or 1 */
  uint32_t metered;      /* NetworkManager: NMMetered; portal: 0 or 1 */
  uint32_t connectivity; /* NetworkManager: NMConnectivityState; portal: 1 local, 2 limited, 3 captive portal, 4 full */
  char type[64];         /* NetworkManager: PrimaryConnectionType; empty: none */
} cns_service_state;

/* Connects to the bus of a source: DBUS_SYSTEM_BUS_ADDRESS or the standard path; DBUS_SESSION_BUS_ADDRESS or the socket
 * "bus" in XDG_RUNTIME_DIR. Only unix sockets are used. Starts neither a bus nor a service. Waits up to two seconds
 * for the bus. Returns NULL if the library or the bus is not available. A connection is used by one thread at a time. */
cns_service *cns_service_open(cns_source source);
void cns_service_close(cns_service *service);
/* The descriptor becomes readable when messages arrive. Owned by the service. */
int cns_service_descriptor(const cns_service *service);

typedef enum cns_event {
  CNS_NOTHING,
  CNS_CHANGED, /* read the state again */
  CNS_LOST,    /* the connection has ended; close it */
} cns_event;
/* Handles the messages that have arrived. Does not block. */
cns_event cns_service_dispatch(cns_service *service);
/* Reads the state. Waits up to one second. Returns false if the service is not running, does not respond, or denies the
 * request. */
bool cns_service_read(cns_service *service, cns_service_state *state);

#endif
