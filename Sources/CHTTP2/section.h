/* section.h - collects the fields of one section. */
#ifndef CHTTP2_SECTION_H
#define CHTTP2_SECTION_H

#include "chttp2.h"

typedef struct section {
  uint8_t *text;
  size_t length;
  size_t text_capacity;
  ch2_range *fields;
  size_t count;
  size_t field_capacity;
} section;

/* Starts a new section. Releases the memory of a large one. */
void ch2_section_clear(section *self);
/* Returns false if memory is exhausted. The texts must be shorter than 2 GiB together. */
bool ch2_section_add(section *self, const uint8_t *name, size_t name_length, const uint8_t *value, size_t value_length);
void ch2_section_free(section *self);

#endif
