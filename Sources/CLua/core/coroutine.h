/* coroutine.h - coroutines of a script that support waits. */
#ifndef NJL_COROUTINE_H
#define NJL_COROUTINE_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"

/* Like lua_resetthread, but limits the depth of the C stack: Lua 5.4.4 does not count C levels there, so closers
 * that close other coroutines could overflow the stack. Waits of the closers block. */
int njl_close_coroutine(njl_host *host, lua_State *co);
void njl_open_coroutine(lua_State *L) NJL_RAISES;

#endif
