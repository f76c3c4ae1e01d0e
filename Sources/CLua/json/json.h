/* json.h - JSON text to Lua values and back; inside CLua only.
 *
 *   null      nightjar.null, a userdata of its own
 *   numbers   integers within int64 stay integers; all others are floats
 *   arrays    tables with the mark of nightjar.array as metatable, so that [] comes back as []
 *   objects   tables; of a name that repeats, the last counts
 *
 * The other way, a table is an array when it has the mark or its keys are 1 to n, n > 0; else its keys must be strings.
 * An integral float below 2^53 is written without a fraction, for 10/2 is a float and servers want 5. */
#ifndef NJL_JSON_H
#define NJL_JSON_H

#include <lua5.4/lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Pushes the table nightjar.json: decode, encode. Before the others below. */
void njl_json_open(lua_State *L) NJL_RAISES;
/* Pushes nightjar.null. */
void njl_json_push_null(lua_State *L);
/* Whether the value at `index` is nightjar.null. */
bool njl_json_is_null(lua_State *L, int index);
/* lua_CFunction: nightjar.array(table). */
int njl_json_array(lua_State *L) NJL_RAISES;

/* Pushes the value of a JSON text, or raises `decoding`: "`what` is not JSON: expected ',' or '}' at line 3 column 3".
 * `bytes` belong to what lies on the stack: finalizers may run before the text is read. */
void njl_json_decode(lua_State *L, const char *what, const char *bytes, size_t length) NJL_RAISES;

/* Pushes the JSON text of the value at `index`, names sorted, so that the same value always gives the same text. Raises
 * `invalid_argument` for what JSON has not (NaN, functions, cycles and so on), naming the place: "`what`.items[3]: ...". */
void njl_json_encode(lua_State *L, int index, const char *what) NJL_YIELDS;

typedef struct njl_json_style {
  bool is_pretty; /* a line a member */
  int indent;     /* spaces a level, where it is pretty */
  bool is_sorted; /* names in the order of their bytes */
} njl_json_style;

/* The same without the copy: the text is borrowed until Lua code, even a finalizer, may run. */
const char *njl_json_write(lua_State *L, int index, const char *what, njl_json_style style, size_t *length) NJL_YIELDS;

/* json_encode.c, json_decode.c */
void njl_json_open_encode(lua_State *L) NJL_RAISES;
void njl_json_open_decode(lua_State *L) NJL_RAISES;
void njl_json_push_array_mark(lua_State *L);

/* json_pointer.c */
int njl_json_pointer(lua_State *L) NJL_RAISES;

#endif
