// Literals: `["id": id, "tags": ["a", "b"], "draft": true, "summary": nil]`.

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self = .string(value) }
}

/// The elements of a literal are ``ParameterValue``s, so variables of different types can be mixed. Nil is null. The members
/// of an object keep their order.
extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    public init(arrayLiteral elements: (any ParameterValue)?...) {
        self = .array(elements.map { JSONValue($0) })
    }

    public init(dictionaryLiteral elements: (String, (any ParameterValue)?)...) {
        self = .object(elements.map { Member($0.0, JSONValue($0.1)) })
    }

    /// Creates the JSON form of a value: of an integer, a text, an array or a dictionary, for example. Nil becomes null.
    ///
    /// A number that is infinite or NaN has no JSON form. A call whose body contains one fails with `invalid_request`.
    public init(_ value: (any ParameterValue)?) { self = value?.parameterValue ?? .null }
}

/// Makes nested literals, such as `["user": ["id": id, "name": name]]`, values of JSON. Without these conformances, a nested
/// literal would be an array or a dictionary, whose elements have one type.
extension Optional: @retroactive ExpressibleByArrayLiteral, @retroactive ExpressibleByDictionaryLiteral
where Wrapped == any ParameterValue {
    public init(arrayLiteral elements: (any ParameterValue)?...) {
        self = JSONValue.array(elements.map { JSONValue($0) })
    }

    public init(dictionaryLiteral elements: (String, (any ParameterValue)?)...) {
        self = JSONValue.object(elements.map { JSONValue.Member($0.0, JSONValue($0.1)) })
    }
}

/// The cases of ``JSONValue`` as elements of a literal: `["summary": .null, "title": .string(title)]`.
extension Optional where Wrapped == any ParameterValue {
    public static var null: Self { JSONValue.null }
    public static func bool(_ value: Bool) -> Self { JSONValue.bool(value) }
    public static func integer(_ value: Int64) -> Self { JSONValue.integer(value) }
    public static func unsigned(_ value: UInt64) -> Self { JSONValue.unsigned(value) }
    public static func number(_ value: Double) -> Self { JSONValue.number(value) }
    public static func string(_ value: String) -> Self { JSONValue.string(value) }
    public static func array(_ elements: [JSONValue]) -> Self { JSONValue.array(elements) }
    public static func object(_ members: [JSONValue.Member]) -> Self { JSONValue.object(members) }
}
