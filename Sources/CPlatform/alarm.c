#include "cplatform.h"

#ifdef __linux__
#include <sys/eventfd.h>
#include <unistd.h>

int cplatform_open_alarm(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void cplatform_close_alarm(int alarm, bool is_inherited) {
  (void)is_inherited;
  close(alarm);
}

void cplatform_set_alarm(int alarm) { eventfd_write(alarm, 1); }

void cplatform_clear_alarm(int alarm) {
  eventfd_t count;
  eventfd_read(alarm, &count);
}
#else
#include <errno.h>
#include <fcntl.h>
#include <sys/event.h>
#include <unistd.h>

/* A kqueue with one event that the program triggers. */

int cplatform_open_alarm(void) {
  int alarm = kqueue();
  if (alarm < 0) return -1;
  struct kevent event;
  EV_SET(&event, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL);
  if (fcntl(alarm, F_SETFD, FD_CLOEXEC) == 0 && kevent(alarm, &event, 1, NULL, 0, NULL) == 0) return alarm;
  int code = errno;
  close(alarm);
  errno = code;
  return -1;
}

void cplatform_close_alarm(int alarm, bool is_inherited) {
  if (!is_inherited) close(alarm);
}

void cplatform_set_alarm(int alarm) {
  struct kevent event;
  EV_SET(&event, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
  kevent(alarm, &event, 1, NULL, 0, NULL);
}

void cplatform_clear_alarm(int alarm) {
  struct kevent event;
  struct timespec at_once = {0};
  kevent(alarm, NULL, 0, &event, 1, &at_once);
}
#endif
