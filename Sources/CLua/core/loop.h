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
/* Returns the time in seconds until the next deadline of a wait or of the run passes; negative: there is none. */
double njl_idle_time(const njl_host *host);

/* A deadlock in a run. */
typedef struct njl_deadlock {
  bool has_occurred;
  bool stands_still; /* some tasks wait for the virtual clock, which no task advances */
} njl_deadlock;

/* Runs one turn for a task that has not ended, and cancels the task if the host is stopped or in a deadlock. */
void njl_advance(lua_State *L, njl_host *host, njl_task *task, njl_deadlock *deadlock) NJL_RAISES;
/* Raises the error of a deadlock that has occurred. */
void njl_check_deadlock(lua_State *L, const njl_deadlock *deadlock) NJL_RAISES;
/* Runs the loop until the task has ended. Needs LUA_MINSTACK free slots. */
void njl_run(lua_State *L, njl_host *host, njl_task *task) NJL_RAISES;

/* Called after njl_turn has returned false. Returns whether some tasks wait for the virtual clock, which no task
 * advances. */
bool njl_is_deadlocked(const njl_host *host);
int njl_raise_deadlock(lua_State *L, bool stands_still) NJL_RAISES;

#endif
