#define _GNU_SOURCE /* pthread_setname_np */
#include "cplatform.h"

#include <errno.h>
#include <stdlib.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

typedef struct body {
  void (*run)(void *argument);
  void *argument;
} body;

static void *run_body(void *argument) {
  body started = *(body *)argument;
  free(argument);
  started.run(started.argument);
  return NULL;
}

cplatform_started_thread cplatform_start_thread(size_t stack_size, void (*run)(void *argument), void *argument) {
  cplatform_started_thread started = {.code = ENOMEM};
  body *copy = malloc(sizeof *copy);
  if (!copy) return started;
  *copy = (body){run, argument};
  pthread_attr_t attributes;
  started.code = pthread_attr_init(&attributes);
  if (started.code == 0) {
#ifdef __APPLE__
    /* The default of macOS is 512 KiB. */
    if (stack_size == 0) stack_size = 8 << 20;
#endif
    if (stack_size > 0) pthread_attr_setstacksize(&attributes, stack_size);
    started.code = pthread_create(&started.thread, &attributes, run_body, copy);
    pthread_attr_destroy(&attributes);
  }
  if (started.code != 0) free(copy);
  return started;
}

void cplatform_name_thread(const char *name) {
#ifdef __APPLE__
  pthread_setname_np(name);
#else
  pthread_setname_np(pthread_self(), name);
#endif
}

void cplatform_set_timer_slack(unsigned long nanoseconds) {
#ifdef __linux__
  prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
#else
  (void)nanoseconds;
#endif
}

void cplatform_init_condition(pthread_cond_t *condition) {
#ifdef __APPLE__
  pthread_cond_init(condition, NULL); /* cplatform_wait_until waits for a duration */
#else
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
#endif
}

void cplatform_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline) {
#ifdef __APPLE__
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct timespec left = {deadline->tv_sec - now.tv_sec, deadline->tv_nsec - now.tv_nsec};
  if (left.tv_nsec < 0) {
    left.tv_sec -= 1;
    left.tv_nsec += 1000000000;
  }
  if (left.tv_sec < 0) left = (struct timespec){0};
  pthread_cond_timedwait_relative_np(condition, mutex, &left);
#else
  pthread_cond_timedwait(condition, mutex, deadline);
#endif
}

void cplatform_discard_signal(int number) {
#ifdef __APPLE__
  (void)number;
#else
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, number);
  struct timespec at_once = {0};
  while (sigtimedwait(&signals, NULL, &at_once) == number) {}
#endif
}
