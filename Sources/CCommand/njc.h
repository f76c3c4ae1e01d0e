/* njc.h - the C parts of the command. Used inside CCommand only.
 *
 *   programs.c   programs/NAME.lua as the modules nightjar.command.NAME
 *   editor.c     nightjar.command.editor: line editing with libedit
 *   terminal.c   nightjar.command.terminal: terminal queries and output, line input, a clock, the command's files */
#ifndef NJC_H
#define NJC_H

#include <lua5.4/lua.h>

int njc_open_editor(lua_State *L);
int njc_open_terminal(lua_State *L);

#endif
