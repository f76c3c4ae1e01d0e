#include "section.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TEXT = 2048, FIRST_FIELDS = 32, LARGE_TEXT = 64 << 10, LARGE_COUNT = 1024 };

void ch2_section_clear(section *self) {
  if (self->text_capacity > LARGE_TEXT || self->field_capacity > LARGE_COUNT) ch2_section_free(self);
  self->length = 0;
  self->count = 0;
}

static bool reserve(void **memory, size_t *capacity, size_t needed, size_t first, size_t size) {
  if (needed <= *capacity) return true;
  size_t larger = *capacity ? *capacity * 2 : first;
  if (larger < needed) larger = needed;
  void *moved = realloc(*memory, larger * size);
  if (!moved) return false;
  *memory = moved;
  *capacity = larger;
  return true;
}

bool ch2_section_add(section *self, const uint8_t *name, size_t name_length, const uint8_t *value, size_t value_length) {
  size_t end = self->length + name_length + value_length + 2;
  if (!reserve((void **)&self->text, &self->text_capacity, end, FIRST_TEXT, 1) ||
      !reserve((void **)&self->fields, &self->field_capacity, self->count + 1, FIRST_FIELDS, sizeof *self->fields))
    return false;
  size_t start = self->length + name_length + 1;
  self->fields[self->count++] =
      (ch2_range){(int32_t)self->length, (int32_t)name_length, (int32_t)start, (int32_t)value_length};
  memcpy(self->text + self->length, name, name_length);
  self->text[start - 1] = 0;
  memcpy(self->text + start, value, value_length);
  self->text[end - 1] = 0;
  self->length = end;
  return true;
}

void ch2_section_free(section *self) {
  free(self->text);
  free(self->fields);
  *self = (section){0};
}
