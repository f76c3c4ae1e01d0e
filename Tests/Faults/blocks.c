/* blocks.c - tests the memory pool of Lua states with random calls: contents must be preserved, and unused blocks
 * freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/blocks.h"

static void expect(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "blocks: %s\n", what);
  exit(1);
}

static unsigned random_number(void) {
  static unsigned long long state = 88172645463325252ULL; /* so that a failure comes again */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 11);
}

typedef struct piece {
  unsigned char *bytes, content;
  size_t size;
} piece;

static void check(const piece *piece, const unsigned char *bytes, size_t size) {
  for (size_t at = 0; at < size; at += size > 64 ? 37 : 1) expect(bytes[at] == piece->content, "content is lost");
}

/* Sizes of three kinds in turn: small, any, and typical of short responses. */
static void random_calls(size_t most) {
  static const unsigned largest[] = {60, 20000, 1200};
  enum { PIECES = 600, CALLS = 60000 };
  static piece pieces[PIECES];
  njl_blocks blocks = {.most = most};
  memset(pieces, 0, sizeof pieces);
  for (int call = 0; call < CALLS; call++) {
    piece *one = &pieces[random_number() % PIECES];
    size_t size = random_number() % 3 == 0 ? 0 : random_number() % largest[call / 10000 % 3] + 1;
    check(one, one->bytes, one->size);
    unsigned char *moved = njl_blocks_resize(&blocks, one->bytes, one->size, size);
    check(one, moved, size < one->size ? size : one->size);
    *one = (piece){moved, (unsigned char)call, size};
    if (size > 0) memset(moved, one->content, size);
    expect(blocks.bytes <= most, "the pool exceeds its limit");
  }
  for (int index = 0; index < PIECES; index++) njl_blocks_resize(&blocks, pieces[index].bytes, pieces[index].size, 0);
  njl_blocks_free(&blocks);
  expect(blocks.bytes == 0, "the pool is not empty at the end");
}

/* Large blocks fill the pool once; small blocks that are requested repeatedly must then replace them. */
static void idle_blocks_go(void) {
  enum { MOST = 256 * 1024, LARGE = 16 * 1024, COUNT = 1000 };
  njl_blocks blocks = {.most = MOST};
  void *pieces[COUNT];
  for (int index = 0; index < 32; index++) pieces[index] = njl_blocks_resize(&blocks, NULL, 0, LARGE);
  for (int index = 0; index < 32; index++) njl_blocks_resize(&blocks, pieces[index], LARGE, 0);
  expect(blocks.bytes > MOST - 2 * LARGE, "large blocks are not pooled");
  for (int round = 0; round < 2; round++) {
    for (int index = 0; index < COUNT; index++) pieces[index] = njl_blocks_resize(&blocks, NULL, 0, 56);
    for (int index = 0; index < COUNT; index++) njl_blocks_resize(&blocks, pieces[index], 56, 0);
  }
  expect(blocks.bytes == COUNT * 56, "large blocks are not replaced by small ones");
  njl_blocks_free(&blocks);
}

int main(void) {
  for (size_t most = 0; most <= 256 * 1024; most = most == 0 ? 4096 : most * 8) random_calls(most);
  idle_blocks_go();
  return 0;
}
