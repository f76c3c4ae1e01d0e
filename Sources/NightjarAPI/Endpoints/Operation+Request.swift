extension Operation {
    /// The request that asks for this with these values, ready to be sent by a client of the API's base URL.
    ///
    /// Values are checked before anything is sent: each parameter by its schema, the body too. A text becomes the number,
    /// truth, list or object that the schema asks for where it is written as one (`"42"`, `"true"`, `"[1,2]"`); nothing else
    /// is converted. No value in the path can make it another path.
    ///
    /// - Throws: `invalid_request`, naming the endpoint, the parameter and the nearest name there is; values of header
    ///   fields, and those whose name speaks of a secret, are never shown.
    public func request(_ arguments: Arguments = Arguments()) throws(NightjarError) -> Request {
        var request = Request(method, path)
        try apply(arguments, to: &request)
        return request
    }

    /// Makes `request` ask for this with these values: its method, target, body and header fields.
    ///
    /// What the request has of its own stays: headers, a body where the arguments have none, query, limits of time, expected
    /// statuses, and how it uses credentials, cache and retries. A header field that it has serves for the parameter of that
    /// name, and gives way where the arguments have one.
    ///
    /// - Throws: as ``request(_:)``; then nothing has changed.
    public func apply(_ arguments: Arguments, to request: inout Request) throws(NightjarError) {
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

    /// Those described, and names in the path that nothing describes.
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
        return behindServer(path) + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    /// The path, behind the URL of its server where that is not the client's.
    private func behindServer(_ path: String) -> String {
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
                    throw failure("parameter \(quoted(parameter.name)) holds a character that no header field has")
                }
                try request.headers.set(parameter.name, text)
            case .cookie:
                cookies += try about(parameter) { () throws(NightjarError) in try parameter.cookies(value) }
            }
        }
        request.cookies += cookies
    }

    /// What this operation answers when all is well, JSON first, for it is what is read most easily; nil: nobody has said.
    var accept: String? {
        var types: [String] = []
        for answer in answers where answer.statuses.map({ 200...299 ~= $0.lowest }) ?? true {
            for type in answer.schemas.map(\.mediaType) where !types.contains(type) { types.append(type) }
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

    /// In an Accept field. What has more is a server that sends anything.
    private static let maximumTypes = 8

    // MARK: What the operation says of the call

    private func setDefaults(of request: inout Request) {
        if requiresAuth == false { request.usesAuth = false }
        if request.security == nil { request.security = security }
        if isIdempotent { request.isIdempotent = true }
        request.timeouts = request.timeouts.filled(from: timeouts)
        if request.usesCache, request.cachePolicy == nil {
            (request.usesCache, request.cachePolicy) = (usesCache, cachePolicy)
        }
    }

    /// Nil where there is nothing to say.
    private var contract: ResponseContract? {
        let isDescribed = responseValidation != .off && answers.contains { $0.schemas.contains { $0.schema != nil } }
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
