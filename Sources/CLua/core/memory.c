/* memory.c - the memory of a script's state: Lua's memory, and memory held for the script outside of Lua. */
#include <lua5.4/lua.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/host.h"
#include "core/memory.h"
#include "core/state.h"
#include "njl_script.h"

struct njl_budget {
  size_t limit;
  atomic_size_t inside;  /* bytes counted by use(), on the thread that runs the script */
  atomic_size_t outside; /* bytes counted by njl_budget_take */
  atomic_int owners;
};

bool njl_open_budget(njl_script *script) {
  if (script->options.memory == 0) return true;
  script->budget = calloc(1, sizeof *script->budget);
  if (script->budget == NULL) return false;
  script->budget->limit = script->options.memory;
  atomic_store(&script->budget->owners, 1);
  return true;
}

njl_budget *njl_script_budget(njl_script *script) {
  if (script->budget != NULL) atomic_fetch_add(&script->budget->owners, 1);
  return script->budget;
}

void njl_budget_release(njl_budget *budget) {
  if (budget != NULL && atomic_fetch_sub(&budget->owners, 1) == 1) free(budget);
}

bool njl_budget_take(njl_budget *budget, size_t bytes) {
  size_t outside = atomic_load_explicit(&budget->outside, memory_order_relaxed);
  do {
    size_t inside = atomic_load_explicit(&budget->inside, memory_order_relaxed);
    size_t used = inside + outside;
    if (bytes > budget->limit || used > budget->limit - bytes) return false;
  } while (!atomic_compare_exchange_weak(&budget->outside, &outside, outside + bytes));
  return true;
}

void njl_budget_give(njl_budget *budget, size_t bytes) { atomic_fetch_sub(&budget->outside, bytes); }

static size_t outside(const njl_script *script) {
  return script->budget == NULL ? 0 : atomic_load_explicit(&script->budget->outside, memory_order_relaxed);
}

/* Returns the number of bytes left under the memory limit. */
static size_t left(const njl_script *script) {
  size_t limit = script->options.memory, used = script->memory + outside(script);
  if (limit == 0) return SIZE_MAX;
  return limit > used ? limit - used : 0;
}

static void use(njl_script *script, size_t memory) {
  script->memory = memory;
  if (script->budget != NULL) atomic_store_explicit(&script->budget->inside, memory, memory_order_relaxed);
}

static bool has_room(const njl_script *script, size_t bytes) {
  if (bytes > left(script)) return false;
  const njl_script_options *options = &script->options;
  if (options->allocations == 0 || script->allocations <= options->allocations) return true;
  return options->failures != 0 && script->allocations - options->allocations > options->failures;
}

/* Returns whether a finalizer may allocate beyond the limit. Lua does not repeat a finalizer that ran out of memory, so
 * its call or response would never be released. The host's finalizers need a few hundred bytes. */
static bool has_reserve(const njl_script *script, size_t bytes) {
  enum { RESERVE = 64 * 1024 };
  size_t limit = script->options.memory != 0 ? script->options.memory : SIZE_MAX - RESERVE;
  return script->L != NULL && njl_is_finalizing(script->L) && bytes <= RESERVE &&
         script->memory <= limit + RESERVE - bytes;
}

/* Makes the next instruction check the limits after large and failed allocations. The hook counts only instructions,
 * but an instruction takes long if it makes a large allocation, or if Lua runs a full collection after an allocation
 * failed. */
static void note(njl_script *script, size_t bytes, bool failed) {
  script->unseen += failed ? LARGE_BLOCK : bytes;
  if (bytes < LARGE_BLOCK && !failed && script->unseen < 4 * LARGE_BLOCK) return;
  njl_poll_soon(script, script->unseen / BYTES_PER_STEP);
  script->unseen = 0;
}

void *njl_allocate(void *context, void *block, size_t old_size, size_t size) {
  njl_script *script = context;
  if (block == NULL) old_size = 0; /* For a new block, Lua passes the object's kind. */
  if (size > old_size) { /* Lua requires that shrinking succeeds. */
    script->allocations++;
    bool fits = has_room(script, size - old_size) || has_reserve(script, size - old_size);
    note(script, size - old_size, !fits);
    if (!fits) return NULL;
  }
  void *moved = NULL;
  if (size > 0) {
    moved = realloc(block, size);
  } else {
    free(block);
  }
  if (moved == NULL && size > 0) return size <= old_size ? block : NULL;
  use(script, script->memory + size - old_size);
  if (old_size >= LARGE_BLOCK) script->large -= old_size;
  if (size >= LARGE_BLOCK) script->large += size;
  return moved;
}

/* Returns the script of the state, or NULL if the state is a stock one or has no limit. */
static njl_script *limited(lua_State *L) {
  void *context;
  if (lua_getallocf(L, &context) != njl_allocate) return NULL;
  njl_script *script = context;
  return script->options.memory != 0 ? script : NULL;
}

bool njl_limits_memory(lua_State *L) { return limited(L) != NULL; }

bool njl_charge_memory(lua_State *L, size_t bytes) {
  njl_script *script = limited(L);
  if (script == NULL) return true;
  if (bytes > left(script)) return false;
  use(script, script->memory + bytes);
  return true;
}

void njl_discharge_memory(lua_State *L, size_t bytes) {
  njl_script *script = limited(L);
  if (script != NULL) use(script, script->memory - bytes);
}

size_t njl_memory_left(lua_State *L) {
  const njl_script *script = limited(L);
  if (script == NULL) return SIZE_MAX;
  return left(script);
}

void njl_make_room(lua_State *L) {
  const njl_script *script = limited(L);
  if (script == NULL || !lua_gc(L, LUA_GCISRUNNING)) return;
  size_t limit = script->options.memory;
  if (left(script) < limit / 2 && outside(script) > limit / 8) lua_gc(L, LUA_GCCOLLECT);
}
