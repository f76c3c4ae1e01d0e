/* interrupt.h - Ctrl-C: in a session (interrupt.c) and as a signal (sigint.c). */
#ifndef NJL_INTERRUPT_H
#define NJL_INTERRUPT_H

#include "core/host.h"

/* Returns whether the running code must end: the host is stopped, or Ctrl-C has interrupted the task. */
bool njl_is_stopped(const njl_host *host);
/* Handles Ctrl-C in a session. `computes`: called while code of a task is running. Returns false if Ctrl-C was not
 * typed since the last call. */
bool njl_take_interrupt(njl_host *host, bool computes);
/* Returns whether the running task is the foreground task of the session or a descendant of it. The session shows the
 * progress of the calls of these tasks. */
bool njl_is_followed(const njl_host *host);
/* Ends the wait of the session's program if `parent` is that program. Called when a child of `parent` has failed and no
 * task has joined the child. */
void njl_session_task_failed(njl_host *host, const njl_task *parent);

/* Installs the signal handler again. Called for each Ctrl-C in a session, because the signal resets the handler. */
void njl_script_catch_again(void);

#endif
