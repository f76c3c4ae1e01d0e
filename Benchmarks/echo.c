/* The WebSocket echo server of the benchmarks, on loopback. Prints its URL, and runs until it is killed.
 *
 * Serves only the clients of the benchmarks: each frame is a whole message that fits into the buffer of its connection,
 * and responses fit into the buffer of the socket. The server exits with an error otherwise. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct connection {
  int fd, is_open;
  size_t used;
  unsigned char bytes[16384];
} connection;

static int epoll_fd;

static void fail(const char *reason) {
  fprintf(stderr, "echo: %s\n", reason);
  exit(1);
}

/* SHA-1 of at most 119 bytes. RFC 3174. */
static void sha1(const char *text, unsigned char digest[20]) {
  uint32_t hash[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  unsigned char blocks[128] = {0};
  size_t length = strlen(text), count = length < 56 ? 1 : 2;
  memcpy(blocks, text, length);
  blocks[length] = 0x80;
  for (int i = 0; i < 8; i++) blocks[count * 64 - 1 - i] = (unsigned char)(length * 8 >> 8 * i);
  for (size_t block = 0; block < count; block++) {
    uint32_t w[80], a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4];
    for (int i = 0; i < 16; i++) {
      const unsigned char *at = blocks + block * 64 + i * 4;
      w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (int i = 16; i < 80; i++) {
      uint32_t x = w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16];
      w[i] = x << 1 | x >> 31;
    }
    for (int i = 0; i < 80; i++) {
      uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
      uint32_t k = i < 20 ? 0x5A827999 : i < 40 ? 0x6ED9EBA1 : i < 60 ? 0x8F1BBCDC : 0xCA62C1D6;
      uint32_t next = (a << 5 | a >> 27) + f + e + k + w[i];
      e = d, d = c, c = b << 30 | b >> 2, b = a, a = next;
    }
    hash[0] += a, hash[1] += b, hash[2] += c, hash[3] += d, hash[4] += e;
  }
  for (int i = 0; i < 20; i++) digest[i] = (unsigned char)(hash[i / 4] >> (24 - i % 4 * 8));
}

static void base64(const unsigned char digest[20], char text[29]) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int i = 0; i < 28; i++) {
    int bit = i * 6, byte = bit / 8;
    unsigned pair = (unsigned)digest[byte] << 8 | (byte + 1 < 20 ? digest[byte + 1] : 0);
    text[i] = i == 27 ? '=' : letters[pair >> (10 - bit % 8) & 63];
  }
  text[28] = 0;
}

static void send_all(connection *self, const void *bytes, size_t length) {
  ssize_t sent = send(self->fd, bytes, length, MSG_NOSIGNAL);
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return; /* the next read reports it */
  if (sent != (ssize_t)length) fail("the buffer of a socket is full");
}

/* Returns the number of bytes that were consumed. */
static size_t upgrade(connection *self) {
  self->bytes[self->used] = 0;
  char *text = (char *)self->bytes, *end = strstr(text, "\r\n\r\n");
  if (!end) return 0;
  char *key = strcasestr(text, "\r\nsec-websocket-key:"), source[64], accept[29], response[160];
  unsigned char digest[20];
  if (!key || key > end) fail("a request has no Sec-WebSocket-Key");
  key += strlen("\r\nsec-websocket-key:");
  while (*key == ' ') key++;
  snprintf(source, sizeof source, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
  sha1(source, digest);
  base64(digest, accept);
  int length = snprintf(response, sizeof response,
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
  send_all(self, response, (size_t)length);
  self->is_open = 1;
  return (size_t)(end + 4 - text);
}

/* Echoes the frame at `frame`. Returns the number of bytes that were consumed, 0 if the frame is not complete. */
static size_t echo(connection *self, unsigned char *frame, size_t available) {
  if (available < 2) return 0;
  size_t length = frame[1] & 0x7F, header = 2;
  int opcode = frame[0] & 0x0F;
  if (!(frame[1] & 0x80) || !(frame[0] & 0x80) || frame[0] & 0x70 || length == 127) fail("a frame is not supported");
  if (length == 126) {
    if (available < 4) return 0;
    length = (size_t)frame[2] << 8 | frame[3], header = 4;
  }
  if (available < header + 4 + length) return 0;
  unsigned char *payload = frame + header + 4;
  uint64_t mask = 0;
  memcpy(&mask, frame + header, 4);
  mask |= mask << 32;
  size_t at = 0;
  for (; at + 8 <= length; at += 8) {
    uint64_t word;
    memcpy(&word, payload + at, 8);
    word ^= mask;
    memcpy(payload + at, &word, 8);
  }
  for (; at < length; at++) payload[at] ^= (unsigned char)(mask >> at % 4 * 8);
  /* The header without the mask key takes the place of the end of the header with it. */
  unsigned char *response = payload - header;
  response[0] = (unsigned char)(0x80 | (opcode == 9 ? 10 : opcode));
  response[1] = (unsigned char)(header == 4 ? 126 : length);
  if (header == 4) response[2] = (unsigned char)(length >> 8), response[3] = (unsigned char)length;
  if (opcode != 10) send_all(self, response, header + length);
  if (opcode == 8) shutdown(self->fd, SHUT_WR);
  return header + 4 + length;
}

static void serve(connection *self) {
  ssize_t count = recv(self->fd, self->bytes + self->used, sizeof self->bytes - 1 - self->used, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) {
    close(self->fd);
    free(self);
    return;
  }
  self->used += (size_t)count;
  size_t start = 0, consumed;
  do {
    consumed = self->is_open ? echo(self, self->bytes + start, self->used - start) : upgrade(self);
    start += consumed;
  } while (consumed > 0 && start < self->used);
  self->used -= start;
  if (self->used == sizeof self->bytes - 1) fail("a message is too large");
  memmove(self->bytes, self->bytes + start, self->used);
}

/* Pins this process to the last processor. The scheduler would otherwise move it to a client's processor, where each
 * message interrupts the client: the results then differ by up to 40 %. */
static void pin(void) {
  cpu_set_t set;
  int last = 0;
  sched_getaffinity(0, sizeof set, &set);
  for (int i = 0; i < CPU_SETSIZE; i++) last = CPU_ISSET(i, &set) ? i : last;
  CPU_ZERO(&set);
  CPU_SET(last, &set);
  sched_setaffinity(0, sizeof set, &set);
}

int main(void) {
  pin();
  struct rlimit descriptors;
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 4096)) fail("the port is not available");
  getsockname(listener, (struct sockaddr *)&address, &length);
  printf("http://127.0.0.1:%d/\n", ntohs(address.sin_port));
  fflush(stdout);
  epoll_fd = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN}, events[64];
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int count = epoll_wait(epoll_fd, events, 64, -1);
    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr) {
        serve(events[i].data.ptr);
        continue;
      }
      connection *new = calloc(1, sizeof *new);
      new->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
      if (new->fd < 0) fail("a connection was not accepted");
      setsockopt(new->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      event.data.ptr = new;
      epoll_ctl(epoll_fd, EPOLL_CTL_ADD, new->fd, &event);
    }
  }
}
