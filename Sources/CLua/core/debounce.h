/* debounce.h - debounced and throttled functions. */
#ifndef NJL_DEBOUNCE_H
#define NJL_DEBOUNCE_H

#include <lua5.4/lua.h>

#include "core/annotations.h"

int njl_debounce(lua_State *L) NJL_RAISES;
int njl_throttle(lua_State *L) NJL_RAISES;
void njl_open_debounce(lua_State *L) NJL_RAISES;

#endif
