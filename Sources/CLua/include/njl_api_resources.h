/* njl_api_resources.h - resources: data of an API that is kept current. Swift loads it; the script reads snapshots. */
#ifndef NJL_API_RESOURCES_H
#define NJL_API_RESOURCES_H

#include "njl_calls.h"
#include "njl_types.h"

typedef struct njl_api_resource njl_api_resource;

/* The state of a resource at one moment. */
typedef struct njl_snapshot {
  const char *phase;    /* static */
  const char *mutation; /* static; NULL: none */
  bool is_stale;
  int64_t generation;
  double updated_at; /* seconds since 1970; negative: never */
  njl_future *data;  /* a new outcome, owned by the caller; NULL: none */
  njl_future *error; /* a new outcome, owned by the caller; NULL: none */
} njl_snapshot;

/* Creates a resource, owned by the caller. `options` is a JSON object of the schema of nj_resource_new. `caller` is the
 * number under which subrequests arrive; 0: the client sends its requests itself. Returns NULL and sets `*error` on
 * failure. */
njl_api_resource *njl_api_resource_new(njl_engine *engine, njl_client *client, const njl_request *request, njl_bytes options,
                               int64_t caller, njl_future **error);
void njl_api_resource_release(njl_api_resource *resource);
/* Cancels the load in progress and ends all waits. */
void njl_api_resource_close(njl_api_resource *resource);
/* Changes the path, the query and the parameters. Returns false and sets `*error` on failure. */
bool njl_api_resource_set_path(njl_api_resource *resource, const njl_request *request, njl_future **error);
void njl_api_resource_read(const njl_api_resource *resource, njl_snapshot *snapshot);
/* Waits for current data, or loads it again. Returns an outcome in flight, owned by the caller, that ends with the
 * response or an error; or NULL and sets `*error`. */
njl_future *njl_api_resource_load(njl_api_resource *resource, bool is_reload, njl_wait *wait, njl_future **error);
/* Returns whether the body of the response is JSON. */
bool njl_api_resource_is_json(const njl_future *response);

/* Begins a mutation whose request the script sends. `optimistic` is JSON; without `data`: none. Returns its number, or 0
 * and sets `*error`. */
int64_t njl_api_resource_begin_mutation(njl_api_resource *resource, bool is_deleting, njl_bytes optimistic,
                                    njl_future **error);
/* Ends a mutation with the result of its request. `result` NULL: the request was given up. */
void njl_api_resource_end_mutation(njl_api_resource *resource, int64_t number, const njl_future *result);
/* Returns an outcome in flight, owned by the caller. A poll reports `wait` when the events so far have changed the
 * snapshot, or the client is closed. */
njl_future *njl_api_resource_settle(njl_api_resource *resource, njl_wait *wait);

/* An observer of a resource. */
typedef struct njl_observer njl_observer;
njl_observer *njl_observer_new(njl_api_resource *resource);
void njl_observer_free(njl_observer *observer); /* ends the wait in progress */
typedef enum njl_observed {
  NJL_OBSERVED_READY, /* `*snapshot` is set */
  NJL_OBSERVED_LATER, /* there is no change yet */
  NJL_OBSERVED_END,   /* the resource is closed */
} njl_observed;
/* Takes the newest snapshot, unless it was taken. */
njl_observed njl_observer_take(njl_observer *observer, njl_snapshot *snapshot);
/* Waits for a change. A poll reports `wait` when there is a snapshot or the end. Returns an outcome, owned by the caller
 * and abandoned like a call; or NULL and sets `*error`, for example if another wait is in progress. */
njl_future *njl_observer_await(njl_observer *observer, njl_wait *wait, njl_future **error);

/* Invalidates the resources of the client with the tag. Returns false and sets `*error` on failure. */
bool njl_client_invalidate_tag(njl_client *client, njl_bytes tag, njl_future **error);

#endif
