/* csv.c - the C part of nightjar.csv: the fast path for complete and valid rows. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "modules/modules.h"

/* The rest of the text, its separator and quote, and the newlines passed so far. */
typedef struct reader {
  const char *at, *end;
  char separator, quote;
  lua_Integer newlines; /* in quoted fields */
} reader;

/* Pushes a quoted field. `r->at` is after the opening quote. Returns false if the field does not end in this text. */
static bool push_quoted(lua_State *L, reader *r) {
  const char *start = r->at;
  luaL_Buffer buffer;
  bool is_buffered = false;
  for (;;) {
    const char *stop = memchr(r->at, r->quote, (size_t)(r->end - r->at));
    if (stop == NULL || stop + 1 == r->end) return false;
    for (const char *at = r->at; (at = memchr(at, '\n', (size_t)(stop - at))) != NULL; at++) r->newlines++;
    r->at = stop + 1;
    if (*r->at != r->quote) {
      if (!is_buffered) {
        lua_pushlstring(L, start, (size_t)(stop - start));
      } else {
        luaL_addlstring(&buffer, start, (size_t)(stop - start));
        luaL_pushresult(&buffer);
      }
      return true;
    }
    if (!is_buffered) luaL_buffinit(L, &buffer);
    is_buffered = true;
    luaL_addlstring(&buffer, start, (size_t)(r->at - start));
    start = ++r->at;
  }
}

/* Pushes an unquoted field. Returns false if the field does not end in this text or contains a quote. */
static bool push_plain(lua_State *L, reader *r) {
  const char *start = r->at;
  const char *const end = r->end;
  const char separator = r->separator, quote = r->quote;
  for (const char *at = start; at < end; at++) {
    char byte = *at;
    if (byte == quote) return false;
    if (byte == separator || byte == '\n' || byte == '\r') {
      r->at = at;
      lua_pushlstring(L, start, (size_t)(at - start));
      return true;
    }
  }
  return false;
}

/* The maximum number of fields preallocated for a row. */
enum { MOST_EXPECTED = 1024 };

/* row(text, place, separator, quote, most, expected) -> the fields, the position after the row, the number of lines in
 * the row, whether the row ends in \r. `expected` is the expected number of fields; 0 if the number is unknown. Returns
 * nothing if the row is longer than `most` bytes, incomplete, empty or invalid; the byte-by-byte reader then handles
 * the row. */
static int row(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  lua_Integer place = luaL_checkinteger(L, 2), most = luaL_checkinteger(L, 5);
  if (place < 1 || (size_t)place > length) return 0;
  reader r = {text + place - 1, text + length, *luaL_checkstring(L, 3), *luaL_checkstring(L, 4), 0};
  const char *start = r.at;
  if (most >= 0 && r.end - start > most) r.end = start + most;
  if (start == r.end || *start == '\n' || *start == '\r') return 0;
  lua_Integer expected = luaL_checkinteger(L, 6);
  lua_settop(L, 5);
  lua_createtable(L, expected > 0 && expected <= MOST_EXPECTED ? (int)expected : 0, 0);
  for (lua_Integer count = 1;; count++) {
    bool is_whole;
    if (r.at < r.end && *r.at == r.quote) {
      r.at++;
      is_whole = push_quoted(L, &r);
    } else {
      is_whole = push_plain(L, &r);
    }
    if (!is_whole || r.at == r.end) return 0;
    lua_rawseti(L, 6, count);
    char byte = *r.at++;
    if (byte == r.separator) continue;
    if (byte != '\n' && byte != '\r') return 0;
    lua_pushinteger(L, (lua_Integer)(r.at - text) + 1);
    lua_pushinteger(L, r.newlines + 1);
    lua_pushboolean(L, byte == '\r');
    return 4;
  }
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
static const char reader_source[] = {
#embed "lua/csv_reader.lua"
};
#pragma clang diagnostic pop

int njl_open_csv(lua_State *L) {
  lua_pushcfunction(L, row);
  lua_setfield(L, 1, "row");
  njl_add_part(L, 1, "reader", "=nightjar.csv.reader", reader_source, sizeof reader_source);
  return 0;
}
