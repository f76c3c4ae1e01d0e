/* form.c - reads the option multipart and paths of files to send. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/names.h"
#include "bindings/reading.h"

/* Pops the path on top of the stack and returns it. Sandboxed scripts cannot send files. */
njl_bytes njl_reading_path(njl_reading *r) {
  if (!r->reads_files) luaL_error(r->L, "%s: files are not available in a sandbox", r->function);
  if (lua_type(r->L, -1) != LUA_TSTRING) njl_reading_mismatch(r, "a file path", -1);
  njl_bytes path;
  path.data = lua_tolstring(r->L, -1, &path.length);
  njl_reading_keep(r);
  return path;
}

/* Reads the non-negative integer at `index`, a number of bytes. */
static int64_t read_bytes_option(njl_reading *r, int index, const char *name) {
  lua_State *L = r->L;
  if (!lua_isinteger(L, index) || lua_tointeger(L, index) < 0) {
    luaL_error(L, "%s: file.%s must be a non-negative integer, got %s", r->function, name, luaL_tolstring(L, index, NULL));
  }
  return lua_tointeger(L, index);
}

void njl_reading_file(njl_reading *r, njl_request *request) {
  static const char *const known[] = {"path", "offset", "length", NULL};
  lua_State *L = r->L;
  request->file_length = -1;
  if (!lua_istable(L, -1)) {
    request->file = njl_reading_path(r);
    return;
  }
  int table = lua_gettop(L);
  njl_reading_copy(r, table);
  r->option = "file.path";
  for (lua_pushnil(L); lua_next(L, table) != 0;) {
    switch (njl_check_option(L, -2, r->function, "file.", known)) {
    case 0: request->file = njl_reading_path(r); continue;
    case 1: request->file_offset = read_bytes_option(r, -1, "offset"); break;
    case 2: request->file_length = read_bytes_option(r, -1, "length"); break;
    }
    lua_pop(L, 1);
  }
  if (request->file.data == NULL) luaL_error(L, "%s: file.path is missing", r->function);
  lua_pop(L, 1);
}

/* Pops the part of a form on top of the stack: a text, or a table with details. */
static void read_part(njl_reading *r, njl_form_part *part) {
  static const char *const known[] = {"name", "value", "bytes", "file", "filename", "content_type", NULL};
  enum { NAME, VALUE, BYTES, FILE_PATH, FILENAME, CONTENT_TYPE };
  lua_State *L = r->L;
  if (!lua_istable(L, -1)) {
    part->content = njl_reading_take_text(r, part->name.data);
    return;
  }
  int table = lua_gettop(L);
  njl_reading_copy(r, table);
  njl_bytes *const fields[] = {&part->name,    &part->content,  &part->content,
                               &part->content, &part->filename, &part->content_type};
  unsigned given = 0;
  for (lua_pushnil(L); lua_next(L, table) != 0;) {
    int field = njl_check_option(L, -2, r->function, "multipart.", known);
    given |= 1u << field;
    part->is_file = part->is_file || field == FILE_PATH;
    if (field == FILE_PATH) *fields[field] = njl_reading_path(r);
    else *fields[field] = njl_reading_take_text(r, known[field]);
  }
  unsigned contents = given & (1u << VALUE | 1u << BYTES | 1u << FILE_PATH);
  if (part->name.data == NULL) luaL_error(L, "%s: a multipart part has no name", r->function);
  if (contents == 0 || (contents & (contents - 1)) != 0) {
    luaL_error(L, "%s: multipart part '%s' must have exactly one of value, bytes and file", r->function,
               part->name.data);
  }
  lua_pop(L, 1);
}

/* Reads { {name=, value=|bytes=|file=, filename=, content_type=}, ... }, or { name = text, other = {file=} }. */
void njl_reading_form(njl_reading *r, int table, njl_request *request) {
  lua_State *L = r->L;
  if (!lua_istable(L, table)) njl_reading_mismatch(r, "a table", table);
  njl_pairs names = {0};
  size_t count = lua_rawlen(L, table);
  if (count == 0) {
    njl_reading_copy(r, table);
    njl_reading_names(r, table, &names);
    count = names.count;
  }
  njl_form_part *parts = lua_newuserdatauv(L, (count + 1) * sizeof *parts, 0);
  njl_reading_keep(r);
  for (size_t index = 0; index < count; index++) {
    parts[index] = (njl_form_part){0};
    if (names.count == 0) {
      if (lua_rawgeti(L, table, (lua_Integer)index + 1) != LUA_TTABLE) njl_reading_mismatch(r, "a list of tables", -1);
    } else {
      parts[index].name = names.items[index].name;
      lua_pushlstring(L, parts[index].name.data, parts[index].name.length);
      lua_rawget(L, table);
    }
    read_part(r, &parts[index]);
  }
  request->has_form = true;
  request->parts = parts;
  request->part_count = count;
}
