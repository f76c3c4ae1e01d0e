#include "memory.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* libnghttp2 allocates 17 blocks for a request. malloc and free take 7 % of the instructions of the request for them. */
enum { LARGEST_HELD = 64 << 10 };

/* The blocks of a class have at least this size. The usable sizes of glibc's blocks are 24, 40, 56 and so on. Other
 * allocators, which a host may use, have other sizes. */
static size_t size_of(size_t class) { return 16 * class + 8; }

/* Returns the smallest class whose blocks have `size` bytes. */
static size_t class_for(size_t size) { return size <= size_of(1) ? 1 : (size + 7) / 16; }

static void *allocate(size_t size, void *context) {
  ch2_memory *self = context;
  size_t class = class_for(size);
  if (class < CH2_MEMORY_CLASSES && self->free[class]) {
    void *block = self->free[class];
    memcpy(&self->free[class], block, sizeof block);
    self->held -= size_of(class);
    return block;
  }
  return malloc(size);
}

static void release(void *block, void *context) {
  ch2_memory *self = context;
  if (!block) return;
  size_t size = malloc_usable_size(block), class = size < size_of(1) ? 0 : (size - 8) / 16;
  if (class == 0 || class >= CH2_MEMORY_CLASSES || self->held + size > LARGEST_HELD) return free(block);
  memcpy(block, &self->free[class], sizeof block);
  self->free[class] = block;
  self->held += size_of(class);
}

static void *allocate_zeroed(size_t count, size_t size, void *context) {
  if (size && count > SIZE_MAX / size) return NULL;
  void *block = allocate(count * size, context);
  return block ? memset(block, 0, count * size) : NULL;
}

static void *reallocate(void *block, size_t size, void *context) {
  (void)context;
  return realloc(block, size);
}

nghttp2_mem ch2_memory_functions(ch2_memory *self) {
  return (nghttp2_mem){self, allocate, release, allocate_zeroed, reallocate};
}

void ch2_memory_release(ch2_memory *self) {
  for (size_t class = 0; class < CH2_MEMORY_CLASSES; class ++) {
    while (self->free[class]) {
      void *block = self->free[class];
      memcpy(&self->free[class], block, sizeof block);
      free(block);
    }
  }
  self->held = 0;
}
