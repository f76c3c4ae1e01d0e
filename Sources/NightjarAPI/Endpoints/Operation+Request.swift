extension Operation {
    /// Returns the request for this operation with these arguments. The client that sends the request must have the
    /// API's base URL, unless the operation has its own ``server``.
    ///
    /// Parameters and body are validated against their schemas. A string is converted to the number, boolean, array or
    /// object that a schema requires if the string is a valid representation (`"42"`, `"true"`, `"[1,2]"`). A value in
    /// the path cannot select another path.
    ///
    /// - Throws: `invalid_request` with the names of the endpoint and the parameter, and a similar name for an unknown
    ///   parameter. Values of header fields, of cookies, and of parameters with the name of a secret are not shown.
    package func request(_ arguments: Arguments = Arguments()) throws(NightjarError) -> Request {
        var request = Request(method, path)
        try apply(arguments, to: &request)
        return request
    }

    /// Sets the method, target, body and header fields of `request` for this operation with these arguments.
    ///
    /// Other settings of the request are kept, such as header fields, query, expected statuses and retries, and its
    /// body if the arguments have none. Timeouts, security requirements and a cache policy that are not set are taken
    /// from the operation. If the operation requires no credentials, the client's credentials are not sent. An existing
    /// header field supplies the value of the header parameter of the same name, unless the arguments contain a value.
    ///
    /// - Throws: the same errors as ``request(_:)``. If the function throws, `request` is unchanged.
    package func apply(_ arguments: Arguments, to request: inout Request) throws(NightjarError) {
        var made = request
        made.method = method
        let template = PathTemplate(path)
        let values = try BoundArguments(arguments, of: self, parameters(of: template)) { made.headers[$0] != nil }
        made.target = try target(template, values)
        made.parameters = []
        made.resolved = nil
        try setFields(values, of: &made)
        try setBody(arguments.body, of: &made)
        if let accept, made.headers.firstIndex(of: "Accept") == nil { try made.headers.set("Accept", accept) }
        setDefaults(of: &made)
        made.contract = contract
        request = made
    }

    /// Returns the described parameters, except path parameters that the path does not contain, and a parameter for
    /// each name in the path that is not described.
    private func parameters(of template: PathTemplate) -> [Parameter] {
        let names = template.names
        let inPath = ExactSet(names)
        var all = parameters.filter { $0.place != .path || inPath.contains($0.name) }
        var known = ExactSet(all.lazy.filter { $0.place == .path }.map(\.name))
        for name in names where known.insert(name) { all.append(Parameter(name, in: .path)) }
        return all
    }

    // MARK: The target

    private func target(_ template: PathTemplate, _ arguments: BoundArguments) throws(NightjarError) -> String {
        var segments = ExactDictionary<String>()
        var query: [String] = template.query.map { [$0] } ?? []
        for (parameter, value) in arguments.values {
            switch parameter.place {
            case .path:
                segments[parameter.name] = try about(parameter) { () throws(NightjarError) in
                    try parameter.segment(value)
                }
            case .query:
                query += try about(parameter) { () throws(NightjarError) in try parameter.queryItems(value) }
            case .header, .cookie: continue
            }
        }
        let path: String
        do throws(PathTemplate.Flaw) {
            path = try template.expanded { segments[$0] ?? "" }
        } catch {
            throw failure("the value of parameter \(quoted(error.name)) \(error.problem)")
        }
        return appendedToServer(path) + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    /// Returns the path, appended to the URL of the operation's server if the operation has one.
    private func appendedToServer(_ path: String) -> String {
        guard var base = server else { return path }
        while base.utf8.last == UInt8(ascii: "/") { base.removeLast() }
        return path.utf8.first == UInt8(ascii: "/") ? base + path : "\(base)/\(path)"
    }

    // MARK: Fields

    private func setFields(_ arguments: BoundArguments, of request: inout Request) throws(NightjarError) {
        var cookies: [String] = []
        for (parameter, value) in arguments.values {
            switch parameter.place {
            case .path, .query: continue
            case .header:
                let text = try about(parameter) { () throws(NightjarError) in try parameter.fieldValue(value) }
                guard FieldSyntax.isToken(parameter.name.utf8), FieldSyntax.isValue(text.utf8) else {
                    throw failure(
                        "the name or value of parameter \(quoted(parameter.name)) contains a character that is not "
                            + "allowed in a header field"
                    )
                }
                try request.headers.set(parameter.name, text)
            case .cookie:
                cookies += try about(parameter) { () throws(NightjarError) in try parameter.cookies(value) }
            }
        }
        request.cookies += cookies
    }

    /// The Accept value: the media types of the successful and default responses, with JSON preferred. Nil if these
    /// responses describe no type, or if one of the types is `*/*` or contains a character that is not allowed in a
    /// header field.
    var accept: String? {
        var types: [String] = []
        for response in responses where response.statuses.map({ 200...299 ~= $0.lowest }) ?? true {
            for type in response.schemas.map(\.mediaType) where !types.contains(type) { types.append(type) }
        }
        guard !types.isEmpty, !types.contains("*/*"), types.allSatisfy({ FieldSyntax.isValue($0.utf8) }) else {
            return nil
        }
        let isJSON = { (type: String) in MediaType(type)?.isJSON == true }
        let preferred = types.filter(isJSON)
        let others = types.filter { !isJSON($0) }
        guard !preferred.isEmpty else { return others.prefix(Operation.maximumTypes).joined(separator: ", ") }
        return (preferred + others.map { "\($0);q=0.5" }).prefix(Operation.maximumTypes).joined(separator: ", ")
    }

    /// The maximum number of types in an Accept field. Further types are omitted.
    private static let maximumTypes = 8

    // MARK: Defaults of the operation

    private func setDefaults(of request: inout Request) {
        if requiresAuth == false { request.usesAuth = false }
        if request.security == nil { request.security = security }
        if isIdempotent { request.isIdempotent = true }
        request.timeouts = request.timeouts.filled(from: timeouts)
        if request.usesCache, request.cachePolicy == nil {
            (request.usesCache, request.cachePolicy) = (usesCache, cachePolicy)
        }
    }

    /// The contract to check the response against. Nil if there is nothing to validate or report.
    private var contract: ResponseContract? {
        let isDescribed = responseValidation != .off && responses.contains { $0.schemas.contains { $0.schema != nil } }
        return isDescribed || isDeprecated ? ResponseContract(self) : nil
    }

    private func about<Result>(
        _ parameter: Parameter, _ write: () throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        do throws(NightjarError) {
            return try write()
        } catch {
            throw failure("parameter \(quoted(parameter.name)): \(error.message)")
        }
    }
}
