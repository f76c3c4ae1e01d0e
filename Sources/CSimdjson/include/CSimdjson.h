/* CSimdjson.h - a C interface to simdjson.
 *
 * A document is represented by simdjson's tape (a documented format, see below), so that C and Swift traverse it
 * without a C++ frame on the stack. No C++ exception leaves this module.
 *
 * The tape consists of 64-bit words; the high 8 bits are a type, the low 56 bits a payload. Word 0 is the root, word
 * 1 the value.
 *   n t f     null, true, false
 *   l u d     the next word is an int64, a uint64 above the int64 range, or a double
 *   "         payload: offset in `strings` of a uint32 length, that many bytes of UTF-8 and a NUL
 *   { [       payload: low 32 bits, the index after the closing word; next 24 bits, the number of members (saturating)
 *   } ]       the end; an object's members are a string word and a value each, in document order */
#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum nesting depth of arrays and objects. */
#define NJS_MAX_DEPTH 1024

/* A parser with its memory, which each parse reuses. For one thread at a time. */
typedef struct njs_parser njs_parser;

typedef enum njs_status {
  NJS_OK = 0,
  NJS_INVALID = 1, /* not JSON as defined by RFC 8259, or a number out of the range of a double; the position is set */
  NJS_TOO_DEEP = 2,  /* nested more than NJS_MAX_DEPTH levels deep; the position is set */
  NJS_TOO_LARGE = 3, /* 2^32 - 1 bytes or more */
  NJS_NO_MEMORY = 4,
} njs_status;

/* A parsed document. Borrowed from the parser until the parser parses again, is trimmed or is freed. */
typedef struct njs_document {
  const uint64_t *tape;
  const uint8_t *strings;
} njs_document;

/* The position of an error and its description. */
typedef struct njs_failure {
  size_t offset;       /* bytes from the start */
  size_t line, column; /* from 1; the column counts bytes */
  const char *problem; /* "expected ',' or '}'"; static */
} njs_failure;

/* Returns NULL if out of memory. */
njs_parser *njs_parser_new(void);
void njs_parser_free(njs_parser *parser);

/* The memory, in bytes, that a parser uses for each byte of the longest text parsed: tape 8, strings 5/3, positions 4,
 * and during parsing one or two copies of the text. */
#define NJS_MEMORY_FOR_A_BYTE 16

/* Releases the parser's memory if it exceeds what a text of `kept` bytes needs; borrowed data then becomes invalid.
 * Returns 1 if the memory was released, else 0. */
int njs_parser_trim(njs_parser *parser, size_t kept);

/* Parses `length` bytes of UTF-8. A leading byte order mark is skipped. Integers above the uint64 or below the int64
 * range become doubles. `bytes` may be NULL if `length` is 0; `failure` may always be NULL. */
njs_status njs_parse(njs_parser *parser, const char *bytes, size_t length, njs_document *document,
                     njs_failure *failure);

/* Further results of njs_validate. */
typedef struct njs_findings {
  size_t long_integers;  /* integers above the uint64 or below the int64 range */
  size_t long_numbers;   /* numbers out of the range of a double */
  size_t long_number_at; /* offset of the first such number */
} njs_findings;

/* Checks the grammar of RFC 8259 byte by byte: slower than parsing, but it determines the position of an error. Also
 * called by njs_parse for texts that simdjson rejects. `on_long_integer` may be NULL. It is called with the end offset
 * of each integer that `long_integers` counts. */
njs_status njs_validate(const char *bytes, size_t length, njs_failure *failure, njs_findings *findings,
                        void (*on_long_integer)(void *context, size_t end), void *context);

/* Returns 1 if the bytes are valid UTF-8 (RFC 3629), else 0. */
int njs_is_utf8(const char *bytes, size_t length);

/* The size of the buffer for njs_format_double, in bytes. */
#define NJS_DOUBLE_LENGTH 32
/* Writes the shortest text that converts back to `number`, which must be finite. Independent of the locale. Returns the
 * length of the text, which has no terminating NUL. */
size_t njs_format_double(double number, char text[NJS_DOUBLE_LENGTH]);

#ifdef __cplusplus
}
#endif

#endif
