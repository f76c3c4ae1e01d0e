/* CSimdjson.h - simdjson behind plain C: parse JSON into a tape, and say where bad JSON is bad.
 *
 * Nothing here throws, jumps or calls back, so a caller may read the tape and raise a Lua error at any word: no C++ frame is
 * on the stack. A parser belongs to one thread at a time; two parsers share nothing.
 *
 * The tape. One 64-bit word an element in the order of the text; the type is the high byte (njs_type), the payload the low
 * 56 bits (njs_payload). Numbers take two words.
 *
 *   'r'      first and last word. Payload of the first: words on the tape.
 *   '{' '['  start of a container. njs_skip: index of the first word behind its end. njs_count: its fields or elements,
 *            stuck at NJS_COUNT_MAX when there are more. In an object each value has its key, a '"', before it.
 *   '}' ']'  its end. Payload: index of its start.
 *   '"'      payload: offset into `strings` of a 32-bit length in native order, the bytes and a NUL (njs_string).
 *            The bytes are valid UTF-8 and may hold NUL.
 *   'l'      the next word is an int64_t.
 *   'u'      the next word is a uint64_t above INT64_MAX.
 *   'd'      the next word is a double: it was written with a fraction or an exponent. Always finite.
 *   't' 'f' 'n'  true, false, null.
 */
#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct njs_parser njs_parser; /* the parser and the memory of the last document */

/* Levels of values inside one another, the innermost scalar counted; one more is an error. */
#define NJS_DEPTH_MAX 1024
/* njs_count says no more than this. */
#define NJS_COUNT_MAX 0xFFFFFFu

typedef enum njs_status {
  NJS_OK = 0,
  NJS_INVALID = 1,   /* not JSON, too deep, or a number out of range: njs_locate says what and where */
  NJS_NO_MEMORY = 2,
  NJS_TOO_LARGE = 3, /* 4 GiB or more */
} njs_status;

/* Borrowed from the parser until its next njs_parse, njs_parser_trim or njs_parser_free. */
typedef struct njs_document {
  const uint64_t *tape;
  size_t tape_length; /* words */
  const uint8_t *strings;
} njs_document;

/* NULL: no memory. */
njs_parser *njs_parser_new(void);
/* NULL is allowed. */
void njs_parser_free(njs_parser *parser);

/* Parses one JSON text (RFC 8259; any value at the top, no byte order mark). The bytes are copied, need no padding and may
 * go away afterwards. The parser's memory is used again by the next call. `out` is written on NJS_OK alone.
 *
 * An integer that fits neither int64_t nor uint64_t is an error and does not become a double: identifiers of that size exist,
 * and one that silently lost its last digits is worse than one refused. */
njs_status njs_parse(njs_parser *parser, const char *bytes, size_t length, njs_document *out);

/* Gives memory back when the parser holds more than `keep` bytes of capacity for text (it keeps about 15 bytes for each).
 * The last document is gone then. */
void njs_parser_trim(njs_parser *parser, size_t keep);

static inline char njs_type(uint64_t word) { return (char)(word >> 56); }
static inline uint64_t njs_payload(uint64_t word) { return word & 0x00FFFFFFFFFFFFFFu; }
static inline uint32_t njs_skip(uint64_t word) { return (uint32_t)word; }
static inline uint32_t njs_count(uint64_t word) { return (uint32_t)(word >> 32) & NJS_COUNT_MAX; }

static inline const char *njs_string(const njs_document *document, uint64_t word, size_t *length) {
  const uint8_t *prefix = document->strings + njs_payload(word);
  uint32_t count;
  memcpy(&count, prefix, sizeof count);
  *length = count;
  return (const char *)prefix + sizeof count;
}

static inline double njs_double(uint64_t word) {
  double value;
  memcpy(&value, &word, sizeof value);
  return value;
}

/* Where a text stops being JSON. */
typedef struct njs_fault {
  const char *what; /* static: "expected ',' or '}'" */
  size_t offset;    /* bytes before the fault */
  size_t line;      /* from 1; lines end with LF */
  size_t column;    /* from 1, in bytes */
  int at_end;       /* the text ended too early */
} njs_fault;

/* Finds the first fault of `bytes`: 1 and `out`, or 0 when there is none. As strict as njs_parse, slower, without memory. */
int njs_locate(const char *bytes, size_t length, njs_fault *out);

/* Bytes that njs_fault_message needs, its NUL included. */
#define NJS_MESSAGE_MAX 160

/* Writes "expected ',' or '}' at line 3 column 14", cut to `capacity`; returns the bytes written without the NUL. */
size_t njs_fault_message(const njs_fault *fault, char *buffer, size_t capacity);

/* Whether bytes are UTF-8 (RFC 3629). */
int njs_is_utf8(const char *bytes, size_t length);

/* Bytes that njs_write_double needs. */
#define NJS_DOUBLE_MAX 32

/* Writes the shortest decimal that reads back as `value`, which must be finite: "0.1", "1e+22", "5". No NUL; whatever the
 * locale. Returns the bytes written. */
size_t njs_write_double(double value, char *buffer);

#ifdef __cplusplus
}
#endif

#endif
