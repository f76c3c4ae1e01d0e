/// The reason and position of a JSON syntax error.
struct JSONError: Error, Equatable {
    /// The position of the error, in bytes from the start of the text.
    let offset: Int
    let reason: String
}

/// Parses a complete JSON text (RFC 8259). Strict, with a limit on nesting.
struct JSONParser {
    /// The maximum nesting depth. It is limited because each level uses stack space, and the sender determines the
    /// depth.
    static let maximumDepth = 64

    private let bytes: [UInt8]
    private var offset = 0

    static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSON {
        var parser = JSONParser(bytes: bytes)
        parser.skipSpace()
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.offset == bytes.count else { throw parser.error("more text follows the document") }
        return value
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private func error(_ reason: String) -> JSONError { JSONError(offset: offset, reason: reason) }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { offset += 1 }
    }

    /// Consumes `byte` if it is next.
    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: byte) else { return false }
        offset += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSON {
        guard depth < JSONParser.maximumDepth else {
            throw error("nested deeper than \(JSONParser.maximumDepth) levels")
        }
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): return try number()
        case nil: throw error("the text ends where a value is expected")
        default: throw error("a value is expected")
        }
    }

    private mutating func literal(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let matches = word.withUTF8Buffer { bytes[offset...].starts(with: $0) }
        guard matches else { throw error("a value is expected") }
        offset += word.utf8CodeUnitCount
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSON {
        offset += 1
        var members: [JSON.Member] = []
        skipSpace()
        if take("}") { return .object(members) }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw error("a member's name in quotes is expected") }
            let name = try string()
            skipSpace()
            guard take(":") else { throw error("':' is expected") }
            skipSpace()
            members.append(JSON.Member(name: name, value: try value(depth: depth + 1)))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw error("',' or '}' is expected") }
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSON {
        offset += 1
        var values: [JSON] = []
        skipSpace()
        if take("]") { return .array(values) }
        while true {
            skipSpace()
            values.append(try value(depth: depth + 1))
            skipSpace()
            if take("]") { return .array(values) }
            guard take(",") else { throw error("',' or ']' is expected") }
        }
    }

    // MARK: Numbers

    private mutating func digits() throws(JSONError) {
        let start = offset
        while let byte = next, byte >= 0x30, byte <= 0x39 { offset += 1 }
        guard offset > start else { throw error("a digit is expected") }
    }

    private mutating func number() throws(JSONError) -> JSON {
        let start = offset
        var isWhole = true
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") {
            isWhole = false
            try digits()
        }
        if take("e") || take("E") {
            isWhole = false
            if !take("+") { _ = take("-") }
            try digits()
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isWhole, let value = Int64(text) { return .integer(value) }
        guard let value = Double(text), value.isFinite else {
            throw JSONError(offset: start, reason: "the number is out of range")
        }
        return .number(value)
    }

    // MARK: Strings

    private mutating func string() throws(JSONError) -> String {
        let start = offset
        offset += 1
        var text: [UInt8] = []
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw JSONError(offset: start, reason: "the string is not valid UTF-8")
                }
                return string
            case UInt8(ascii: "\\"):
                offset += 1
                try escape(into: &text)
            case 0..<0x20:
                throw error("a control character in a string must be escaped")
            default:
                text.append(byte)
                offset += 1
            }
        }
        throw error("the text ends inside a string")
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        guard let byte = next else { throw error("the text ends inside a string") }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += String(Character(try unicodeScalar())).utf8
        default:
            offset -= 1
            throw error("invalid escape")
        }
    }

    /// Parses the text after `\u`: one code unit, or two that form a surrogate pair.
    private mutating func unicodeScalar() throws(JSONError) -> Unicode.Scalar {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, take("\\"), take("u") else { throw error("half of a surrogate pair") }
        let second = try codeUnit()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw error("half of a surrogate pair") }
        return scalar
    }

    private mutating func codeUnit() throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error("four hexadecimal digits are expected")
            }
            unit = unit << 4 | UInt32(digit)
            offset += 1
        }
        return unit
    }
}
