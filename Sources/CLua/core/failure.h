/* failure.h - replies, which become a response or an error, and how errors are raised. */
#ifndef NJL_FAILURE_H
#define NJL_FAILURE_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/wait.h"
#include "njl_future.h"

typedef struct njl_reply {
  njl_wait wait; /* `wait.call` is the outcome */
  bool decides_redirects, decides_retries, reports_refresh, reports_progress, reports_waiting;
  bool has_upload; /* its body is sent by a task */
  int top; /* stack height of the function that waits for the call */
  lua_Integer place; /* for an error: the index of its request in a batch; 0: not part of a batch */
} njl_reply;
/* User values of a reply. The first three belong to the response or error that it becomes. The others are the client
 * (kept while a streamed response may still arrive) and the functions for redirects, failed attempts, revalidated
 * responses, progress and waits for the network. */
enum {
  NJL_REPLY_CLIENT = 4,
  NJL_REPLY_REDIRECT,
  NJL_REPLY_RETRY,
  NJL_REPLY_REFRESH,
  NJL_REPLY_PROGRESS,
  NJL_REPLY_WAITING,
  NJL_REPLY_VALUES = NJL_REPLY_WAITING
};
njl_wait *njl_reply_push(lua_State *L, njl_host *host) NJL_RAISES; /* pushes a reply, which waits for its call */
/* Makes the new reply on top of the stack the response of an ended call. Pushes nil if `call` is NULL. */
int njl_reply_respond(lua_State *L, njl_wait *reply, njl_future *call);
int njl_reply_finish(lua_State *L, int index) NJL_RAISES; /* returns the reply as a response or raises it as an error */
int njl_reply_gc(lua_State *L);
/* Cancels a streamed response that was not read to its end. */
void njl_reply_close(njl_reply *reply);
/* Makes the collector work as much as if Lua had allocated these bytes. Called for memory outside of Lua, so that
 * unused responses are collected soon. */
void njl_account(lua_State *L, size_t bytes);
njl_reply *njl_error_push(lua_State *L) NJL_RAISES; /* pushes an error object without an outcome */
void njl_push_failure(lua_State *L, njl_kind kind, int phase, const char *message) NJL_RAISES;
/* Pushes the text of the field, or nil if the outcome has none. Returns 1. */
int njl_push_field(lua_State *L, njl_future *future, njl_field field) NJL_RAISES;
/* Pushes the message of the error at `index`, without the URL of an error object. The message becomes the error of
 * another call, which has a different URL. */
void njl_push_message(lua_State *L, int index) NJL_RAISES;
int njl_raise(lua_State *L, njl_kind kind, int phase, const char *format, ...) NJL_RAISES;
#define NJL_BATCH_PREFIX "request %I of the batch: "
/* Adds the number of the request in its batch to the error on top of the stack. */
void njl_number_error(lua_State *L, lua_Integer place) NJL_RAISES;
int njl_try(lua_State *L) NJL_RAISES;
/* Returns a copy of the text, which the caller frees; NULL: out of memory. */
char *njl_copy_text(const char *text, size_t length);
/* Pops the error on top of the stack and returns its text, which the caller frees. NULL if there is not enough memory, or if
 * describing the error fails. */
char *njl_take_error(lua_State *L);

#endif
