/// A value of a path or query parameter, or of a JSON literal.
///
///     request.query = ["per_page": 20, "q": term, "draft": isDraft, "tag": ["swift", "http"]]
///     let body: JSONValue = ["id": id, "title": title, "author": ["name": name], "summary": nil]
///
/// Nil and ``JSONValue/null`` omit a parameter, and are null in JSON. Types with a text form, such as identifiers and enums with raw
/// values, conform without a member of their own:
///
///     enum Order: String, ParameterValue { case newest, oldest }
///     extension UserID: ParameterValue {}      // a LosslessStringConvertible type
public protocol ParameterValue: Sendable {
    /// The value as JSON. In a path or a query, a string is sent as it is, any other value as its JSON text.
    var parameterValue: JSONValue { get }
}

extension ParameterValue where Self: LosslessStringConvertible {
    public var parameterValue: JSONValue { .string(description) }
}

extension ParameterValue where Self: RawRepresentable, RawValue: ParameterValue {
    public var parameterValue: JSONValue { rawValue.parameterValue }
}

extension JSONValue: ParameterValue {
    public var parameterValue: JSONValue { self }
}

extension String: ParameterValue {
    public var parameterValue: JSONValue { .string(self) }
}

extension Substring: ParameterValue {
    public var parameterValue: JSONValue { .string(String(self)) }
}

extension Character: ParameterValue {}

extension Bool: ParameterValue {
    public var parameterValue: JSONValue { .bool(self) }
}

extension Double: ParameterValue {
    public var parameterValue: JSONValue { .number(self) }
}

extension Float: ParameterValue {
    /// The shortest number that is equal to this one as a `Float`: 0.1, not 0.10000000149.
    public var parameterValue: JSONValue { .number(Double(description) ?? Double(self)) }
}

extension Array: ParameterValue where Element: ParameterValue {
    public var parameterValue: JSONValue { .array(map(\.parameterValue)) }
}

extension Dictionary: ParameterValue where Key == String, Value: ParameterValue {
    /// An object whose members are sorted by name.
    public var parameterValue: JSONValue {
        .object(
            map { JSONValue.Member($0.key, $0.value.parameterValue) }
                .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    }
}

extension Timestamp: ParameterValue {
    /// The time in ISO 8601: `2026-01-31T23:59:59Z`.
    public var parameterValue: JSONValue { .string(iso8601(minutesEast: 0) ?? "") }
}

// MARK: Integers

extension Int: ParameterValue {
    public var parameterValue: JSONValue { .integer(Int64(self)) }
}

extension Int8: ParameterValue {
    public var parameterValue: JSONValue { .integer(Int64(self)) }
}

extension Int16: ParameterValue {
    public var parameterValue: JSONValue { .integer(Int64(self)) }
}

extension Int32: ParameterValue {
    public var parameterValue: JSONValue { .integer(Int64(self)) }
}

extension Int64: ParameterValue {
    public var parameterValue: JSONValue { .integer(self) }
}

extension UInt: ParameterValue {
    public var parameterValue: JSONValue { UInt64(self).parameterValue }
}

extension UInt8: ParameterValue {
    public var parameterValue: JSONValue { .integer(Int64(self)) }
}

extension UInt16: ParameterValue {
    public var parameterValue: JSONValue { .integer(Int64(self)) }
}

extension UInt32: ParameterValue {
    public var parameterValue: JSONValue { .integer(Int64(self)) }
}

extension UInt64: ParameterValue {
    public var parameterValue: JSONValue { Int64(exactly: self).map(JSONValue.integer) ?? .unsigned(self) }
}

// MARK: Texts

extension JSONValue {
    /// Returns a string as is, and any other value as JSON. The number 1.0 is written as 1.
    ///
    /// - Throws: `invalid_request` for NaN and infinity.
    package func parameterText() throws(NightjarError) -> String {
        switch self {
        case .string(let text): return text
        case .number(let number):
            if let integer = Int64(exactly: number), number.magnitude < JSONValue.firstInexact {
                return String(integer)
            }
            fallthrough
        default: return String(buffer: try encoded())
        }
    }
}
