import CSimdjson

/// A JSON value. RFC 8259.
///
/// The members of an object keep their order, and names may repeat. Strings are compared by code points, not by Swift's
/// canonical equivalence.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// An integer above the range of ``integer(_:)``.
    case unsigned(UInt64)
    /// Any other number, including integers that need more than 64 bits.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A member of an object.
    public struct Member: Sendable, Equatable {
        public var name: String
        public var value: JSONValue

        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }

        public static func == (a: Member, b: Member) -> Bool { a.name.isExactly(b.name) && a.value == b.value }
    }

    public static func == (a: JSONValue, b: JSONValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.unsigned(let a), .unsigned(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.isExactly(b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    /// Parses a JSON text.
    ///
    /// - Throws: `decoding` with the position and the reason if the text is not JSON or has more than 1024 levels; the
    ///   message completes the sentence "the text is ...". `too_large` for 4 GiB or more; `no_memory`.
    public init(parsing text: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try JSONValue.parse(text) { (tape, strings) throws(NightjarError) in
            // A value takes one or two words of the tape. The estimate of 64 bytes for each word includes the growth of
            // the array that contains the value.
            let words = Int(tape[0] & 0x00ff_ffff_ffff_ffff)
            try CheckedMemory.check(words * 64 + text.count, for: "the values of a JSON text")
            var reader = TapeReader(tape: tape, strings: strings)
            return reader.value()
        }
    }

    /// Checks that a text is JSON without creating a value.
    ///
    /// - Throws: the same errors as ``init(parsing:)-(UnsafeRawBufferPointer)``.
    package static func check(_ text: UnsafeRawBufferPointer) throws(NightjarError) { try parse(text) { _, _ in } }

    private static func parse<Result>(
        _ text: UnsafeRawBufferPointer,
        _ read: (UnsafePointer<UInt64>, UnsafeRawPointer) throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        guard let parser = njs_parser_new() else { throw .noMemory(text.count, for: "a JSON parser") }
        defer { njs_parser_free(parser) }
        var document = njs_document()
        var failure = njs_failure()
        let bytes = text.assumingMemoryBound(to: CChar.self)
        let status = njs_parse(parser, bytes.baseAddress, bytes.count, &document, &failure)
        guard status == NJS_OK, let tape = document.tape, let strings = document.strings else {
            switch status {
            case NJS_NO_MEMORY: throw .noMemory(text.count * 10, for: "the JSON parser")
            case NJS_TOO_LARGE:
                throw NightjarError(.tooLarge, "a JSON text must be smaller than 4 GiB, got \(text.count) bytes")
            default: throw NightjarError(.decoding, JSONValue.describe(failure))
            }
        }
        return try read(tape, UnsafeRawPointer(strings))
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
        guard let result else { throw NightjarError(.decoding, "the string has no UTF-8 bytes to parse as JSON") }
        self = try result.get()
    }

    /// Creates an object with string members, in the order in which names first occur. The values of a repeated name
    /// become an array.
    ///
    /// - Parameter isSame: compares two names. Nil compares their bytes.
    public init(
        items: some Sequence<(name: String, value: String)>, comparing isSame: ((String, String) -> Bool)? = nil
    ) {
        let isSame = isSame ?? { $0.isExactly($1) }
        var members: [Member] = []
        for (name, value) in items {
            guard let place = members.firstIndex(where: { isSame($0.name, name) }) else {
                members.append(Member(name, .string(value)))
                continue
            }
            if case .array(let values) = members[place].value {
                members[place].value = .array(values + [.string(value)])
            } else {
                members[place].value = .array([members[place].value, .string(value)])
            }
        }
        self = .object(members)
    }

    /// The value of the first member with this name. Nil if there is no such member or this value is not an object.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.isExactly(name) }?.value
    }

    /// The type for messages, for example "an object".
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

    private static func describe(_ failure: njs_failure) -> String {
        guard let problem = failure.problem else { return "not JSON" }
        return "not JSON: \(String(cString: problem)) at line \(failure.line) column \(failure.column)"
    }
}

/// Reads simdjson's tape, whose format CSimdjson.h describes. The parser has validated the tape and limited its depth.
///
/// The reader is iterative, so a deeply nested text cannot exhaust the host's stack.
private struct TapeReader {
    /// A container whose end has not been read yet.
    private struct Open {
        let isObject: Bool
        var name: String?
        var values: [JSONValue] = []
        var members: [JSONValue.Member] = []

        mutating func append(_ value: JSONValue) {
            if isObject {
                members.append(JSONValue.Member(name ?? "", value))
                name = nil
            } else {
                values.append(value)
            }
        }
    }

    let tape: UnsafePointer<UInt64>
    let strings: UnsafeRawPointer
    private var at = 1
    private var open: [Open] = []

    init(tape: UnsafePointer<UInt64>, strings: UnsafeRawPointer) {
        self.tape = tape
        self.strings = strings
    }

    mutating func value() -> JSONValue {
        while true {
            let word = tape[at]
            at += 1
            let value: JSONValue
            switch UInt8(truncatingIfNeeded: word >> 56) {
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                open.append(Open(isObject: UInt8(truncatingIfNeeded: word >> 56) == UInt8(ascii: "{")))
                continue
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                guard let ended = open.popLast() else { return .null }
                value = ended.isObject ? .object(ended.members) : .array(ended.values)
            case UInt8(ascii: "\""):
                let text = string(Int(word & 0x00ff_ffff_ffff_ffff))
                if let last = open.indices.last, open[last].isObject, open[last].name == nil {
                    open[last].name = text
                    continue
                }
                value = .string(text)
            case UInt8(ascii: "l"): value = .integer(Int64(bitPattern: number()))
            case UInt8(ascii: "u"): value = .unsigned(number())
            case UInt8(ascii: "d"): value = .number(Double(bitPattern: number()))
            case UInt8(ascii: "t"): value = .bool(true)
            case UInt8(ascii: "f"): value = .bool(false)
            default: value = .null
            }
            guard let last = open.indices.last else { return value }
            open[last].append(value)
        }
    }

    private mutating func number() -> UInt64 {
        defer { at += 1 }
        return tape[at]
    }

    private func string(_ offset: Int) -> String {
        let length = Int(strings.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        return String(decoding: UnsafeRawBufferPointer(start: strings + offset + 4, count: length), as: UTF8.self)
    }
}
