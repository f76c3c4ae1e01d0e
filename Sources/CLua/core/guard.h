/* guard.h - the end of a state of an object while a function of the script runs. */
#ifndef NJL_GUARD_H
#define NJL_GUARD_H

#include <lua5.4/lua.h>

#include "core/annotations.h"

typedef struct njl_guard {
  void *object;
  void (*end)(void *object); /* NULL: the state has not started */
} njl_guard;

/* Pushes a to-be-closed value. When it is closed, also if the task is cancelled, `end` is called with the userdata at
 * `owner`, which the value keeps alive. Set `end` after this call: finalizers may run meanwhile and use the object. */
njl_guard *njl_guard_push(lua_State *L, int owner) NJL_RAISES;

#endif
