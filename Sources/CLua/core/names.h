/* names.h - names of fields and options. */
#ifndef NJL_NAMES_H
#define NJL_NAMES_H

#include <lua5.4/lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/annotations.h"

/* Returns the position of the string at `index` among the names, or -1. A name with an embedded NUL never matches. */
int njl_find_name(lua_State *L, int index, const char *const names[]) NJL_RAISES;
/* Returns the position in `known` of the option name at `index`. Raises an error if the option is unknown; the message
 * shows `prefix` before the name. */
int njl_check_option(lua_State *L, int index, const char *function, const char *prefix,
                     const char *const known[]) NJL_RAISES;
/* Raises an error if the table at `table` has a name that is not among `known`. */
void njl_check_options(lua_State *L, int table, const char *function, const char *prefix,
                       const char *const known[]) NJL_RAISES;
int njl_unknown_option(lua_State *L, const char *function, const char *prefix, const char *name,
                       const char *const known[]) NJL_RAISES; /* raises */
/* Returns the number of edits (insert, delete or replace a byte, swap two neighbours) that turn `a` into `b`. Returns
 * 32 if a string has more than 32 bytes. */
size_t njl_edits(const char *a, size_t a_length, const char *b);
int njl_unknown_field(lua_State *L, const char *noun, const char *name,
                      const char *const names[]) NJL_RAISES; /* raises */
/* Reads boolean options from the table at `index`, if there is one. Returns a bit set of the options that were
 * given: 1 for the first, 2 for the second, 4 for the third and so on. Raises an error if an option is invalid. */
unsigned njl_read_flags(lua_State *L, int index, const char *function, const char *const names[],
                        bool *const flags[]) NJL_RAISES;
/* Pushes a table from names to positions. */
void njl_push_field_numbers(lua_State *L, const char *const names[]) NJL_RAISES;

#endif
