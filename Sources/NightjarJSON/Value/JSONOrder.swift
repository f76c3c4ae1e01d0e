extension JSONValue {
    /// Returns true if two values are equal by the rules of JSON Schema (core, section 4.2.2): `1` equals `1.0`, and
    /// the order of members is ignored. The recursion depth is at most the nesting depth of the shallower value.
    package func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.null, .null): return true
        case (.bool(let a), .bool(let b)): return a == b
        case (.string(let a), .string(let b)): return a.isExactly(b)
        case (.array(let a), .array(let b)):
            return a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
        case (.object(let a), .object(let b)):
            return a.count == b.count
                && a.allSatisfy { member in
                    b.first { $0.name.isExactly(member.name) }?.value.isSame(as: member.value) ?? false
                }
        default: return JSONValue.order(self, other) == .same
        }
    }

    enum Order { case less, same, more }

    /// Compares two numbers exactly, without converting integers to doubles. Returns nil if either value is not a
    /// number.
    static func order(_ a: JSONValue, _ b: JSONValue) -> Order? {
        guard let a = Number(a), let b = Number(b) else { return nil }
        switch (a, b) {
        case (.integer(let a), .integer(let b)): return order(a, b)
        case (.double(let a), .double(let b)): return order(a, b)
        case (.integer(let a), .double(let b)): return order(a, b)
        case (.double(let a), .integer(let b)):
            switch order(b, a) {
            case .less: return .more
            case .same: return .same
            case .more: return .less
            }
        }
    }

    /// True for a number without a fraction, including `1.0`.
    var isInteger: Bool {
        switch self {
        case .integer, .unsigned: true
        case .number(let number): number.isFinite && number.rounded(.towardZero) == number
        default: false
        }
    }

    private enum Number {
        case integer(Int128)
        case double(Double)

        init?(_ value: JSONValue) {
            switch value {
            case .integer(let number): self = .integer(Int128(number))
            case .unsigned(let number): self = .integer(Int128(number))
            case .number(let number): self = .double(number)
            default: return nil
            }
        }
    }

    private static func order<Value: Comparable>(_ a: Value, _ b: Value) -> Order {
        a < b ? .less : a == b ? .same : .more
    }

    private static func order(_ integer: Int128, _ double: Double) -> Order {
        // The magnitude of the integer is less than 2^65, so only the sign of a larger double matters.
        guard double.magnitude < 0x1p65 else { return double < 0 ? .more : .less }
        let whole = double.rounded(.down)
        guard let floor = Int128(exactly: whole) else { return .less }
        return integer == floor && whole < double ? .less : order(integer, floor)
    }
}
