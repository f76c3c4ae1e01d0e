/* clock.h - the virtual clock of nightjar.testing. */
#ifndef NJL_CLOCK_H
#define NJL_CLOCK_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"

njl_moment njl_clock_now(const njl_clock *clock);
/* Advances the host's clock to the next timer, or to the end of a clock:advance that ends earlier. Called when all
 * tasks wait and no call is in flight. Returns false if the clock stands still: no task advances the clock, and the
 * clock does not advance automatically, or no timer is set. */
bool njl_clock_step(njl_host *host);
void njl_add_clock(lua_State *L) NJL_RAISES; /* adds the clock to nightjar.testing, on top of the stack */

#endif
