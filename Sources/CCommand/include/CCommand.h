/* CCommand.h - the parts of the nightjar command in Lua and C. Not part of libnightjar. */
#ifndef CCOMMAND_H
#define CCOMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct lua_State;

/* A lua_CFunction that adds each part to package.preload as nightjar.command.NAME. May raise a Lua error. */
int njc_open(struct lua_State *L);

/* These functions return or set whether each call is traced on standard error (--trace, and .trace at the prompt). Any
 * thread. */
bool njc_traces(void);
void njc_set_traces(bool shows);

/* Opens a descriptor in place of each closed standard stream, so that no other file of the process gets this
 * descriptor. Reading the replaced standard input, and writing to the replaced outputs, still fails with EBADF. Must be
 * called before all other functions. */
void njc_hold_standard_streams(void);

/* Writes to standard output or error without disturbing a line that is being edited. Must be called on the thread
 * that runs the Lua state. */
void njc_write(int descriptor, const char *bytes, size_t length);

#endif
