#define _GNU_SOURCE
#include "network_state.h"

#include <errno.h>

#ifdef __linux__
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int cns_netlink_open(bool notifies) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (descriptor < 0) return -errno;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK};
  if (notifies) {
    address.nl_groups =
        RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
  }
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int code = errno;
  close(descriptor);
  return -code;
}

int cns_netlink_request(int descriptor, cns_table table, uint32_t sequence) {
  static const uint16_t types[] = {RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE};
  /* The largest of the three headers; the kernel accepts a longer header than it needs. */
  struct {
    struct nlmsghdr header;
    struct ifinfomsg body;
  } request = {.header = {.nlmsg_len = sizeof request, .nlmsg_type = types[table],
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP, .nlmsg_seq = sequence}};
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  ssize_t sent = sendto(descriptor, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel);
  return sent < 0 ? errno : 0;
}

ssize_t cns_netlink_receive(int descriptor, void *buffer, size_t capacity) {
  for (;;) {
    struct sockaddr_nl sender;
    socklen_t length = sizeof sender;
    memset(&sender, 0, sizeof sender);
    ssize_t count = recvfrom(descriptor, buffer, capacity, 0, (struct sockaddr *)&sender, &length);
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN ? 0 : -errno;
    }
    /* Any process may send to this socket. The port of the kernel is 0. */
    if (count > 0 && sender.nl_pid == 0) return count;
  }
}
#else
/* Other systems have no netlink. */

int cns_netlink_open(bool notifies) {
  (void)notifies;
  return -EAFNOSUPPORT;
}

int cns_netlink_request(int descriptor, cns_table table, uint32_t sequence) {
  (void)descriptor, (void)table, (void)sequence;
  return EAFNOSUPPORT;
}

ssize_t cns_netlink_receive(int descriptor, void *buffer, size_t capacity) {
  (void)descriptor, (void)buffer, (void)capacity;
  return -EAFNOSUPPORT;
}
#endif
