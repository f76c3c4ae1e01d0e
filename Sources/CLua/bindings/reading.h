/* reading.h - functions that read the option table of a call: request.c, reading.c and form.c. */
#ifndef NJL_READING_H
#define NJL_READING_H

#include <lua5.4/lua.h>

#include "core/annotations.h"
#include "njl_request.h"

/* Tables are copied before their values are processed: each new string or buffer may run finalizers, which may
 * change the tables of the script. */

/* The state while an option table is read. Messages name `function` and `option`. */
typedef struct njl_reading {
  lua_State *L;
  const char *function; /* "get" */
  const char *option;   /* "query" */
  bool reads_files;     /* files may be sent, and a cache partition chosen; false in a sandbox */
  int anchors;          /* stack index of a table that keeps intermediate values alive */
} njl_reading;

/* A growing array of pairs in a userdata that the anchors keep alive. */
typedef struct njl_pairs {
  njl_pair *items;
  size_t count, capacity;
} njl_pairs;

/* reading.c */
/* Pops the value on top of the stack. The anchors keep it alive. */
void njl_reading_keep(njl_reading *r) NJL_RAISES;
/* Replaces the table at `index` by a copy, which the anchors keep alive and scripts cannot change. */
void njl_reading_copy(njl_reading *r, int index) NJL_RAISES;
/* Raises the error that the option must be `wanted`, with the type of the value at `value`. */
int njl_reading_mismatch(njl_reading *r, const char *wanted, int value) NJL_RAISES;
/* Pops the value on top of the stack and returns it as text, which is valid as long as the anchors. */
njl_bytes njl_reading_take_text(njl_reading *r, const char *name) NJL_RAISES;
/* Reads the names of a table made by njl_reading_copy and sorts them, so that equal tables produce equal requests. */
void njl_reading_names(njl_reading *r, int table, njl_pairs *keys) NJL_RAISES;
/* Reads { name = value, other = {value, value} } or { {"name", "value"}, ... }. */
void njl_reading_pairs(njl_reading *r, int table, njl_pairs *list) NJL_RAISES;

/* form.c */
/* Pops the path of a file to send. */
njl_bytes njl_reading_path(njl_reading *r) NJL_RAISES;
/* Pops the option file: a path, or { path =, offset =, length = } for a part of the file. */
void njl_reading_file(njl_reading *r, njl_request *request) NJL_RAISES;
/* Reads { {name=, value=|bytes=|file=, filename=, content_type=}, ... }, or { name = text, other = {file=} }. */
void njl_reading_form(njl_reading *r, int table, njl_request *request) NJL_RAISES;

#endif
