/* sigint.c - Ctrl-C ends the run in progress. Used only by the command; the library leaves signals to its host.
 *
 * A signal handler may neither lock a mutex nor signal a condition variable. This handler makes the interpreter raise
 * an error at its next instruction. It also posts a semaphore for a thread that wakes the interpreter from a wait. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/interrupt.h"
#include "core/stopping.h"
#include "njl_script.h"

static njl_script *_Atomic target;
static atomic_bool was_interrupted;
static sem_t bell;
static pthread_mutex_t target_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous;

static void interrupted(int number) {
  (void)number;
  njl_script *script = atomic_load(&target);
  if (script == NULL) return;
  atomic_store(&was_interrupted, true);
  njl_script_interrupt_from_signal(script);
  sem_post(&bell);
}

/* Installs the signal handler for one Ctrl-C. A second Ctrl-C ends the process, in case a C function does not return,
 * unless njl_script_catch_again has installed the handler again. */
static void set_handler(struct sigaction *former) {
  struct sigaction action = {.sa_handler = interrupted, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
  sigaction(SIGINT, &action, former);
}

bool njl_script_was_interrupted(void) { return atomic_load(&was_interrupted); }

void njl_script_catch_again(void) {
  if (atomic_load(&target) != NULL) set_handler(NULL);
}

static void *wait_for_bell(void *unused) {
  for (;;) {
    if (sem_wait(&bell) != 0) continue;
    pthread_mutex_lock(&target_lock);
    njl_script *script = atomic_load(&target);
    if (script != NULL) njl_script_wake(script);
    pthread_mutex_unlock(&target_lock);
  }
  return unused;
}

/* Starts the thread that wakes the interpreter. The thread blocks all signals, so that they are handled by the thread
 * that runs the script. */
static void start_waiting(void) {
  sigset_t all, before;
  pthread_t thread;
  sem_init(&bell, 0, 0);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&thread, NULL, wait_for_bell, NULL) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void njl_script_catch_interrupt(njl_script *script) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_waiting);
  atomic_store(&target, script);
  set_handler(&previous);
}

void njl_script_release_interrupt(void) {
  sigaction(SIGINT, &previous, NULL);
  pthread_mutex_lock(&target_lock);
  atomic_store(&target, NULL);
  pthread_mutex_unlock(&target_lock);
}
