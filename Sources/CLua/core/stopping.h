/* stopping.h - ends runs at limits and interrupts. */
#ifndef NJL_STOPPING_H
#define NJL_STOPPING_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"
#include "njl_script.h"

/* stops the host; callable from any thread and from signal handlers; `reason` is a static string */
void njl_stop(njl_host *host, const char *reason);
/* Counts instructions and stops the host when they exceed a limit. */
void njl_charge(njl_host *host, uint64_t instructions);
/* Instructions charged for starting a coroutine. The hook is called only every 1000 instructions, so short
 * coroutines would otherwise count nothing. */
#define NJL_START_CHARGE 100

/* Ends the code that runs in `L` because the host was stopped, by a yield or by an error, and again at each further
 * instruction of this coroutine. Returns only in a hook. */
int njl_raise_stopped(lua_State *L, njl_host *host) NJL_YIELDS;
/* Limits the instructions of the closers that `L` still runs. */
void njl_arm_stopped(njl_host *host, lua_State *L);
void njl_disarm(lua_State *L); /* The closers that `L` still runs are not limited. */
/* Marks a coroutine that failed while the host was stopped. Its closers never run, because hooks may be off in it. */
void njl_abandon(lua_State *L);
bool njl_is_abandoned(lua_State *L);
/* Counts the work of a C function as `steps` instructions. Ends the running code if a limit is exceeded or the host
 * is stopped. */
void njl_spend(lua_State *L, njl_host *host, uint64_t steps) NJL_YIELDS;
void njl_script_interrupt_from_signal(njl_script *script); /* called on the thread that runs the script */
void njl_script_wake(njl_script *script);                  /* any thread */

#endif
