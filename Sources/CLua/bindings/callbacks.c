/* callbacks.c - runs the functions of the script for the decision requests and notifications of clients and mocks.
 *
 * Each function runs in a child of the root task. Several calls may wait for the same decision: cancelling one of these
 * calls must not cancel the function for the others. */
#include <lua5.4/lua.h>

#include "core/host.h"
#include "core/loop.h"
#include "core/task.h"
#include "bindings/bindings.h"
#include "njl_callbacks.h"

/* A decision request or a notification, passed to begin(). */
typedef struct arrival {
  njl_callback *handle; /* NULL: the task owns it */
  int64_t listener;     /* the number of the client, mock or token store */
  njl_callback_kind kind;
  njl_task *task; /* the spawned task */
} arrival;

/* Replaces the client, mock or token store on top of the stack by a function that handles the decision request. Pushes the
 * arguments of the function and returns their number. Returns 0 and changes nothing for other notifications. */
static int push_decision(lua_State *L, const arrival *arrival) {
  switch (arrival->kind) {
  case NJL_TOKEN_NEEDED:
  case NJL_TOKEN_REJECTED: return njl_push_token_call(L, arrival->handle);
  case NJL_MOCK_REQUEST: return njl_mock_push_call(L, arrival->handle);
  case NJL_CHALLENGE: return njl_push_challenge_call(L, arrival->handle);
  case NJL_CALL_REQUEST: return njl_push_request_call(L, arrival->handle);
  case NJL_STORE: return njl_push_store_call(L, arrival->handle);
  case NJL_NAME: return njl_push_name_call(L, arrival->handle);
  case NJL_ADDRESSES: return njl_push_addresses_call(L, arrival->handle);
  case NJL_RECORD: return njl_push_record_call(L, arrival->handle);
  case NJL_STEPS: return njl_push_observer_call(L);
  default: return 0;
  }
}

/* Spawns the task for the arrival at index 1. */
static int begin(lua_State *L) {
  arrival *arrival = lua_touserdata(L, 1);
  if (!njl_push_numbered(L, arrival->listener)) return 0; /* It was collected, so the request fails. */
  int arguments = push_decision(L, arrival);
  if (arguments > 0) {
    arrival->task = njl_task_spawn(L, njl_host_open(L), arguments);
    arrival->task->is_observed = true;
    arrival->task->callback = arrival->handle;
    arrival->handle = NULL;
  } else if (arrival->kind == NJL_PIN_MISMATCH) {
    njl_push_pin_report(L, arrival->handle);
    arrival->task = njl_task_spawn(L, njl_host_open(L), 1);
  } else {
    lua_getiuservalue(L, 2, NJL_CLIENT_LOGIN_REQUIRED);
    arrival->task = njl_task_spawn(L, njl_host_open(L), 0);
  }
  return 0;
}

void njl_handle_callbacks(lua_State *L, njl_host *host) {
  while (host->engine != NULL && lua_checkstack(L, LUA_MINSTACK)) {
    arrival arrival = {0};
    arrival.handle = njl_engine_next_callback(host->engine, &arrival.listener, &arrival.kind);
    if (arrival.handle == NULL) return;
    njl_task_begin(L, host, begin, &arrival);
    /* Runs the task before the tasks that wait for its result. */
    if (arrival.task != NULL) njl_make_first(arrival.task);
    njl_callback_release(arrival.handle);
  }
}
