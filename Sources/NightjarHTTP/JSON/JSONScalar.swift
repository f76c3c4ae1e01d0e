/// Reading one value as a type of Swift's, exactly: what does not fit is refused and never cut.
extension JSONValue {
    /// What was wanted, and what there is instead. Where that is, only the reader knows.
    struct Misfit: Error {
        let expected: String
        let found: String
    }

    /// `3`, and also `3.0` and `3e2`, which are the same number; no other fraction, and nothing out of range.
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws(Misfit) -> Integer {
        switch self {
        case .integer(let number):
            if let exact = Integer(exactly: number) { return exact }
        case .unsigned(let number):
            if let exact = Integer(exactly: number) { return exact }
        case .number(let number):
            guard number.rounded(.towardZero) == number else {
                throw Misfit(expected: "an integer", found: "a number with a fraction")
            }
            guard number.magnitude < JSONValue.firstInexact else {
                throw Misfit(expected: JSONValue.range(of: type), found: "a number whose last digits are lost")
            }
            if let exact = Integer(exactly: number) { return exact }
        default: throw Misfit(expected: "an integer", found: typeName)
        }
        throw Misfit(expected: JSONValue.range(of: type), found: "one out of range")
    }

    /// Any number; integers beyond 2^53 become the nearest that there is, as their digits as text would.
    func floatingPoint<Number: BinaryFloatingPoint>(_ type: Number.Type) throws(Misfit) -> Number {
        let number: Number
        switch self {
        case .integer(let integer): number = Number(integer)
        case .unsigned(let integer): number = Number(integer)
        case .number(let double): number = Number(double)
        default: throw Misfit(expected: "a number", found: typeName)
        }
        guard number.isFinite else { throw Misfit(expected: "a number that \(type) can hold", found: "a larger one") }
        return number
    }

    func flag() throws(Misfit) -> Bool {
        guard case .bool(let flag) = self else { throw Misfit(expected: "a boolean", found: typeName) }
        return flag
    }

    func text() throws(Misfit) -> String {
        guard case .string(let text) = self else { throw Misfit(expected: "a string", found: typeName) }
        return text
    }

    /// What a value of this type looks like, for messages about one that is not there.
    static func phrase(for type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "a boolean"
        case is any FixedWidthInteger.Type: "an integer"
        case is any BinaryFloatingPoint.Type: "a number"
        case is Never.Type: "a value"
        default: "a value of the type \(type)"
        }
    }

    private static func range<Integer: FixedWidthInteger>(of type: Integer.Type) -> String {
        "an integer from \(Integer.min) to \(Integer.max)"
    }

    /// From here on a double may stand for several integers, and what was written with a fraction or an exponent for one
    /// that it was not.
    private static let firstInexact = 0x1p53
}
