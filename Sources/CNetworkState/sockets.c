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
#include <unistd.h>

static int set(int descriptor, int level, int option, int value) {
  return setsockopt(descriptor, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

int cns_probe_start(int descriptor) {
#ifdef __linux__
  int code = set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  if (code == 0) code = set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
  if (code == 0) code = set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  /* Last, because this option starts the timer. */
  if (code == 0) code = set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  return code;
#else
  (void)descriptor;
  return ENOTSUP;
#endif
}

void cns_probe_stop(int descriptor) { set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 0); }

#ifdef __linux__
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
#else
int64_t cns_probe_silence(int descriptor) {
  (void)descriptor;
  return -1;
}

int64_t cns_round_trip(int descriptor) {
  struct tcp_connection_info info;
  socklen_t length = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_CONNECTION_INFO, &info, &length) != 0) return -1;
  return (int64_t)info.tcpi_srtt * 1000; /* macOS reports milliseconds */
}
#endif

/* On Linux, the port is chosen by connect(2), so that connections to different peers can have the same port (ip(7)). */
static int bind_without_port(int descriptor, const struct sockaddr *address, socklen_t length) {
#ifdef IP_BIND_ADDRESS_NO_PORT
  set(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
#endif
  return bind(descriptor, address, length) == 0 ? 0 : errno;
}

/* Returns the address family of a socket; -1 with errno. */
static int family_of(int descriptor) {
  struct sockaddr_storage local = {0};
  socklen_t length = sizeof local;
  return getsockname(descriptor, (struct sockaddr *)&local, &length) == 0 ? local.ss_family : -1;
}

#ifdef __linux__
static bool is_link_local(const struct sockaddr *address) {
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int bind_to_address_of(int descriptor, const char *interface) {
  int family = family_of(descriptor);
  if (family < 0) return errno;
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
    socklen_t length = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    code = bind_without_port(descriptor, found->ifa_addr, length);
  }
  freeifaddrs(list);
  return code;
}

int cns_bind_interface(int descriptor, const char *interface, bool has_address) {
  if (setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, interface, (socklen_t)strlen(interface)) == 0) return 0;
  return errno == EPERM && !has_address ? bind_to_address_of(descriptor, interface) : errno;
}
#else
int cns_bind_interface(int descriptor, const char *interface, bool has_address) {
  (void)has_address; /* macOS requires no privilege */
  unsigned index = if_nametoindex(interface);
  if (index == 0) return ENODEV;
  if (family_of(descriptor) == AF_INET6) return set(descriptor, IPPROTO_IPV6, IPV6_BOUND_IF, (int)index);
  return set(descriptor, IPPROTO_IP, IP_BOUND_IF, (int)index);
}
#endif

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
