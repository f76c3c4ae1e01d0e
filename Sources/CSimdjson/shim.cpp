#include "CSimdjson.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

using simdjson::dom::parser;

static_assert(NJS_DEPTH_MAX == simdjson::DEFAULT_MAX_DEPTH, "njs_locate and simdjson must agree");

struct njs_parser {
  parser dom;
  // The text with the padding that simdjson reads beyond its end.
  char *text = nullptr;
  // Bytes of text that `text`, `dom` and its document have room for.
  size_t capacity = 0;

  njs_parser() = default;
  njs_parser(const njs_parser &) = delete;
  njs_parser &operator=(const njs_parser &) = delete;
  ~njs_parser() { std::free(text); }
};

namespace {

// Room for the first text. Most answers of an API fit.
constexpr size_t smallest_capacity = 16 * 1024;

void drop_memory(njs_parser &parser) noexcept {
  std::free(parser.text);
  parser.text = nullptr;
  parser.capacity = 0;
  parser.dom = simdjson::dom::parser();
}

// Grows by doubling, so that a row of slowly growing texts does not allocate each time.
njs_status make_room(njs_parser &parser, size_t length) noexcept {
  if (parser.text != nullptr && length <= parser.capacity) return NJS_OK;
  if (length > simdjson::SIMDJSON_MAXSIZE_BYTES) return NJS_TOO_LARGE;
  size_t wanted = parser.capacity * 2 < smallest_capacity ? smallest_capacity : parser.capacity * 2;
  if (wanted < length) wanted = length;
  if (wanted > simdjson::SIMDJSON_MAXSIZE_BYTES) wanted = simdjson::SIMDJSON_MAXSIZE_BYTES;

  drop_memory(parser);
  parser.text = static_cast<char *>(std::malloc(wanted + simdjson::SIMDJSON_PADDING));
  if (parser.text == nullptr) return NJS_NO_MEMORY;
  if (parser.dom.allocate(wanted, NJS_DEPTH_MAX) != simdjson::SUCCESS
      || parser.dom.doc.allocate(wanted) != simdjson::SUCCESS) {
    drop_memory(parser);
    return NJS_NO_MEMORY;
  }
  parser.capacity = wanted;
  return NJS_OK;
}

njs_status status_of(simdjson::error_code code) noexcept {
  switch (code) {
    case simdjson::SUCCESS: return NJS_OK;
    case simdjson::MEMALLOC: return NJS_NO_MEMORY;
    case simdjson::CAPACITY: return NJS_TOO_LARGE;
    default: return NJS_INVALID;
  }
}

}  // namespace

// simdjson itself is noexcept but for the choice of its implementation by processor, which allocates; a C caller must not
// see that fail as an exception.

extern "C" njs_parser *njs_parser_new(void) {
  try {
    return new (std::nothrow) njs_parser;
  } catch (...) {
    return nullptr;
  }
}

extern "C" void njs_parser_free(njs_parser *parser) { delete parser; }

extern "C" njs_status njs_parse(njs_parser *parser, const char *bytes, size_t length, njs_document *out) {
  try {
    njs_status room = make_room(*parser, length);
    if (room != NJS_OK) return room;
    if (length > 0) std::memcpy(parser->text, bytes, length);
    std::memset(parser->text + length, 0, simdjson::SIMDJSON_PADDING);
    simdjson::error_code code = parser->dom.parse(parser->text, length, false).error();
    if (code != simdjson::SUCCESS) return status_of(code);
    out->tape = parser->dom.doc.tape.get();
    out->tape_length = static_cast<size_t>(njs_payload(out->tape[0]));
    out->strings = parser->dom.doc.string_buf.get();
    return NJS_OK;
  } catch (...) {
    return NJS_NO_MEMORY;
  }
}

extern "C" void njs_parser_trim(njs_parser *parser, size_t keep) {
  if (parser->capacity <= keep) return;
  try {
    drop_memory(*parser);
  } catch (...) {
    // Moving an empty parser allocates nothing; the bound of an extern "C" function stays shut all the same.
  }
}

extern "C" int njs_is_utf8(const char *bytes, size_t length) {
  try {
    return simdjson::validate_utf8(bytes, length);
  } catch (...) {
    return 0;
  }
}

extern "C" size_t njs_write_double(double value, char *buffer) {
  char *end = buffer + NJS_DOUBLE_MAX;
  bool is_small = std::fabs(value) < 9007199254740992.0;
  std::to_chars_result result;
  if (value == 0 && std::signbit(value)) {
    std::memcpy(buffer, "-0.0", 4);  // "-0" reads back as the integer
    return 4;
  }
  if (is_small && value == std::trunc(value)) {
    // Exact, and without an exponent: readers that want an integer refuse 1e+05.
    result = std::to_chars(buffer, end, static_cast<long long>(value));
  } else if (is_small) {
    result = std::to_chars(buffer, end, value);
  } else {
    // Always with an exponent: all digits of 1e20 would read back as an integer that fits nowhere.
    result = std::to_chars(buffer, end, value, std::chars_format::scientific);
  }
  return result.ec == std::errc() ? static_cast<size_t>(result.ptr - buffer) : 0;
}
