/* interrupt.c - Ctrl-C in a session. The first Ctrl-C ends the evaluation in the foreground. If there is no evaluation,
 * or if the evaluation does not end, Ctrl-C ends the task whose code is running. If there is neither an evaluation nor
 * a running task, Ctrl-C ends the wait of the program that reads the terminal. */
#include <stdatomic.h>

#include "core/interrupt.h"
#include "core/task.h"
#include "core/wait.h"

static bool is_below(const njl_task *task, const njl_task *root) {
  for (; task != NULL; task = task->parent) {
    if (task == root) return true;
  }
  return false;
}

/* Returns whether the task or an ancestor was interrupted; false while the task closes variables. */
static bool is_interrupted(const njl_task *task) {
  if (task->is_closing) return false;
  for (; task != NULL; task = task->parent) {
    if (task->is_interrupted) return true;
  }
  return false;
}

bool njl_is_stopped(const njl_host *host) {
  return atomic_load(&host->is_stopped) || (host->is_session && is_interrupted(host->current));
}

static void interrupt(njl_task *task) {
  task->is_interrupted = true;
  njl_task_cancel(task);
}

/* Ends the program's wait for a line. */
static void report(njl_host *host) {
  njl_task *program = host->script;
  if (host->attends && program != NULL && program->wait != NULL) njl_wait_end(program->wait, NJL_EXPIRED);
}

bool njl_take_interrupt(njl_host *host, bool computes) {
  if (!host->is_session || !atomic_exchange(&host->is_interrupted, false)) return false;
  njl_script_catch_again();
  njl_task *foreground = host->foreground;
  if (foreground != NULL && foreground->state != NJL_ENDED && !foreground->is_interrupted) {
    interrupt(foreground);
  } else if (computes && host->current != host->script && host->current != &host->root && !host->current->is_closing) {
    interrupt(host->current);
  } else if (foreground == NULL) {
    host->was_interrupted = true;
    report(host);
  }
  return true;
}

void njl_session_task_failed(njl_host *host, const njl_task *parent) {
  if (host->is_session && parent == host->script) report(host);
}

bool njl_is_followed(const njl_host *host) {
  return host->foreground != NULL && is_below(host->current, host->foreground);
}
