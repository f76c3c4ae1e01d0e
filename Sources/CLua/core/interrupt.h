/* interrupt.h - Ctrl-C: in a session (interrupt.c) and as a signal (sigint.c). */
#ifndef NJL_INTERRUPT_H
#define NJL_INTERRUPT_H

#include "core/host.h"

/* Whether the running code must end: the host is stopped, or Ctrl-C was typed in a session. */
bool njl_is_stopped(const njl_host *host);
/* Carries out the Ctrl-C of a session. `computes`: called in the middle of a task. Returns false if none was typed. */
bool njl_take_interrupt(njl_host *host, bool computes);
/* Whether a session shows the progress of the running task's calls. */
bool njl_is_followed(const njl_host *host);
/* A child of `parent` has failed, and no task has joined it. */
void njl_session_task_failed(njl_host *host, const njl_task *parent);

/* Called when a Ctrl-C has been handled: catches the next one, as njl_script_catch_interrupt does. */
void njl_script_catch_again(void);

#endif
