/// The argument values of a call, each with its parameter.
struct BoundArguments {
    private(set) var values: [(parameter: Parameter, value: JSONValue)] = []

    /// - Parameter has: returns true if the request already has a header field of this name. The parameter then needs
    ///   no value.
    /// - Throws: `invalid_request` with the names of the parameter and the endpoint.
    init(
        _ arguments: Arguments, of operation: Operation, _ parameters: [Parameter], has: (_ header: String) -> Bool
    ) throws(NightjarError) {
        var given: [JSONValue?] = Array(repeating: nil, count: parameters.count)
        let names = ParameterNames(parameters, for: arguments.values.count)
        for (name, value) in arguments.values where value != .null {
            let place = try BoundArguments.place(of: name, in: operation, parameters, names)
            guard given[place] == nil else {
                throw operation.failure("parameter \(quoted(name)) is set twice")
            }
            given[place] = try operation.checked(value, parameters[place], called: name)
        }
        for (parameter, value) in zip(parameters, given) {
            if let value {
                values.append((parameter, value))
            } else if parameter.place == .header, has(parameter.name) {
                continue
            } else if let value = parameter.defaultValue, parameter.sendsDefault || parameter.isRequired {
                values.append((parameter, value))
            } else if parameter.isRequired {
                throw operation.failure("the parameter \(quoted(parameter.name)) \(parameter.place.phrase) is missing")
            }
        }
    }

    private static func place(
        of name: String, in operation: Operation, _ parameters: [Parameter], _ names: ParameterNames
    ) throws(NightjarError) -> Int {
        let exact = names.exact(name)
        if let only = exact.first {
            guard exact.count > 1 else { return only }
            let full = exact.map { quoted("\(parameters[$0].place.rawValue).\(name)") }
            throw operation.failure(
                "there are \(exact.count) parameters named \(quoted(name)); use \(full.joined(separator: " or "))")
        }
        if let dot = name.firstIndex(of: "."), let place = Parameter.Place(rawValue: String(name[..<dot])) {
            if let found = names.first(in: place, called: name[name.index(after: dot)...]) { return found }
        }
        // Header field names are case-insensitive.
        if let field = names.first(in: .header, called: name[...]) { return field }
        throw unknown(name, operation, parameters.map(\.name))
    }

    private static func unknown(_ name: String, _ operation: Operation, _ known: [String]) -> NightjarError {
        let hint: String
        if operation.hasBodyMember(name) {
            hint = "it is a member of the body; set it in the body"
        } else if let near = nearestName(to: name, among: known) {
            hint = "did you mean \(quoted(near))?"
        } else if known.isEmpty {
            hint = "it takes no parameters"
        } else {
            let shown = known.prefix(maximumNames).map { quoted($0) }.joined(separator: ", ")
            hint = "its parameters are \(shown)" + (known.count > maximumNames ? ", ..." : "")
        }
        return NightjarError(
            .invalidRequest, "endpoint \(quoted(operation.name)) has no parameter \(quoted(name)); \(hint)")
    }

    /// The maximum number of names that a message lists.
    private static let maximumNames = 12
}

extension Operation {
    /// Returns true if the schema of one of the request body's content types declares a property of this name.
    func hasBodyMember(_ name: String) -> Bool {
        content?.choices.contains { choice in
            guard let schema = choice.schema, let read = try? schema.get() else { return false }
            return read.properties.contains { $0.name == name }
        } ?? false
    }

    /// Returns the first argument name that is a property of the request body and not a parameter. Returns nil if all
    /// names are parameters or unknown, or if the arguments have a body.
    package func memberOfBody(in arguments: Arguments) -> String? {
        guard arguments.body == nil, content != nil else { return nil }
        return arguments.values.lazy.map(\.name).first { name in
            !parameters.contains { $0.name == name } && !Operation.names(inPath: path).contains(name)
                && hasBodyMember(name)
        }
    }

    /// Returns an `invalid_request` error that names this endpoint.
    func failure(_ problem: String) -> NightjarError {
        NightjarError(.invalidRequest, "endpoint \(quoted(name)): \(problem)")
    }

    /// Converts and validates a value with the parameter's schema.
    ///
    /// - Parameter name: the parameter's name as the caller wrote it.
    func checked(_ value: JSONValue, _ parameter: Parameter, called name: String) throws(NightjarError) -> JSONValue {
        guard let deferred = parameter.schema else { return value }
        let schema: JSONSchema
        do throws(NightjarError) {
            schema = try deferred.get()
        } catch {
            throw failure("the schema of parameter \(quoted(name)) cannot be used: \(error.message)")
        }
        let value = schema.converting(value)
        guard let mismatch = schema.mismatch(in: value, use: .request) else { return value }
        let place = mismatch.path.tokens.isEmpty ? "" : " at \(quoted(mismatch.path.description, limit: 200))"
        let found = parameter.isSecret ? value.typeName : mismatch.found
        throw failure("parameter \(quoted(name))\(place) must be \(mismatch.expected), found \(found)")
    }
}

extension Parameter {
    /// True if the parameter's values must not appear in messages.
    var isSecret: Bool { place == .header || place == .cookie || SecretNames.isSecret(item: name[...].utf8) }
}

extension Parameter.Place {
    /// The place, for messages.
    package var phrase: String {
        switch self {
        case .path: "in the path"
        case .query: "in the query"
        case .header: "in the header"
        case .cookie: "in the cookies"
        }
    }
}
