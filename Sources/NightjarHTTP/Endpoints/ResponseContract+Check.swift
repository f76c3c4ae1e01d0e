extension ResponseContract {
    public convenience init(_ operation: Operation) {
        self.init(
            endpoint: operation.name, validation: operation.responseValidation, isDeprecated: operation.isDeprecated,
            answers: operation.answers)
    }

    /// Where the content of an answer departs from what is said of its status and media type. Nothing is said of what is
    /// not described, of content that is no JSON, and of none.
    ///
    /// - Throws: `decoding` with the path, what was expected and what was found, and for what should be JSON and is not;
    ///   `invalid_argument` for a schema that cannot be used. The response goes with it.
    public func check(_ response: Response) throws(NightjarError) {
        var check = AnswerCheck(response, by: self, and: nil, isEither: true)
        if let problem = check?.whole(while: { true }).described { throw problem }
    }

    /// Where an answer departs from the schema that holds for it.
    ///
    /// - Parameter document: its content, or why that is no JSON.
    func problem(
        of response: Response, _ document: Result<JSONValue, NightjarError>, _ deferred: DeferredSchema,
        _ effort: JSONSchema.Effort
    ) throws(JSONSchema.Unfinished) -> NightjarError? {
        let problem: NightjarError
        switch Result(catching: { () throws(NightjarError) in (try deferred.get(), try document.get()) }) {
        case .success(let (schema, document)):
            guard let mismatch = try schema.mismatch(in: document, use: .response, effort) else { return nil }
            problem = NightjarError(.decoding, "the JSON is not as described: \(mismatch)")
        case .failure(let error): problem = error
        }
        return NightjarError(problem.kind, "the answer of endpoint \(quoted(endpoint)): \(problem.message)").about(
            response)
    }

    /// The schema that holds for an answer; nil where nothing is said of it.
    func schema(for response: Response) -> DeferredSchema? {
        guard let answer = answer(to: response.status) else { return nil }
        guard let field = response.headers["content-type"], let type = MediaType(field) else { return nil }
        guard type.isJSON else { return nil }
        // OpenAPI 3.1 section 4.8.17: the most specific of those that fit.
        let fitting = answer.schemas.filter { RequestContent.Choice($0.mediaType).includes(type) }
        let exact = fitting.first { !$0.mediaType.contains("*") }
        return (exact ?? fitting.first { !$0.mediaType.hasPrefix("*") } ?? fitting.first)?.schema
    }

    /// That of the status itself before that of a range, and that before the one for all others.
    private func answer(to status: Int) -> AnswerDescription? {
        var best: AnswerDescription?
        for answer in answers {
            guard let statuses = answer.statuses else {
                best = best ?? answer
                continue
            }
            guard statuses.contains(status) else { continue }
            if statuses.lowest == statuses.highest { return answer }
            if best?.statuses == nil { best = answer }
        }
        return best
    }
}
