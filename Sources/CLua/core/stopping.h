/* stopping.h - ends runs at limits and interrupts. */
#ifndef NJL_STOPPING_H
#define NJL_STOPPING_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"
#include "njl_script.h"

/* stops the host; callable from any thread and from signal handlers; `reason` is a static string */
void njl_stop(njl_host *host, const char *reason);
/* Counts instructions. Stops the host if they exceed a limit, or if the run has exceeded its time limit. */
void njl_charge(njl_host *host, uint64_t instructions);
/* Instructions charged for starting a coroutine. The hook is usually called every 1000 instructions, so the
 * instructions of short coroutines would otherwise not be counted. */
#define NJL_START_CHARGE 100

/* Ends the code that runs in `L` with a yield or an error, because the host is stopped or the task was interrupted. If
 * the code catches the error, its next instruction raises the error again. Returns only in a hook. */
int njl_raise_stopped(lua_State *L, njl_host *host) NJL_YIELDS;
/* Limits the instructions of the closers that `L` has yet to run. */
void njl_arm_stopped(njl_host *host, lua_State *L);
void njl_disarm(lua_State *L); /* removes the limit set by njl_arm_stopped */
/* Marks a coroutine that failed while the host was stopped. Its closers never run: Lua may have turned off its hooks,
 * so no limit would apply to them. */
void njl_abandon(lua_State *L);
bool njl_is_abandoned(lua_State *L);
/* Counts the work of a C function as `steps` instructions. Ends the running code if a limit is exceeded or the host
 * is stopped. */
void njl_spend(lua_State *L, njl_host *host, uint64_t steps) NJL_YIELDS;
void njl_script_interrupt_from_signal(njl_script *script); /* called on the thread that runs the script */
void njl_script_wake(njl_script *script);                  /* any thread */

#endif
