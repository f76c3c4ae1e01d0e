/* njl_json.h - JSON for Lua: text to values by simdjson's tape, values to text.
 *
 *   JSON                        Lua
 *   null                        nightjar.null, a light userdata: it is true in a condition; compare with ==
 *   integer in int64_t          integer, all 64 bits
 *   integer above that          float
 *   other number                float
 *   array                       table with the metatable that nightjar.array sets, so that an empty one stays []
 *   object                      plain table; of a repeated name the last value stays
 *
 * No function here keeps anything outside of Lua's own memory across a call that can raise: what a raise or a memory cap
 * interrupts is left to the collector. Each may raise for want of memory or stack; none runs Lua code or yields (a finalizer
 * may run, as in any call that allocates, and may use these functions). */
#ifndef NJL_JSON_H
#define NJL_JSON_H

#include <lua5.4/lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Pushes nightjar.null. */
void njl_push_null(lua_State *L);
bool njl_is_null(lua_State *L, int index);

/* Pushes the value of a JSON text and returns true, or pushes the message "invalid JSON: expected ',' or '}' at line 3
 * column 14" and returns false. `bytes` must stay as they are meanwhile: keep the string or the response that holds them on
 * the stack. */
bool njl_json_push(lua_State *L, const char *bytes, size_t length);

typedef enum njl_json_style {
  NJL_JSON_SORTED = 1, /* keys in the order of their bytes: the same value is the same text, at about twice the time */
  NJL_JSON_PRETTY = 2, /* two spaces a level */
} njl_json_style;

/* Pushes the JSON text of the value at `index` and returns true, or pushes the message "cannot encode a function at
 * .items[3].f" and returns false. Metamethods are not asked. */
bool njl_json_push_text(lua_State *L, int index, unsigned style);

/* json.decode(text) -> value. Raises a string with the position of the caller. */
int njl_json_decode(lua_State *L);
/* json.encode(value [, {pretty = true, sort_keys = false}]) -> text. Keys are sorted unless that is turned off. Raises as
 * decode does. */
int njl_json_encode(lua_State *L);
/* nightjar.array([t]) -> t, marked as an array: empty, it is encoded as []. */
int njl_json_array(lua_State *L);

/* Pushes the metatable that marks arrays. */
void njl_push_array_mark(lua_State *L);

#endif
