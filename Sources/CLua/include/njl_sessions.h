/* njl_sessions.h - the exchanges and the progress that the interactive session of the command follows. */
#ifndef NJL_SESSIONS_H
#define NJL_SESSIONS_H

#include "njl_types.h"

/* Records, in memory, the exchanges of all clients created from now on. */
void njl_session_begin(njl_engine *engine);
/* Assigns later exchanges of the recorded clients to the step with this number. */
void njl_session_step(njl_engine *engine, int64_t step);
/* The combined progress of the followed calls. The progress includes the first call and all calls that began while
 * another of them was in flight, even if they have ended. A total is negative if it is unknown for any of the calls. */
typedef struct njl_session_state {
  int64_t sent, sent_total, received, received_total;
  size_t calls;   /* calls in flight; 0: the last call has ended */
  double seconds; /* since the start of the first call */
} njl_session_state;

/* Sets `*state`. Returns false if nothing has changed since the last call. */
bool njl_session_progress(njl_engine *engine, njl_session_state *state);
/* Excludes the calls in flight from the progress. Later calls are included again. */
void njl_session_pause_tracking(njl_engine *engine);
/* Returns the exchanges of some steps as cassettes without secrets. Returns NULL and sets `*error` on failure.
 * `requested` is a JSON object: {"steps": [1, 2], "secrets": ["moonlight"], "names": ["tenant"]}. The result is a JSON
 * object, owned by the caller, with these members:
 *
 *   "cassettes"   [{"text", "exchanges"}]
 *   "names"       [[secret, its replacement, whether all texts are searched for the secret]]
 *   "active"      the steps that sent requests
 *   "losses"      [[step, the reason why the step cannot be replayed]] */
njl_text *njl_session_cassettes(njl_engine *engine, njl_bytes requested, njl_future **error);

#endif
