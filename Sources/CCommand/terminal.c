/* terminal.c - nightjar.command.terminal: the standard streams as terminals. */
#include <lua5.4/lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "njc.h"

/* terminal.is_terminal(descriptor) -> boolean */
static int is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* terminal.width() -> columns of the screen; 80 where nobody knows */
static int width(lua_State *L) {
  struct winsize size;
  bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  lua_pushinteger(L, is_known && size.ws_col > 0 ? size.ws_col : 80);
  return 1;
}

/* terminal.read_line() -> the next line of standard input without its newline, by the buffer that io.read has, too; nil at
 * the end */
static int read_line(lua_State *L) {
  char *line = NULL;
  size_t capacity = 0;
  fflush(NULL);
  ssize_t count = getline(&line, &capacity, stdin);
  if (count > 0 && line[count - 1] == '\n') count--;
  /* Copied to where an error, there being no memory, lets nothing go astray. */
  char *place = count < 0 ? NULL : lua_newuserdatauv(L, (size_t)count + 1, 0);
  for (ssize_t index = 0; index < count; index++) place[index] = line[index];
  free(line);
  if (count < 0) return 0;
  lua_pushlstring(L, place, (size_t)count);
  return 1;
}

int njc_open_terminal(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"is_terminal", is_terminal}, {"width", width}, {"read_line", read_line}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
