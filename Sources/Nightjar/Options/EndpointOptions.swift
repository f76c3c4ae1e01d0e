import NightjarAPI
import NightjarHTTP

// Endpoints as option tables: the client option `endpoints`, and C's `nj_catalog_add_json`.

extension Operation {
    /// Reads `{path=, method=, parameters=, body=, response=, ...}`. A parameter is a type name, or a table of JSON
    /// Schema keywords, `in`, `required`, `default`, `style`, `explode`, `allow_reserved` and so on. By default, a
    /// parameter whose name is in braces in the path belongs to the path; others belong to the query.
    ///
    /// - Throws: `invalid_argument` for an unknown name (with the nearest known name), a wrong type, an invalid schema,
    ///   or a missing path.
    package init(options: JSONValue, name: String) throws(NightjarError) { try self.init(options, name, at: name) }

    /// - Parameter path: The path of the table, for messages.
    init(_ value: JSONValue, _ name: String, at path: String) throws(NightjarError) {
        guard !name.isEmpty else { throw NightjarError(.invalidArgument, "an endpoint has an empty name; set a name") }
        self.init(name, .get, try Operation.template(value, path))
        try Operation.options.apply(value, at: path, to: &self)
    }

    /// Reads the path before all other options, because the locations of parameters depend on it.
    private static func template(_ value: JSONValue, _ path: String) throws(NightjarError) -> String {
        guard case .object = value else { throw .mismatch(path, expected: "a table of options", value) }
        let text = try value["path"]?.text("\(path).path") ?? ""
        guard !text.isEmpty else {
            throw NightjarError(.invalidArgument, "option \(quoted("\(path).path")) is missing")
        }
        return text
    }

    private static let options = OptionTable<Operation>([
        Option(name: "path") { value, path, operation throws(NightjarError) in operation.path = try value.text(path) },
        Option(name: "method") { value, path, operation throws(NightjarError) in
            operation.method = try value.method(path)
        },
        Option(name: "server") { value, path, operation throws(NightjarError) in
            operation.server = try value.text(path)
        },
        Option(name: "parameters") { value, path, operation throws(NightjarError) in
            guard case .object(let members) = value else {
                // An empty array in JSON, or an empty table marked with `nightjar.array` in Lua, names no parameters.
                if case .array([]) = value { return operation.parameters = [] }
                throw .mismatch(path, expected: "a table of parameters by name", value)
            }
            operation.parameters = []
            for member in members {
                operation.parameters.append(
                    try ParameterChoice.read(
                        member.value, member.name, "\(path).\(member.name)", in: operation.path))
            }
        },
        Option(name: "body") { value, path, operation throws(NightjarError) in
            operation.content = try RequestContent(option: value, path)
        },
        Option(name: "response") { value, path, operation throws(NightjarError) in
            var response = ResponseDescription(StatusRange(200, 299))
            response.schemas = [("application/json", try DeferredSchema(option: value, path))]
            operation.responses = [response]
        },
        Option(name: "response_validation") { value, path, operation throws(NightjarError) in
            operation.responseValidation = try ResponseValidation(option: value, path)
        },
        Option(name: "requires_auth") { value, path, operation throws(NightjarError) in
            operation.requiresAuth = try value.flag(path)
        },
        Option(name: "security") { value, path, operation throws(NightjarError) in
            let ways = try SecurityRequirement.read(value, path)
            (operation.security, operation.requiresAuth) = (ways, SecurityRequirement.requiresAuth(ways))
        },
        Option(name: "idempotent") { value, path, operation throws(NightjarError) in
            operation.isIdempotent = try value.flag(path)
        },
        Option(name: "cache") { value, path, operation throws(NightjarError) in
            if case .bool(let flag) = value {
                (operation.usesCache, operation.cachePolicy) = (flag, nil)
            } else {
                (operation.usesCache, operation.cachePolicy) = (true, try CachePolicy(option: value, path))
            }
        },
        Option(name: "timeout") { value, path, operation throws(NightjarError) in
            try operation.timeouts.read(value, path)
        },
        Option(name: "pagination") { value, path, operation throws(NightjarError) in
            if case .bool(false) = value { return operation.pagination = nil }
            operation.pagination = try Pagination(value, path)
        },
        Option(name: "summary") { value, path, operation throws(NightjarError) in
            operation.summary = try value.text(path)
        },
        Option(name: "documentation") { value, path, operation throws(NightjarError) in
            operation.documentation = try value.text(path)
        },
        Option(name: "deprecated") { value, path, operation throws(NightjarError) in
            operation.isDeprecated = try value.flag(path)
        },
        Option(name: "tags") { value, path, operation throws(NightjarError) in operation.tags = try value.texts(path) },
    ])
}

extension Catalog {
    /// Reads endpoints by name, each as in `Operation/init(options:name:)`.
    public init(options value: JSONValue) throws(NightjarError) { try self.init(value, "endpoints") }

    init(_ value: JSONValue, _ path: String) throws(NightjarError) {
        self.init()
        guard case .object(let members) = value else {
            if case .array([]) = value { return }
            throw .mismatch(path, expected: "a table of endpoints by name", value)
        }
        for member in members {
            try add(Operation(member.value, member.name, at: path.isEmpty ? member.name : "\(path).\(member.name)"))
        }
    }

    /// Adds an endpoint that a JSON object describes, as in `Operation/init(options:name:)`.
    ///
    /// - Throws: Also `decoding` if the text is not JSON, and `invalid_argument` if the name is already used.
    public mutating func add(name: String, json: UnsafeRawBufferPointer) throws(NightjarError) {
        try add(Operation(options: JSONValue(parsing: json), name: name))
    }
}

extension ResponseValidation {
    init(option value: JSONValue, _ path: String) throws(NightjarError) {
        if case .bool(let flag) = value {
            self = flag ? .error : .off
        } else {
            self =
                ResponseValidation(rawValue: try value.word(path, ResponseValidation.allCases.map(\.rawValue))) ?? .off
        }
    }
}

extension DeferredSchema {
    /// Reads a schema, or the name of a type.
    fileprivate convenience init(option value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .string: self.init(try JSONSchema(option: .object([.init("type", value)]), path))
        case .object, .bool: self.init(try JSONSchema(option: value, path))
        // An empty array is read like an empty schema: any value is valid.
        case .array([]): self.init(try JSONSchema(option: .bool(true), path))
        default: throw .mismatch(path, expected: "a JSON Schema or the name of a type", value)
        }
    }
}

extension JSONSchema {
    /// - Throws: `invalid_argument` with the name of the option.
    fileprivate init(option value: JSONValue, _ path: String) throws(NightjarError) {
        do throws(NightjarError) {
            try self.init(value)
        } catch {
            throw NightjarError(.invalidArgument, "option \(quoted(path)): \(error.message)")
        }
    }
}

extension RequestContent {
    /// Reads a JSON Schema or a type name for a required body, or `{schema=, content_type=, required=,
    /// documentation=}`. The content type is a media type or a list of media types; default: JSON. `true` means an
    /// optional JSON body.
    fileprivate init?(option value: JSONValue, _ path: String) throws(NightjarError) {
        var choice = BodyChoice()
        switch value {
        case .bool(false), .null: return nil
        case .bool(true): choice.isRequired = false
        case .object(let members) where members.contains { ["schema", "content_type"].contains($0.name) }:
            try BodyChoice.options.apply(value, at: path, to: &choice)
        default: choice.schema = try DeferredSchema(option: value, path)
        }
        self.init(
            choice.types.map { RequestContent.Choice($0, schema: choice.schema) }, isRequired: choice.isRequired)
        documentation = choice.documentation
    }
}

private struct BodyChoice {
    var schema: DeferredSchema?
    var types = ["application/json"]
    var isRequired = true
    var documentation: String?

    static let options = OptionTable<BodyChoice>([
        Option(name: "schema") { value, path, choice throws(NightjarError) in
            choice.schema = try DeferredSchema(option: value, path)
        },
        Option(name: "content_type") { value, path, choice throws(NightjarError) in
            if case .array = value {
                choice.types = try value.texts(path)
            } else {
                choice.types = [try value.text(path)]
            }
            for type in choice.types where MediaType(type) == nil {
                throw NightjarError(
                    .invalidArgument,
                    "option \(quoted(path)) is \(quoted(type)); it must be a media type, for example application/json")
            }
        },
        Option(name: "required") { value, path, choice throws(NightjarError) in
            choice.isRequired = try value.flag(path)
        },
        Option(name: "documentation") { value, path, choice throws(NightjarError) in
            choice.documentation = try value.text(path)
        },
    ])
}
