/* json.h - conversion between JSON text and Lua values. Used inside CLua only.
 *
 *   null      nightjar.null, a unique userdata
 *   numbers   integers within int64 stay integers; all others become floats
 *   arrays    tables with the metatable of nightjar.array, so that [] is written as [] again
 *   objects   tables; the last member of a repeated name wins
 *
 * When a table is encoded, it becomes an array if it has the metatable of nightjar.array or if its keys are 1 to n with
 * n > 0. All keys of any other table must be strings. An integral float with a magnitude below 2^53, except -0.0, is
 * written without a fraction: 10/2 is a float in Lua, but servers expect 5. */
#ifndef NJL_JSON_H
#define NJL_JSON_H

#include <lua5.4/lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/annotations.h"

/* Prepares the state for the functions below. Has no effect if the state is prepared. */
void njl_json_prepare(lua_State *L) NJL_RAISES;
/* Pushes the table nightjar.json, and prepares the state. */
void njl_json_open(lua_State *L) NJL_RAISES;
/* Pushes nightjar.null. */
void njl_json_push_null(lua_State *L);
/* Returns whether the value at `index` is nightjar.null. */
bool njl_json_is_null(lua_State *L, int index);
/* lua_CFunction: nightjar.array(table). */
int njl_json_array(lua_State *L) NJL_RAISES;

/* Pushes the value of a JSON text. Raises `decoding` if the text is invalid: "`what` is not JSON: expected ',' or
 * '}' at line 3 column 3". `bytes` must belong to a value on the stack, because finalizers may run before the text
 * is read. */
void njl_json_decode(lua_State *L, const char *what, const char *bytes, size_t length) NJL_RAISES;

/* Like njl_json_decode, but if the text is invalid, pushes the problem, such as "expected ',' or '}' at line 3 column 3",
 * and returns false. */
bool njl_json_try_decode(lua_State *L, const char *bytes, size_t length) NJL_RAISES;

/* Pushes the JSON text of the value at `index`. Names are sorted, so equal values produce equal texts. Raises
 * `invalid_argument` with the path of the value for anything that JSON cannot represent (NaN, functions, cycles and
 * so on): "`what`.items[3]: ...". */
void njl_json_encode(lua_State *L, int index, const char *what) NJL_YIELDS;

typedef struct njl_json_style {
  bool is_pretty; /* one member per line */
  int indent;     /* spaces per level if pretty */
  bool is_sorted; /* names in byte order */
} njl_json_style;

/* Like njl_json_encode, but returns the text without a copy. The text is valid until Lua code, including a finalizer,
 * may run. */
const char *njl_json_write(lua_State *L, int index, const char *what, njl_json_style style, size_t *length) NJL_YIELDS;

/* json_encode.c, json_decode.c */
void njl_json_open_encode(lua_State *L) NJL_RAISES;
void njl_json_open_decode(lua_State *L) NJL_RAISES;
void njl_json_push_array_mark(lua_State *L);

/* json_pointer.c */
int njl_json_pointer(lua_State *L) NJL_RAISES;

#endif
