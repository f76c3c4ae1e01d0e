/* CCommand.h - the parts of the nightjar command that are written in Lua, and the C that they stand on. For the command
 * alone: nothing of this is in libnightjar. */
#ifndef CCOMMAND_H
#define CCOMMAND_H

struct lua_State;

/* A lua_CFunction, which may raise: puts each part into package.preload as nightjar.command.NAME. */
int njc_open(struct lua_State *L);

#endif
