import NightjarHTTP

extension JSONValue {
    /// Finds the first place at which `other` does not contain this value. Additional object members are allowed.
    /// Arrays must have equal lengths. Numbers are compared by value.
    ///
    /// - Returns: the place in this value. Nil if `other` contains this value.
    func firstDifference(from other: JSONValue) -> JSONPointer? {
        // Iterative, so that a deeply nested value cannot exhaust the stack.
        var pairs: [(JSONValue, JSONValue?, [String])] = [(self, other, [])]
        while let (expected, found, path) = pairs.popLast() {
            guard let found else { return JSONPointer(tokens: path) }
            switch (expected, found) {
            case (.object(let members), .object):
                pairs += members.reversed().map { ($0.value, found[$0.name], path + [$0.name]) }
            case (.array(let elements), .array(let others)):
                guard elements.count == others.count else { return JSONPointer(tokens: path) }
                pairs += zip(elements, others).enumerated().reversed().map { ($1.0, $1.1, path + [String($0)]) }
            default: if !expected.isSameScalar(found) { return JSONPointer(tokens: path) }
            }
        }
        return nil
    }

    /// Returns true if the values are equal. The order of members and the notation of numbers are ignored.
    func isEquivalent(to other: JSONValue) -> Bool {
        var pairs = [(self, other)]
        while let (a, b) = pairs.popLast() {
            switch (a, b) {
            case (.object(let members), .object(let others)):
                guard members.count == others.count else { return false }
                var named = ExactDictionary<JSONValue>()
                for other in others { named[other.name] = other.value }
                for member in members {
                    guard let value = named[member.name] else { return false }
                    pairs.append((member.value, value))
                }
            case (.array(let elements), .array(let others)):
                guard elements.count == others.count else { return false }
                pairs += zip(elements, others)
            default: if !a.isSameScalar(b) { return false }
            }
        }
        return true
    }

    private func isSameScalar(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.integer(let integer), .number(let number)), (.number(let number), .integer(let integer)):
            Int64(exactly: number) == integer
        case (.unsigned(let integer), .number(let number)), (.number(let number), .unsigned(let integer)):
            UInt64(exactly: number) == integer
        default: self == other
        }
    }
}
