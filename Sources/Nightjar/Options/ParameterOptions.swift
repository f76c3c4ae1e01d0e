import NightjarAPI
import NightjarHTTP

/// The options of an endpoint's parameter, including JSON Schema keywords.
struct ParameterChoice {
    private var place: Parameter.Place?
    private var isRequired: Bool?
    private var defaultValue: JSONValue?
    private var style: ParameterStyle?
    private var explodes: Bool?
    private var allowsReserved = false
    private var documentation: String?
    private var isDeprecated = false
    private var example: JSONValue?
    private var words: [JSONValue.Member] = []

    /// - Parameter template: The path of the endpoint.
    static func read(
        _ value: JSONValue, _ name: String, _ path: String, in template: String
    ) throws(NightjarError) -> Parameter {
        var choice = ParameterChoice()
        switch value {
        case .string: choice.words = [.init("type", value)]
        case .bool(true), .array([]): break
        default: try options.apply(value, at: path, to: &choice)
        }
        return try choice.parameter(name, path, template)
    }

    private func parameter(_ name: String, _ path: String, _ template: String) throws(NightjarError) -> Parameter {
        let isNamed = Operation.names(inPath: template).contains { $0.isExactly(name) }
        let place = place ?? (isNamed ? .path : .query)
        if place == .path, !isNamed {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) is a path parameter, but the path has no {\(name)}: "
                    + "\(quoted(template))")
        }
        var parameter = Parameter(name, in: place, isRequired: isRequired ?? false)
        if !words.isEmpty {
            let schema: JSONSchema
            do throws(NightjarError) {
                schema = try JSONSchema(.object(words))
            } catch {
                throw NightjarError(.invalidArgument, "option \(quoted(path)): \(error.message)")
            }
            if let defaultValue, let mismatch = schema.mismatch(in: defaultValue) {
                throw NightjarError(
                    .invalidArgument,
                    "option \(quoted(path + ".default")) must be \(mismatch.expected), found \(mismatch.found)")
            }
            parameter.schema = DeferredSchema(schema)
        }
        parameter.defaultValue = defaultValue
        if let style {
            parameter.style = style
            // OpenAPI 3.1 section 4.8.12.2.
            parameter.explodes = style == .form
        }
        parameter.explodes = explodes ?? parameter.explodes
        parameter.allowsReserved = allowsReserved
        parameter.documentation = documentation
        parameter.isDeprecated = isDeprecated
        parameter.example = example
        return parameter
    }

    /// The keywords of JSON Schema 2020-12, and `nullable` of OpenAPI 3.0, that are passed to the schema unchanged.
    private static let schemaWords = [
        "type", "format", "enum", "const", "nullable", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "multipleOf", "minLength", "maxLength", "pattern", "items", "prefixItems", "contains", "minItems", "maxItems",
        "uniqueItems", "properties", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "title",
    ]

    private static let options = OptionTable<ParameterChoice>(
        [
            Option(name: "in") { value, path, choice throws(NightjarError) in
                choice.place = Parameter.Place(
                    rawValue: try value.word(path, Parameter.Place.allCases.map(\.rawValue)))
            },
            Option(name: "required") { value, path, choice throws(NightjarError) in
                // JSON Schema's keyword of this name is a list of members.
                if case .array = value { return choice.words.append(.init("required", value)) }
                choice.isRequired = try value.flag(path)
            },
            Option(name: "default") { value, _, choice throws(NightjarError) in choice.defaultValue = value },
            Option(name: "style") { value, path, choice throws(NightjarError) in
                choice.style = ParameterStyle(
                    rawValue: try value.word(path, ParameterStyle.allCases.map(\.rawValue)))
            },
            Option(name: "explode") { value, path, choice throws(NightjarError) in
                choice.explodes = try value.flag(path)
            },
            Option(name: "allow_reserved") { value, path, choice throws(NightjarError) in
                choice.allowsReserved = try value.flag(path)
            },
            Option(name: "documentation") { value, path, choice throws(NightjarError) in
                choice.documentation = try value.text(path)
            },
            Option(name: "description") { value, path, choice throws(NightjarError) in
                choice.documentation = try value.text(path)
            },
            Option(name: "deprecated") { value, path, choice throws(NightjarError) in
                choice.isDeprecated = try value.flag(path)
            },
            Option(name: "example") { value, _, choice throws(NightjarError) in choice.example = value },
        ]
            + schemaWords.map { word in
                Option(name: word) { value, _, choice throws(NightjarError) in choice.words.append(.init(word, value)) }
            })
}
