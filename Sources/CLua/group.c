/* group.c - all, race, map, timeout. */
#include "njl.h"

void njl_group_child_ended(njl_wait *group) { njl_wait_end(group, NJL_DONE); }
