/// Validates one response against its endpoint's description and the caller's schema. The body is parsed once for both.
///
///     short ──▶ problems
///       └─ takes longer ──▶ whole, on another thread ──▶ problems
package struct ResponseCheck: Sendable {
    /// The mismatches of a response.
    package struct Problems: Sendable {
        /// The mismatch with the endpoint's description, as ``ResponseContract/check(_:)`` throws it.
        package var described: NightjarError?
        /// The mismatch with the caller's schema, as ``Response/check(_:)`` throws it, or the error of a GraphQL response
        /// without data.
        package var requested: NightjarError?
    }

    private let response: Response
    private let described: (contract: ResponseContract, schema: DeferredSchema)?
    private let requested: JSONSchema?
    private let isGraphQL: Bool
    private let isEither: Bool
    /// The parsed body.
    private var document: Result<JSONValue, NightjarError>?

    /// - Parameters:
    ///   - isGraphQL: true if the response must be a GraphQL response with data.
    ///   - isEither: true if one mismatch is enough. The caller's schema is then not checked after a mismatch
    ///   with the endpoint's description.
    /// - Returns: nil if there is nothing to check.
    package init?(
        _ response: Response, by contract: ResponseContract?, and requested: JSONSchema?, isGraphQL: Bool = false,
        isEither: Bool
    ) {
        self.response = response
        self.requested = requested
        self.isGraphQL = isGraphQL
        self.isEither = isEither
        described = contract.flatMap { contract in contract.schema(for: response).map { (contract, $0) } }
        guard described != nil || requested != nil || isGraphQL else { return nil }
    }

    /// Completes the check if it is short.
    ///
    /// - Returns: nil if the check could take longer than about 50 µs, or if the endpoint's schema has not been parsed
    ///   yet.
    package mutating func short() -> Problems? {
        guard response.body.readableBytes <= ResponseCheck.shortLength, described?.schema.isRead ?? true else {
            return nil
        }
        return problems(JSONSchema.CheckBudget(maximumSteps: ResponseCheck.shortSteps))
    }

    /// Completes the check, which may take several seconds.
    ///
    /// - Parameter isNeeded: called repeatedly during the check. If it returns false, the check stops, and the result
    ///   must be discarded.
    package mutating func whole(while isNeeded: @escaping @Sendable () -> Bool) -> Problems {
        guard isNeeded() else { return Problems() }
        return problems(JSONSchema.CheckBudget(isNeeded: isNeeded)) ?? Problems()
    }

    private mutating func problems(_ budget: JSONSchema.CheckBudget) -> Problems? {
        if isGraphQL, let error = GraphQLResponse.problem(of: response) { return Problems(requested: error) }
        guard !response.isBlank, described != nil || requested != nil else { return Problems() }
        let document = self.document ?? Result { [response] () throws(NightjarError) in try response.json }
        self.document = document
        var problems = Problems()
        do throws(JSONSchema.Unfinished) {
            if let (contract, schema) = described {
                problems.described = try contract.problem(of: response, document, schema, budget)
                if problems.described != nil, isEither { return problems }
            }
            if let requested { problems.requested = try problem(document, requested, budget) }
            return problems
        } catch {
            return nil
        }
    }

    private func problem(
        _ document: Result<JSONValue, NightjarError>, _ schema: JSONSchema, _ budget: JSONSchema.CheckBudget
    ) throws(JSONSchema.Unfinished) -> NightjarError? {
        switch document {
        case .success(let document): try schema.mismatch(in: document, use: .any, budget)?.error.about(response)
        case .failure(let error): error
        }
    }

    /// The maximum body size in bytes for a short check. Parsing and checking a list of articles takes 22 ns per byte,
    /// and 50 % more if the list does not match (scripts/measure-responses). Switching to another thread costs 10 to 20
    /// µs.
    static let shortLength = 2048
    /// The maximum number of steps of ``JSONSchemaChecker``, 20 to 50 ns each. A list of ``shortLength`` bytes takes
    /// half as many steps.
    static let shortSteps = 1000
}
