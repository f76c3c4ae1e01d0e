/* metatable.h - the types of userdata and their metatables. A type is identified by the address of its name, not by
 * its text. */
#ifndef NJL_METATABLE_H
#define NJL_METATABLE_H

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/annotations.h"

/* The types of userdata. Their names appear in messages. */
extern const char NJL_CLIENT[], NJL_CALLER[], NJL_LIST[], NJL_PAGE[], NJL_DECISION[], NJL_COOKIES[], NJL_MOCK[],
    NJL_CACHE[], NJL_ENDPOINTS[], NJL_ENDPOINT[], NJL_LOAN[], NJL_REPLY[], NJL_DECISION_LIST[], NJL_DEBOUNCED[],
    NJL_THROTTLED[], NJL_RESPONSE[], NJL_HEADERS[], NJL_ERROR[], NJL_TASK[], NJL_WAIT[], NJL_GROUP[], NJL_DIGEST[],
    NJL_GATE[], NJL_CLOCK[], NJL_PIPE[], NJL_PROCESS[], NJL_RESOURCE[], NJL_CHANGES[],
    NJL_RECORDS[], NJL_EVENTS[], NJL_EVENT[], NJL_WEBSOCKET[], NJL_DOWNLOAD[], NJL_UPLOAD[],
    NJL_MESSAGE_OF_SOCKET[], NJL_API_RESOURCE[], NJL_OBSERVER[], NJL_SNAPSHOT[], NJL_TOKEN_STORE[];

void njl_set_type(lua_State *L, const char *type); /* sets the type of the userdata on top */
void *njl_test(lua_State *L, int index, const char *type); /* returns NULL if the value has another type */
void *njl_check(lua_State *L, int index, const char *type) NJL_RAISES; /* like njl_test, but raises an argument error */
/* pushes the metatable of the type, which the first call creates with `meta` */
void njl_push_metatable(lua_State *L, const char *type, const luaL_Reg *meta) NJL_RAISES;
/* Creates the metatable of a type, once. Reading an unknown field calls `unknown`, which raises. If `unknown` is NULL,
 * unknown fields are nil. */
void njl_add_type(lua_State *L, const char *type, const luaL_Reg *meta, const luaL_Reg *methods,
                  lua_CFunction unknown) NJL_RAISES;
/* Makes the table on top of the stack weak: "k", "v" or "kv". */
void njl_make_weak(lua_State *L, const char *mode) NJL_RAISES;
/* Adds functions to the table at index `table`. They find their host with njl_host_of. */
void njl_add_functions(lua_State *L, int table, const luaL_Reg *functions) NJL_RAISES;

#endif
