/// What is done about answers that are not as their endpoint describes them.
public enum ResponseValidation: String, Sendable, CaseIterable {
    /// Nothing: they are not looked at.
    case off
    /// The log and the call's decisions tell of it.
    case warn
    /// The call fails: `decoding`.
    case error
}

/// What the endpoint of a request says of its answers.
public final class ResponseContract: Sendable {
    /// Its name.
    public let endpoint: String
    /// Nil: as the client has it.
    public let validation: ResponseValidation?
    public let isDeprecated: Bool
    package let answers: [AnswerDescription]

    package init(
        endpoint: String, validation: ResponseValidation?, isDeprecated: Bool, answers: [AnswerDescription]
    ) {
        self.endpoint = endpoint
        self.validation = validation
        self.isDeprecated = isDeprecated
        self.answers = answers
    }
}

/// What an operation answers with some statuses.
public struct AnswerDescription: Sendable {
    /// Nil: those that no other description of the operation is of (`default`).
    public var statuses: StatusRange?
    /// By media type or range, `application/json`. A nil schema: nothing is known of its content.
    public var schemas: [(mediaType: String, schema: DeferredSchema?)] = []
    public var documentation: String?

    public init(_ statuses: StatusRange?) { self.statuses = statuses }
}
