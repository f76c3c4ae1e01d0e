/* writer.h - the state of the JSON encoder: json_encode.c, json_scalars.c and json_path.c.
 *
 * No collectable object is created before the text is complete. So no finalizer runs, and neither the tables nor
 * their strings can change meanwhile. Memory comes from the Lua state's allocator, so the memory limit applies. */
#ifndef NJL_JSON_WRITER_H
#define NJL_JSON_WRITER_H

#include <lua5.4/lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/annotations.h"
#include "json/json.h"

/* A growing array. All calls in a Lua state reuse the same buffers, which are freed when the state closes. */
typedef struct njl_json_buffer {
  char *items;
  size_t count, capacity; /* in bytes */
} njl_json_buffer;

typedef struct njl_json_name {
  const char *bytes;
  size_t length;
  int slot; /* stack slot of the key */
} njl_json_name;

/* A table being written. It is at `slot` of the Lua stack, followed by its keys. */
typedef struct njl_json_frame {
  const void *table;
  int slot;
  bool is_array;
  lua_Integer done, count; /* members written, and in total; the total is unknown for an unsorted object */
  size_t first_name;       /* for a sorted object: offset in bytes of its names in the buffer */
} njl_json_frame;

typedef struct njl_json_scratch {
  njl_json_buffer text, names, frames;
} njl_json_scratch;

typedef struct njl_json_writer {
  lua_State *L;
  njl_json_scratch *s;
  njl_json_style style;
  const char *what;
  int mark; /* stack slot of nightjar.array's metatable */
  int null; /* stack slot of nightjar.null */
  uint64_t values; /* number of values written */
} njl_json_writer;

/* Returns the tables being written, from the outermost to the innermost. */
static inline njl_json_frame *njl_json_frames(const njl_json_writer *w) { return (njl_json_frame *)w->s->frames.items; }
static inline size_t njl_json_depth(const njl_json_writer *w) { return w->s->frames.count / sizeof(njl_json_frame); }
/* Returns the sorted names of an object. */
static inline const njl_json_name *njl_json_names(const njl_json_writer *w, const njl_json_frame *frame) {
  return (const njl_json_name *)(w->s->names.items + frame->first_name);
}

/* Defined in json_encode.c. Enlarges the buffer and returns room for `count` more bytes after the existing ones. */
char *njl_json_grow(lua_State *L, njl_json_buffer *buffer, size_t count) NJL_RAISES;

/* Returns room for `count` more bytes after the existing ones. */
static inline char *njl_json_reserve(lua_State *L, njl_json_buffer *buffer, size_t count) {
  if (buffer->capacity - buffer->count < count) return njl_json_grow(L, buffer, count);
  return buffer->items + buffer->count;
}

static inline void njl_json_put(njl_json_writer *w, const char *bytes, size_t count) {
  memcpy(njl_json_reserve(w->L, &w->s->text, count), bytes, count);
  w->s->text.count += count;
}

static inline void njl_json_put_char(njl_json_writer *w, char c) {
  *njl_json_reserve(w->L, &w->s->text, 1) = c;
  w->s->text.count++;
}

/* Defined in json_path.c. Raises an error that names the path of the value being written. */
__attribute__((format(printf, 2, 3))) void njl_json_refuse(njl_json_writer *w, const char *format, ...) NJL_RAISES;

/* json_scalars.c */
void njl_json_put_string(njl_json_writer *w, const char *bytes, size_t length) NJL_RAISES;
void njl_json_put_integer(njl_json_writer *w, lua_Integer value) NJL_RAISES;
void njl_json_put_float(njl_json_writer *w, double value) NJL_RAISES;

#endif
