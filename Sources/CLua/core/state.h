/* state.h - a Lua state of our own. script.c creates and runs it, memory.c counts its memory, and stopping.c ends its runs. */
#ifndef NJL_STATE_H
#define NJL_STATE_H

#include "core/core.h"

/* State of warn(), as in lua.c. */
typedef struct njl_warnings {
  bool are_on;
  bool continues; /* the next piece belongs to the message that has begun */
} njl_warnings;

struct njl_script {
  lua_State *L;
  njl_host *host;
  njl_script_options options;
  njl_blocks blocks;    /* no longer in use */
  size_t memory;        /* in use */
  njl_budget *budget;   /* memory in use outside of Lua; NULL: there is no limit */
  size_t large;         /* bytes of `memory` in blocks of LARGE_BLOCK bytes and more */
  size_t unseen;        /* bytes allocated since the allocator last requested a check */
  uint64_t allocations; /* made */
  bool has_arguments;   /* the table `arg` was set */
  int exit_status;      /* of the program that ran last */
  njl_warnings warnings;
};

/* Bytes. One instruction that copies, compares or searches a block of this size takes about 0.1 ms. */
#define LARGE_BLOCK ((size_t)1 << 20)

/* Bytes whose copying counts as one instruction. */
enum { BYTES_PER_STEP = 64 };

/* memory.c */
bool njl_open_budget(njl_script *script); /* false: out of memory */
void *njl_allocate(void *script, void *block, size_t old_size, size_t size); /* a lua_Alloc */
size_t njl_most_kept(size_t limit);

/* stopping.c */
void njl_watch(njl_script *script, lua_State *L); /* calls the hook every HOOK_STEP instructions */
/* Counts `steps`, and has the limits checked at the next instruction. Does not raise, so that the allocator can call it. */
void njl_look_soon(njl_script *script, uint64_t steps);

#endif
