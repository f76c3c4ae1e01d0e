/// The action to take if a response does not match its endpoint's description.
public enum ResponseValidation: String, Sendable, CaseIterable {
    /// Responses are not validated.
    case off
    /// A mismatch is reported in the log and in the call's decisions.
    case warn
    /// The call fails with `decoding`.
    case error
}

/// The responses that the endpoint of a request describes.
public final class ResponseContract: Sendable {
    /// The endpoint's name.
    public let endpoint: String
    /// The action to take on a mismatch. Nil uses the client's setting.
    public let validation: ResponseValidation?
    public let isDeprecated: Bool
    package let responses: [ResponseDescription]

    package init(
        endpoint: String, validation: ResponseValidation?, isDeprecated: Bool, responses: [ResponseDescription]
    ) {
        self.endpoint = endpoint
        self.validation = validation
        self.isDeprecated = isDeprecated
        self.responses = responses
    }
}

/// The response of an operation for certain statuses.
public struct ResponseDescription: Sendable {
    /// The statuses. Nil for `default`: all statuses that no other description covers.
    public var statuses: StatusRange?
    /// The schemas by media type or range, such as `application/json`. A nil schema accepts any content.
    public var schemas: [(mediaType: String, schema: DeferredSchema?)] = []
    public var documentation: String?

    public init(_ statuses: StatusRange?) { self.statuses = statuses }
}
