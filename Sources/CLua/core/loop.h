/* loop.h - the event loop, which polls for ended calls and resumes the tasks that waited for them. */
#ifndef NJL_LOOP_H
#define NJL_LOOP_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"

void njl_make_ready(njl_task *task);
void njl_make_first(njl_task *task); /* puts the task at the front of the ready list */
/* Runs one turn of the loop: ends waits, then runs at most `most` tasks. Returns false if no event can ever occur. */
bool njl_turn(lua_State *L, njl_host *host, size_t most) NJL_RAISES;
/* Runs the loop until the task has ended. Needs LUA_MINSTACK free slots. */
void njl_run(lua_State *L, njl_host *host, njl_task *task) NJL_RAISES;

/* Called after njl_turn has returned false. Returns whether some tasks wait for the virtual clock, which no task
 * advances. */
bool njl_is_deadlocked(const njl_host *host);
int njl_raise_deadlock(lua_State *L, bool stands_still) NJL_RAISES;

#endif
