/* timers.c - waits with a deadline in a pairing heap, linked through the waits themselves. Adding a timer allocates
 * nothing, so it cannot fail. */
#include <time.h>

#include "core/clock.h"
#include "core/timers.h"

njl_moment njl_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (njl_moment)now.tv_sec * 1000000000u + (njl_moment)now.tv_nsec;
}

/* Returns the deadline `seconds` from now; NJL_NEVER if `seconds` is NaN or at least 1e9. */
njl_moment njl_deadline_after(double seconds) {
  if (!(seconds < 1e9)) return NJL_NEVER;
  if (seconds < 0) seconds = 0;
  return njl_now() + (njl_moment)(seconds * 1e9);
}

njl_moment njl_host_now(const njl_host *host) { return host->clock != NULL ? njl_clock_now(host->clock) : njl_now(); }

njl_moment njl_host_deadline_after(const njl_host *host, double seconds) {
  if (!(seconds < 1e9)) return NJL_NEVER;
  return njl_host_now(host) + (seconds > 0 ? (njl_moment)(seconds * 1e9) : 0);
}

/* Merges two heaps. `heap_previous` is the parent of a first child, else the previous sibling. */
static njl_wait *meld(njl_wait *a, njl_wait *b) {
  if (a == NULL) return b;
  if (b == NULL) return a;
  if (b->deadline < a->deadline) {
    njl_wait *swap = a;
    a = b;
    b = swap;
  }
  b->heap_next = a->heap_child;
  if (b->heap_next != NULL) b->heap_next->heap_previous = b;
  b->heap_previous = a;
  a->heap_child = b;
  return a;
}

/* Merges a list of siblings in two passes. Does not recurse: a heap of a million timers must not need a deep C
 * stack. */
static njl_wait *meld_all(njl_wait *first) {
  njl_wait *pairs = NULL;
  while (first != NULL) {
    njl_wait *a = first, *b = a->heap_next;
    first = b != NULL ? b->heap_next : NULL;
    a->heap_next = NULL;
    if (b != NULL) b->heap_next = NULL;
    a = meld(a, b);
    a->heap_next = pairs;
    pairs = a;
  }
  njl_wait *root = NULL;
  while (pairs != NULL) {
    njl_wait *next = pairs->heap_next;
    pairs->heap_next = NULL;
    root = meld(root, pairs);
    pairs = next;
  }
  if (root != NULL) root->heap_previous = NULL;
  return root;
}

void njl_timer_add(njl_wait *wait) {
  if (wait->deadline == NJL_NEVER) return;
  wait->heap_child = wait->heap_next = wait->heap_previous = NULL;
  wait->host->timers = meld(wait->host->timers, wait);
}

/* Adds `span` to all deadlines, which preserves the heap order. Visits parents before children, without recursion. The
 * root's `heap_next` is undefined. */
void njl_timers_shift(njl_host *host, int64_t span) {
  njl_wait *root = host->timers;
  for (njl_wait *wait = root; wait != NULL;) {
    bool is_before = span < 0 && wait->deadline < (njl_moment)-span;
    wait->deadline = is_before ? 0 : wait->deadline + (njl_moment)span;
    if (wait->heap_child != NULL) {
      wait = wait->heap_child;
      continue;
    }
    while (wait != root && wait->heap_next == NULL) {
      while (wait->heap_previous->heap_child != wait) wait = wait->heap_previous;
      wait = wait->heap_previous; /* the parent */
    }
    wait = wait != root ? wait->heap_next : NULL;
  }
}

void njl_timer_remove(njl_wait *wait) {
  if (wait->deadline == NJL_NEVER) return;
  njl_host *host = wait->host;
  njl_wait *rest = meld_all(wait->heap_child);
  if (host->timers == wait) {
    host->timers = rest;
  } else {
    if (wait->heap_previous->heap_child == wait) wait->heap_previous->heap_child = wait->heap_next;
    else wait->heap_previous->heap_next = wait->heap_next;
    if (wait->heap_next != NULL) wait->heap_next->heap_previous = wait->heap_previous;
    host->timers = meld(host->timers, rest);
  }
  wait->deadline = NJL_NEVER;
  wait->heap_child = wait->heap_next = wait->heap_previous = NULL;
}
