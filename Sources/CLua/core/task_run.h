/* task_run.h - resumes tasks. */
#ifndef NJL_TASK_RUN_H
#define NJL_TASK_RUN_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/task.h"

/* Runs the task until it waits or ends. Ends a cancelled task. Does nothing if the task is neither new nor
 * suspended. */
void njl_task_step(lua_State *L, njl_task *task) NJL_RAISES;

#endif
