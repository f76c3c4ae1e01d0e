/* The source of a body whose bytes another thread provides. */
#ifndef LATE_SOURCE_H
#define LATE_SOURCE_H

#include <nightjar.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

typedef struct late_source {
  pthread_mutex_t lock;
  int available, taken;
  int waits; /* how often a read found no bytes */
  bool is_complete;
  void (*resume)(void *subject); /* continues the body */
  void *subject;
} late_source;

enum { LATE_PARTS = 20, LATE_PART_SIZE = 1000 };

/* The result of a read callback. */
static int64_t late_source_read(late_source *self, void *buffer, size_t capacity) {
  pthread_mutex_lock(&self->lock);
  int64_t count = self->available - self->taken;
  if (count > (int64_t)capacity) count = (int64_t)capacity;
  if (count == 0 && !self->is_complete) {
    self->waits++;
    count = NJ_READ_LATER;
  }
  if (count > 0) {
    memset(buffer, 'x', (size_t)count);
    self->taken += (int)count;
  }
  pthread_mutex_unlock(&self->lock);
  return count;
}

/* The body of the thread. Provides the first part after a read has found no bytes. */
static void *late_source_provide(void *context) {
  late_source *self = context;
  for (int part = 0; part < LATE_PARTS;) {
    usleep(1000);
    pthread_mutex_lock(&self->lock);
    bool is_read = self->waits > 0;
    if (is_read) {
      self->available += LATE_PART_SIZE;
      self->is_complete = ++part == LATE_PARTS;
    }
    pthread_mutex_unlock(&self->lock);
    if (is_read) self->resume(self->subject);
  }
  return NULL;
}

#endif
