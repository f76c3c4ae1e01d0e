/// Decodes types from a JSON value strictly: fractions are not truncated, and no value is converted to another JSON
/// type.
///
/// The decoder throws `DecodingError`s, as Codable requires. ``JSONValue/decode(_:at:_:)`` converts them to
/// ``NightjarError``s.
struct JSONReader: Decoder {
    /// The maximum nesting of containers. Limits the stack depth, because decoding recurses.
    static let maximumDepth = 512

    let value: JSONValue
    let place: JSONPlace
    let options: JSONDecodingOptions

    var codingPath: [any CodingKey] { place.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(JSONMembers<Key>(try members(), of: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw error(expected: "an array", [Any].self) }
        return JSONElements(elements, of: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    /// Decodes a value with the closure that the options contain for its type, or else with the type's own
    /// `init(from:)`.
    func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard place.depth <= JSONReader.maximumDepth else {
            throw error(
                JSONMismatch(path: place.pointer, expected: "at most \(JSONReader.maximumDepth) levels", found: "more"))
        }
        if let read = options.reading(of: type), let value = try read(self) as? Value { return value }
        if type == JSONValue.self, let value = value as? Value { return value }
        if case .useDefaultKeys = options.names {
        } else if let type = type as? any NamedCoding.Type {
            if let value = try type.init(plainly: self) as? Value { return value }
        }
        do {
            return try Value(from: self)
        } catch DecodingError.dataCorrupted(let context) where context.codingPath.count == place.depth {
            // Replace the error of an enum, because it contains the unknown value, which may be a secret.
            guard let type = type as? any RawRepresentable.Type else { throw DecodingError.dataCorrupted(context) }
            throw error(
                JSONMismatch(path: place.pointer, expected: JSONReader.cases(of: type), found: "another \(value.noun)"))
        }
    }

    /// Returns a reader for a member or an element.
    func at(_ step: JSONPlace.Step, in container: JSONPlace.Container, _ value: JSONValue) -> JSONReader {
        JSONReader(value: value, place: JSONPlace(step, in: container), options: options)
    }

    func members() throws -> [JSONValue.Member] {
        guard case .object(let members) = value else { throw error(expected: "an object", [String: Any].self) }
        return members
    }

    // MARK: Errors

    func error(expected: String, _ type: any Any.Type) -> DecodingError {
        error(JSONMismatch(path: place.pointer, expected: expected, found: value.typeName), type)
    }

    func error(_ typeError: JSONValue.TypeMismatch, _ type: any Any.Type) -> DecodingError {
        error(JSONMismatch(path: place.pointer, expected: typeError.expected, found: typeError.found), type)
    }

    func error(_ mismatch: JSONMismatch, _ type: (any Any.Type)? = nil) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath, debugDescription: mismatch.description, underlyingError: mismatch)
        guard let type else { return .dataCorrupted(context) }
        if case .null = value { return .valueNotFound(type, context) }
        return .typeMismatch(type, context)
    }

    /// Describes the allowed values: `one of "open", "closed"` for a `CaseIterable` type, only the type's name for any
    /// other type.
    private static func cases<Raw: RawRepresentable>(of type: Raw.Type) -> String {
        let known = (type as? any CaseIterable.Type).map { rawValues($0) } ?? []
        guard !known.isEmpty else { return "a value of the type \(type)" }
        return "one of \(known.prefix(8).joined(separator: ", "))" + (known.count > 8 ? ", ..." : "")
    }

    private static func rawValues<Cases: CaseIterable>(_ type: Cases.Type) -> [String] {
        type.allCases.prefix(9).compactMap { value in
            switch (value as? any RawRepresentable)?.rawValue {
            case let text as String: quoted(text)
            case let number as any BinaryInteger: String(describing: number)
            default: nil
            }
        }
    }
}

extension JSONReader: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }
    func decode(_ type: Bool.Type) throws -> Bool {
        try scalar { () throws(JSONValue.TypeMismatch) in try value.flag() }
    }
    func decode(_ type: String.Type) throws -> String {
        try scalar { () throws(JSONValue.TypeMismatch) in try value.text() }
    }
    func decode(_ type: Double.Type) throws -> Double { try floatingPoint() }
    func decode(_ type: Float.Type) throws -> Float { try floatingPoint() }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try read(type) }

    private func integer<Integer: FixedWidthInteger>() throws -> Integer {
        try scalar { () throws(JSONValue.TypeMismatch) in try value.integer(Integer.self) }
    }

    private func floatingPoint<Number: BinaryFloatingPoint>() throws -> Number {
        try scalar { () throws(JSONValue.TypeMismatch) in try value.floatingPoint(Number.self) }
    }

    private func scalar<Value>(_ read: () throws(JSONValue.TypeMismatch) -> Value) throws -> Value {
        do throws(JSONValue.TypeMismatch) {
            return try read()
        } catch {
            throw self.error(error, Value.self)
        }
    }
}

/// A dictionary with string keys. The keys are data, so no naming strategy is applied.
private protocol NamedCoding {
    init(plainly reader: JSONReader) throws
}

extension Dictionary: NamedCoding where Key == String, Value: Decodable {
    fileprivate init(plainly reader: JSONReader) throws {
        let container = JSONPlace.Container(reader.place)
        self.init()
        for member in try reader.members() where self[member.name] == nil {
            self[member.name] = try reader.at(.member(member.name), in: container, member.value).read(Value.self)
        }
    }
}

extension JSONValue {
    /// The noun in the message "found another string".
    fileprivate var noun: String {
        switch self {
        case .string: "string"
        case .integer, .unsigned, .number: "number"
        default: "value"
        }
    }
}
