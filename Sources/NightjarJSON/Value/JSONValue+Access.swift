// Typed access: `json["results"]?[0]?["id"]?.int`. The result is nil if a value is missing or has another type; nothing is
// converted. `decode(_:at:)` throws instead, with the path and the types.

extension JSONValue {
    /// The element at this index. Nil if there is none, or if this value is not an array.
    public subscript(_ index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The value at a JSON Pointer: `json[at: "/results/0/id"]`. Nil if there is none, or if a text is not a JSON Pointer.
    public subscript(at location: some JSONLocation) -> JSONValue? {
        (try? location.jsonPointer())?.value(in: self)
    }

    public var isNull: Bool { self == .null }

    /// The text of a string.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    public var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }

    /// An integer that `Int` can represent, also if it is written as `3.0` or `3e2`. Nil for a fraction.
    public var int: Int? { try? integer(Int.self) }

    /// Any number. An integer above 2^53 is rounded.
    public var double: Double? { try? floatingPoint(Double.self) }

    /// The elements of an array.
    public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The members of an object, in their order.
    public var object: [Member]? { if case .object(let members) = self { members } else { nil } }
}

extension JSONValue: CustomStringConvertible {
    /// The value as JSON, without white space. It is not masked: a token in the value is a token in the description. A
    /// number that is infinite or NaN, which JSON cannot represent, is written as in Swift.
    public var description: String { String(buffer: displayText) }
}
