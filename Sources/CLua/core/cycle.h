/* cycle.h - circular waits (deadlocks). */
#ifndef NJL_CYCLE_H
#define NJL_CYCLE_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"

/* Ends one wait that could never end otherwise and makes its task ready. Returns false if there is no such wait. Called
 * while the loop is idle and calls for subrequests are in progress. */
bool njl_break_cycle(njl_host *host);
int njl_raise_cycle(lua_State *L, const njl_host *host) NJL_RAISES; /* raises the ended wait's error */

#endif
