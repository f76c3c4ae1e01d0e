/* blocks.c - a pool of memory blocks freed by a script, reused for its next allocations.
 *
 * The collector frees hundreds of blocks at once. malloc's thread cache keeps only seven blocks of each size, up to
 * 1 KiB; other requests take malloc's slow path. The pool has size classes: up to 264 bytes the sizes of malloc's
 * own chunks, above that eight classes for each power of two, so that at most one eighth of a block is unused. */
#include <stdlib.h>
#include <string.h>

#include "core/blocks.h"

struct njl_block {
  njl_block *next;
};

/* Larger blocks are not pooled. With AddressSanitizer, no block is pooled, so that it sees each allocation and free. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LARGEST 0
#endif
#endif
#ifndef LARGEST
#define LARGEST (16384 + 8)
#endif

/* The number of pool misses between two sweeps, which free the classes unused since the last sweep. */
enum { SWEEP_INTERVAL = 256 };

/* Returns the size class of a size. The block sizes are 24, 40, 56 and so on, in steps of 16 up to 264, then in steps
 * of 32 up to 520, and so on. malloc's chunks have 8 bytes of overhead. */
static size_t class_of(size_t size) {
  size_t last = size < 24 ? 15 : size - 9;
  if (last < 128) return last / 16;
  size_t doubling = 63 - (size_t)__builtin_clzll(last); /* of 128: 7 */
  return (doubling - 6) * 8 + (last >> (doubling - 3)) % 8;
}

static size_t size_of(size_t class) { return (class < 8 ? (class + 1) * 16 : (class % 8 + 9) << (class / 8 + 3)) + 8; }

static void drop(njl_blocks *blocks, size_t class) {
  while (blocks->kept[class] != NULL) {
    njl_block *block = blocks->kept[class];
    blocks->kept[class] = block->next;
    blocks->bytes -= size_of(class);
    free(block);
  }
}

/* Frees the blocks of unused classes to make room for others. */
static void drop_idle(njl_blocks *blocks) {
  for (size_t class = 0; class < NJL_BLOCK_CLASSES; class++) {
    if (!blocks->is_used[class]) drop(blocks, class);
    blocks->is_used[class] = false;
  }
  blocks->misses = 0;
}

static void *take(njl_blocks *blocks, size_t size) {
  if (size > LARGEST) return malloc(size);
  size_t class = class_of(size);
  njl_block *block = blocks->kept[class];
  if (block == NULL) {
    if (blocks->bytes > blocks->most / 2 && ++blocks->misses >= SWEEP_INTERVAL) drop_idle(blocks);
    return malloc(size_of(class));
  }
  blocks->kept[class] = block->next;
  blocks->bytes -= size_of(class);
  blocks->is_used[class] = true;
  return block;
}

static void give(njl_blocks *blocks, void *memory, size_t size) {
  if (memory == NULL) return;
  size_t class = class_of(size);
  if (size > LARGEST || blocks->bytes + size_of(class) > blocks->most) {
    free(memory);
    return;
  }
  njl_block *block = memory;
  block->next = blocks->kept[class];
  blocks->kept[class] = block;
  blocks->bytes += size_of(class);
}

static void *move(njl_blocks *blocks, void *memory, size_t old_size, size_t size) {
  if (old_size > LARGEST && size > LARGEST) return realloc(memory, size);
  if (old_size <= LARGEST && size <= LARGEST && class_of(old_size) == class_of(size)) return memory;
  void *moved = take(blocks, size);
  if (moved == NULL) return NULL;
  memcpy(moved, memory, old_size < size ? old_size : size);
  give(blocks, memory, old_size);
  return moved;
}

void *njl_blocks_resize(njl_blocks *blocks, void *memory, size_t old_size, size_t size) {
  if (size == 0) {
    give(blocks, memory, old_size);
    return NULL;
  }
  void *moved = memory == NULL ? take(blocks, size) : move(blocks, memory, old_size, size);
  if (moved != NULL || blocks->bytes == 0) return moved;
  njl_blocks_free(blocks); /* malloc may need this memory. */
  return memory == NULL ? take(blocks, size) : move(blocks, memory, old_size, size);
}

void njl_blocks_free(njl_blocks *blocks) {
  for (size_t class = 0; class < NJL_BLOCK_CLASSES; class++) drop(blocks, class);
}
