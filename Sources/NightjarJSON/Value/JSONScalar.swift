/// Conversions to Swift scalars. They throw ``TypeMismatch`` for a value that the Swift type cannot represent.
extension JSONValue {
    /// The expected and the found type. The caller adds the path.
    struct TypeMismatch: Error {
        let expected: String
        let found: String
    }

    /// Accepts integers, including those written as `3.0` or `3e2`. Rejects fractions, values out of range, and doubles
    /// that may not be exact (``firstInexact``).
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws(TypeMismatch) -> Integer {
        switch self {
        case .integer(let number):
            if let exact = Integer(exactly: number) { return exact }
        case .unsigned(let number):
            if let exact = Integer(exactly: number) { return exact }
        case .number(let number):
            guard number.rounded(.towardZero) == number else {
                throw TypeMismatch(expected: "an integer", found: "a number with a fraction")
            }
            guard number.magnitude < JSONValue.firstInexact else {
                throw TypeMismatch(expected: JSONValue.range(of: type), found: "a number too large to be exact")
            }
            if let exact = Integer(exactly: number) { return exact }
        default: throw TypeMismatch(expected: "an integer", found: typeName)
        }
        throw TypeMismatch(expected: JSONValue.range(of: type), found: "one out of range")
    }

    /// Accepts any number in the range of `type`. Rounds the number to the nearest value of `type`.
    func floatingPoint<Number: BinaryFloatingPoint>(_ type: Number.Type) throws(TypeMismatch) -> Number {
        let number: Number
        switch self {
        case .integer(let integer): number = Number(integer)
        case .unsigned(let integer): number = Number(integer)
        case .number(let double): number = Number(double)
        default: throw TypeMismatch(expected: "a number", found: typeName)
        }
        guard number.isFinite else {
            throw TypeMismatch(expected: "a number that \(type) can hold", found: "a larger one")
        }
        return number
    }

    func flag() throws(TypeMismatch) -> Bool {
        guard case .bool(let flag) = self else { throw TypeMismatch(expected: "a boolean", found: typeName) }
        return flag
    }

    func text() throws(TypeMismatch) -> String {
        guard case .string(let text) = self else { throw TypeMismatch(expected: "a string", found: typeName) }
        return text
    }

    /// Describes the values of a type, for the message about a missing value.
    static func phrase(for type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "a boolean"
        case is any FixedWidthInteger.Type: "an integer"
        case is any BinaryFloatingPoint.Type: "a number"
        case is Never.Type: "a value"
        // The types that stand for nested containers.
        case is [String: Any].Type: "an object"
        case is [Any].Type: "an array"
        default: "a value of the type \(type)"
        }
    }

    private static func range<Integer: FixedWidthInteger>(of type: Integer.Type) -> String {
        "an integer from \(Integer.min) to \(Integer.max)"
    }

    /// The smallest magnitude at which a double no longer identifies one integer. A number with a fraction or an
    /// exponent is read as a double. A larger double may differ from the number that the sender wrote.
    static let firstInexact = 0x1p53
}
