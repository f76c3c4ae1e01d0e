/* task_end.h - the end of tasks. */
#ifndef NJL_TASK_END_H
#define NJL_TASK_END_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/task.h"

/* Handles the end of the task's function, which has returned or failed. The task ends when its children have ended. */
void njl_task_finish(lua_State *L, njl_task *task) NJL_RAISES;

#endif
