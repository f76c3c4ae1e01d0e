/* njl_sessions.h - the exchanges and the progress that the interactive session of the command follows. */
#ifndef NJL_SESSIONS_H
#define NJL_SESSIONS_H

#include "njl_types.h"

/* Records, in memory, the exchanges of all clients created from now on. */
void njl_session_begin(njl_engine *engine);
/* Assigns later exchanges of these clients to the step with this number. */
void njl_session_step(njl_engine *engine, int64_t step);
/* The combined progress of the followed calls. A group begins with the first call and includes all calls that began
 * while others were in flight, even if they have ended. A total is negative if it is unknown for any of the calls. */
typedef struct njl_session_state {
  int64_t sent, sent_total, received, received_total;
  size_t calls;   /* in flight; 0: the last has ended */
  double seconds; /* since the first began */
} njl_session_state;

/* Returns false if nothing has changed since the last call. */
bool njl_session_progress(njl_engine *engine, njl_session_state *state);
/* Stops following the calls that are followed now. */
void njl_session_pause_tracking(njl_engine *engine);
/* Returns the exchanges of some steps as cassettes without secrets. `requested` is a JSON object: {"steps": [1, 2],
 * "secrets": ["moonlight"], "names": ["tenant"]}. The result is a JSON object, owned by the caller:
 * - "cassettes": [{"text", "exchanges"}]
 * - "names": [[secret, its replacement, whether it is searched for everywhere]]
 * - "active": the steps that sent requests
 * - "losses": [[step, the reason why it cannot be replayed]]
 * Returns NULL and sets `*error` on failure. */
njl_text *njl_session_cassettes(njl_engine *engine, njl_bytes requested, njl_future **error);

#endif
