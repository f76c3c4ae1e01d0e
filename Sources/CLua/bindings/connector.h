/* connector.h - requests of objects whose connections Swift makes: WebSockets and downloads. The client's hook `before`
 * changes each request, in a task that waits for the object. */
#ifndef NJL_CONNECTOR_H
#define NJL_CONNECTOR_H

#include <lua5.4/lua.h>
#include <stdbool.h>

#include "core/annotations.h"
#include "njl_calls.h"

/* A kind of these objects. */
typedef struct njl_connector {
  const char *function; /* the name in messages */
  /* Sends a later request of the object. Returns false and sets `*error` on failure. */
  bool (*connect)(void *object, njl_client *client, const njl_request *request, njl_future **error);
} njl_connector;

/* A bit of the context of a function that sends the first request: the client has a hook `before`. */
enum { NJL_HAS_BEFORE = 1 };

/* Reads a request from the table at `index`. The client is at index 1. */
void njl_read_connector_request(lua_State *L, int index, const njl_connector *connector,
                                njl_request *request) NJL_YIELDS;
/* Pushes the table of the first request, which the hook of the client at index 1 may have changed, and calls `start`
 * with `context`, to which it adds NJL_HAS_BEFORE. `options` is the index of the request's table. */
int njl_prepare_first_request(lua_State *L, int options, lua_KFunction start, lua_KContext context) NJL_YIELDS;
/* Pushes a function without results that calls the hook for a later request, and then `connect`. Pushes its
 * NJL_PREPARATION_ARGUMENTS arguments, too. The indices are those of the object, its client and the request's table. */
enum { NJL_PREPARATION_ARGUMENTS = 4 };
void njl_push_preparation(lua_State *L, const njl_connector *connector, int object, int client, int options);

#endif
