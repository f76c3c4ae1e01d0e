/* json_scalars.c - writes strings and numbers as JSON text. */
#include <lua5.4/lua.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <CSimdjson.h>

#include "json/writer.h"

/* The character after the backslash; 'u': followed by four digits; 0: no escape. RFC 8259 section 7. */
static const char escapes[256] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b', 't', 'n', 'u', 'f', 'r', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', ['"'] = '"', ['\\'] = '\\'};

void njl_json_put_string(njl_json_writer *w, const char *bytes, size_t length) {
  if (!njs_is_utf8(bytes, length)) {
    njl_json_refuse(w, "the string is not valid UTF-8; encode bytes, for example as base64");
  }
  njl_json_put_char(w, '"');
  size_t from = 0;
  for (size_t i = 0; i < length; i++) {
    char escape = escapes[(unsigned char)bytes[i]];
    if (escape == 0) continue;
    njl_json_put(w, bytes + from, i - from);
    from = i + 1;
    char text[8];
    if (escape == 'u') njl_json_put(w, text, (size_t)snprintf(text, sizeof text, "\\u%04x", (unsigned char)bytes[i]));
    else {
      njl_json_put_char(w, '\\');
      njl_json_put_char(w, escape);
    }
  }
  njl_json_put(w, bytes + from, length - from);
  njl_json_put_char(w, '"');
}

void njl_json_put_integer(njl_json_writer *w, lua_Integer value) {
  char digits[24], *at = digits + sizeof digits;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do *--at = (char)('0' + rest % 10);
  while ((rest /= 10) > 0);
  if (value < 0) *--at = '-';
  njl_json_put(w, at, (size_t)(digits + sizeof digits - at));
}

void njl_json_put_float(njl_json_writer *w, double value) {
  if (isnan(value)) njl_json_refuse(w, "NaN cannot be represented in JSON");
  if (isinf(value)) njl_json_refuse(w, "an infinite number cannot be represented in JSON");
  if (value == 0 && signbit(value)) return njl_json_put(w, "-0.0", 4);
  if (value == floor(value) && fabs(value) < 9007199254740992.0) return njl_json_put_integer(w, (lua_Integer)value);
  char text[NJS_DOUBLE_LENGTH];
  njl_json_put(w, text, njs_format_double(value, text));
}
