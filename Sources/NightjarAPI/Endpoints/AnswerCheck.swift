/// The check of one answer: by what its endpoint says of it, and by the schema of who asks. Read once for both.
///
///     short ──▶ problems
///       └─ it takes longer ──▶ whole, on another thread ──▶ problems
package struct AnswerCheck: Sendable {
    /// Where an answer departs from what is said of it.
    package struct Problems: Sendable {
        /// By its endpoint: as ``ResponseContract/check(_:)`` throws it.
        package var described: NightjarError?
        /// By the schema: as ``Response/check(_:)`` throws it.
        package var wanted: NightjarError?
    }

    private let response: Response
    private let described: (contract: ResponseContract, schema: DeferredSchema)?
    private let wanted: JSONSchema?
    private let isEither: Bool
    /// The content, once it is read.
    private var document: Result<JSONValue, NightjarError>?

    /// - Parameter isEither: a problem of one is enough, and the schema is not looked at behind one with the endpoint.
    /// - Returns: nil where nothing is said of this answer.
    package init?(_ response: Response, by contract: ResponseContract?, and wanted: JSONSchema?, isEither: Bool) {
        self.response = response
        self.wanted = wanted
        self.isEither = isEither
        described = contract.flatMap { contract in contract.schema(for: response).map { (contract, $0) } }
        guard described != nil || wanted != nil else { return nil }
    }

    /// - Returns: nil where more than a moment is needed: about 50 µs.
    package mutating func short() -> Problems? {
        guard response.body.readableBytes <= AnswerCheck.shortLength, described?.schema.isRead ?? true else {
            return nil
        }
        return problems(JSONSchema.Effort(maximumSteps: AnswerCheck.shortSteps))
    }

    /// As long as it takes: up to some seconds.
    ///
    /// - Parameter isWanted: asked now and then; where it says no, what is returned means nothing.
    package mutating func whole(while isWanted: @escaping @Sendable () -> Bool) -> Problems {
        guard isWanted() else { return Problems() }
        return problems(JSONSchema.Effort(isWanted: isWanted)) ?? Problems()
    }

    private mutating func problems(_ effort: JSONSchema.Effort) -> Problems? {
        guard !response.isBlank else { return Problems() }
        let document = self.document ?? Result { [response] () throws(NightjarError) in try response.json }
        self.document = document
        var problems = Problems()
        do throws(JSONSchema.Unfinished) {
            if let (contract, schema) = described {
                problems.described = try contract.problem(of: response, document, schema, effort)
                if problems.described != nil, isEither { return problems }
            }
            if let wanted { problems.wanted = try problem(document, wanted, effort) }
            return problems
        } catch {
            return nil
        }
    }

    private func problem(
        _ document: Result<JSONValue, NightjarError>, _ schema: JSONSchema, _ effort: JSONSchema.Effort
    ) throws(JSONSchema.Unfinished) -> NightjarError? {
        switch document {
        case .success(let document): try schema.mismatch(in: document, use: .any, effort)?.error.about(response)
        case .failure(let error): error
        }
    }

    /// Bytes of content: a list of articles takes 22 ns a byte, reading it included, and where it is wrong half as much more
    /// (scripts/measure-answers). Another thread costs 10 to 20 µs.
    static let shortLength = 2048
    /// Of ``JSONSchemaChecker``; 20 to 50 ns each. A list of that length takes half as many.
    static let shortSteps = 1000
}
