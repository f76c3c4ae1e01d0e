extension JSONValue {
    /// Decodes the part of this value at `pointer`, as in `at: "/results"`. The empty pointer selects the whole value.
    ///
    /// - Throws: `invalid_argument` if `pointer` is not a JSON Pointer. `decoding` with the path, the expected and the
    ///   found type. A ``NightjarError`` that a type's `init(from:)` throws is thrown unchanged.
    public func decode<Value: Decodable>(
        _ type: Value.Type, at pointer: some JSONLocation = JSONPointer(), _ options: JSONDecodingOptions = .init()
    ) throws(NightjarError) -> Value {
        let pointer = try pointer.jsonPointer()
        guard let part = pointer.value(in: self) else {
            if let nothing = absent(type) { return nothing }
            throw JSONMismatch(path: pointer, expected: JSONValue.phrase(for: type), found: "nothing").error
        }
        do {
            return try JSONReader(value: part, place: JSONPlace(pointer), options: options).read(type)
        } catch {
            throw NightjarError(reading: error)
        }
    }
}

/// A type without contents. Any JSON value, or a response without a body, can be decoded as `Empty`.
public struct Empty: Codable, Sendable, Hashable {
    public init() {}
    public init(from decoder: any Decoder) {}
    public func encode(to encoder: any Encoder) throws { _ = encoder.container(keyedBy: JSONKey.self) }
}

/// JSON's `null` as an explicit value. In a request, an optional that is nil is omitted instead.
public struct Null: Codable, Sendable, Hashable {
    public init() {}

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard !container.decodeNil() else { return }
        throw DecodingError.typeMismatch(
            Null.self, DecodingError.Context(codingPath: container.codingPath, debugDescription: "expected null"))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encodeNil()
    }
}

/// Returns the value that represents a missing JSON value: an empty optional if `type` is an optional, or an ``Empty``.
/// Returns nil for any other type.
package func absent<Value>(_ type: Value.Type) -> Value? {
    if let type = type as? any ExpressibleByNilLiteral.Type { return type.init(nilLiteral: ()) as? Value }
    return Empty() as? Value
}

extension NightjarError {
    /// Wraps an error that a type's `init(from:)` threw.
    init(reading error: any Error) {
        switch error {
        case let error as NightjarError: self = error
        case let mismatch as JSONMismatch: self = mismatch.error
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
            if let mismatch = context.underlyingError as? JSONMismatch {
                self = mismatch.error
            } else {
                let problem = JSONMismatch.describe(
                    NightjarError.line(context.debugDescription), at: JSONPointer(context.codingPath))
                self.init(.decoding, "the JSON is not as expected: \(problem)")
            }
        default: self.init(.decoding, "the JSON could not be read: \(NightjarError.line(String(describing: error)))")
        }
    }

    /// Escapes and truncates a message of another library.
    static func line(_ text: String) -> String { String(quoted(text, limit: 200).dropFirst().dropLast()) }
}

extension JSONValue: Codable {
    public init(from decoder: any Decoder) throws {
        if let reader = decoder as? JSONReader {
            self = reader.value
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(Int64.self) {
            self = .integer(number)
        } else if let number = try? container.decode(UInt64.self) {
            self = .unsigned(number)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let elements = try? container.decode([JSONValue].self) {
            self = .array(elements)
        } else {
            let members = try decoder.container(keyedBy: JSONKey.self)
            self = .object(
                try members.allKeys.map { Member($0.stringValue, try members.decode(JSONValue.self, forKey: $0)) })
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let members):
            var container = encoder.container(keyedBy: JSONKey.self)
            for member in members { try container.encode(member.value, forKey: JSONKey(stringValue: member.name)) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let flag): try container.encode(flag)
            case .integer(let number): try container.encode(number)
            case .unsigned(let number): try container.encode(number)
            case .number(let number): try container.encode(number)
            case .string(let text): try container.encode(text)
            default: try container.encodeNil()
            }
        }
    }
}
