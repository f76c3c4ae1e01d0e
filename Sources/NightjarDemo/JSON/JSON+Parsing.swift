import CSimdjson

/// The reason why a text is not accepted as JSON.
struct JSONError: Error, Equatable {
    let reason: String
}

extension JSON {
    /// The maximum nesting of arrays and objects. Limited, because reading recurses.
    static let maximumDepth = 64

    /// Parses a complete JSON text (RFC 8259).
    init(parsing bytes: [UInt8]) throws(JSONError) {
        guard let parser = njs_parser_new() else { throw JSONError(reason: "out of memory") }
        defer { njs_parser_free(parser) }
        var document = njs_document()
        var failure = njs_failure()
        let status = bytes.withUnsafeBytes { bytes in
            njs_parse(
                parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, &document, &failure)
        }
        guard status == NJS_OK else {
            if status == NJS_NO_MEMORY { throw JSONError(reason: "out of memory") }
            guard let problem = failure.problem else { throw JSONError(reason: "the text is too large") }
            throw JSONError(reason: "at byte \(failure.offset), \(String(cString: problem))")
        }
        var tape = Tape(document)
        self = try tape.value(depth: 0)
    }
}

/// Reads values from simdjson's tape, whose format `CSimdjson.h` describes.
private struct Tape {
    private let document: njs_document
    /// The index of the next word. The tape's first word is its root.
    private var index = 1

    init(_ document: njs_document) { self.document = document }

    private mutating func next() -> UInt64 {
        defer { index += 1 }
        return document.tape[index]
    }

    mutating func value(depth: Int) throws(JSONError) -> JSON {
        let word = next()
        switch Unicode.Scalar(UInt8(word >> 56)) {
        case "t": return .bool(true)
        case "f": return .bool(false)
        case "l": return .integer(Int64(bitPattern: next()))
        case "u": return .number(Double(next()))
        case "d": return .number(Double(bitPattern: next()))
        case "\"": return .string(string(at: word))
        case "[", "{": return try container(word, depth: depth + 1)
        default: return .null
        }
    }

    private mutating func container(_ word: UInt64, depth: Int) throws(JSONError) -> JSON {
        guard depth <= JSON.maximumDepth else {
            throw JSONError(reason: "nested deeper than \(JSON.maximumDepth) levels")
        }
        let isObject = UInt8(word >> 56) == UInt8(ascii: "{")
        // The low 32 bits are the index after the closing word.
        let end = Int(UInt32(truncatingIfNeeded: word)) - 1
        var values: [JSON] = []
        var members: [JSON.Member] = []
        while index < end {
            if isObject {
                let name = string(at: next())
                members.append(JSON.Member(name: name, value: try value(depth: depth)))
            } else {
                values.append(try value(depth: depth))
            }
        }
        index = end + 1
        return isObject ? .object(members) : .array(values)
    }

    /// The low 56 bits of a string's word are the offset of its length, which its bytes follow.
    private func string(at word: UInt64) -> String {
        let start = UnsafeRawPointer(document.strings + Int(word & 0x00FF_FFFF_FFFF_FFFF))
        let length = Int(start.loadUnaligned(as: UInt32.self))
        return String(decoding: UnsafeRawBufferPointer(start: start + 4, count: length), as: UTF8.self)
    }
}
