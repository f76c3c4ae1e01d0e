#include "CSimdjson.h"

#include <simdjson.h>

#include <charconv>
#include <cstring>
#include <new>
#include <vector>

struct njs_parser {
  simdjson::dom::parser parser;
  /// The text length in bytes for which the parser's memory is sufficient.
  size_t capacity = 0;
};

namespace {

/// Parses the text. Skips one byte order mark, as njs_validate does. A second byte order mark is an error.
simdjson::error_code parse(njs_parser &parser, const char *bytes, size_t length, njs_document &document) {
  if (length >= 3 && std::memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
    bytes += 3;
    length -= 3;
  }
  if (length == 0) return simdjson::EMPTY;
  if (length > parser.capacity) parser.capacity = length;
  auto error = parser.parser.parse(bytes, length).error();
  if (error == simdjson::SUCCESS) {
    document.tape = parser.parser.doc.tape.get();
    document.strings = parser.parser.doc.string_buf.get();
  }
  return error;
}

/// The text with "e0" appended to each integer that does not fit in 64 bits, so that simdjson reads a double.
struct Lengthened {
  std::vector<size_t> ends;
  bool failed = false;

  static void note(void *context, size_t end) noexcept {
    auto self = static_cast<Lengthened *>(context);
    try {
      self->ends.push_back(end);
    } catch (...) {
      self->failed = true;
    }
  }

  std::vector<char> text(const char *bytes, size_t length) const {
    std::vector<char> text;
    text.reserve(length + 2 * ends.size());
    size_t from = 0;
    for (size_t end : ends) {
      text.insert(text.end(), bytes + from, bytes + end);
      text.push_back('e');
      text.push_back('0');
      from = end;
    }
    text.insert(text.end(), bytes + from, bytes + length);
    return text;
  }
};

njs_status parse_or_explain(njs_parser &parser, const char *bytes, size_t length, njs_document &document,
                            njs_failure *failure) {
  if (length >= simdjson::SIMDJSON_MAXSIZE_BYTES) {
    if (failure != nullptr) *failure = njs_failure{0, 1, 1, "the text is 4 GiB or larger"};
    return NJS_TOO_LARGE;
  }
  auto error = parse(parser, bytes, length, document);
  if (error == simdjson::SUCCESS) return NJS_OK;
  if (error == simdjson::MEMALLOC) return NJS_NO_MEMORY;

  Lengthened lengthened;
  njs_status status = njs_validate(bytes, length, failure, nullptr, Lengthened::note, &lengthened);
  if (status != NJS_OK) return status;
  if (lengthened.failed) return NJS_NO_MEMORY;
  // The text is valid, so simdjson rejected a long integer or the nesting depth. simdjson allows one level fewer than
  // its limit, but does not count an innermost empty array or object. The limit is therefore raised by one for this
  // text, and restored afterwards; otherwise a text that is too deep could pass.
  auto text = lengthened.text(bytes, length);
  auto &simd = parser.parser;
  if (simd.allocate(simd.capacity(), NJS_MAX_DEPTH + 1) != simdjson::SUCCESS) return NJS_NO_MEMORY;
  error = parse(parser, text.data(), text.size(), document);
  if (simd.allocate(simd.capacity(), NJS_MAX_DEPTH) != simdjson::SUCCESS) return NJS_NO_MEMORY;
  if (error == simdjson::SUCCESS) return NJS_OK;
  if (error == simdjson::MEMALLOC) return NJS_NO_MEMORY;
  if (failure != nullptr) *failure = njs_failure{0, 1, 1, simdjson::error_message(error)};
  return NJS_INVALID;
}

}  // namespace

extern "C" njs_parser *njs_parser_new(void) {
  try {
    return new njs_parser{simdjson::dom::parser(), 0};
  } catch (...) {
    return nullptr;
  }
}

extern "C" void njs_parser_free(njs_parser *parser) { delete parser; }

extern "C" njs_status njs_parse(njs_parser *parser, const char *bytes, size_t length, njs_document *document,
                                njs_failure *failure) {
  if (failure != nullptr) *failure = njs_failure{0, 1, 1, "out of memory"};
  try {
    return parse_or_explain(*parser, bytes, length, *document, failure);
  } catch (...) {
    return NJS_NO_MEMORY;
  }
}

extern "C" int njs_parser_trim(njs_parser *parser, size_t kept) {
  if (parser->capacity <= kept) return 0;
  try {
    parser->parser = simdjson::dom::parser();
    parser->capacity = 0;
    return 1;
  } catch (...) {
    return 0;  // The parser keeps its memory.
  }
}

extern "C" int njs_is_utf8(const char *bytes, size_t length) { return simdjson::validate_utf8(bytes, length); }

extern "C" size_t njs_format_double(double number, char text[NJS_DOUBLE_LENGTH]) {
  auto result = std::to_chars(text, text + NJS_DOUBLE_LENGTH, number);
  return result.ec == std::errc() ? static_cast<size_t>(result.ptr - text) : 0;
}
