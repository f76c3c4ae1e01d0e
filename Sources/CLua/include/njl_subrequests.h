/* njl_subrequests.h - calls of paginated lists and document loads that run through the hooks of their client. */
#ifndef NJL_SUBREQUESTS_H
#define NJL_SUBREQUESTS_H

#include "njl_types.h"

/* Returns the oldest subrequest that was not started, and sets `*caller` to the number of its caller. The subrequest
 * must be ended with njl_subrequest_end. Returns NULL if there is none. */
njl_subrequest *njl_engine_next_subrequest(njl_engine *engine, int64_t *caller);
/* Returns a task whose call is no longer needed, once for each task. Returns NULL if there is none. */
njl_task *njl_engine_next_cancelled(njl_engine *engine);
/* Returns the subrequest as the options of api:request: a JSON object with method, path, headers and optionally
 * max_body. Owned by the caller. Returns NULL if out of memory. */
njl_text *njl_subrequest_request(const njl_subrequest *subrequest);
int64_t njl_subrequest_caller(const njl_subrequest *subrequest);
/* Records `task` as the one that makes the call, until njl_subrequest_end. */
void njl_subrequest_begin(njl_subrequest *subrequest, njl_task *task);
/* Finishes the subrequest with the outcome of its call. Returns false if `future` does not belong to a call made for
 * the subrequest. */
bool njl_subrequest_finish(njl_subrequest *subrequest, const njl_future *future);
/* Makes the subrequest fail with kind `script`. `number` becomes the code of the error. */
void njl_subrequest_fail(njl_subrequest *subrequest, njl_bytes message, int32_t number);
/* Releases the subrequest. It fails if it was not finished. */
void njl_subrequest_end(njl_subrequest *subrequest);

#endif
