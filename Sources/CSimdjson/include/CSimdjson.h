/* CSimdjson.h - a C interface to simdjson.
 *
 * A document is returned as simdjson's tape (documented below), so that C and Swift can read it without C++ frames on
 * the stack. No C++ exception leaves this module.
 *
 * The tape consists of 64-bit words. The high 8 bits are a type, the low 56 bits a payload. Word 0 is the root, and
 * the value begins at word 1.
 *   n t f     null, true, false
 *   l u d     the next word is an int64, a uint64 above the int64 range, or a double
 *   "         payload: the offset in `strings` of a uint32 length, that many bytes of UTF-8, and a NUL
 *   { [       payload: in the low 32 bits the index after the closing word, in the next 24 bits the count (saturating)
 *   } ]       the end. A member of an object is a string word followed by a value, in document order
 */
#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The deepest nesting of arrays and objects. */
#define NJS_MAX_DEPTH 1024

/* A parser with memory that each parse reuses. Not thread-safe. */
typedef struct njs_parser njs_parser;

typedef enum njs_status {
  NJS_OK = 0,
  NJS_INVALID = 1,   /* not JSON (RFC 8259), or a number beyond the range of doubles; the position is set */
  NJS_TOO_DEEP = 2,  /* nested more than NJS_MAX_DEPTH levels deep; the position is set */
  NJS_TOO_LARGE = 3, /* 4 GiB or more */
  NJS_NO_MEMORY = 4,
} njs_status;

/* Owned by the parser. Valid until the parser is used again or freed. */
typedef struct njs_document {
  const uint64_t *tape;
  const uint8_t *strings;
} njs_document;

/* The position and the reason of a syntax error. */
typedef struct njs_failure {
  size_t offset;       /* bytes from the start */
  size_t line, column; /* from 1; the column counts bytes */
  const char *problem; /* "expected ',' or '}'"; static */
} njs_failure;

/* Returns NULL if memory could not be allocated. */
njs_parser *njs_parser_new(void);
void njs_parser_free(njs_parser *parser);

/* The memory of a parser for each byte of its longest text: tape 8, strings 5/3, positions 4, and one or two copies of
 * the text during parsing. */
#define NJS_MEMORY_FOR_A_BYTE 16

/* Frees the parser's memory if it is for texts longer than `kept` bytes. Returns 1 if it was freed, which
 * invalidates borrowed documents. */
int njs_parser_trim(njs_parser *parser, size_t kept);

/* Parses `length` bytes of UTF-8. A leading byte order mark is skipped. Integers beyond uint64 become doubles.
 * `bytes` may be NULL if `length` is 0. `failure` may be NULL. */
njs_status njs_parse(njs_parser *parser, const char *bytes, size_t length, njs_document *document,
                     njs_failure *failure);

/* Counts of unusual numbers found by njs_validate. */
typedef struct njs_findings {
  size_t long_integers;  /* integers beyond uint64 */
  size_t long_numbers;   /* numbers beyond the range of doubles */
  size_t long_number_at; /* the offset of the first of those */
} njs_findings;

/* Checks the grammar of RFC 8259 byte by byte, which is slower than parsing but reports the position of an error.
 * njs_parse calls it for invalid texts. `on_long_integer` is called with the end of each integer beyond uint64. It may be
 * NULL. */
njs_status njs_validate(const char *bytes, size_t length, njs_failure *failure, njs_findings *findings,
                        void (*on_long_integer)(void *context, size_t end), void *context);

/* Returns 1 if the bytes are UTF-8 (RFC 3629), 0 otherwise. */
int njs_is_utf8(const char *bytes, size_t length);

/* The longest text that njs_format_double writes. */
#define NJS_DOUBLE_LENGTH 32
/* Writes the shortest text that reads back as `number`, which must be finite. Independent of the locale. Returns
 * the length. */
size_t njs_format_double(double number, char text[NJS_DOUBLE_LENGTH]);

#ifdef __cplusplus
}
#endif

#endif
