/* nightjar_uv.h - runs the callbacks of an nj_queue in a loop of libuv, for Node.js addons, Neovim and other programs.
 *
 *     nj_queue *queue = nj_queue_new();
 *     uv_poll_t watcher;
 *     nightjar_uv_start(uv_default_loop(), &watcher, queue);
 *     ...
 *     nightjar_uv_stop(&watcher, closed);
 *     nj_queue_free(queue);
 *
 * Ownership: the caller owns the watcher and the queue. The watcher borrows the queue; its `data` is the queue.
 * Thread:    the callbacks run on the thread that runs the loop. A callback must not call uv_run.
 * Removal:   nightjar_uv_stop first, then nj_queue_free; both also inside of a callback. The memory of the watcher must
 *            stay valid until the loop has called `closed`.
 *
 * The watcher keeps uv_run running, also without calls in progress, until nightjar_uv_stop or uv_unref. */
#ifndef NIGHTJAR_UV_H
#define NIGHTJAR_UV_H

#include <nightjar.h>
#include <uv.h>

/* One call runs callbacks for at most 10 ms. The descriptor then stays readable, so the loop calls this again. */
static inline void nightjar_uv_poll(uv_poll_t *watcher, int status, int events) {
  (void)status, (void)events;
  nj_queue_poll((nj_queue *)watcher->data, 0);
}

/* Starts watching a queue. Returns 0 or an error of libuv, such as UV_EBADF if the system has no descriptor left. After
 * an error, the watcher must not be stopped. */
static inline int nightjar_uv_start(uv_loop_t *loop, uv_poll_t *watcher, nj_queue *queue) {
  int descriptor = nj_queue_fd(queue);
  if (descriptor < 0) return UV_EBADF;
  int status = uv_poll_init(loop, watcher, descriptor);
  if (status != 0) return status;
  watcher->data = queue;
  return uv_poll_start(watcher, UV_READABLE, nightjar_uv_poll); /* fails only for a closed watcher */
}

/* Stops watching. `closed` may be NULL. */
static inline void nightjar_uv_stop(uv_poll_t *watcher, uv_close_cb closed) {
  uv_poll_stop(watcher);
  uv_close((uv_handle_t *)watcher, closed);
}

#endif
