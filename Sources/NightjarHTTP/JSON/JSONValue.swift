import CSimdjson

/// A JSON text as a value. RFC 8259.
///
/// For what is read once and is small: configurations, error bodies. Object members keep their order and may repeat.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Above the range of ``integer(_:)``.
    case unsigned(UInt64)
    /// Also integers beyond 64 bits.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    public struct Member: Sendable, Equatable {
        public var name: String
        public var value: JSONValue

        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// - Throws: `decoding` with the place and what was wanted there; also beyond 1024 levels.
    public init(parsing text: UnsafeRawBufferPointer) throws(NightjarError) {
        guard let parser = njs_parser_new() else { throw NightjarError(.decoding, "out of memory") }
        defer { njs_parser_free(parser) }
        var document = njs_document()
        var failure = njs_failure()
        let bytes = text.assumingMemoryBound(to: CChar.self)
        let status = njs_parse(parser, bytes.baseAddress, bytes.count, &document, &failure)
        guard status == NJS_OK, let tape = document.tape, let strings = document.strings else {
            throw NightjarError(.decoding, JSONValue.describe(status, failure))
        }
        var reader = TapeReader(tape: tape, strings: UnsafeRawPointer(strings))
        self = reader.value()
    }

    public init(parsing text: String) throws(NightjarError) {
        var text = text
        var result: Result<JSONValue, NightjarError>?
        text.withUTF8 { bytes in
            do throws(NightjarError) {
                result = .success(try JSONValue(parsing: UnsafeRawBufferPointer(bytes)))
            } catch {
                result = .failure(error)
            }
        }
        guard let result else { throw NightjarError(.decoding, "the text has no bytes to read") }
        self = try result.get()
    }

    /// The value of the first member of that name; nil also for what is no object.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// What it is, for messages: "an object".
    public var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .unsigned: "an integer"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    private static func describe(_ status: njs_status, _ failure: njs_failure) -> String {
        guard status != NJS_NO_MEMORY, let problem = failure.problem else { return "not enough memory for the JSON" }
        return "not JSON: \(String(cString: problem)) at line \(failure.line) column \(failure.column)"
    }
}

/// Reads simdjson's tape, whose format CSimdjson.h tells. The parser has checked it, and its depth.
private struct TapeReader {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafeRawPointer
    var at = 1

    private var type: UInt8 { UInt8(truncatingIfNeeded: tape[at] >> 56) }
    private var payload: Int { Int(tape[at] & 0x00ff_ffff_ffff_ffff) }

    mutating func value() -> JSONValue {
        switch type {
        case UInt8(ascii: "t"):
            at += 1
            return .bool(true)
        case UInt8(ascii: "f"):
            at += 1
            return .bool(false)
        case UInt8(ascii: "l"): return .integer(Int64(bitPattern: number()))
        case UInt8(ascii: "u"): return .unsigned(number())
        case UInt8(ascii: "d"): return .number(Double(bitPattern: number()))
        case UInt8(ascii: "\""): return .string(string())
        case UInt8(ascii: "["): return .array(array())
        case UInt8(ascii: "{"): return .object(object())
        default:
            at += 1
            return .null
        }
    }

    private mutating func number() -> UInt64 {
        defer { at += 2 }
        return tape[at + 1]
    }

    private mutating func string() -> String {
        defer { at += 1 }
        let length = Int(strings.loadUnaligned(fromByteOffset: payload, as: UInt32.self))
        return String(decoding: UnsafeRawBufferPointer(start: strings + payload + 4, count: length), as: UTF8.self)
    }

    private mutating func array() -> [JSONValue] {
        let end = (payload & 0xffff_ffff) - 1
        var values: [JSONValue] = []
        at += 1
        while at < end { values.append(value()) }
        at = end + 1
        return values
    }

    private mutating func object() -> [JSONValue.Member] {
        let end = (payload & 0xffff_ffff) - 1
        var members: [JSONValue.Member] = []
        at += 1
        while at < end {
            let name = string()
            members.append(JSONValue.Member(name, value()))
        }
        at = end + 1
        return members
    }
}
