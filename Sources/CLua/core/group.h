/* group.h - runs functions concurrently: all, race, map, timeout. */
#ifndef NJL_GROUP_H
#define NJL_GROUP_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/task.h"

int njl_all(lua_State *L) NJL_YIELDS;
int njl_race(lua_State *L) NJL_YIELDS;
int njl_map(lua_State *L) NJL_YIELDS;
int njl_timeout(lua_State *L) NJL_YIELDS;
typedef struct njl_group_options {
  lua_Integer concurrency;
  bool collects_errors;
  bool numbers_errors; /* each error carries the index of its request */
} njl_group_options;
#define NJL_CONCURRENCY 6 /* the maximum number of HTTP/1.1 connections that browsers open to one host */
/* Reads the option whose name and value are on top of the stack. Raises an error if the option is unknown or
 * invalid. */
void njl_read_group_option(lua_State *L, const char *function, njl_group_options *options) NJL_RAISES;
/* Runs map for the list at index 1 and the function at index 2. The stack contains nothing else, except for options
 * at index 3. */
int njl_run_map(lua_State *L, const njl_group_options *options) NJL_YIELDS;
void njl_group_child_ended(njl_wait *group, njl_task *child);

#endif
