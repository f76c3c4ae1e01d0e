/* Counts the heap allocations of the process by replacing malloc. Only for measurements, not for the library. */
#ifndef NIGHTJAR_ALLOCATION_COUNT_H
#define NIGHTJAR_ALLOCATION_COUNT_H

#include <stdint.h>

/* Returns the number of allocations since the process started. A realloc counts as one. Not thread-safe. */
uint64_t nightjar_allocation_count(void);

#endif
