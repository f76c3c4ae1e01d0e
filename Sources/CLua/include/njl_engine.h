/* njl_engine.h - the client side of a Lua state: its completion queue and its log lines. */
#ifndef NJL_ENGINE_H
#define NJL_ENGINE_H

#include "njl_types.h"

/* Preserves the process's disposition of SIGPIPE, which SwiftNIO otherwise ignores. For stock interpreters that load
 * the library. */
void njl_keep_signals(void);

/* Returns NULL if out of memory. */
njl_engine *njl_engine_new(void);
/* Cancels the calls in flight, waits until they have ended and discards them. */
void njl_engine_free(njl_engine *engine);
/* Handles pending events. Waits up to `timeout` seconds for the first event (negative: no limit). Writes the waits of
 * calls that have ended or have another event to `ended`, at most `capacity`, and returns their number. If the number
 * equals `capacity`, more waits may have events. */
size_t njl_engine_poll(njl_engine *engine, double timeout, njl_wait **ended, size_t capacity);
/* Returns whether the next poll returns at once, because a call has ended or has another event. */
bool njl_engine_has_ended(const njl_engine *engine);
/* Makes the current or the next poll return. Callable from any thread. */
void njl_engine_wake(njl_engine *engine);
/* Removes temporary files and creates no further ones. Called when the process is about to exit. */
void njl_engine_leave(njl_engine *engine);

/* One line of a client's log. `log` is the number of the client's listener. */
typedef struct njl_line {
  int64_t log;
  int level; /* a number of LogSink.Level */
  njl_bytes text;
} njl_line;

/* Returns the oldest log line that has arrived, borrowed until the next call. Returns false if there is none. */
bool njl_engine_next_line(njl_engine *engine, njl_line *line);

#endif
