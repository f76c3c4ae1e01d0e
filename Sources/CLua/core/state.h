/* state.h - a Lua state with limits. script.c creates and runs it, memory.c counts its memory, stopping.c ends its
 * runs. */
#ifndef NJL_STATE_H
#define NJL_STATE_H

#include "core/host.h"
#include "core/loop.h"
#include "njl_script.h"

/* State of warn(), as in lua.c. */
typedef struct njl_warnings {
  bool are_on;
  bool continues; /* the next piece continues the current message */
} njl_warnings;

struct njl_script {
  lua_State *L;
  njl_host *host;
  njl_script_options options;
  size_t memory;        /* in use by Lua, or counted by njl_charge_memory */
  njl_budget *budget;   /* the memory limit and the memory counted against it; NULL: no limit */
  size_t large;         /* bytes of `memory` in blocks of LARGE_BLOCK bytes and more */
  size_t unseen;        /* allocated since the last check that the allocator requested */
  uint64_t allocations; /* number of allocations requested */
  bool has_arguments;   /* the table `arg` was set */
  bool is_running;      /* from njl_script_prepare to the end of the run */
  njl_deadlock deadlock; /* of the run in steps */
  int exit_status;      /* returned by the last program that ran without an error */
  njl_warnings warnings;
};

/* Bytes. One instruction that copies, compares or searches a block of this size takes about 0.1 ms. */
#define LARGE_BLOCK ((size_t)1 << 20)

/* Copying this many bytes counts as one instruction. */
enum { BYTES_PER_STEP = 64 };

/* memory.c */
bool njl_open_budget(njl_script *script); /* false: out of memory */
void *njl_allocate(void *script, void *block, size_t old_size, size_t size); /* a lua_Alloc */

/* stopping.c */
void njl_watch(njl_script *script, lua_State *L); /* checks limits while `L` runs, if the script is interruptible */
/* Counts `steps` and makes the next instruction check the limits, if a sandboxed and interruptible script is running.
 * Never raises, so that the allocator can call it. */
void njl_poll_soon(njl_script *script, uint64_t steps);

#endif
