/* njl_endpoints.h - the endpoints of an API, and OpenAPI documents. */
#ifndef NJL_ENDPOINTS_H
#define NJL_ENDPOINTS_H

#include "njl_types.h"

/* The endpoints of an API. Immutable. Owned by the caller. */
typedef struct njl_catalog njl_catalog;
njl_catalog *njl_client_catalog(const njl_client *client); /* empty if the client has no catalog */
void njl_catalog_release(njl_catalog *catalog);
size_t njl_catalog_count(const njl_catalog *catalog);
/* These functions return texts owned by the caller, or NULL if no endpoint has the name or `index` is too large. */
njl_text *njl_catalog_name(const njl_catalog *catalog, size_t index);
njl_text *njl_catalog_help(const njl_catalog *catalog, njl_bytes name);     /* for display */
njl_text *njl_catalog_endpoint(const njl_catalog *catalog, njl_bytes name); /* a JSON object */
/* Returns whether an endpoint with the name exists. If not, sets `*error` to an error that suggests similar names. */
bool njl_catalog_check(const njl_catalog *catalog, njl_bytes name, njl_future **error);
bool njl_catalog_has_parameter(const njl_catalog *catalog, njl_bytes name, njl_bytes parameter);
/* Starts loading an OpenAPI document. The load is awaited, cancelled and abandoned like a call. `caller` is the number
 * under which its subrequests arrive; 0: the client sends its requests itself. Returns NULL and sets `*error` if the
 * load could not start. */
njl_future *njl_catalog_start(njl_engine *engine, njl_client *client, njl_bytes location, int64_t caller,
                              njl_wait *wait, njl_future **error);
/* Returns the loaded catalog merged into `former`, or NULL if nothing was loaded. */
njl_catalog *njl_future_catalog(const njl_future *future, const njl_catalog *former);

#endif
