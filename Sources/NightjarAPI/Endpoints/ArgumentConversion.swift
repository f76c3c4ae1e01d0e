// Callers in C, and shells, have texts. A text becomes what the schema asks for where it is written as one, and nothing
// else is ever converted: the number 42 is no text, and 1 is not true.

extension JSONSchema {
    /// `value`, its texts as the numbers, truths, lists and objects that are asked for in their places: `"42"` where an
    /// integer is, `"true"`, `"[1,2]"` and `"{...}"` in JSON. What is not written so stays, for the check to tell of.
    ///
    /// A list's elements and an object's members are converted too, but nothing further down. A double without a fraction
    /// is an integer where one is asked for: scripts make no difference.
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
