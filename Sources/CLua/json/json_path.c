/* json_path.c - errors of the JSON encoder, which name the path of the value: "json.items[3]". */
#include <lua5.4/lua.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/failure.h"
#include "json/writer.h"
#include "njl_future.h"

static bool is_identifier(const char *text, size_t length) {
  if (length == 0 || length > 40) return false;
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!is_letter && !(i > 0 && c >= '0' && c <= '9')) return false;
  }
  return true;
}

/* A text outside of Lua: creating a Lua string may run a finalizer, which could overwrite the scratch buffers. */
typedef struct sentence {
  char bytes[4096];
  size_t length; /* without the NUL */
} sentence;

static void add_bytes(sentence *s, const char *bytes, size_t length) {
  size_t room = sizeof s->bytes - 1 - s->length;
  if (length > room) length = room;
  memcpy(s->bytes + s->length, bytes, length);
  s->length += length;
  s->bytes[s->length] = 0;
}

static void add_text(sentence *s, const char *text) { add_bytes(s, text, strlen(text)); }

/* Appends the path of the value being written, as a Lua expression. A long path is shortened in the middle. */
static void add_path(njl_json_writer *w, sentence *path) {
  enum { END = 12 };
  lua_State *L = w->L;
  size_t levels = njl_json_depth(w);
  add_text(path, w->what);
  for (size_t i = 0; i < levels; i++) {
    if (i == END && levels > 2 * END) {
      add_text(path, " ... ");
      i = levels - END;
    }
    const njl_json_frame *f = &njl_json_frames(w)[i];
    char number[32];
    if (f->is_array) {
      snprintf(number, sizeof number, "[%lld]", (long long)f->done);
      add_text(path, number);
      continue;
    }
    int slot = f->slot + 1;
    if (w->style.is_sorted) slot = njl_json_names(w, f)[f->done - 1].slot;
    size_t length;
    const char *text = lua_tolstring(L, slot, &length); /* a string: no conversion occurs */
    if (is_identifier(text, length)) {
      add_text(path, ".");
      add_bytes(path, text, length);
    } else {
      add_text(path, "[\"");
      add_bytes(path, text, length < 40 ? length : 40);
      add_text(path, length > 40 ? "...\"]" : "\"]");
    }
  }
}

void njl_json_refuse(njl_json_writer *w, const char *format, ...) {
  sentence reported = {.length = 0};
  char why[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  add_path(w, &reported);
  njl_raise(w->L, NJL_KIND_INVALID_ARGUMENT, 0, "%s: %s", reported.bytes, why);
}
