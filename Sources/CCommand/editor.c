/* editor.c - nightjar.command.editor: line editing on the terminal with libedit.
 *
 * libedit reads each character through a callback. The callback waits like a call of a script, so background tasks
 * continue to run, also during a history search. Their output would appear in the edited line. Standard output and
 * standard error are therefore replaced by streams that remove the line from the screen, write the output, and redraw
 * the line. All functions are called on the thread that runs the Lua state. */
#define _GNU_SOURCE
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "CCommand.h"
#include "njc.h"

/* The maximum number of history entries, in memory and in the history file. */
enum { HISTORY_SIZE = 1000 };

static struct {
  EditLine *line_editor;
  History *history;
  lua_State *L; /* the state that reads a line; NULL if no line is being read */
  const char *prompt;
  bool is_interrupted; /* Ctrl-C was typed, and the line is discarded */
  bool has_failed;     /* an error is on the stack of L */
  bool ends_in_line;   /* the last output did not end with a newline */
  volatile sig_atomic_t is_stale; /* the process was stopped, and other programs may have written to the terminal */
  int columns, rows;
  /* The terminal's settings during and before editing. The settings `before` apply while the process is stopped. */
  struct termios edited, before;
} editor;

/* Registry keys of the functions passed to editor.open. */
static const char wait_key = 0, complete_key = 0;

/* --- The screen --- */

typedef struct place {
  int row, column;
} place;

/* Advances the position as libedit wraps lines. */
static void advance(place *at, wchar_t letter) {
  if (letter == L'\n') {
    *at = (place){at->row + 1, 0};
    return;
  }
  int width = letter == L'\t' ? 8 - at->column % 8 : iswcntrl((wint_t)letter) ? 2 : wcwidth(letter);
  if (width < 0) width = 8; /* \U+12345 */
  if (at->column + width > editor.columns) *at = (place){at->row + 1, 0};
  at->column += width;
  if (at->column >= editor.columns) *at = (place){at->row + 1, 0};
}

/* Computes the positions of the cursor and of the end of the line, relative to the start of the prompt. */
static void locate(place *cursor, place *end) {
  const LineInfoW *line = el_wline(editor.line_editor);
  place at = {0, 0};
  for (const char *letter = editor.prompt; *letter != 0; letter++) advance(&at, (wchar_t)(unsigned char)*letter);
  *cursor = at;
  for (const wchar_t *letter = line->buffer; letter < line->lastchar; letter++) {
    if (letter == line->cursor) *cursor = at;
    advance(&at, *letter);
  }
  if (line->cursor >= line->lastchar) *cursor = at;
  *end = at;
}

static void write_all(int descriptor, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t count = write(descriptor, bytes, length);
    if (count < 0 && errno != EINTR) return;
    if (count <= 0) continue;
    bytes += count;
    length -= (size_t)count;
  }
}

static void write_sequence(const char *format, int count) {
  char text[32];
  if (count > 0) write_all(STDOUT_FILENO, text, (size_t)snprintf(text, sizeof text, format, count));
}

static void hide_line(void) {
  place cursor, end;
  locate(&cursor, &end);
  write_sequence("\r\033[%dA", cursor.row);
  write_all(STDOUT_FILENO, "\r\033[J", 4);
}

static void leave_line(void) {
  place cursor, end;
  locate(&cursor, &end);
  write_sequence("\033[%dB", end.row - cursor.row);
  write_all(STDOUT_FILENO, "\r\n", 2);
}

static void draw_line(void) { el_set(editor.line_editor, EL_REFRESH); }

/* Handles a change of the terminal's size. Most terminals rewrap their content when the width changes. */
static void follow_size(void) {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return;
  if (size.ws_col == editor.columns && size.ws_row == editor.rows) return;
  bool is_known = editor.columns != 0;
  editor.columns = size.ws_col;
  editor.rows = size.ws_row;
  if (!is_known) return;
  el_resize(editor.line_editor);
  if (editor.L == NULL) return;
  hide_line();
  draw_line();
}

/* --- Output while a line is edited --- */

void njc_write(int descriptor, const char *bytes, size_t length) {
  if (length == 0) return;
  bool is_line_there = editor.L != NULL;
  if (is_line_there) hide_line();
  write_all(descriptor, bytes, length);
  editor.ends_in_line = bytes[length - 1] != '\n';
  if (!is_line_there) return;
  if (editor.ends_in_line) write_all(descriptor, "\n", 1);
  editor.ends_in_line = false;
  draw_line();
}

static ssize_t write_stream(void *descriptor, const char *bytes, size_t length) {
  njc_write((int)(intptr_t)descriptor, bytes, length);
  return (ssize_t)length;
}

/* Replaces Lua's file io.`name` and C's `*stream` by a stream of the editor. */
static void take_stream(lua_State *L, const char *name, FILE **stream, int descriptor) {
  lua_getglobal(L, "io");
  lua_getfield(L, -1, name);
  luaL_Stream *file = luaL_checkudata(L, -1, LUA_FILEHANDLE);
  cookie_io_functions_t functions = {.write = write_stream};
  FILE *ours = fopencookie((void *)(intptr_t)descriptor, "w", functions);
  if (ours == NULL) luaL_error(L, "not enough memory");
  setvbuf(ours, NULL, _IOLBF, BUFSIZ);
  fflush(*stream);
  *stream = ours;
  file->f = ours;
  lua_pop(L, 2);
}

/* --- Characters --- */

/* Waits until a byte can be read. Returns false if an error (`has_failed`) or Ctrl-C (`is_interrupted`) ended the
 * wait. */
static bool await_input(void) {
  lua_State *L = editor.L;
  if (!lua_checkstack(L, 4)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &wait_key);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) {
    editor.has_failed = true;
    return false;
  }
  editor.is_interrupted = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return !editor.is_interrupted;
}

static int end_line(EditLine *line_editor, wchar_t *letter) {
  (void)line_editor;
  *letter = L'\n';
  return 1;
}

static int get_letter(EditLine *line_editor, wchar_t *letter) {
  mbstate_t state = {0};
  follow_size();
  for (;;) {
    if (editor.has_failed) return -1;
    if (editor.is_interrupted) return end_line(line_editor, letter);
    if (!await_input()) continue;
    char byte;
    ssize_t count = read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EIO) return -1; /* The terminal was closed. */
    if (count <= 0) return (int)count;
    size_t length = mbrtowc(letter, &byte, 1, &state);
    if (length == (size_t)-1) {
      memset(&state, 0, sizeof state); /* Bytes that are invalid in the locale are discarded. */
    } else if (length != (size_t)-2) {
      return 1;
    }
  }
}

/* --- Completion --- */

/* Completes the text at the cursor: calls the completion function, inserts its first result, and shows its second
 * result below the line. */
static unsigned char complete(EditLine *line_editor, int letter) {
  (void)letter;
  lua_State *L = editor.L;
  const LineInfo *line = el_line(line_editor);
  if (!lua_checkstack(L, 6)) return CC_ERROR;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &complete_key);
  lua_pushlstring(L, line->buffer, (size_t)(line->cursor - line->buffer));
  lua_pushlstring(L, line->cursor, (size_t)(line->lastchar - line->cursor));
  if (lua_pcall(L, 2, 2, 0) != LUA_OK) {
    lua_pop(L, 1);
    return CC_ERROR;
  }
  const char *text = lua_tostring(L, -2), *choices = lua_tostring(L, -1);
  bool has_text = text != NULL && *text != 0;
  if (has_text) el_insertstr(line_editor, text);
  if (choices != NULL && *choices != 0) {
    leave_line();
    write_all(STDOUT_FILENO, choices, strlen(choices));
    draw_line();
  }
  bool has_choices = choices != NULL && *choices != 0;
  lua_pop(L, 2);
  return has_text ? CC_REFRESH : has_choices ? CC_NORM : CC_REFRESH_BEEP;
}

/* --- Ctrl-Z --- */

static void stop_process(int number) {
  (void)number;
  int code = errno;
  bool is_edited = editor.L != NULL && tcgetattr(STDIN_FILENO, &editor.edited) == 0;
  if (is_edited) tcsetattr(STDIN_FILENO, TCSADRAIN, &editor.before);
  raise(SIGSTOP);
  if (is_edited) tcsetattr(STDIN_FILENO, TCSADRAIN, &editor.edited);
  editor.is_stale = is_edited;
  errno = code;
}

static void restore_terminal(void) {
  if (editor.L != NULL) tcsetattr(STDIN_FILENO, TCSADRAIN, &editor.before);
}

/* --- The library --- */

static char *push_prompt(EditLine *line_editor) {
  (void)line_editor;
  return (char *)editor.prompt;
}

/* Binds keys as in bash where libedit's defaults differ. */
static void bind_keys(EditLine *line_editor) {
  static const char *const keys[][2] = {
      {"^I", "nightjar-complete"}, {"^R", "em-inc-search-prev"},     {"^S", "em-inc-search-next"},
      {"^W", "ed-delete-prev-word"}, {"^U", "vi-kill-line-prev"},    {"\\e[3~", "ed-delete-next-char"},
      {"\\e[H", "ed-move-to-beg"}, {"\\e[F", "ed-move-to-end"},      {"\\eOH", "ed-move-to-beg"},
      {"\\eOF", "ed-move-to-end"}, {"\\e[1~", "ed-move-to-beg"},     {"\\e[4~", "ed-move-to-end"},
      {"\\e[1;5C", "em-next-word"}, {"\\e[1;5D", "ed-prev-word"},    {"\\e[5~", "ed-search-prev-history"},
      {"\\e[6~", "ed-search-next-history"}};
  for (size_t index = 0; index < sizeof keys / sizeof *keys; index++) {
    el_set(line_editor, EL_BIND, keys[index][0], keys[index][1], NULL);
  }
}

/* Uses the locale of the environment, or UTF-8 if that locale is not available or is C or POSIX. */
static void set_locale(void) {
  const char *locale = setlocale(LC_CTYPE, "");
  if (locale == NULL || strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0) setlocale(LC_CTYPE, "C.UTF-8");
}

/* editor.open(wait, complete) opens the editor; can be called once. wait() waits until standard input is readable or
 * Ctrl-C is typed, and returns whether Ctrl-C was typed. complete(before, behind) returns the text to insert at the
 * cursor and the text to show below the line; either may be nil. */
static int open_editor(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  if (editor.line_editor != NULL) return luaL_error(L, "the editor is already open");
  lua_settop(L, 2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &complete_key);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &wait_key);
  set_locale();
  if (tcgetattr(STDIN_FILENO, &editor.before) != 0) return luaL_error(L, "standard input is not a terminal");
  FILE *output = fdopen(dup(STDOUT_FILENO), "w"), *errors = fdopen(dup(STDERR_FILENO), "w");
  if (output == NULL || errors == NULL) return luaL_error(L, "the terminal cannot be opened: %s", strerror(errno));
  editor.history = history_init();
  editor.line_editor = el_init("nightjar", stdin, output, errors);
  if (editor.line_editor == NULL || editor.history == NULL) {
    return luaL_error(L, "the terminal does not support line editing");
  }
  HistEvent event;
  history(editor.history, &event, H_SETSIZE, HISTORY_SIZE);
  editor.prompt = "";
  follow_size();
  if (editor.columns == 0) editor.columns = 80;
  EditLine *line_editor = editor.line_editor;
  el_set(line_editor, EL_EDITOR, "emacs");
  el_set(line_editor, EL_SIGNAL, 0);
  el_set(line_editor, EL_PROMPT, push_prompt);
  el_set(line_editor, EL_HIST, history, editor.history);
  el_set(line_editor, EL_GETCFN, get_letter);
  el_set(line_editor, EL_ADDFN, "nightjar-complete", "Complete the text before the cursor", complete);
  bind_keys(line_editor);
  el_source(line_editor, NULL); /* ~/.editrc */
  take_stream(L, "stdout", &stdout, STDOUT_FILENO);
  take_stream(L, "stderr", &stderr, STDERR_FILENO);
  struct sigaction action = {.sa_handler = stop_process, .sa_flags = SA_RESTART};
  sigaction(SIGTSTP, &action, NULL);
  atexit(restore_terminal);
  return 0;
}

/* editor.refresh() redraws the line if other programs may have written to the terminal. */
static int refresh(lua_State *L) {
  (void)L;
  if (editor.is_stale && editor.L != NULL) draw_line();
  editor.is_stale = 0;
  return 0;
}

/* editor.end_line() writes a newline if the last output did not end with one. */
static int end_printed_line(lua_State *L) {
  (void)L;
  fflush(NULL);
  if (editor.ends_in_line) write_all(STDOUT_FILENO, "\n", 1);
  editor.ends_in_line = false;
  return 0;
}

/* editor.read(prompt) -> the line without its newline; nil at the end of the input; false if Ctrl-C was typed */
static int read_line(lua_State *L) {
  editor.prompt = luaL_checkstring(L, 1);
  if (editor.line_editor == NULL || editor.L != NULL) {
    return luaL_error(L, "editor.read: the editor is not open, or another line is being read");
  }
  lua_settop(L, 1);
  end_printed_line(L);
  editor.is_interrupted = editor.has_failed = false;
  tcgetattr(STDIN_FILENO, &editor.before);
  editor.L = L;
  int count = 0;
  const char *line = el_gets(editor.line_editor, &count);
  editor.L = NULL;
  if (editor.has_failed) return lua_error(L);
  if (editor.is_interrupted) {
    lua_pushboolean(L, false);
  } else if (line == NULL || count <= 0) {
    lua_pushnil(L);
  } else {
    while (count > 0 && (line[count - 1] == '\n' || line[count - 1] == '\r')) count--;
    lua_pushlstring(L, line, (size_t)count);
  }
  return 1;
}

/* editor.remember(line) adds the line to the history. */
static int remember(lua_State *L) {
  const char *line = luaL_checkstring(L, 1);
  HistEvent event;
  if (editor.history != NULL) history(editor.history, &event, H_ENTER, line);
  return 0;
}

int njc_open_editor(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"open", open_editor}, {"read", read_line}, {"end_line", end_printed_line}, {"remember", remember},
      {"refresh", refresh}, {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_pushinteger(L, HISTORY_SIZE);
  lua_setfield(L, -2, "history_size");
  return 1;
}
