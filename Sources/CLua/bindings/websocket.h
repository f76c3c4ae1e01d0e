/* websocket.h - a WebSocket of a script: websocket.c, websocket_calls.c and websocket_messages.c. */
#ifndef NJL_WEBSOCKET_BINDING_H
#define NJL_WEBSOCKET_BINDING_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"
#include "core/names.h"
#include "bindings/connector.h"
#include "njl_websocket.h"

/* The user values of a WebSocket: the function on_open, its client, and the table of its request. */
enum { ON_OPEN = 1, OWNER, REQUEST, VALUES = REQUEST };

typedef struct websocket {
  njl_websocket *handle; /* released by the collector, because a finalizer may close the WebSocket while it is used */
  njl_host *host;
  bool is_opening;    /* on_open is running */
  lua_State *opener;  /* the coroutine that runs on_open */
  bool is_preparing;  /* the hook `before` is running */
  bool is_reading;    /* a message is being copied; finalizers may run meanwhile */
} websocket;

/* A function that may have to wait. `attempt` returns true if it must not: its result is then on top of the stack. */
typedef struct operation {
  bool (*attempt)(lua_State *L, websocket *self);
  const char *late; /* the message of the error `timeout` */
} operation;

/* The stack of `attempt`: the WebSocket and two arguments. */
enum { SOCKET = 1, FIRST, SECOND };

websocket *njl_check_websocket(lua_State *L) NJL_RAISES;
/* Begins an operation whose arguments are on the stack. `timeout` is the index of the timeout; 0: none. */
int njl_websocket_begin(lua_State *L, const operation *operation, int timeout, const char *function) NJL_YIELDS;
extern const njl_connector njl_websocket_connector;
/* Adds the methods for messages to the table on top of the stack. */
void njl_add_message_methods(lua_State *L) NJL_RAISES;

#endif
