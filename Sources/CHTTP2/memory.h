/* memory.h - the memory of one session of libnghttp2. Keeps small blocks for reuse. */
#ifndef CHTTP2_MEMORY_H
#define CHTTP2_MEMORY_H

#include <nghttp2/nghttp2.h>

enum { CH2_MEMORY_CLASSES = 24 };

typedef struct ch2_memory {
  struct block *free[CH2_MEMORY_CLASSES]; /* free blocks of 16 * index bytes */
  size_t held; /* the size of the free blocks in bytes */
} ch2_memory;

/* Returns the functions for libnghttp2. `self` must outlive the session. */
nghttp2_mem ch2_memory_functions(ch2_memory *self);
/* Releases the free blocks. */
void ch2_memory_release(ch2_memory *self);

#endif
