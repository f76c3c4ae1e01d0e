/* scripts.h - Lua states that Swift creates and runs, and the sandbox. */
#ifndef NJL_SCRIPTS_H
#define NJL_SCRIPTS_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "core/host.h"
#include "njl_script.h"

/* script.c */

/* run.c */
void njl_script_end_run(njl_script *script); /* after njl_script_prepare */

/* interpreter.c */
void njl_warn(void *warnings, const char *piece, int continues);
bool njl_set_arguments(lua_State *L, int count, char *const *values, int first); /* returns false if out of memory */
void njl_push_requirer(lua_State *L, const char *name) NJL_RAISES;
void njl_push_program(lua_State *L, const char *name, njl_bytes arguments) NJL_RAISES;

/* sandbox.c */
void njl_open_sandbox(lua_State *L, njl_host *host) NJL_RAISES;

/* bounded.c. Functions of the standard libraries that check limits and interrupts while they work. */
void njl_bound_base(lua_State *L, njl_host *host) NJL_RAISES;
void njl_bound_strings(lua_State *L, njl_host *host) NJL_RAISES; /* bounded_string.c */
void njl_bound_tables(lua_State *L, njl_host *host) NJL_RAISES;  /* bounded_table.c */
/* Replaces the function `name` of the table on top by `function`, whose upvalues are the host and the replaced
 * function. */
void njl_bound(lua_State *L, njl_host *host, const char *name, lua_CFunction function) NJL_RAISES;
/* Calls the replaced function with the arguments of the running function. The replaced function must have no
 * upvalues. */
int njl_call_replaced(lua_State *L);

/* pattern.c. Lua's patterns. Each step counts against the limits. */
enum { NJL_MOST_CAPTURES = 32 };
typedef struct njl_matcher {
  lua_State *L;
  njl_host *host;
  const char *text, *text_end, *pattern_end;
  int depth;      /* depth of the recursion */
  uint32_t steps; /* steps that njl_spend has not counted yet */
  int count;      /* number of captures */
  struct {
    const char *start;
    ptrdiff_t length; /* or one of the marks in pattern.c */
  } captures[NJL_MOST_CAPTURES];
} njl_matcher;
void njl_matcher_init(njl_matcher *matcher, lua_State *L, njl_host *host, njl_bytes text, njl_bytes pattern);
/* Returns the end of the match that begins at `start`, or NULL if there is none. Raises an error if the pattern is
 * invalid. */
const char *njl_match(njl_matcher *matcher, const char *start, const char *pattern) NJL_YIELDS;
/* Pushes the captures, or the whole match if there are none and `start` is not NULL. Returns the number of values. */
int njl_push_captures(njl_matcher *matcher, const char *start, const char *end) NJL_RAISES;
void njl_push_capture(njl_matcher *matcher, int index, const char *start, const char *end) NJL_RAISES;

#endif
