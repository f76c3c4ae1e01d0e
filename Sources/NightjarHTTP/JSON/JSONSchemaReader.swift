/// Makes a ``JSONSchema`` from its JSON and refuses what it cannot keep its word about.
struct JSONSchemaReader {
    /// Where in the schema it is.
    private var path: [String] = []
    /// Schemas around this one.
    private var depth = 0

    private static let keywords = [
        "type", "required", "properties", "additionalProperties", "items", "enum", "const", "format", "nullable",
        "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
    ]
    /// They say nothing about what is valid, as does each word that begins with x-.
    private static let annotations: Set<String> = [
        "$schema", "$id", "$comment", "$anchor", "$vocabulary", "$defs", "definitions", "title", "description",
        "default",
        "example", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType",
        "contentSchema", "externalDocs", "xml",
    ]
    /// They do.
    private static let unsupported: Set<String> = [
        "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "pattern",
        "patternProperties", "propertyNames", "prefixItems", "additionalItems", "contains", "minContains",
        "maxContains", "unevaluatedItems", "unevaluatedProperties", "dependencies", "dependentRequired",
        "dependentSchemas", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "minProperties",
        "maxProperties", "discriminator",
    ]
    /// Formats that are known and that nobody checks here.
    private static let otherFormats: Set<String> = [
        "time", "duration", "hostname", "idn-hostname", "idn-email", "ipv4", "ipv6", "uri-reference", "uri-template",
        "iri", "iri-reference", "json-pointer", "relative-json-pointer", "regex", "int8", "int16", "int32", "int64",
        "uint8", "uint16", "uint32", "uint64", "float", "double", "decimal", "byte", "binary", "base64url", "char",
        "html", "password",
    ]

    mutating func subschema(_ schema: JSONValue) throws(NightjarError) -> JSONSchema.Subschema {
        switch schema {
        case .bool(let isAny): return isAny ? .any : .never
        case .object(let members):
            guard depth < JSONSchema.maximumDepth else {
                throw failure("more than \(JSONSchema.maximumDepth) schemas are within each other")
            }
            depth += 1
            defer { depth -= 1 }
            return .rules(try rules(members))
        default: throw failure("a schema is an object, true or false, found \(schema.typeName)")
        }
    }

    private mutating func rules(_ members: [JSONValue.Member]) throws(NightjarError) -> JSONSchema.Rules {
        var rules = JSONSchema.Rules()
        var isNullable = false
        for member in members {
            let value = member.value
            switch member.name {
            case "type": rules.types = try types(value)
            case "required": rules.required = try strings(value, "required")
            case "properties": rules.properties = try properties(value)
            case "additionalProperties": rules.additionalProperties = try subschema(value, at: member.name)
            case "items": rules.items = try subschema(value, at: member.name)
            case "enum", "const":
                guard rules.values == nil else { throw failure("\"enum\" and \"const\" both say the value; keep one") }
                rules.values = try values(member.name == "const" ? .array([value]) : value)
            case "format": rules.format = try format(value)
            case "nullable":
                guard case .bool(let flag) = value else { throw wrongType("nullable", "true or false", value) }
                isNullable = flag
            case "minimum": rules.minimum = try number(value, member.name)
            case "maximum": rules.maximum = try number(value, member.name)
            case "minLength": rules.length.minimum = try count(value, member.name)
            case "maxLength": rules.length.maximum = try count(value, member.name)
            case "minItems": rules.itemCount.minimum = try count(value, member.name)
            case "maxItems": rules.itemCount.maximum = try count(value, member.name)
            default: try passOver(member.name)
            }
        }
        if isNullable {
            if !rules.types.isEmpty { rules.types.insert(.null) }
            // OpenAPI wants null in the list as well, and those who write it mostly forget.
            rules.values?.append(.null)
        }
        return rules
    }

    private func passOver(_ name: String) throws(NightjarError) {
        if JSONSchemaReader.annotations.contains(name) || name.hasPrefix("x-") { return }
        if JSONSchemaReader.unsupported.contains(name) {
            throw failure("\(quoted(name)) is not supported; without it other documents would be valid")
        }
        let near = nearestName(to: name, among: JSONSchemaReader.keywords).map { "; did you mean \(quoted($0))?" }
        throw failure("\(quoted(name)) is no keyword\(near ?? "; names of members go into \"properties\"")")
    }

    // MARK: Keywords

    private func types(_ value: JSONValue) throws(NightjarError) -> JSONSchema.Types {
        var types: JSONSchema.Types = []
        let names: [String]
        if case .string(let name) = value { names = [name] } else { names = try strings(value, "type") }
        guard !names.isEmpty else { throw failure("\"type\" lists no type") }
        for name in names {
            guard let known = JSONSchema.Types.names.first(where: { $0.name == name }) else {
                let all = JSONSchema.Types.names.map(\.name).joined(separator: ", ")
                throw failure("\(quoted(name)) is no type; there are \(all)")
            }
            types.insert(known.type)
        }
        return types
    }

    private mutating func properties(
        _ value: JSONValue
    ) throws(NightjarError) -> [String: JSONSchema.Subschema] {
        guard case .object(let members) = value else { throw wrongType("properties", "an object", value) }
        path.append("properties")
        defer { path.removeLast() }
        var properties: [String: JSONSchema.Subschema] = [:]
        for member in members { properties[member.name] = try subschema(member.value, at: member.name) }
        return properties
    }

    private mutating func subschema(_ value: JSONValue, at name: String) throws(NightjarError) -> JSONSchema.Subschema {
        path.append(name)
        defer { path.removeLast() }
        return try subschema(value)
    }

    private func values(_ value: JSONValue) throws(NightjarError) -> [JSONValue] {
        guard case .array(let values) = value else { throw wrongType("enum", "an array", value) }
        guard !values.isEmpty else { throw failure("\"enum\" lists no value") }
        guard values.allSatisfy({ JSONSchemaReader.isShallow($0, JSONSchema.maximumDepth) }) else {
            throw failure("a value of \"enum\" or \"const\" has more than \(JSONSchema.maximumDepth) levels")
        }
        return values
    }

    private static func isShallow(_ value: JSONValue, _ levels: Int) -> Bool {
        switch value {
        case .array(let elements): levels > 0 && elements.allSatisfy { isShallow($0, levels - 1) }
        case .object(let members): levels > 0 && members.allSatisfy { isShallow($0.value, levels - 1) }
        default: true
        }
    }

    private func format(_ value: JSONValue) throws(NightjarError) -> JSONFormat? {
        guard case .string(let name) = value else { throw wrongType("format", "a string", value) }
        if let format = JSONFormat(rawValue: name) { return format }
        // A format that is not known is a remark (validation, section 7.2.1); one that was misspelled is not.
        guard !JSONSchemaReader.otherFormats.contains(name),
            let near = nearestName(to: name, among: JSONFormat.allCases.map(\.rawValue))
        else { return nil }
        throw failure("the format \(quoted(name)) is not known; did you mean \(quoted(near))?")
    }

    private func strings(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> [String] {
        guard case .array(let elements) = value else { throw wrongType(keyword, "an array of strings", value) }
        var strings: [String] = []
        for element in elements {
            guard case .string(let string) = element else { throw wrongType(keyword, "an array of strings", element) }
            strings.append(string)
        }
        return strings
    }

    private func number(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> JSONValue {
        switch value {
        case .integer, .unsigned, .number: return value
        default: throw wrongType(keyword, "a number", value)
        }
    }

    private func count(_ value: JSONValue, _ keyword: String) throws(NightjarError) -> Int {
        switch value {
        case .integer(let number) where number >= 0: return Int(clamping: number)
        case .unsigned(let number): return Int(clamping: number)
        case .number(let number) where number >= 0 && value.isInteger: return Int(exactly: number) ?? Int.max
        default: throw failure("\(quoted(keyword)) must be an integer of at least 0")
        }
    }

    // MARK: Failures

    private func wrongType(_ keyword: String, _ wanted: String, _ found: JSONValue) -> NightjarError {
        failure("\(quoted(keyword)) must be \(wanted), found \(found.typeName)")
    }

    private func failure(_ what: String) -> NightjarError {
        let place = path.isEmpty ? "" : " at \(quoted(JSONPointer(tokens: path).description, limit: 300))"
        return NightjarError(.invalidArgument, "the schema\(place): \(what)")
    }
}
