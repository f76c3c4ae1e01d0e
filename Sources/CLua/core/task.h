/* task.h - tasks: coroutines that the loop resumes. */
#ifndef NJL_TASK_H
#define NJL_TASK_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/wait.h"
#include "njl_callbacks.h"
#include "njl_subrequests.h"

typedef enum njl_state_of_task {
  NJL_NEW,       /* not resumed yet */
  NJL_SUSPENDED, /* in a wait */
  NJL_RUNNING,   /* on the C stack, possibly in a wait that could not yield */
  NJL_ENDING,    /* its function has returned, but not all of its children have ended */
  NJL_ENDED,     /* its results or its error are in the user value NJL_TASK_RESULT */
} njl_state_of_task;

/* A coroutine that the loop resumes, or the main chunk of a stock interpreter (then `thread` is NULL). It is a
 * userdata with the user values NJL_TASK_THREAD and so on. The host anchors it at least until it has ended. */
struct njl_task {
  njl_host *host;
  lua_State *thread;
  /* children are cancelled when their parent fails or is cancelled; otherwise the parent ends after its children */
  njl_task *parent, *first_child, *previous, *next;
  lua_Integer number; /* greater than the numbers of all tasks spawned earlier */
  size_t unended; /* children that have not ended */
  njl_task *failed; /* the first child whose error has not been observed; anchored */
  njl_task *next_ready; /* the next task in the ready list; after the end, in the list of finished tasks of its group */
  njl_wait *wait; /* the current wait */
  njl_wait *joiners; /* waits for the end of this task */
  njl_wait *group; /* notified when the task ends, see group.c */
  lua_Integer place; /* index in the group */
  njl_callback *callback; /* the decision request that the task handles (callbacks.c); released when the task ends */
  njl_subrequest *subrequest; /* the subrequest that the task handles (subrequest.c); released when the task ends */
  njl_future *upload; /* owned: the call whose body the task sends (body_function.c); fails if the task ends before */
  njl_state_of_task state;
  int status;    /* a Lua status, or NJL_WAS_CANCELLED */
  int results;   /* the number of results; before the first resume, of the arguments on the thread */
  bool is_ready; /* in the ready list */
  bool is_cancelled;
  bool is_closing;  /* its <close> variables are being closed; they may wait although the task is cancelled */
  bool is_observed; /* a task joins it now or later, so its error is not lost */
  /* interrupted by Ctrl-C: its code raises at each instruction, except in the closers of variables */
  bool is_interrupted;
  uint64_t search;                   /* the last search (cycle.c) that visited the task */
  njl_task *sought_by, *next_sought; /* links in that search */
};

#define NJL_WAS_CANCELLED (-1)
/* NJL_TASK_RESULT holds the error, the only result, or a list of several results. The thread of a task that has
 * ended is never read, because a script can get hold of the thread and change it. */
enum { NJL_TASK_THREAD = 1, NJL_TASK_GROUP, NJL_TASK_TRACEBACK, NJL_TASK_RESULT, NJL_TASK_VALUES = NJL_TASK_RESULT };

/* Creates a child of the current task from the function and the arguments on top of the stack and replaces them by
 * the task's userdata. The task starts in a later turn of the loop, never immediately. */
njl_task *njl_task_spawn(lua_State *L, njl_host *host, int arguments) NJL_RAISES;
/* Calls `begin` with the light userdata `arrival`, a pointer to a struct with a decision request or a subrequest.
 * `begin` spawns a child of the root task, which takes ownership of the request, and sets the request in the struct to
 * NULL. If the request is not NULL afterwards, no task was spawned, and the caller must release the request. */
void njl_task_begin(lua_State *L, njl_host *host, lua_CFunction begin, void *arrival);
void njl_task_cancel(njl_task *task);                    /* cancels the task and all its descendants */
void njl_task_leave(njl_task *task);                     /* removes the task from its parent's list */
/* makes the task a child of the script's main task, or of the root if no main task is running */
void njl_task_leave_to_script(njl_task *task);
/* releases the decision request, the subrequest and the upload, which fail if they are still pending */
void njl_task_drop_work(njl_task *task);
/* In the next two functions, `index` is the stack index of the task's userdata. */
/* returns the number of results; the task must have ended without an error */
int njl_task_push_results(lua_State *L, int index) NJL_RAISES;
void njl_task_push_error(lua_State *L, int index) NJL_RAISES;  /* the task must have ended with an error */
bool njl_is_callable(lua_State *L, int index) NJL_RAISES;
void njl_check_callable(lua_State *L, int index, const char *role) NJL_RAISES;
void njl_open_task(lua_State *L) NJL_RAISES;
int njl_spawn(lua_State *L) NJL_RAISES;
int njl_sleep(lua_State *L) NJL_YIELDS;

#endif
