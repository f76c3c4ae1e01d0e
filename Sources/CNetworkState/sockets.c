#define _GNU_SOURCE
#include "network_state.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int64_t nanoseconds(clockid_t clock) {
  struct timespec now = {0};
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cns_clock_difference(void) { return nanoseconds(CLOCK_BOOTTIME) - nanoseconds(CLOCK_MONOTONIC); }

/* Sets the timer to the year 2255, because the kernel's times end in 2262. After a change of the clock, setting the
 * timer fails with ECANCELED but takes effect (timerfd_create(2)). */
static void arm(int descriptor) {
  struct itimerspec end = {.it_value = {.tv_sec = 9000000000}};
  timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &end, NULL);
}

int cns_clock_watch_open(void) {
  int descriptor = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (descriptor < 0) return -errno;
  arm(descriptor);
  return descriptor;
}

void cns_clock_watch_rearm(int descriptor) {
  uint64_t count;
  ssize_t ignored = read(descriptor, &count, sizeof count);
  (void)ignored; /* fails with ECANCELED */
  arm(descriptor);
}

static int set(int descriptor, int level, int option, int value) {
  return setsockopt(descriptor, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

int cns_probe_start(int descriptor) {
  int code = set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  if (code == 0) code = set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
  if (code == 0) code = set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  /* Last, because this option starts the timer. */
  if (code == 0) code = set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  return code;
}

void cns_probe_stop(int descriptor) { set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 0); }

/* Returns a member of the state of a TCP connection; -1 if it is unknown. */
static int64_t tcp_state(int descriptor, size_t offset) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  uint32_t value;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
  if (length < offset + sizeof value) return -1;
  memcpy(&value, (const char *)&info + offset, sizeof value);
  return value;
}

int64_t cns_probe_silence(int descriptor) {
  return tcp_state(descriptor, offsetof(struct tcp_info, tcpi_last_ack_recv));
}

int64_t cns_round_trip(int descriptor) { return tcp_state(descriptor, offsetof(struct tcp_info, tcpi_rtt)); }

/* The port is chosen by connect(2), so that connections to different peers can have the same port (ip(7)). */
static int bind_without_port(int descriptor, const struct sockaddr *address, socklen_t length) {
  set(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  return bind(descriptor, address, length) == 0 ? 0 : errno;
}

static bool is_link_local(const struct sockaddr *address) {
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int bind_to_address_of(int descriptor, const char *interface) {
  int family = 0;
  socklen_t length = sizeof family;
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &length) != 0) return errno;
  struct ifaddrs *list, *found = NULL;
  if (getifaddrs(&list) != 0) return errno;
  int code = ENODEV;
  for (struct ifaddrs *entry = list; entry; entry = entry->ifa_next) {
    if (strcmp(entry->ifa_name, interface) != 0) continue;
    code = EADDRNOTAVAIL;
    if (!entry->ifa_addr || entry->ifa_addr->sa_family != family) continue;
    /* A link-local address is used only if there is no other. */
    if (!found || is_link_local(found->ifa_addr)) found = entry;
  }
  if (found) {
    length = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    code = bind_without_port(descriptor, found->ifa_addr, length);
  }
  freeifaddrs(list);
  return code;
}

int cns_bind_interface(int descriptor, const char *interface, bool has_address) {
  if (setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, interface, (socklen_t)strlen(interface)) == 0) return 0;
  return errno == EPERM && !has_address ? bind_to_address_of(descriptor, interface) : errno;
}

int cns_bind_address(int descriptor, const uint8_t *address, size_t length, const char *interface) {
  if (length == sizeof(struct in_addr)) {
    struct sockaddr_in local = {.sin_family = AF_INET};
    memcpy(&local.sin_addr, address, length);
    return bind_without_port(descriptor, (const struct sockaddr *)&local, sizeof local);
  }
  struct sockaddr_in6 local = {.sin6_family = AF_INET6};
  if (length != sizeof local.sin6_addr) return EINVAL;
  memcpy(&local.sin6_addr, address, length);
  if (interface && IN6_IS_ADDR_LINKLOCAL(&local.sin6_addr)) local.sin6_scope_id = if_nametoindex(interface);
  return bind_without_port(descriptor, (const struct sockaddr *)&local, sizeof local);
}
