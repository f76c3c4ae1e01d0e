/* Calls that wait for a decision which a callback has kept. */
#ifndef DECISIONS_H
#define DECISIONS_H

#include "check.h"
#include <nightjar.h>

/* Stores the status of a response, or the negative kind of an error. */
static inline void store_status(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task;
  *(int *)context = response ? nj_response_status(response) : -(int)nj_error_kind(error);
}

/* Starts a GET request on a queue. */
static inline nj_task *start(nj_client *client, nj_queue *queue, const char *target, int *status) {
  nj_request *request = nj_request_new("GET", target);
  nj_task *task = nj_client_start(client, request, queue, store_status, status, NULL);
  CHECK(task != NULL);
  nj_request_free(request);
  return task;
}

/* Polls until the condition is true. */
#define POLL_UNTIL(queue, condition)                                   \
  do {                                                                 \
    while (!(condition) && nj_queue_poll(queue, 10) > 0) continue;     \
    CHECK(condition);                                                  \
  } while (0)

#endif
