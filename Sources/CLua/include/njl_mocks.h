/* njl_mocks.h - mocks, which respond in place of servers. */
#ifndef NJL_MOCKS_H
#define NJL_MOCKS_H

#include "njl_types.h"

typedef struct njl_mock njl_mock;

/* Creates a mock. `routes` is a JSON object of the schema of nj_config_set_mock, in which the response of a route
 * may also be {"function": NUMBER}. `number` is the number under which the requests for these functions arrive.
 * Returns NULL and sets `*error` on failure. */
njl_mock *njl_mock_new(njl_bytes routes, njl_engine *engine, int64_t number, njl_future **error);
void njl_mock_release(njl_mock *mock);
void njl_mock_reset(njl_mock *mock);
bool njl_mock_verify(njl_mock *mock, njl_future **error);
/* Returns the number of calls of a route, or of all routes if `route.data` is NULL; -1 if there is no such route. */
int64_t njl_mock_uses(const njl_mock *mock, njl_bytes route);
njl_text *njl_mock_calls(const njl_mock *mock); /* a JSON array */

#endif
