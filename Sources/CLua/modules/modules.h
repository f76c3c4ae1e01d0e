/* modules.h - the table nightjar and the standard modules. */
#ifndef NJL_MODULES_H
#define NJL_MODULES_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"

/* pipe.c */
void njl_add_pipes(lua_State *L, int table) NJL_RAISES;
void njl_add_reader(lua_State *L, int table) NJL_RAISES; /* adds the functions that read lines */
/* Pushes a closed pipe. njl_pipe_set opens it and takes ownership of the descriptor. */
void njl_pipe_push(lua_State *L, njl_host *host) NJL_RAISES;
void njl_pipe_set(lua_State *L, int index, int descriptor);
void njl_pipe_set_stream(lua_State *L, int index, int descriptor); /* for an opened named pipe or device */

/* process.c */
void njl_end_processes(lua_State *L) NJL_RAISES; /* ends all child processes of the state */

/* exit.c */
void njl_open_exit(lua_State *L) NJL_RAISES;

/* require.c */
void njl_open_require(lua_State *L) NJL_RAISES;

/* modules.c */
void njl_open_modules(lua_State *L) NJL_RAISES;    /* adds the modules to the table nightjar on top */
void njl_preload_modules(lua_State *L) NJL_RAISES; /* makes require "nightjar.NAME" work */
/* `name` is "nightjar.NAME"; returns false if the module does not exist or is not available to this script */
bool njl_push_module(lua_State *L, const char *name) NJL_RAISES;

/* natives.c */
void njl_push_natives(lua_State *L) NJL_RAISES;
/* Calls a private Lua text of a module with the table at `table`, and stores its result there as `field`. `name` is the
 * text's chunk name. */
void njl_add_part(lua_State *L, int table, const char *field, const char *name, const char *text,
                  size_t length) NJL_RAISES;

/* base64.c */
void njl_push_base64(lua_State *L, const uint8_t *bytes, size_t length, bool is_url, bool has_padding) NJL_RAISES;

/* environment.c */
int njl_is_secret(lua_State *L) NJL_RAISES; /* lua_CFunction */
int njl_redact(lua_State *L) NJL_RAISES;    /* lua_CFunction */

/* The functions that open the modules, see modules.c. */
int njl_open_base64(lua_State *L) NJL_RAISES;
int njl_open_fs(lua_State *L) NJL_RAISES;
int njl_open_graphql(lua_State *L) NJL_RAISES;
int njl_open_outboxes(lua_State *L) NJL_RAISES;
int njl_open_transfers(lua_State *L) NJL_RAISES;
int njl_open_stdin(lua_State *L) NJL_RAISES;
int njl_open_process(lua_State *L) NJL_RAISES;
int njl_open_testing(lua_State *L) NJL_RAISES;
int njl_open_csv(lua_State *L) NJL_RAISES;
int njl_open_hash(lua_State *L) NJL_RAISES;
int njl_open_uuid(lua_State *L) NJL_RAISES;
int njl_open_time(lua_State *L) NJL_RAISES;
int njl_open_url(lua_State *L) NJL_RAISES;
int njl_open_log(lua_State *L) NJL_RAISES;
int njl_open_network(lua_State *L) NJL_RAISES;
int njl_open_env(lua_State *L) NJL_RAISES;

/* module.c */
int luaopen_nightjar(lua_State *L) NJL_RAISES;

#define NJL_VERSION "0.1.0"

#endif
