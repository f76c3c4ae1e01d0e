/* transfer.h - downloads and uploads of a script. transfer.c has their common functions, transfer_wait.c the waiting. */
#ifndef NJL_TRANSFER_BINDING_H
#define NJL_TRANSFER_BINDING_H

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"
#include "bindings/connector.h"
#include "njl_transfers.h"

/* The user values of a transfer: the functions on_head, on_progress and that of the content, its client, and the table
 * of its request. */
enum { ON_HEAD = 1, ON_PROGRESS, ON_READ, OWNER, REQUEST, VALUES = REQUEST };

/* The differences between downloads and uploads. */
typedef struct transfer_kind {
  const char *type;  /* NJL_DOWNLOAD or NJL_UPLOAD */
  const char *name;  /* in messages */
  const char *count; /* the field for the number of bytes: "received" or "sent" */
  const char *const *options; /* the names of the settings */
  bool has_heads;
  njl_connector connector;
  njl_transfer *(*start)(njl_engine *, njl_client *, const njl_request *, const njl_transfer_options *, njl_future **);
} transfer_kind;

typedef struct transfer {
  const transfer_kind *kind;
  njl_transfer *handle; /* released by the collector, because a finalizer may cancel the transfer while it is used */
  njl_host *host;
  lua_State *caller;  /* the thread in which a function of the script is running; NULL: none is running */
  bool reports_heads; /* the script has a function on_head */
} transfer;

/* Returns the transfer at index 1, whose kind is a light userdata at upvalue 1. */
transfer *njl_check_transfer(lua_State *L) NJL_RAISES;
void njl_push_transfer_progress(lua_State *L, const transfer *self, const njl_transfer_progress *progress) NJL_RAISES;
/* transfer:wait(timeout) -> transfer, when it is complete. The upvalue is its kind. */
int njl_wait_for_transfer(lua_State *L) NJL_YIELDS;
/* Sends a later request: the function of a connector. */
bool njl_connect_transfer(void *object, njl_client *client, const njl_request *request, njl_future **error);
/* api:download(path, file, options) and its like. `waits`: returns when the transfer is complete. */
int njl_start_transfer(lua_State *L, const transfer_kind *kind, const char *function, bool waits) NJL_YIELDS;
/* res:download(file, options) and its like. `waits`: returns when the file is complete. */
int njl_transfer_response_to_file(lua_State *L, const transfer_kind *kind, const char *function, bool waits) NJL_YIELDS;
/* Creates the metatable of a kind. `fields` looks up the fields that the kinds do not share; its upvalue is the table of
 * methods, which have their kind as an upvalue. */
void njl_open_transfer(lua_State *L, const transfer_kind *kind, lua_CFunction field) NJL_RAISES;
/* Pushes the method of the name at index 2, whose table is upvalue 1. Returns false if there is none. */
bool njl_push_method(lua_State *L);
/* Pushes the field `position` of the result or nil: 0 size, 1 bytes, 2 resumed, 3 attempts. */
int njl_push_result(lua_State *L, const transfer *self, int position);
/* Pushes a text, which is released, or nil. */
int njl_push_transfer_text(lua_State *L, njl_text *(*text)(const njl_transfer *), const transfer *self) NJL_RAISES;

#endif
