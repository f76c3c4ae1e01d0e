/* terminal.c - nightjar.command.terminal: terminal queries and output, line input, a clock, and the command's files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <lua5.4/lauxlib.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "CCommand.h"
#include "cplatform.h"
#include "njc.h"

void njc_hold_standard_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    /* open returns the descriptor of the closed stream, because all lower descriptors are in use. Child processes do
     * not inherit the descriptor. */
    open("/dev/null", (stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

/* terminal.is_terminal(descriptor) -> boolean */
static int is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* terminal.width() -> the number of columns of the terminal; 80 if the number is unknown */
static int width(lua_State *L) {
  struct winsize size;
  bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  lua_pushinteger(L, is_known && size.ws_col > 0 ? size.ws_col : 80);
  return 1;
}

/* terminal.is_readable(descriptor) -> whether a read would not block; also true at the end of the input */
static int is_readable(lua_State *L) {
  struct pollfd entry = {.fd = (int)luaL_checkinteger(L, 1), .events = POLLIN};
  lua_pushboolean(L, poll(&entry, 1, 0) != 0);
  return 1;
}

/* terminal.now() -> seconds of the monotonic clock */
static int now(lua_State *L) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  lua_pushnumber(L, (lua_Number)time.tv_sec + (lua_Number)time.tv_nsec * 1e-9);
  return 1;
}

/* terminal.draw(text) writes to standard error unchanged, for lines that are overwritten. */
static int draw(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  while (length > 0) {
    ssize_t count = write(STDERR_FILENO, text, length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text += count;
    length -= (size_t)count;
  }
  return 0;
}

static _Atomic bool traces;

bool njc_traces(void) { return atomic_load(&traces); }
void njc_set_traces(bool shows) { atomic_store(&traces, shows); }

/* terminal.trace(boolean) sets whether each call is traced on standard error */
static int trace(lua_State *L) {
  njc_set_traces(lua_toboolean(L, 1));
  return 0;
}

/* Creates the missing parent folders of a file, accessible only to the user. */
static void make_folders(const char *path) {
  char folder[PATH_MAX];
  size_t length = strlen(path);
  if (length >= sizeof folder) return;
  for (size_t index = 1; index < length; index++) {
    if (path[index] != '/') continue;
    memcpy(folder, path, index);
    folder[index] = 0;
    mkdir(folder, 0700);
  }
}

/* terminal.make_folders(path) creates the missing parent folders of a file, accessible only to the user. */
static int make_folders_above(lua_State *L) {
  make_folders(luaL_checkstring(L, 1));
  return 0;
}

static int remove_file(lua_State *L) {
  char *path = lua_touserdata(L, 1);
  if (path != NULL && path[0] != 0) unlink(path);
  if (path != NULL) path[0] = 0;
  return 0;
}

static int keep_file(lua_State *L) {
  char *path = luaL_checkudata(L, 1, "nightjar.command.unfinished");
  path[0] = 0;
  return 0;
}

/* terminal.unfinished(path) -> an object that removes the file when the object is closed or collected, unless its
 * method keep was called. Removes the file even if Ctrl-C ends all Lua code. */
static int unfinished(lua_State *L) {
  size_t length;
  const char *path = luaL_checklstring(L, 1, &length);
  char *place = lua_newuserdatauv(L, length + 1, 0);
  for (size_t index = 0; index <= length; index++) place[index] = path[index];
  if (luaL_newmetatable(L, "nightjar.command.unfinished")) {
    static const luaL_Reg events[] = {
        {"__close", remove_file}, {"__gc", remove_file}, {"keep", keep_file}, {NULL, NULL}};
    luaL_setfuncs(L, events, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  return 1;
}

static bool write_whole(int descriptor, const char *text, size_t length) {
  while (length > 0) {
    ssize_t count = write(descriptor, text, length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text += count;
    length -= (size_t)count;
  }
  return true;
}

/* terminal.write_private(path, text, appends) writes a file that is accessible only to the user -> true, or nil and an
 * error message. Replaces an existing file atomically, or appends to it. */
static int write_private(lua_State *L) {
  size_t length;
  const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &length);
  bool appends = lua_toboolean(L, 3), is_written = false;
  const char *name = appends ? path : lua_pushfstring(L, "%s.new", path);
  make_folders(path);
  /* Removes a file left by a killed process or created by another user. */
  if (!appends) unlink(name);
  struct stat status;
  int descriptor = cplatform_open_private(name, O_WRONLY | O_CREAT | (appends ? O_APPEND : O_EXCL), &status);
  const char *refusal = descriptor == CPLATFORM_NO_FILE      ? "it is not a regular file"
                        : descriptor == CPLATFORM_FOREIGN    ? "it belongs to another user"
                        : descriptor == CPLATFORM_MANY_NAMES ? "it has several hard links"
                                                             : NULL;
  if (descriptor >= 0) {
    is_written = write_whole(descriptor, text, length);
    if (close(descriptor) != 0) is_written = false;
    if (is_written && !appends) is_written = rename(name, path) == 0;
  }
  if (is_written) {
    lua_pushboolean(L, true);
    return 1;
  }
  int code = errno;
  if (descriptor >= 0 && !appends) unlink(name);
  lua_pushnil(L);
  lua_pushfstring(L, "%s cannot be written: %s", path, refusal != NULL ? refusal : strerror(code));
  return 2;
}

static int close_private(lua_State *L) {
  luaL_Stream *stream = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  return luaL_fileresult(L, fclose(stream->f) == 0, NULL);
}

/* terminal.open_private(path) -> a file for reading, or nil if the file does not exist or is not private to this
 * user */
static int open_private(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  luaL_Stream *stream = lua_newuserdatauv(L, sizeof *stream, 0);
  stream->closef = NULL;
  luaL_setmetatable(L, LUA_FILEHANDLE);
  struct stat status;
  int descriptor = cplatform_open_private(path, O_RDONLY, &status);
  stream->f = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
  if (stream->f == NULL) {
    if (descriptor >= 0) close(descriptor);
    return 0;
  }
  stream->closef = close_private;
  return 1;
}

/* terminal.columns(text) -> the number of columns of a UTF-8 text; invalid bytes count as one column each */
static int columns(lua_State *L) {
  static locale_t utf8;
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  if (utf8 == 0) utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", 0);
  locale_t before = utf8 != 0 ? uselocale(utf8) : 0;
  lua_Integer count = 0;
  mbstate_t state = {0};
  for (size_t position = 0; position < length;) {
    wchar_t letter;
    size_t size = mbrtowc(&letter, text + position, length - position, &state);
    if (size == 0 || size > length - position) {
      memset(&state, 0, sizeof state);
      count++;
      position++;
      continue;
    }
    int width = wcwidth(letter);
    count += width > 0 ? width : 0;
    position += size;
  }
  if (utf8 != 0) uselocale(before);
  lua_pushinteger(L, count);
  return 1;
}

/* terminal.read_line() -> the next line of standard input without its newline, from the buffer that io.read also uses;
 * nil at the end */
static int read_line(lua_State *L) {
  char *line = NULL;
  size_t capacity = 0;
  fflush(NULL);
  ssize_t count = getline(&line, &capacity, stdin);
  if (count > 0 && line[count - 1] == '\n') count--;
  /* Copied to Lua memory, so that `line` is not leaked if lua_newuserdatauv raises. */
  char *place = count < 0 ? NULL : lua_newuserdatauv(L, (size_t)count + 1, 0);
  for (ssize_t index = 0; index < count; index++) place[index] = line[index];
  free(line);
  if (count < 0) return 0;
  lua_pushlstring(L, place, (size_t)count);
  return 1;
}

int njc_open_terminal(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"is_terminal", is_terminal}, {"is_readable", is_readable}, {"width", width}, {"columns", columns},
      {"read_line", read_line},     {"now", now},                 {"draw", draw},   {"trace", trace},
      {"write_private", write_private}, {"open_private", open_private}, {"make_folders", make_folders_above},
      {"unfinished", unfinished}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
