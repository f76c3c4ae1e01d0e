/* pattern.c - matches patterns as described in section 6.4.1 of Lua's manual. Matching steps are charged to the
 * script's instruction budget, because backtracking can take exponential time. */
#include <ctype.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <string.h>

#include "core/stopping.h"
#include "scripts/scripts.h"

/* Special values of a capture's length. */
enum { OPEN = -1, POSITION = -2 };

/* The maximum depth of recursion, as in Lua. */
enum { DEEPEST = 200 };

static uint8_t byte_at(const char *place) { return (uint8_t)*place; }

static void count(njl_matcher *m, size_t steps) {
  enum { OFTEN = 256 };
  m->steps += (uint32_t)steps;
  if (m->steps < OFTEN) return;
  uint32_t all = m->steps;
  m->steps = 0;
  njl_spend(m->L, m->host, all / 8); /* Eight steps take about as long as an instruction and its check. */
}

void njl_matcher_init(njl_matcher *m, lua_State *L, njl_host *host, njl_bytes text, njl_bytes pattern) {
  m->L = L;
  m->host = host;
  m->text = text.data;
  m->text_end = text.data + text.length;
  m->pattern_end = pattern.data + pattern.length;
  m->depth = 0;
  m->steps = 0;
  m->count = 0;
}

/* --- One character --- */

/* Returns the end of the item at `item`, which is a character, a class or a set. */
static const char *after_item(njl_matcher *m, const char *item) {
  const char *next = item + 1;
  if (*item == '%') {
    if (next == m->pattern_end) luaL_error(m->L, "malformed pattern (ends with '%%')");
    return next + 1;
  }
  if (*item != '[') return next;
  if (*next == '^') next++;
  do { /* A bracket at the beginning is a character of the set. */
    if (next == m->pattern_end) luaL_error(m->L, "malformed pattern (missing ']')");
    if (*next++ == '%' && next < m->pattern_end) next++;
  } while (next == m->pattern_end || *next != ']');
  return next + 1;
}

static bool is_in_class(uint8_t c, uint8_t class) {
  int is_in;
  switch (tolower(class)) {
  case 'a': is_in = isalpha(c); break;
  case 'c': is_in = iscntrl(c); break;
  case 'd': is_in = isdigit(c); break;
  case 'g': is_in = isgraph(c); break;
  case 'l': is_in = islower(c); break;
  case 'p': is_in = ispunct(c); break;
  case 's': is_in = isspace(c); break;
  case 'u': is_in = isupper(c); break;
  case 'w': is_in = isalnum(c); break;
  case 'x': is_in = isxdigit(c); break;
  default: return class == c;
  }
  return isupper(class) ? !is_in : is_in != 0;
}

/* Returns whether the set contains the character. `set` is at the '[' of the set, and `last` at its ']'. */
static bool is_in_set(uint8_t c, const char *set, const char *last) {
  bool is_complement = set[1] == '^';
  const char *item = set + (is_complement ? 2 : 1);
  while (item < last) {
    bool is_in;
    if (*item == '%') {
      is_in = is_in_class(c, byte_at(item + 1));
      item += 2;
    } else if (item[1] == '-' && item + 2 < last) {
      is_in = byte_at(item) <= c && c <= byte_at(item + 2);
      item += 3;
    } else {
      is_in = byte_at(item) == c;
      item++;
    }
    if (is_in) return !is_complement;
  }
  return is_complement;
}

/* Returns whether the item from `item` to `next` matches the character at `place`. */
static bool is_single(njl_matcher *m, const char *place, const char *item, const char *next) {
  if (place >= m->text_end) return false;
  switch (*item) {
  case '.': return true;
  case '%': return is_in_class(byte_at(place), byte_at(item + 1));
  case '[': count(m, (size_t)(next - item) / 4); return is_in_set(byte_at(place), item, next - 1);
  default: return *item == *place;
  }
}

/* --- Captures --- */

static int checked_capture(njl_matcher *m, int digit) {
  int index = digit - '1';
  if (index < 0 || index >= m->count || m->captures[index].length == OPEN) {
    luaL_error(m->L, "invalid capture index %%%d", index + 1);
  }
  return index;
}

static const char *open_capture(njl_matcher *m, const char *place, const char *pattern, ptrdiff_t mark) {
  if (m->count >= NJL_MOST_CAPTURES) luaL_error(m->L, "too many captures");
  m->captures[m->count].start = place;
  m->captures[m->count].length = mark;
  m->count++;
  const char *end = njl_match(m, place, pattern);
  if (end == NULL) m->count--;
  return end;
}

static const char *close_capture(njl_matcher *m, const char *place, const char *pattern) {
  int index = m->count - 1;
  while (index >= 0 && m->captures[index].length != OPEN) index--;
  if (index < 0) luaL_error(m->L, "invalid pattern capture");
  m->captures[index].length = place - m->captures[index].start;
  const char *end = njl_match(m, place, pattern);
  if (end == NULL) m->captures[index].length = OPEN;
  return end;
}

/* Matches %1 to %9. Returns the end of the captured text at `place`, or NULL if the captured text does not occur at
 * `place`. */
static const char *match_again(njl_matcher *m, const char *place, int digit) {
  int index = checked_capture(m, digit);
  ptrdiff_t length = m->captures[index].length;
  /* As in Lua, a position capture matches nothing. */
  if (length < 0 || m->text_end - place < length) return NULL;
  count(m, (size_t)length / 16);
  return memcmp(m->captures[index].start, place, (size_t)length) == 0 ? place + length : NULL;
}

/* --- Items that match more than one character --- */

/* Matches %bxy. */
static const char *match_balanced(njl_matcher *m, const char *place, const char *pair) {
  if (m->pattern_end - pair < 2) luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
  if (place >= m->text_end || *place != pair[0]) return NULL;
  size_t depth = 1;
  for (const char *next = place + 1; next < m->text_end; next++) {
    count(m, 1);
    if (*next == pair[1]) {
      if (--depth == 0) return next + 1;
    } else if (*next == pair[0]) {
      depth++;
    }
  }
  return NULL;
}

/* Matches %f[set]. `set` is at the '[' of the set, and `next` after its ']'. */
static bool is_frontier(njl_matcher *m, const char *place, const char *set, const char *next) {
  uint8_t before = place == m->text ? 0 : byte_at(place - 1), after = place < m->text_end ? byte_at(place) : 0;
  count(m, (size_t)(next - set) / 2);
  return !is_in_set(before, set, next - 1) && is_in_set(after, set, next - 1);
}

/* Matches item* and item+: as many characters as possible first, then fewer. */
static const char *match_most(njl_matcher *m, const char *place, const char *item, const char *next) {
  ptrdiff_t times = 0;
  while (is_single(m, place + times, item, next)) {
    count(m, 1);
    times++;
  }
  for (; times >= 0; times--) {
    const char *end = njl_match(m, place + times, next + 1);
    if (end != NULL) return end;
  }
  return NULL;
}

/* Matches item-: as few characters as possible first, then more. */
static const char *match_least(njl_matcher *m, const char *place, const char *item, const char *next) {
  for (;;) {
    const char *end = njl_match(m, place, next + 1);
    if (end != NULL) return end;
    if (!is_single(m, place, item, next)) return NULL;
    place++;
  }
}

/* --- Whole patterns --- */

static const char *match(njl_matcher *m, const char *place, const char *pattern) {
  while (pattern != m->pattern_end) {
    count(m, 1);
    char second = pattern + 1 < m->pattern_end ? pattern[1] : 0;
    if (*pattern == '(') {
      if (second == ')') return open_capture(m, place, pattern + 2, POSITION);
      return open_capture(m, place, pattern + 1, OPEN);
    }
    if (*pattern == ')') return close_capture(m, place, pattern + 1);
    if (*pattern == '$' && pattern + 1 == m->pattern_end) return place == m->text_end ? place : NULL;
    if (*pattern == '%' && second == 'b') {
      place = match_balanced(m, place, pattern + 2);
      if (place == NULL) return NULL;
      pattern += 4;
      continue;
    }
    if (*pattern == '%' && second == 'f') {
      pattern += 2;
      if (pattern == m->pattern_end || *pattern != '[') luaL_error(m->L, "missing '[' after '%%f' in pattern");
      const char *next = after_item(m, pattern);
      if (!is_frontier(m, place, pattern, next)) return NULL;
      pattern = next;
      continue;
    }
    if (*pattern == '%' && isdigit((uint8_t)second)) {
      place = match_again(m, place, second);
      if (place == NULL) return NULL;
      pattern += 2;
      continue;
    }
    const char *next = after_item(m, pattern);
    char suffix = next < m->pattern_end ? *next : 0;
    if (suffix == '*') return match_most(m, place, pattern, next);
    if (suffix == '-') return match_least(m, place, pattern, next);
    bool matches = is_single(m, place, pattern, next);
    if (suffix == '+') return matches ? match_most(m, place + 1, pattern, next) : NULL;
    if (suffix == '?') {
      const char *end = matches ? njl_match(m, place + 1, next + 1) : NULL;
      if (end != NULL) return end;
      pattern = next + 1;
      continue;
    }
    if (!matches) return NULL;
    place++;
    pattern = next;
  }
  return place;
}

const char *njl_match(njl_matcher *m, const char *start, const char *pattern) {
  if (m->depth >= DEEPEST) luaL_error(m->L, "pattern too complex");
  m->depth++;
  const char *end = match(m, start, pattern);
  m->depth--;
  return end;
}

void njl_push_capture(njl_matcher *m, int index, const char *start, const char *end) {
  if (index >= m->count) {
    if (index != 0) luaL_error(m->L, "invalid capture index %%%d", index + 1);
    lua_pushlstring(m->L, start, (size_t)(end - start));
    return;
  }
  ptrdiff_t length = m->captures[index].length;
  if (length == OPEN) luaL_error(m->L, "unfinished capture");
  if (length == POSITION) lua_pushinteger(m->L, m->captures[index].start - m->text + 1);
  else lua_pushlstring(m->L, m->captures[index].start, (size_t)length);
}

int njl_push_captures(njl_matcher *m, const char *start, const char *end) {
  int number = m->count == 0 && start != NULL ? 1 : m->count;
  luaL_checkstack(m->L, number, "too many captures");
  for (int index = 0; index < number; index++) njl_push_capture(m, index, start, end);
  return number;
}
