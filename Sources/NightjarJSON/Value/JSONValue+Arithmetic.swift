extension JSONValue {
    /// Returns true if this number is an integer multiple of `divisor` in decimal arithmetic. 0.3 is a multiple of 0.1,
    /// although their binary fractions are not. A double is converted to its shortest decimal.
    func isMultiple(of divisor: JSONValue) -> Bool {
        guard let value = Decimal(self), let divisor = Decimal(divisor), divisor.digits > 0 else { return false }
        if value.digits == 0 { return true }
        if value.exponent >= divisor.exponent {
            // Compute digits * 10^n mod divisor.digits step by step to avoid an overflow.
            var remainder = value.digits % divisor.digits
            for _ in 0..<(value.exponent - divisor.exponent) where remainder != 0 {
                remainder = (remainder * 10) % divisor.digits
            }
            return remainder == 0
        }
        var unit = divisor.digits
        for _ in 0..<(divisor.exponent - value.exponent) {
            let (product, overflow) = unit.multipliedReportingOverflow(by: 10)
            guard !overflow, product <= value.digits else { return false }
            unit = product
        }
        return value.digits % unit == 0
    }

    /// The magnitude of a number: at most 20 digits and a power of ten.
    private struct Decimal {
        var digits: UInt128 = 0
        var exponent = 0

        init?(_ value: JSONValue) {
            switch value {
            case .integer(let number): digits = UInt128(number.magnitude)
            case .unsigned(let number): digits = UInt128(number)
            case .number(let number):
                guard number.isFinite else { return nil }
                var isFraction = false
                var rest = number.magnitude.description.utf8[...]
                while let byte = rest.popFirst() {
                    switch byte {
                    case UInt8(ascii: "."): isFraction = true
                    case UInt8(ascii: "e"):
                        // `Int` accepts the sign in "e+308".
                        exponent += Int(String(Substring(rest))) ?? 0
                        rest = rest.suffix(0)
                    default:
                        digits = digits * 10 + UInt128(byte &- UInt8(ascii: "0"))
                        if isFraction { exponent -= 1 }
                    }
                }
            default: return nil
            }
        }
    }

    /// Finds two equal elements (see ``isSame(as:)``) of an array in time nearly proportional to the size of the array.
    struct Equals {
        /// The remaining steps. Negative if the search ran out of steps.
        var budget: Int

        mutating func firstPair(in elements: [JSONValue]) -> (Int, Int)? {
            var places: [[UInt8]: Int] = [:]
            for (index, element) in elements.enumerated() {
                let key = JSONValue.key(of: element)
                budget -= 1 + key.count / 64
                guard budget >= 0 else { return nil }
                if let first = places.updateValue(index, forKey: key) { return (first, index) }
            }
            return nil
        }
    }

    /// Returns a byte string that is the same for equal values and different for different values.
    private static func key(of value: JSONValue) -> [UInt8] {
        enum Work {
            case value(JSONValue)
            case name(String)
        }
        var key: [UInt8] = []
        func append(_ count: Int) { withUnsafeBytes(of: count) { key += $0 } }
        var work = [Work.value(value)]
        while let next = work.popLast() {
            switch next {
            case .name(let text), .value(.string(let text)):
                key.append(UInt8(ascii: "s"))
                append(text.utf8.count)
                key += text.utf8
            case .value(.null): key.append(UInt8(ascii: "n"))
            case .value(.bool(let flag)): key.append(UInt8(ascii: flag ? "t" : "f"))
            case .value(.integer(let number)): key += "i\(number);".utf8
            case .value(.unsigned(let number)): key += "i\(number);".utf8
            case .value(.number(let number)):
                if let whole = Int128(exactly: number) {
                    key += "i\(whole);".utf8
                } else {
                    key += "d\(number);".utf8
                }
            case .value(.array(let elements)):
                key.append(UInt8(ascii: "["))
                append(elements.count)
                work += elements.reversed().map { .value($0) }
            case .value(.object(let members)):
                key.append(UInt8(ascii: "{"))
                append(members.count)
                for member in members.sorted(by: { $1.name.precedesExactly($0.name) }) {
                    work.append(.value(member.value))
                    work.append(.name(member.name))
                }
            }
        }
        return key
    }
}
