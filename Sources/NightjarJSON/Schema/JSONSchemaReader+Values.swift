extension JSONSchemaReader {
    /// Known formats that are not validated.
    private static let otherFormats: Set<String> = [
        "time", "duration", "hostname", "idn-hostname", "idn-email", "ipv4", "ipv6", "uri-reference", "uri-template",
        "iri", "iri-reference", "json-pointer", "relative-json-pointer", "regex", "int8", "int16", "int32", "int64",
        "uint8", "uint16", "uint32", "uint64", "float", "double", "decimal", "byte", "binary", "base64url", "char",
        "html", "password",
    ]

    func types(_ value: JSONValue) throws(NightjarError) -> JSONSchema.Types {
        var types: JSONSchema.Types = []
        let names: [String]
        if case .string(let name) = value { names = [name] } else { names = try strings(value, "type") }
        guard !names.isEmpty else { throw failure("\"type\" is an empty list") }
        for name in names {
            guard let known = JSONSchema.Types.names.first(where: { $0.name == name }) else {
                let all = JSONSchema.Types.names.map(\.name).joined(separator: ", ")
                throw failure("unknown type \(quoted(name)); the allowed types are \(all)")
            }
            types.insert(known.type)
        }
        return types
    }

    mutating func schemas(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> [JSONSchema.Index] {
        guard case .array(let elements) = value else { throw wrongType(keyword, "an array of schemas", value) }
        guard !elements.isEmpty else { throw failure("\(quoted(keyword)) is an empty list") }
        var schemas: [JSONSchema.Index] = []
        for (index, element) in elements.enumerated() {
            schemas.append(try subschema(element, at: keyword, String(index)))
        }
        return schemas
    }

    func members(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> [JSONValue.Member] {
        guard case .object(let members) = value else { throw wrongType(keyword, "an object", value) }
        return members
    }

    func values(_ value: JSONValue) throws(NightjarError) -> [JSONValue] {
        guard case .array(let values) = value else { throw wrongType("enum", "an array", value) }
        guard !values.isEmpty else { throw failure("\"enum\" is an empty list") }
        guard values.allSatisfy({ JSONSchemaReader.isSmall($0, JSONSchema.maximumDepth) }) else {
            throw failure(
                "a value of \"enum\" or \"const\" has more than \(JSONSchema.maximumDepth) levels, or an object with more "
                    + "than \(JSONSchemaReader.maximumMembers) members")
        }
        return values
    }

    /// The maximum number of members of an object in `enum` or `const`. Comparing two objects takes quadratic time.
    private static let maximumMembers = 256

    private static func isSmall(_ value: JSONValue, _ levels: Int) -> Bool {
        switch value {
        case .array(let elements): levels > 0 && elements.allSatisfy { isSmall($0, levels - 1) }
        case .object(let members):
            levels > 0 && members.count <= maximumMembers && members.allSatisfy { isSmall($0.value, levels - 1) }
        default: true
        }
    }

    func format(_ value: JSONValue, _ notice: inout JSONSchema.Notice) throws(NightjarError) -> JSONFormat? {
        guard case .string(let name) = value else { throw wrongType("format", "a string", value) }
        notice.format = name
        if let format = JSONFormat(rawValue: name) { return format }
        // An unknown format is an annotation (JSON Schema validation, section 7.2.1). A misspelled format is an error.
        guard dialect == nil, !JSONSchemaReader.otherFormats.contains(name),
            let near = nearestName(to: name, among: JSONFormat.allCases.map(\.rawValue))
        else { return nil }
        throw failure("unknown format \(quoted(name)); did you mean \(quoted(near))?")
    }

    func pattern(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> JSONPattern {
        guard case .string(let source) = value else { throw wrongType(keyword, "a string", value) }
        do throws(NightjarError) {
            return try JSONPattern(source)
        } catch {
            throw failure(error.message)
        }
    }

    func strings(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> [String] {
        guard case .array(let elements) = value else { throw wrongType(keyword, "an array of strings", value) }
        var strings: [String] = []
        for element in elements {
            guard case .string(let string) = element else { throw wrongType(keyword, "an array of strings", element) }
            strings.append(string)
        }
        return strings
    }

    func flag(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> Bool {
        guard case .bool(let flag) = value else { throw wrongType(keyword, "true or false", value) }
        return flag
    }

    func number(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> JSONValue {
        switch value {
        case .integer, .unsigned, .number: return value
        default: throw wrongType(keyword, "a number", value)
        }
    }

    func divisor(_ value: JSONValue) throws(NightjarError) -> JSONValue {
        let divisor = try number(value, "multipleOf")
        guard JSONValue.order(divisor, .integer(0)) == .more else {
            throw failure("\"multipleOf\" must be a number greater than 0, got \(JSONSchemaChecker.short(divisor))")
        }
        return divisor
    }

    func count(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> Int {
        switch value {
        case .integer(let number) where number >= 0: return Int(clamping: number)
        case .unsigned(let number): return Int(clamping: number)
        case .number(let number) where number >= 0 && value.isInteger: return Int(exactly: number) ?? Int.max
        default:
            throw failure("\(quoted(keyword)) must be an integer of at least 0, got \(JSONSchemaChecker.short(value))")
        }
    }
}
