/* memory.h - the memory of a script, counted against its limit. */
#ifndef NJL_MEMORY_H
#define NJL_MEMORY_H

#include <lua5.4/lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Memory outside of Lua that is held for a script counts against the script's limit. njl_charge_memory returns false if
 * the limit would be exceeded. */
bool njl_limits_memory(lua_State *L);
bool njl_charge_memory(lua_State *L, size_t bytes);
void njl_discharge_memory(lua_State *L, size_t bytes);
size_t njl_memory_left(lua_State *L); /* SIZE_MAX: no limit */
/* Runs a full collection if little memory is left under the limit and much is in use outside of Lua. The collector does
 * not count the memory outside of Lua. */
void njl_make_room(lua_State *L);

#endif
