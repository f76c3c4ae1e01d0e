/* CCommand.h - the parts of the nightjar command that are written in Lua, and the C that they stand on. For the command
 * alone: nothing of this is in libnightjar. */
#ifndef CCOMMAND_H
#define CCOMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct lua_State;

/* A lua_CFunction, which may raise: puts each part into package.preload as nightjar.command.NAME. */
int njc_open(struct lua_State *L);

/* Whether each call is shown on standard error: --trace, and .trace at the prompt. Any thread. */
bool njc_traces(void);
void njc_set_traces(bool shows);

/* Opens a descriptor in the place of each standard stream that is closed, so that no file, socket or event loop of the
 * process takes its number. Reading standard input and writing to the others still fail with EBADF. Before anything else. */
void njc_hold_standard_streams(void);

/* Writes to standard output or error, beside a line that is edited there. Of the thread that runs the Lua state. */
void njc_write(int descriptor, const char *bytes, size_t length);

#endif
