/// Walks a document along a ``JSONSchema``. It goes as deep as the schema does, whatever the document is.
struct JSONSchemaChecker {
    private enum Step {
        case member(String)
        case element(Int)
    }

    private var path: [Step] = []

    mutating func mismatch(of value: JSONValue, _ schema: JSONSchema.Subschema) -> JSONMismatch? {
        switch schema {
        case .any: nil
        case .never: mismatch("nothing", value.typeName)
        case .rules(let rules): mismatch(of: value, rules)
        }
    }

    private mutating func mismatch(of value: JSONValue, _ rules: JSONSchema.Rules) -> JSONMismatch? {
        guard rules.types.isEmpty || rules.types.include(value) else {
            return mismatch(rules.types.phrase, value.typeName)
        }
        if let values = rules.values, !values.contains(where: { $0.isSame(as: value) }) {
            return mismatch(
                JSONSchemaChecker.list(values), mayShowValue ? JSONSchemaChecker.short(value) : value.typeName)
        }
        switch value {
        case .null, .bool: return nil
        case .integer, .unsigned, .number: return mismatch(ofNumber: value, rules)
        case .string(let text): return mismatch(of: text, rules)
        case .array(let elements): return mismatch(of: elements, rules)
        case .object(let members): return mismatch(of: members, rules)
        }
    }

    private func mismatch(ofNumber value: JSONValue, _ rules: JSONSchema.Rules) -> JSONMismatch? {
        if let minimum = rules.minimum, JSONValue.order(value, minimum) == .less {
            return mismatch("a number of at least \(JSONSchemaChecker.short(minimum))", "a smaller one")
        }
        if let maximum = rules.maximum, JSONValue.order(value, maximum) == .more {
            return mismatch("a number of at most \(JSONSchemaChecker.short(maximum))", "a larger one")
        }
        return nil
    }

    private func mismatch(of text: String, _ rules: JSONSchema.Rules) -> JSONMismatch? {
        if rules.length.minimum > 0 || rules.length.maximum < Int.max {
            let found = mismatch(of: text.unicodeScalars.count, rules.length, "a string", "character")
            if let found { return found }
        }
        guard let format = rules.format, !format.matches(text) else { return nil }
        return mismatch(format.description, "another string")
    }

    private mutating func mismatch(of elements: [JSONValue], _ rules: JSONSchema.Rules) -> JSONMismatch? {
        if let found = mismatch(of: elements.count, rules.itemCount, "an array", "element") { return found }
        if case .any = rules.items { return nil }
        for (index, element) in elements.enumerated() {
            path.append(.element(index))
            defer { path.removeLast() }
            if let found = mismatch(of: element, rules.items) { return found }
        }
        return nil
    }

    private mutating func mismatch(of members: [JSONValue.Member], _ rules: JSONSchema.Rules) -> JSONMismatch? {
        for name in rules.required where !members.contains(where: { $0.name == name }) {
            path.append(.member(name))
            defer { path.removeLast() }
            return mismatch(JSONSchemaChecker.phrase(rules.properties[name]), "nothing")
        }
        for member in members {
            path.append(.member(member.name))
            defer { path.removeLast() }
            if let schema = rules.properties[member.name] {
                if let found = mismatch(of: member.value, schema) { return found }
            } else if case .never = rules.additionalProperties {
                return mismatch("no member of this name", member.value.typeName)
            } else if let found = mismatch(of: member.value, rules.additionalProperties) {
                return found
            }
        }
        return nil
    }

    // MARK: Telling

    private func mismatch(
        of count: Int, _ bounds: JSONSchema.Bounds, _ container: String, _ unit: String
    ) -> JSONMismatch? {
        func amount(_ count: Int) -> String { count == 1 ? "1 \(unit)" : "\(count) \(unit)s" }
        if count < bounds.minimum {
            return mismatch("\(container) of at least \(amount(bounds.minimum))", "one of \(count)")
        }
        if count > bounds.maximum {
            return mismatch("\(container) of at most \(amount(bounds.maximum))", "one of \(count)")
        }
        return nil
    }

    private func mismatch(_ expected: String, _ found: String) -> JSONMismatch {
        let tokens = path.map { step in
            switch step {
            case .member(let name): name
            case .element(let index): String(index)
            }
        }
        return JSONMismatch(path: JSONPointer(tokens: tokens), expected: expected, found: found)
    }

    /// Whether no name on the way here is one of a secret.
    private var mayShowValue: Bool {
        path.allSatisfy { step in
            if case .member(let name) = step { !Redaction.isSecret(name: name[...].utf8) } else { true }
        }
    }

    private static func phrase(_ schema: JSONSchema.Subschema?) -> String {
        guard case .rules(let rules) = schema, !rules.types.isEmpty else { return "a value" }
        return rules.types.phrase
    }

    private static func list(_ values: [JSONValue]) -> String {
        let shown = values.prefix(8).map { value in
            switch value {
            case .array: "a certain array"
            case .object: "a certain object"
            default: short(value)
            }
        }
        if values.count == 1 { return shown[0] }
        return "one of \(shown.joined(separator: ", "))" + (values.count > shown.count ? ", ..." : "")
    }

    private static func short(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): String(flag)
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        case .number(let number): String(number)
        case .string(let text): quoted(text, limit: 40)
        case .array, .object: value.typeName
        }
    }
}
