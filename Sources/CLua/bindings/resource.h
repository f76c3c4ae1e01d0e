/* resource.h - a resource of a script: resource.c, resource_changes.c and resource_mutation.c. */
#ifndef NJL_RESOURCE_BINDING_H
#define NJL_RESOURCE_BINDING_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"
#include "njl_api_resources.h"

/* The user values of a resource: its client, the caller of its requests if the client has hooks, and its path. */
enum { OWNER = 1, CALLER, PATH, VALUES = PATH };

typedef struct resource {
  njl_api_resource *handle; /* released by the collector, because a finalizer may close the resource while it is used */
  njl_host *host;
} resource;

/* Returns the resource at index 1. */
resource *njl_check_resource(lua_State *L) NJL_RAISES;

/* resource_changes.c */
/* Sets the snapshot of an object. */
typedef njl_observed (*njl_snapshot_reader)(void *object, njl_snapshot *snapshot);
/* Pushes a snapshot as a table if `read` returns NJL_OBSERVED_READY; otherwise pushes nothing. */
njl_observed njl_push_snapshot(lua_State *L, njl_snapshot_reader read, void *object) NJL_RAISES;
/* Pushes the data of the response on top of the stack: the value of JSON, or else the body; nil without a body. */
void njl_push_data(lua_State *L) NJL_RAISES;
int njl_resource_changes(lua_State *L) NJL_RAISES;
void njl_open_resource_changes(lua_State *L) NJL_RAISES;

/* resource_mutation.c */
int njl_resource_mutate(lua_State *L) NJL_YIELDS;

#endif
