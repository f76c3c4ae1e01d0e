/* A strict validator of RFC 8259 that says where a text fails and what should have been there.
 *
 * simdjson says that a text is bad and not where. This runs after it has refused one, so it is written to be plain rather
 * than fast: no recursion, no memory but a bit a level. */
#include "CSimdjson.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct scanner {
  const unsigned char *at;
  const unsigned char *end;
  const char *what; /* the fault, at `at`; NULL: none yet */
} scanner;

static bool fail(scanner *s, const char *what) {
  s->what = what;
  return false;
}

static bool is_digit(unsigned char byte) { return byte >= '0' && byte <= '9'; }

static void skip_space(scanner *s) {
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')) s->at++;
}

static bool literal(scanner *s, const char *word, const char *what) {
  const unsigned char *start = s->at;
  for (; *word; word++, s->at++) {
    if (s->at < s->end && *s->at == (unsigned char)*word) continue;
    if (s->at < s->end) s->at = start;
    return fail(s, what);
  }
  return true;
}

/* Numbers. */

/* Digits of a number without leading zeros, as far as its size needs them. */
typedef struct digits {
  char first[24];
  size_t kept;
  long long exponent; /* decimal exponent of the first digit that is not 0 */
} digits;

static void note_digit(digits *d, unsigned char digit) {
  if (d->kept < sizeof d->first) d->first[d->kept++] = (char)digit;
}

static bool is_beyond(const char *kept, size_t count, const char *limit, size_t limit_count) {
  size_t common = count < limit_count ? count : limit_count;
  int order = memcmp(kept, limit, common);
  return order > 0 || (order == 0 && count > limit_count);
}

static bool fits_integer(const digits *d, long long count, bool negative) {
  const char *limit = negative ? "9223372036854775808" : "18446744073709551615";
  long long limit_count = (long long)strlen(limit);
  if (count != limit_count) return count < limit_count;
  return !is_beyond(d->first, (size_t)count, limit, (size_t)limit_count);
}

/* The smallest number that rounds to infinity begins 1.79769313486231580793e308. */
static bool fits_double(const digits *d) {
  static const char limit[] = "179769313486231580793";
  if (d->kept == 0 || d->exponent < 308) return true;
  if (d->exponent > 308) return false;
  return !is_beyond(d->first, d->kept, limit, sizeof limit - 1);
}

/* A value of an exponent beyond any double; more digits change nothing. */
static const long long exponent_max = 1000000000;

static bool number(scanner *s) {
  const unsigned char *start = s->at;
  digits d = {.kept = 0, .exponent = 0};
  bool negative = *s->at == '-';
  if (negative) s->at++;
  if (s->at == s->end || !is_digit(*s->at)) return fail(s, "expected a digit");

  const unsigned char *first = s->at;
  for (; s->at < s->end && is_digit(*s->at); s->at++) {
    if (d.kept > 0 || *s->at != '0') note_digit(&d, *s->at);
  }
  long long whole = s->at - first;
  if (*first == '0' && whole > 1) {
    s->at = first;
    return fail(s, "number with a leading zero");
  }
  d.exponent = whole - 1;

  bool integer = true;
  if (s->at < s->end && *s->at == '.') {
    integer = false;
    s->at++;
    if (s->at == s->end || !is_digit(*s->at)) return fail(s, "expected a digit after '.'");
    for (long long place = -1; s->at < s->end && is_digit(*s->at); s->at++, place--) {
      if (d.kept == 0 && *s->at != '0') d.exponent = place;
      if (d.kept > 0 || *s->at != '0') note_digit(&d, *s->at);
    }
  }
  if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
    integer = false;
    s->at++;
    bool down = s->at < s->end && *s->at == '-';
    if (s->at < s->end && (*s->at == '-' || *s->at == '+')) s->at++;
    if (s->at == s->end || !is_digit(*s->at)) return fail(s, "expected a digit in the exponent");
    long long exponent = 0;
    for (; s->at < s->end && is_digit(*s->at); s->at++) {
      if (exponent < exponent_max) exponent = exponent * 10 + (*s->at - '0');
    }
    d.exponent += down ? -exponent : exponent;
  }
  if (integer ? !fits_integer(&d, whole, negative) : !fits_double(&d)) {
    s->at = start;
    return fail(s, integer ? "integer beyond 64 bits" : "number beyond the range of a double");
  }
  return true;
}

/* Strings. */

static bool hex4(scanner *s, unsigned *unit) {
  *unit = 0;
  for (int i = 0; i < 4; i++, s->at++) {
    unsigned char byte = s->at < s->end ? *s->at : 0;
    unsigned digit;
    if (is_digit(byte)) {
      digit = byte - '0';
    } else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f') {
      digit = (byte | 0x20) - 'a' + 10;
    } else {
      return fail(s, "expected four hexadecimal digits after \\u");
    }
    *unit = *unit << 4 | digit;
  }
  return true;
}

static bool escape(scanner *s) {
  const unsigned char *start = s->at++;
  if (s->at < s->end && *s->at && strchr("\"\\/bfnrt", *s->at)) {
    s->at++;
    return true;
  }
  if (s->at == s->end || *s->at != 'u') return fail(s, "expected one of \"\\/bfnrtu after a backslash");
  s->at++;
  unsigned unit;
  if (!hex4(s, &unit)) return false;
  if (unit < 0xD800 || unit > 0xDFFF) return true;
  /* Half of a pair (RFC 8259 section 7): the other half must follow at once. */
  unsigned low = 0;
  if (unit <= 0xDBFF && s->end - s->at >= 2 && s->at[0] == '\\' && s->at[1] == 'u') {
    s->at += 2;
    if (!hex4(s, &low)) return false;
  }
  if (low >= 0xDC00 && low <= 0xDFFF) return true;
  s->at = start;
  return fail(s, "half of a surrogate pair");
}

/* One scalar above ASCII. RFC 3629 section 4: no overlong forms, no surrogates, nothing above U+10FFFF. */
static bool utf8(scanner *s) {
  const unsigned char *p = s->at;
  size_t left = (size_t)(s->end - p);
  unsigned char lowest = 0x80, highest = 0xBF;
  size_t more;
  if (p[0] >= 0xC2 && p[0] <= 0xDF) {
    more = 1;
  } else if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    more = 2;
    if (p[0] == 0xE0) lowest = 0xA0;
    if (p[0] == 0xED) highest = 0x9F;
  } else if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    more = 3;
    if (p[0] == 0xF0) lowest = 0x90;
    if (p[0] == 0xF4) highest = 0x8F;
  } else {
    return fail(s, "invalid UTF-8");
  }
  if (left <= more || p[1] < lowest || p[1] > highest) return fail(s, "invalid UTF-8");
  for (size_t i = 2; i <= more; i++) {
    if (p[i] < 0x80 || p[i] > 0xBF) return fail(s, "invalid UTF-8");
  }
  s->at += more + 1;
  return true;
}

static bool string(scanner *s) {
  s->at++;
  while (s->at < s->end) {
    unsigned char byte = *s->at;
    if (byte == '"') {
      s->at++;
      return true;
    }
    if (byte == '\\') {
      if (!escape(s)) return false;
    } else if (byte < 0x20) {
      return fail(s, "control character in a string");
    } else if (byte < 0x80) {
      s->at++;
    } else if (!utf8(s)) {
      return false;
    }
  }
  return fail(s, "expected '\"'");
}

/* Structure. */

static bool scalar(scanner *s, const char *expected) {
  unsigned char byte = s->at < s->end ? *s->at : 0;
  if (byte == '"') return string(s);
  if (byte == '-' || is_digit(byte)) return number(s);
  if (byte == 't') return literal(s, "true", expected);
  if (byte == 'f') return literal(s, "false", expected);
  if (byte == 'n') return literal(s, "null", expected);
  return fail(s, expected);
}

static bool key(scanner *s, const char *expected) {
  if (s->at == s->end || *s->at != '"') return fail(s, expected);
  if (!string(s)) return false;
  skip_space(s);
  if (s->at == s->end || *s->at != ':') return fail(s, "expected ':'");
  s->at++;
  skip_space(s);
  return true;
}

/* Which open containers are objects, a bit a level. */
typedef struct levels {
  unsigned char objects[NJS_DEPTH_MAX / 8];
  size_t depth;
} levels;

static bool push(levels *open, bool object) {
  /* As simdjson counts: what is inside the innermost container is a level, an empty container has none. */
  if (open->depth >= NJS_DEPTH_MAX - 1) return false;
  unsigned char bit = (unsigned char)(1u << (open->depth % 8));
  if (object) {
    open->objects[open->depth / 8] |= bit;
  } else {
    open->objects[open->depth / 8] &= (unsigned char)~bit;
  }
  open->depth++;
  return true;
}

static bool in_object(const levels *open) {
  size_t top = open->depth - 1;
  return open->objects[top / 8] >> (top % 8) & 1;
}

/* Closes what ends here and stops where the next value begins: 1, or 0 at the end of the text's value or a fault. */
static bool next_value(scanner *s, levels *open) {
  while (open->depth > 0) {
    skip_space(s);
    bool object = in_object(open);
    unsigned char byte = s->at < s->end ? *s->at : 0;
    if (byte == ',') {
      s->at++;
      skip_space(s);
      return object ? key(s, "expected a key in '\"'") : true;
    }
    if (byte != (object ? '}' : ']')) return fail(s, object ? "expected ',' or '}'" : "expected ',' or ']'");
    s->at++;
    open->depth--;
  }
  return false;
}

static void scan(scanner *s) {
  levels open = {.depth = 0};
  const char *expected = "expected a value";
  skip_space(s);
  for (;;) {
    unsigned char byte = s->at < s->end ? *s->at : 0;
    if (byte == '{' || byte == '[') {
      const unsigned char *start = s->at;
      bool object = byte == '{';
      s->at++;
      skip_space(s);
      if (s->at < s->end && *s->at == (object ? '}' : ']')) {
        s->at++;
      } else {
        if (!push(&open, object)) {
          s->at = start;
          fail(s, "nested too deep");
          return;
        }
        if (object && !key(s, "expected a key in '\"' or '}'")) return;
        expected = object ? "expected a value" : "expected a value or ']'";
        continue;
      }
    } else if (!scalar(s, expected)) {
      return;
    }
    expected = "expected a value";
    if (next_value(s, &open)) continue;
    if (s->what) return;
    skip_space(s);
    if (s->at < s->end) fail(s, "expected the end of the text");
    return;
  }
}

int njs_locate(const char *bytes, size_t length, njs_fault *out) {
  const unsigned char *start = (const unsigned char *)bytes;
  scanner s = {.at = start, .end = start + length, .what = NULL};
  scan(&s);
  if (!s.what) return 0;
  *out = (njs_fault){.what = s.what, .offset = (size_t)(s.at - start), .line = 1, .at_end = s.at == s.end};
  const unsigned char *line = start;
  for (const unsigned char *p = start; p < s.at; p++) {
    if (*p != '\n') continue;
    out->line++;
    line = p + 1;
  }
  out->column = (size_t)(s.at - line) + 1;
  return 1;
}

size_t njs_fault_message(const njs_fault *fault, char *buffer, size_t capacity) {
  if (capacity == 0) return 0;
  int written = snprintf(buffer, capacity, "%s at line %zu column %zu%s", fault->what, fault->line, fault->column,
                         fault->at_end ? ", the end of the text" : "");
  if (written < 0) return 0;
  return (size_t)written < capacity ? (size_t)written : capacity - 1;
}
