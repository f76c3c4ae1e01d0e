/* Counts this process's heap allocations, by standing before glibc's malloc. For measurements, never for the library. */
#ifndef NIGHTJAR_ALLOCATION_COUNT_H
#define NIGHTJAR_ALLOCATION_COUNT_H

#include <stdint.h>

/* Allocations since the start of the process; a realloc counts as one. Meant for one thread. */
uint64_t nightjar_allocation_count(void);

#endif
