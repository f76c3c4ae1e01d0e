/* gate.h - waits that modules in Lua end. */
#ifndef NJL_GATE_H
#define NJL_GATE_H

#include <lua5.4/lua.h>

#include "core/annotations.h"

void njl_add_gates(lua_State *L, int table) NJL_RAISES; /* adds the gate functions that modules in Lua use */

#endif
