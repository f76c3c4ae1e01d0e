/* coroutine.h - coroutines of a script that support waits. */
#ifndef NJL_COROUTINE_H
#define NJL_COROUTINE_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"

/* Closes the coroutine with lua_resetthread and returns its status. If the coroutine was abandoned, does nothing and
 * returns LUA_OK. Waits of the closers block. Lua 5.4.4 does not count C levels here: if closers can close further
 * coroutines, the caller must check the depth of the C stack first. */
int njl_close_coroutine(njl_host *host, lua_State *co);
void njl_open_coroutine(lua_State *L) NJL_RAISES;

#endif
