// C callers and shells pass strings. A string is converted to the type that the schema requires if the string is a
// valid representation. Numbers are never converted to strings or booleans.

extension JSONSchema {
    /// Returns `value` with strings converted to the number, boolean, array or object that the schema requires: `"42"`,
    /// `"true"`, `"[1,2]"` and `"{...}"`. Other strings are unchanged. Strings that the schema allows are never
    /// converted.
    ///
    /// Elements of an array and members of an object are converted too, but nothing deeper. A double without a fraction
    /// becomes an integer if the schema requires an integer, because many scripting languages do not distinguish 1.0
    /// from 1.
    func converting(_ value: JSONValue) -> JSONValue {
        let value = shape.converted(value)
        switch value {
        case .array(let elements):
            guard let schema = self.elements else { return value }
            let shape = schema.shape
            return .array(elements.map { shape.converted($0) })
        case .object(let members):
            var properties = ExactDictionary<JSONSchema>()
            for property in self.properties { properties[property.name] = property.schema }
            guard !properties.isEmpty else { return value }
            return .object(
                members.map { member in
                    guard let schema = properties[member.name] else {
                        return member
                    }
                    return JSONValue.Member(member.name, schema.shape.converted(member.value))
                })
        default: return value
        }
    }
}

extension JSONSchema.Shape {
    fileprivate func converted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): return isEmpty || contains(.string) ? value : read(text) ?? value
        case .number(let number) where contains(.integer) && !contains(.number):
            return Int64(exactly: number).map { .integer($0) } ?? value
        default: return value
        }
    }

    private func read(_ text: String) -> JSONValue? {
        guard let first = text.utf8.first, let last = text.utf8.last, !ASCII.isWhitespace(first),
            !ASCII.isWhitespace(last), let value = try? JSONValue(parsing: text)
        else { return nil }
        switch value {
        case .integer, .unsigned: return contains(.integer) || contains(.number) ? value : nil
        case .number: return contains(.integer) || contains(.number) ? converted(value) : nil
        case .bool: return contains(.boolean) ? value : nil
        case .array: return contains(.array) ? value : nil
        case .object: return contains(.object) ? value : nil
        case .null, .string: return nil
        }
    }
}
