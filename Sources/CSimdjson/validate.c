/* The grammar of RFC 8259, byte by byte, to locate errors: simdjson reports only that the text is invalid. */
#define _GNU_SOURCE
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "CSimdjson.h"

typedef struct reader {
  const unsigned char *bytes;
  size_t length, at;
  const char *problem;
  njs_findings findings;
  void (*on_long_integer)(void *, size_t);
  void *context;
} reader;

static bool fail(reader *r, const char *problem) {
  r->problem = problem;
  return false;
}

static bool is_digit(reader *r) { return r->at < r->length && r->bytes[r->at] >= '0' && r->bytes[r->at] <= '9'; }

static void skip_space(reader *r) {
  while (r->at < r->length) {
    unsigned char c = r->bytes[r->at];
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
    r->at++;
  }
}

static bool literal(reader *r, const char *word) {
  size_t length = strlen(word);
  if (r->length - r->at < length || memcmp(r->bytes + r->at, word, length) != 0) return fail(r, "expected a value");
  r->at += length;
  return true;
}

/* Returns the value of four hexadecimal digits, or -1 if they are missing. */
static long hex4(reader *r) {
  long value = 0;
  for (int i = 0; i < 4; i++) {
    if (r->at == r->length) return -1;
    unsigned char c = r->bytes[r->at];
    int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
    r->at++;
  }
  return value;
}

static bool escape(reader *r) {
  size_t start = r->at++; /* the backslash */
  if (r->at == r->length) return fail(r, "the text ends inside a string");
  unsigned char c = r->bytes[r->at++];
  if (c != 'u') {
    if (memchr("\"\\/bfnrt", c, 8) != NULL) return true;
    r->at = start;
    return fail(r, "unknown escape in a string");
  }
  long unit = hex4(r);
  if (unit < 0) return fail(r, "expected four hexadecimal digits");
  if (unit >= 0xD800 && unit <= 0xDFFF) {
    bool paired = unit <= 0xDBFF && r->length - r->at >= 2 && r->bytes[r->at] == '\\' && r->bytes[r->at + 1] == 'u';
    if (paired) {
      r->at += 2;
      long low = hex4(r);
      if (low < 0) return fail(r, "expected four hexadecimal digits");
      paired = low >= 0xDC00 && low <= 0xDFFF;
    }
    if (!paired) {
      r->at = start;
      return fail(r, "unpaired surrogate in a string");
    }
  }
  return true;
}

/* Reads one multi-byte character. RFC 3629 section 4. */
static bool utf8(reader *r) {
  const unsigned char *p = r->bytes + r->at;
  size_t left = r->length - r->at, more;
  unsigned char low = 0x80, high = 0xBF;
  if (p[0] >= 0xC2 && p[0] <= 0xDF) more = 1;
  else if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    more = 2;
    if (p[0] == 0xE0) low = 0xA0;
    if (p[0] == 0xED) high = 0x9F;
  } else if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    more = 3;
    if (p[0] == 0xF0) low = 0x90;
    if (p[0] == 0xF4) high = 0x8F;
  } else return fail(r, "invalid UTF-8");
  for (size_t i = 1; i <= more; i++) {
    if (i >= left || p[i] < low || p[i] > high) return fail(r, "invalid UTF-8");
    low = 0x80;
    high = 0xBF;
  }
  r->at += more + 1;
  return true;
}

static bool string(reader *r) {
  r->at++;
  while (r->at < r->length) {
    unsigned char c = r->bytes[r->at];
    if (c == '"') {
      r->at++;
      return true;
    }
    if (c < 0x20) return fail(r, "a control character in a string must be escaped");
    if (c == '\\') {
      if (!escape(r)) return false;
    } else if (c < 0x80) r->at++;
    else if (!utf8(r)) return false;
  }
  return fail(r, "the text ends inside a string");
}

/* Returns whether the number exceeds the uint64 range or, if it is negative, the int64 range. `digits` excludes the
 * sign. */
static bool is_long_integer(const unsigned char *digits, size_t count, bool negative) {
  const char *most = negative ? "9223372036854775808" : "18446744073709551615";
  size_t length = strlen(most);
  if (count != length) return count > length;
  return memcmp(digits, most, length) > 0;
}

/* Returns whether a grammatically valid number is out of the range of a double. Independent of the process's locale. */
static bool is_beyond_double(const unsigned char *text, size_t length) {
  static const double none = 0;
  char small[128], *copy = length < sizeof small ? small : malloc(length + 1);
  if (copy == NULL) return false;
  memcpy(copy, text, length);
  copy[length] = 0;
  locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
  double value = c == NULL ? none : strtod_l(copy, NULL, c);
  if (c != NULL) freelocale(c);
  if (copy != small) free(copy);
  return isinf(value);
}

static bool number(reader *r) {
  size_t start = r->at;
  bool negative = r->bytes[r->at] == '-', is_integer = true;
  if (negative) r->at++;
  size_t digits = r->at;
  if (!is_digit(r)) return fail(r, negative ? "expected a digit after '-'" : "expected a value");
  if (r->bytes[r->at] == '0') {
    r->at++;
    if (is_digit(r)) return fail(r, "a number must not have leading zeros");
  }
  while (is_digit(r)) r->at++;
  size_t count = r->at - digits;
  if (r->at < r->length && r->bytes[r->at] == '.') {
    is_integer = false;
    r->at++;
    if (!is_digit(r)) return fail(r, "expected a digit after '.'");
    while (is_digit(r)) r->at++;
  }
  if (r->at < r->length && (r->bytes[r->at] | 32) == 'e') {
    is_integer = false;
    r->at++;
    if (r->at < r->length && (r->bytes[r->at] == '+' || r->bytes[r->at] == '-')) r->at++;
    if (!is_digit(r)) return fail(r, "expected a digit in the exponent");
    while (is_digit(r)) r->at++;
  }
  bool is_long = is_integer && is_long_integer(r->bytes + digits, count, negative);
  if (is_long) {
    r->findings.long_integers++;
    if (r->on_long_integer != NULL) r->on_long_integer(r->context, r->at);
  }
  if ((!is_integer || count > 300) && is_beyond_double(r->bytes + start, r->at - start)) {
    if (r->findings.long_numbers++ == 0) r->findings.long_number_at = start;
  }
  return true;
}

static bool scalar(reader *r) {
  if (r->at == r->length) return fail(r, "expected a value but the text ends");
  switch (r->bytes[r->at]) {
    case '"': return string(r);
    case 't': return literal(r, "true");
    case 'f': return literal(r, "false");
    case 'n': return literal(r, "null");
    case '-': case '0': case '1': case '2': case '3': case '4':
    case '5': case '6': case '7': case '8': case '9': return number(r);
    default: return fail(r, "expected a value");
  }
}

static bool key(reader *r, const char *wanted) {
  if (r->at == r->length) return fail(r, "the text ends inside an object");
  if (r->bytes[r->at] != '"') return fail(r, wanted);
  if (!string(r)) return false;
  skip_space(r);
  if (r->at == r->length || r->bytes[r->at] != ':') return fail(r, "expected ':' after the name");
  r->at++;
  skip_space(r);
  return true;
}

static njs_status document(reader *r) {
  bool in_object[NJS_MAX_DEPTH];
  size_t depth = 0;
  skip_space(r);
  for (;;) {
    /* A value starts here. */
    if (r->at < r->length && (r->bytes[r->at] == '{' || r->bytes[r->at] == '[')) {
      if (depth == NJS_MAX_DEPTH) {
        fail(r, "arrays and objects nested more than 1024 levels deep");
        return NJS_TOO_DEEP;
      }
      bool object = in_object[depth++] = r->bytes[r->at++] == '{';
      skip_space(r);
      if (r->at < r->length && r->bytes[r->at] == (object ? '}' : ']')) {
        r->at++;
        depth--;
      } else {
        if (r->at == r->length) {
          fail(r, object ? "the text ends inside an object" : "the text ends inside an array");
          return NJS_INVALID;
        }
        if (object && !key(r, "expected a name in quotes or '}'")) return NJS_INVALID;
        continue;
      }
    } else if (!scalar(r)) return NJS_INVALID;
    /* A value has ended. */
    for (;;) {
      skip_space(r);
      if (depth == 0) {
        if (r->at == r->length) return NJS_OK;
        fail(r, "unexpected data after the value");
        return NJS_INVALID;
      }
      bool object = in_object[depth - 1];
      if (r->at == r->length) {
        fail(r, object ? "the text ends inside an object" : "the text ends inside an array");
        return NJS_INVALID;
      }
      unsigned char c = r->bytes[r->at];
      if (c == ',') {
        r->at++;
        skip_space(r);
        if (object && !key(r, "expected a name in quotes")) return NJS_INVALID;
        break;
      }
      if (c != (object ? '}' : ']')) {
        fail(r, object ? "expected ',' or '}'" : "expected ',' or ']'");
        return NJS_INVALID;
      }
      r->at++;
      depth--;
    }
  }
}

njs_status njs_validate(const char *bytes, size_t length, njs_failure *failure, njs_findings *findings,
                        void (*on_long_integer)(void *context, size_t end), void *context) {
  reader r = {.bytes = (const unsigned char *)bytes, .length = length, .on_long_integer = on_long_integer,
              .context = context};
  if (length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) r.at = 3;
  njs_status status = document(&r);
  if (status == NJS_OK && r.findings.long_numbers > 0) {
    r.at = r.findings.long_number_at;
    r.problem = "a number is out of the range of a double";
    status = NJS_INVALID;
  }
  if (findings != NULL) *findings = r.findings;
  if (status != NJS_OK && failure != NULL) {
    *failure = (njs_failure){.offset = r.at, .line = 1, .column = 1, .problem = r.problem};
    for (size_t i = 0; i < r.at; i++) {
      if (bytes[i] == '\n') {
        failure->line++;
        failure->column = 1;
      } else failure->column++;
    }
  }
  return status;
}
