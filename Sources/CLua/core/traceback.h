/* traceback.h - tracebacks of failed tasks. */
#ifndef NJL_TRACEBACK_H
#define NJL_TRACEBACK_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/task.h"

/* Records that the error on top of the stack, raised in the task at `index`, is passed to another task. If the error
 * ends that task too, both tracebacks are shown. */
void njl_remember_reported(lua_State *L, int index) NJL_RAISES;
/* Pushes an empty table for the error that was last passed to another task. Called once, by njl_host_open. */
void njl_push_reported(lua_State *L) NJL_RAISES;
/* Stores the traceback of the task, which has just failed. */
void njl_keep_traceback(lua_State *L, njl_task *task);

#endif
