/* base64.c - nightjar.base64: base64 encoding and decoding, RFC 4648 sections 4 and 5. */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <stdint.h>

#include "core/failure.h"
#include "core/names.h"
#include "modules/modules.h"
#include "njl_future.h"

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_urls[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void njl_push_base64(lua_State *L, const uint8_t *bytes, size_t length, bool is_url, bool has_padding) {
  if (length > SIZE_MAX / 4) luaL_error(L, "%I bytes are too many to encode as base64", (LUAI_UACINT)length);
  const char *alphabet = is_url ? for_urls : standard;
  luaL_Buffer buffer;
  char *text = luaL_buffinitsize(L, &buffer, (length + 2) / 3 * 4);
  size_t at = 0, place = 0;
  for (; place + 2 < length; place += 3) {
    uint32_t group = (uint32_t)bytes[place] << 16 | (uint32_t)bytes[place + 1] << 8 | bytes[place + 2];
    text[at++] = alphabet[group >> 18];
    text[at++] = alphabet[group >> 12 & 63];
    text[at++] = alphabet[group >> 6 & 63];
    text[at++] = alphabet[group & 63];
  }
  size_t rest = length - place;
  if (rest > 0) {
    uint32_t group = (uint32_t)bytes[place] << 16 | (rest == 2 ? (uint32_t)bytes[place + 1] << 8 : 0);
    text[at++] = alphabet[group >> 18];
    text[at++] = alphabet[group >> 12 & 63];
    if (rest == 2) text[at++] = alphabet[group >> 6 & 63];
    for (size_t missing = 3 - rest; has_padding && missing > 0; missing--) text[at++] = '=';
  }
  luaL_pushresultsize(&buffer, at);
}

/* base64.encode(bytes, {url = false, padding = not url}) -> text */
static int encode(lua_State *L) {
  static const char *const names[] = {"url", "padding", NULL};
  bool is_url = false, has_padding = true;
  bool *const flags[] = {&is_url, &has_padding};
  size_t length;
  luaL_checktype(L, 1, LUA_TSTRING);
  const uint8_t *bytes = (const uint8_t *)lua_tolstring(L, 1, &length);
  unsigned given = njl_read_flags(L, 2, "base64.encode", names, flags);
  if (is_url && (given & 2) == 0) has_padding = false;
  njl_push_base64(L, bytes, length, is_url, has_padding);
  return 1;
}

/* Returns the value of a base64 character, or -1 if it is not in the alphabet. */
static int value_of(uint8_t letter, bool is_url) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (letter >= '0' && letter <= '9') return letter - '0' + 52;
  if (letter == (is_url ? '-' : '+')) return 62;
  if (letter == (is_url ? '_' : '/')) return 63;
  return -1;
}

static bool is_space(uint8_t letter) { return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n'; }

static int refuse(lua_State *L, uint8_t letter, size_t place, bool is_url) {
  const char *hint = "";
  if (value_of(letter, !is_url) >= 0) {
    hint = is_url ? "; it belongs to the standard alphabet: remove url = true"
                  : "; it belongs to the URL-safe alphabet: set url = true";
  } else if (is_space(letter)) {
    hint = "; set spaces = true to ignore white space";
  }
  if (letter > 0x20 && letter < 0x7F) {
    return njl_raise(L, NJL_KIND_DECODING, 0, "base64 decoding failed: invalid character '%c' at position %I%s", letter,
                     (LUAI_UACINT)place, hint);
  }
  static const char digits[] = "0123456789abcdef";
  return njl_raise(L, NJL_KIND_DECODING, 0, "base64 decoding failed: invalid byte 0x%c%c at position %I%s",
                   digits[letter >> 4], digits[letter & 15], (LUAI_UACINT)place, hint);
}

/* base64.decode(text, {url = false, spaces = false}) -> bytes. The padding may be missing entirely, but not in part. */
static int decode(lua_State *L) {
  static const char *const names[] = {"url", "spaces", NULL};
  bool is_url = false, allows_space = false;
  bool *const flags[] = {&is_url, &allows_space};
  size_t length;
  luaL_checktype(L, 1, LUA_TSTRING);
  const uint8_t *text = (const uint8_t *)lua_tolstring(L, 1, &length);
  njl_read_flags(L, 2, "base64.decode", names, flags);
  luaL_Buffer buffer;
  char *bytes = luaL_buffinitsize(L, &buffer, length / 4 * 3 + 3);
  uint32_t group = 0;
  size_t letters = 0, at = 0, padding = 0;
  for (size_t place = 0; place < length; place++) {
    uint8_t letter = text[place];
    if (allows_space && is_space(letter)) continue;
    if (letter == '=') {
      padding++;
      continue;
    }
    int value = value_of(letter, is_url);
    if (value < 0) return refuse(L, letter, place + 1, is_url);
    if (padding > 0) return njl_raise(L, NJL_KIND_DECODING, 0, "base64 decoding failed: data after the padding");
    group = group << 6 | (uint32_t)value;
    if (++letters % 4 != 0) continue;
    bytes[at++] = (char)(group >> 16);
    bytes[at++] = (char)(group >> 8);
    bytes[at++] = (char)group;
    group = 0;
  }
  size_t rest = letters % 4;
  if (rest == 1 || (padding > 0 && (rest == 0 || rest + padding != 4))) {
    return njl_raise(L, NJL_KIND_DECODING, 0, "base64 decoding failed: the text is truncated or its padding is wrong");
  }
  if (rest == 2) group <<= 12;
  else if (rest == 3) group <<= 6;
  if ((group & (rest == 2 ? 0xFFFFu : 0xFFu)) != 0 && rest > 0) {
    return njl_raise(L, NJL_KIND_DECODING, 0,
                     "base64 decoding failed: the unused bits of the last character are not zero");
  }
  if (rest > 1) bytes[at++] = (char)(group >> 16);
  if (rest > 2) bytes[at++] = (char)(group >> 8);
  luaL_pushresultsize(&buffer, at);
  return 1;
}

int njl_open_base64(lua_State *L) {
  static const luaL_Reg functions[] = {{"encode", encode}, {"decode", decode}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
