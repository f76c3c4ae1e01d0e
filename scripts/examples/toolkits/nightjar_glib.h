/* nightjar_glib.h - runs the callbacks of an nj_queue in a GMainContext of GLib, for GLib, GTK and GNOME programs.
 *
 *     nj_queue *queue = nj_queue_new();
 *     GSource *source = nightjar_glib_source_new(queue);
 *     g_source_attach(source, NULL);
 *     ...
 *     g_source_destroy(source);
 *     g_source_unref(source);
 *     nj_queue_free(queue);
 *
 * Ownership: the caller owns the source and the queue. The source borrows the queue.
 * Thread:    the callbacks run on the thread that iterates the context. In a nested main loop inside of a callback, the
 *            callbacks of the queue wait until the nested loop has ended, because GLib does not dispatch a source again.
 * Removal:   g_source_destroy first, then nj_queue_free; both also inside of a callback. nj_queue_free cancels the calls
 *            in progress and runs their callbacks. */
#ifndef NIGHTJAR_GLIB_H
#define NIGHTJAR_GLIB_H

#include <glib-unix.h>
#include <nightjar.h>

typedef struct nightjar_glib_source {
  GSource source; /* must be the first member */
  nj_queue *queue;
} nightjar_glib_source;

/* One call runs callbacks for at most 10 ms. The descriptor then stays readable, so the context calls this again. */
static inline gboolean nightjar_glib_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
  (void)callback, (void)data;
  nj_queue_poll(((nightjar_glib_source *)source)->queue, 0);
  return G_SOURCE_CONTINUE;
}

/* Returns a source that the caller attaches to a context, or NULL if the system has no descriptor left. Its priority is
 * G_PRIORITY_DEFAULT; g_source_set_priority changes it. */
static inline GSource *nightjar_glib_source_new(nj_queue *queue) {
  static GSourceFuncs functions = {NULL, NULL, nightjar_glib_dispatch, NULL, NULL, NULL};
  int descriptor = nj_queue_fd(queue);
  if (descriptor < 0) return NULL;
  GSource *source = g_source_new(&functions, sizeof(nightjar_glib_source));
  ((nightjar_glib_source *)source)->queue = queue;
  g_source_set_name(source, "nightjar");
  g_source_add_unix_fd(source, descriptor, G_IO_IN);
  return source;
}

#endif
