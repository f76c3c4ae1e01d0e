/* CSimdjson.h - simdjson behind a few C functions.
 *
 * A document is given out as simdjson's tape (its documented format, below), so that C and Swift walk it with no C++
 * frame on the stack. No C++ exception leaves this module.
 *
 * The tape. Words of 64 bits; the high 8 bits are a type, the low 56 a payload. Word 0 is the root, word 1 the value.
 *   n t f     null, true, false
 *   l u d     the next word is an int64, a uint64 above the int64 range, or a double
 *   "         payload: where in `strings` a uint32 length, that many bytes of UTF-8 and a NUL lie
 *   { [       payload: low 32 bits, the index behind the closing word; next 24 bits, how many members (saturating)
 *   } ]       the end of it; an object's members are a string word and a value, in the order they came
 */
#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays and objects within each other before a document is refused. */
#define NJS_MAX_DEPTH 1024

/* Memory for parsing, reused by each parse. For one thread at a time. */
typedef struct njs_parser njs_parser;

typedef enum njs_status {
  NJS_OK = 0,
  NJS_INVALID = 1,   /* not JSON as RFC 8259 has it, or a number beyond the range of doubles; the place is told */
  NJS_TOO_DEEP = 2,  /* more than NJS_MAX_DEPTH arrays and objects within each other; the place is told */
  NJS_TOO_LARGE = 3, /* 4 GiB or more */
  NJS_NO_MEMORY = 4,
} njs_status;

/* Borrowed from the parser, until it parses again or is freed. */
typedef struct njs_document {
  const uint64_t *tape;
  const uint8_t *strings;
} njs_document;

/* Where a text stops to be JSON, and what was wanted there. */
typedef struct njs_failure {
  size_t offset;       /* bytes from the start */
  size_t line, column; /* from 1; the column counts bytes */
  const char *problem; /* "expected ',' or '}'"; static */
} njs_failure;

/* NULL: out of memory. */
njs_parser *njs_parser_new(void);
void njs_parser_free(njs_parser *parser);

/* Memory that a parser has for each byte of the longest text that it was given: tape 8, strings 5/3, positions 4, and
 * while it parses a copy or two. */
#define NJS_MEMORY_FOR_A_BYTE 16

/* Gives memory back that is for texts longer than `kept` bytes; what was borrowed ends. 1: it has none of it left. */
int njs_parser_trim(njs_parser *parser, size_t kept);

/* Parses `length` bytes of UTF-8; a byte order mark in front is skipped. Integers beyond uint64 become doubles.
 * `bytes` may be NULL when `length` is 0, `failure` always. */
njs_status njs_parse(njs_parser *parser, const char *bytes, size_t length, njs_document *document,
                     njs_failure *failure);

/* What njs_validate found besides the place of a failure. */
typedef struct njs_findings {
  size_t long_integers;  /* integers beyond uint64 */
  size_t long_numbers;   /* numbers beyond the range of doubles */
  size_t long_number_at; /* the offset of the first of those */
} njs_findings;

/* Checks the grammar of RFC 8259 one byte after the other: slower than parsing, but it knows the place. Also called by
 * njs_parse for what it refused. `on_long_integer` is told where each integer beyond uint64 ends; it may be NULL. */
njs_status njs_validate(const char *bytes, size_t length, njs_failure *failure, njs_findings *findings,
                        void (*on_long_integer)(void *context, size_t end), void *context);

/* 1 when the bytes are UTF-8 (RFC 3629), else 0. */
int njs_is_utf8(const char *bytes, size_t length);

/* Longest text of njs_format_double. */
#define NJS_DOUBLE_LENGTH 32
/* Writes the shortest text that reads back as `number`, which is finite; in any locale. Returns its length. */
size_t njs_format_double(double number, char text[NJS_DOUBLE_LENGTH]);

#ifdef __cplusplus
}
#endif

#endif
