extension JSONSchemaReader {
    private static let keywords = [
        "type", "required", "properties", "additionalProperties", "items", "enum", "const", "format", "nullable",
        "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "$ref", "allOf", "anyOf", "oneOf",
        "not",
        "if", "then", "else", "pattern", "patternProperties", "propertyNames", "prefixItems", "contains", "minContains",
        "maxContains", "unevaluatedItems", "unevaluatedProperties", "dependentRequired", "dependentSchemas",
        "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "minProperties", "maxProperties",
        "discriminator",
    ]
    /// Keywords that do not affect validation, in addition to those that begin with `x-`.
    private static let annotations: Set<String> = [
        "$schema", "$id", "$comment", "$anchor", "$vocabulary", "$defs", "definitions", "title", "externalDocs", "xml",
        "deprecated", "contentSchema",
    ]
    /// Keywords that affect validation but are not supported.
    private static let unsupported: Set<String> = [
        "$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor",
    ]

    /// Reads the keywords of one schema.
    mutating func rules(_ members: [JSONValue.Member]) throws(NightjarError) -> JSONSchema.Rules {
        var draft = Draft()
        for member in members {
            do throws(NightjarError) {
                try read(member.name, member.value, &draft)
            } catch {
                guard ignore(error) else { throw error }
            }
        }
        if let discriminator = draft.discriminatorValue, !(draft.oneOf.isEmpty && draft.anyOf.isEmpty) {
            do throws(NightjarError) {
                let schemas = draft.oneOf.isEmpty ? draft.anyOf : draft.oneOf
                draft.combination.discriminator = try self.discriminator(discriminator, schemas)
            } catch {
                guard ignore(error) else { throw error }
            }
        }
        return draft.finished()
    }

    /// A partially read schema. Some keywords depend on others.
    private struct Draft {
        var rules = JSONSchema.Rules()
        var numbers = JSONSchema.NumberRules()
        var combination = JSONSchema.Combination()
        var notice = JSONSchema.Notice()
        var contains: JSONSchema.Index?
        var containsCount = JSONSchema.Bounds(minimum: 1)
        /// The schema of the elements after the list form of `items`.
        var additionalItems: JSONSchema.Index?
        var itemsIsList = false
        var constant: JSONValue?
        var isAboveMinimum = false
        var isBelowMaximum = false
        var discriminatorValue: JSONValue?
        /// The unparsed schemas of `anyOf` and `oneOf`, for the discriminator.
        var anyOf: [JSONValue] = []
        var oneOf: [JSONValue] = []

        func finished() -> JSONSchema.Rules {
            var rules = rules
            var numbers = numbers
            var combination = combination
            if isAboveMinimum, let minimum = numbers.minimum { (numbers.above, numbers.minimum) = (minimum, nil) }
            if isBelowMaximum, let maximum = numbers.maximum { (numbers.below, numbers.maximum) = (maximum, nil) }
            if numbers.minimum != nil || numbers.maximum != nil || numbers.above != nil || numbers.below != nil
                || numbers.multipleOf != nil
            {
                rules.numbers = JSONSchema.Boxed(numbers)
            }
            if let constant {
                rules.values =
                    rules.values.map { $0.contains { $0.isSame(as: constant) } ? [constant] : [] } ?? [constant]
            }
            if rules.acceptsNull {
                if !rules.types.isEmpty { rules.types.insert(.null) }
                // OpenAPI requires null in the `enum` of a nullable schema, but most authors omit it.
                rules.values?.append(.null)
            }
            if let contains { rules.contains = JSONSchema.Boxed(.init(schema: contains, count: containsCount)) }
            if itemsIsList { rules.items = additionalItems }
            if combination.condition == nil || combination.then == nil && combination.otherwise == nil {
                // `if` is applied even without `then` and `else`, because it marks members as evaluated.
                if combination.condition == nil { (combination.then, combination.otherwise) = (nil, nil) }
            }
            let isCombined =
                combination.reference != nil || !combination.allOf.isEmpty || !combination.anyOf.isEmpty
                || !combination.oneOf.isEmpty || combination.not != nil || combination.condition != nil
                || !combination.dependent.isEmpty
            if isCombined { rules.combination = JSONSchema.Boxed(combination) }
            if !notice.isEmptyMessage { rules.notice = JSONSchema.Boxed(notice) }
            return rules
        }
    }

    private mutating func read(
        _ keyword: String, _ value: JSONValue, _ draft: inout Draft
    ) throws(NightjarError) {
        switch keyword {
        case "type": draft.rules.types = try types(value)
        case "enum", "const":
            guard dialect != nil || draft.rules.values == nil && draft.constant == nil else {
                throw failure("\"enum\" and \"const\" cannot be combined; remove one of them")
            }
            if keyword == "enum" {
                draft.rules.values = try values(value)
            } else {
                draft.constant = try values(.array([value])).first
            }
        case "format": draft.rules.format = try format(value, &draft.notice)
        case "nullable": draft.rules.acceptsNull = try flag(value, keyword)
        case "readOnly": draft.rules.isReadOnly = try flag(value, keyword)
        case "writeOnly": draft.rules.isWriteOnly = try flag(value, keyword)
        case "minimum": draft.numbers.minimum = try number(value, keyword)
        case "maximum": draft.numbers.maximum = try number(value, keyword)
        case "exclusiveMinimum":
            if case .bool(let flag) = value {
                draft.isAboveMinimum = flag
            } else {
                draft.numbers.above = try number(value, keyword)
            }
        case "exclusiveMaximum":
            if case .bool(let flag) = value {
                draft.isBelowMaximum = flag
            } else {
                draft.numbers.below = try number(value, keyword)
            }
        case "multipleOf": draft.numbers.multipleOf = try divisor(value)
        case "minLength": draft.rules.length.minimum = try count(value, keyword)
        case "maxLength": draft.rules.length.maximum = try count(value, keyword)
        case "pattern": draft.rules.pattern = try pattern(value, keyword)
        case "description":
            if case .string(let text) = value { draft.notice.description = text }
        case "default": draft.notice.defaultValue = value
        case "example": draft.notice.examples.insert(value, at: 0)
        case "examples":
            if case .array(let values) = value { draft.notice.examples += values }
        case "contentMediaType":
            if case .string(let text) = value { draft.notice.mediaType = text }
        case "contentEncoding":
            if case .string(let text) = value { draft.notice.encoding = text }
        case "items", "additionalItems", "prefixItems", "contains", "minContains", "maxContains", "unevaluatedItems",
            "minItems", "maxItems", "uniqueItems":
            try readOfArrays(keyword, value, &draft)
        case "required", "properties", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
            "maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties":
            try readOfObjects(keyword, value, &draft)
        case "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "discriminator":
            try readOfCombinations(keyword, value, &draft)
        default: try skip(keyword)
        }
    }

    private mutating func readOfArrays(
        _ keyword: String, _ value: JSONValue, _ draft: inout Draft
    ) throws(NightjarError) {
        switch keyword {
        case "items":
            // JSON Schema 2020-12 replaced the list of schemas with `prefixItems`. Only third-party documents may
            // contain a list.
            if dialect != nil, case .array = value {
                draft.rules.prefix = try schemas(value, keyword)
                draft.itemsIsList = true
            } else {
                draft.rules.items = try subschema(value, at: keyword)
            }
        case "additionalItems":
            guard dialect != nil else {
                throw failure(
                    "\"additionalItems\" was removed in JSON Schema 2020-12; use \"items\" beside \"prefixItems\"")
            }
            draft.additionalItems = try subschema(value, at: keyword)
        case "prefixItems": draft.rules.prefix = try schemas(value, keyword)
        case "contains": draft.contains = try subschema(value, at: keyword)
        case "minContains": draft.containsCount.minimum = try count(value, keyword)
        case "maxContains": draft.containsCount.maximum = try count(value, keyword)
        case "unevaluatedItems": draft.rules.unevaluatedItems = try subschema(value, at: keyword)
        case "minItems": draft.rules.itemCount.minimum = try count(value, keyword)
        case "maxItems": draft.rules.itemCount.maximum = try count(value, keyword)
        default: draft.rules.isUnique = try flag(value, keyword)
        }
    }

    private mutating func readOfObjects(
        _ keyword: String, _ value: JSONValue, _ draft: inout Draft
    ) throws(NightjarError) {
        switch keyword {
        case "required": draft.rules.required = try strings(value, keyword)
        case "properties":
            for member in try members(value, keyword) {
                let schema: JSONSchema.Index
                do throws(NightjarError) {
                    schema = try subschema(member.value, at: keyword, member.name)
                } catch {
                    guard ignore(error) else { throw error }
                    continue
                }
                // If a name repeats, the first schema is used.
                guard draft.rules.places[member.name] == nil else { continue }
                draft.rules.places[member.name] = schema
                draft.rules.properties.append((member.name, schema))
            }
        case "additionalProperties": draft.rules.additional = try subschema(value, at: keyword)
        case "patternProperties":
            for member in try members(value, keyword) {
                let pattern = try pattern(.string(member.name), keyword)
                draft.rules.patterns.append((pattern, try subschema(member.value, at: keyword, member.name)))
            }
        case "propertyNames": draft.rules.names = try subschema(value, at: keyword)
        case "minProperties": draft.rules.memberCount.minimum = try count(value, keyword)
        case "maxProperties": draft.rules.memberCount.maximum = try count(value, keyword)
        case "unevaluatedProperties": draft.rules.unevaluatedProperties = try subschema(value, at: keyword)
        default:
            // JSON Schema 2019-09 split `dependencies` into `dependentSchemas` and `dependentRequired`.
            for member in try members(value, keyword) {
                if case .array = member.value, keyword != "dependentSchemas" {
                    draft.rules.dependentRequired.append((member.name, try strings(member.value, keyword)))
                } else if keyword == "dependentRequired" {
                    throw wrongType(keyword, "an object of arrays of strings", member.value)
                } else {
                    let schema = try subschema(member.value, at: keyword, member.name)
                    draft.combination.dependent.append((member.name, schema))
                }
            }
        }
    }

    private mutating func readOfCombinations(
        _ keyword: String, _ value: JSONValue, _ draft: inout Draft
    ) throws(NightjarError) {
        switch keyword {
        case "$ref":
            guard case .string(let reference) = value else { throw wrongType(keyword, "a string", value) }
            draft.combination.reference = try target(of: reference)
        case "allOf": draft.combination.allOf = try schemas(value, keyword)
        case "anyOf":
            draft.combination.anyOf = try schemas(value, keyword)
            if case .array(let schemas) = value { draft.anyOf = schemas }
        case "oneOf":
            draft.combination.oneOf = try schemas(value, keyword)
            if case .array(let schemas) = value { draft.oneOf = schemas }
        case "not": draft.combination.not = try subschema(value, at: keyword)
        case "if": draft.combination.condition = try subschema(value, at: keyword)
        case "then": draft.combination.then = try subschema(value, at: keyword)
        case "else": draft.combination.otherwise = try subschema(value, at: keyword)
        default: draft.discriminatorValue = value
        }
    }

    private mutating func skip(_ name: String) throws(NightjarError) {
        if JSONSchemaReader.annotations.contains(name) || name.utf8.starts(with: "x-".utf8) { return }
        if JSONSchemaReader.unsupported.contains(name) {
            if dialect != nil, name.hasSuffix("Anchor") { return }
            throw failure("\(quoted(name)) is not supported and cannot be ignored")
        }
        let near = nearestName(to: name, among: JSONSchemaReader.keywords).map { "; did you mean \(quoted($0))?" }
        throw failure("unknown keyword \(quoted(name))\(near ?? "; member names go into \"properties\"")")
    }

    /// Reads a discriminator. The name of a schema that is missing in `mapping` is the last token of its reference.
    private mutating func discriminator(
        _ value: JSONValue, _ schemas: [JSONValue]
    ) throws(NightjarError) -> JSONSchema.Discriminator {
        guard case .string(let property) = value["propertyName"] else {
            throw failure("\"discriminator\" must be an object with a \"propertyName\"")
        }
        var discriminator = JSONSchema.Discriminator(property: property)
        let destinations = schemas.map { schema in
            destination(of: schema).map { reference, place in
                (place: place, name: JSONSchemaReader.name(endOf: reference, to: place))
            }
        }
        var byPlace: [SchemaPlace: Int] = [:]
        var byName = ExactDictionary<Int>()
        for (branch, destination) in destinations.enumerated().reversed() {
            guard let destination else { continue }
            byPlace[destination.place] = branch
            if let name = destination.name { byName[name] = branch }
        }
        if case .object(let members) = value["mapping"] {
            for member in members {
                guard case .string(let target) = member.value else { continue }
                let branches = [destination(of: target).flatMap { byPlace[$0] }, byName[target]].compactMap { $0 }
                guard let branch = branches.min(), discriminator.branches[member.name] == nil else { continue }
                discriminator.branches[member.name] = branch
                discriminator.names.append(member.name)
            }
        }
        let mapped = Set(discriminator.branches.all.map(\.value))
        for (branch, destination) in destinations.enumerated() where !mapped.contains(branch) {
            guard let name = destination?.name, discriminator.branches[name] == nil else { continue }
            discriminator.branches[name] = branch
            discriminator.names.append(name)
        }
        return discriminator
    }
}
