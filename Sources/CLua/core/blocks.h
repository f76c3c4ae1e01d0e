/* blocks.h - a pool of freed memory blocks. */
#ifndef NJL_BLOCKS_H
#define NJL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

enum { NJL_BLOCK_CLASSES = 64 };
typedef struct njl_block njl_block;
typedef struct njl_blocks {
  njl_block *kept[NJL_BLOCK_CLASSES];
  bool is_used[NJL_BLOCK_CLASSES]; /* since the last sweep */
  size_t bytes, most;              /* bytes in the pool, and the limit */
  size_t misses;                   /* since the last sweep */
} njl_blocks;
/* Like realloc, or free if `size` is 0, but uses the pool. `memory` is NULL or was returned by this function. */
void *njl_blocks_resize(njl_blocks *blocks, void *memory, size_t old_size, size_t size);
void njl_blocks_free(njl_blocks *blocks); /* frees the pooled blocks */

#endif
