/* blocks.c - memory that a script has let go of, kept for what it asks for next.
 *
 * A collector lets go by the hundred. Of that malloc keeps seven blocks of a size for the thread that frees them, and none above
 * a kilobyte; what else the next calls ask for goes through its slow half, one by one. Blocks are of classes of size: up to 264
 * bytes those of malloc's own chunks, above that eight for each doubling, so that at most an eighth of one is lost. */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

struct njl_block {
  njl_block *next;
};

/* What is larger is malloc's alone. So is everything with AddressSanitizer, which must see each block come and go. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LARGEST 0
#endif
#endif
#ifndef LARGEST
#define LARGEST (16384 + 8)
#endif

/* Asked in vain while much was kept: so often, and what was not asked for meanwhile goes. */
enum { PATIENCE = 256 };

/* 24, 40, 56 and so on, in steps of 16 up to 264, of 32 up to 520, ...: malloc's chunks have 8 bytes of their own. */
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

/* What is of no use leaves its place to what is. */
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
    if (blocks->bytes > blocks->most / 2 && ++blocks->misses >= PATIENCE) drop_idle(blocks);
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
  njl_blocks_free(blocks); /* It may be what malloc lacks. */
  return memory == NULL ? take(blocks, size) : move(blocks, memory, old_size, size);
}

void njl_blocks_free(njl_blocks *blocks) {
  for (size_t class = 0; class < NJL_BLOCK_CLASSES; class++) drop(blocks, class);
}
