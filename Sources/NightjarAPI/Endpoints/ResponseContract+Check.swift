extension ResponseContract {
    package convenience init(_ operation: Operation) {
        self.init(
            endpoint: operation.name, validation: operation.responseValidation, isDeprecated: operation.isDeprecated,
            responses: operation.responses)
    }

    /// Validates the body of a response against the description for its status and media type. A response without a
    /// description, without a JSON media type, or without a body is valid.
    ///
    /// - Throws: `decoding` with the path, the expected and the found type, or if the body is not JSON although its
    ///   media type is. `invalid_argument` if the schema cannot be used. The error contains the response.
    package func check(_ response: Response) throws(NightjarError) {
        var check = ResponseCheck(response, by: self, and: nil, isEither: true)
        if let problem = check?.whole(while: { true }).described { throw problem }
    }

    /// Returns the mismatch of a response with its schema. Returns nil if the response matches.
    ///
    /// - Parameter document: the parsed body, or the parse error.
    func problem(
        of response: Response, _ document: Result<JSONValue, NightjarError>, _ deferred: DeferredSchema,
        _ budget: JSONSchema.CheckBudget
    ) throws(JSONSchema.Unfinished) -> NightjarError? {
        let problem: NightjarError
        switch Result(catching: { () throws(NightjarError) in (try deferred.get(), try document.get()) }) {
        case .success(let (schema, document)):
            guard let mismatch = try schema.mismatch(in: document, use: .response, budget) else { return nil }
            problem = NightjarError(.decoding, "the JSON is not as described: \(mismatch)")
        case .failure(let error): problem = error
        }
        return NightjarError(problem.kind, "the response of endpoint \(quoted(endpoint)): \(problem.message)").about(
            response)
    }

    /// Returns the schema that applies to a response. Returns nil if there is none.
    func schema(for response: Response) -> DeferredSchema? {
        guard let responseDescription = responseDescription(to: response.status) else { return nil }
        guard let field = response.headers["content-type"], let type = MediaType(field) else { return nil }
        guard type.isJSON else { return nil }
        // The most specific matching media type applies. OpenAPI 3.1 section 4.8.17.
        let fitting = responseDescription.schemas.filter { RequestContent.Choice($0.mediaType).includes(type) }
        let exact = fitting.first { !$0.mediaType.contains("*") }
        return (exact ?? fitting.first { !$0.mediaType.hasPrefix("*") } ?? fitting.first)?.schema
    }

    /// Selects the description for the exact status, then for a range, then the default.
    private func responseDescription(to status: Int) -> ResponseDescription? {
        var best: ResponseDescription?
        for responseDescription in responses {
            guard let statuses = responseDescription.statuses else {
                best = best ?? responseDescription
                continue
            }
            guard statuses.contains(status) else { continue }
            if statuses.lowest == statuses.highest { return responseDescription }
            if best?.statuses == nil { best = responseDescription }
        }
        return best
    }
}
