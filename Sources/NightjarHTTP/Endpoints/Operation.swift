/// One thing that an API can do: what is asked of it, and what it answers. OpenAPI 3.1 section 4.8.10.
///
/// A description, which carries no values; with ``Arguments`` it becomes a ``Request``.
public struct Operation: Sendable {
    /// By which it is called: unique in its ``Catalog``.
    public var name: String
    public var method: Method
    /// Joined to the client's base URL: `/users/{id}`; its braces are the parameters in the path, and nothing else is a
    /// template here.
    public var path: String
    /// Taken in place of the client's base URL: absolute, its variables filled in; nil for most.
    public var server: String?
    public var parameters: [Parameter] = []
    /// Nil: it takes no body.
    public var content: RequestContent?
    /// What it answers; nothing is checked where none is described.
    public var answers: [AnswerDescription] = []
    /// What is done about answers that are not as described; nil: as the client has it.
    public var responseValidation: ResponseValidation?
    /// True: without credentials, of the client or the request, it is not asked at all. False: it is asked without the
    /// client's. Nil: as the client does.
    public var requiresAuth: Bool?
    /// The ways in, of which one is enough, for a client that has its credentials by scheme; nil: nobody has said.
    public var security: [SecurityRequirement]?
    /// Asking twice is asking once, whatever its method says: it may be tried again.
    public var isIdempotent = false
    /// Where it differs from the client's.
    public var cachePolicy: CachePolicy?
    public var usesCache = true
    public var timeouts = Timeouts()
    /// How the list that it answers goes on; nil: it does not, or nobody has said how.
    public var pagination: Pagination?
    /// The same as a description has it and nobody has read yet: the extension `x-nightjar-pagination`, an option table.
    public var paginationOptions: JSONValue?
    /// One line.
    public var summary: String?
    /// CommonMark.
    public var documentation: String?
    /// Groups that it is in.
    public var tags: [String] = []
    public var isDeprecated = false

    public init(_ name: String, _ method: Method, _ path: String) {
        self.name = name
        self.method = method
        self.path = path
    }

    /// The parameters that a template has in its path; what is behind a `?` is a query, and none.
    package static func names(inPath template: String) -> [String] { PathTemplate(template).names }
}

/// The body that an operation takes. OpenAPI 3.1 section 4.8.13.
public struct RequestContent: Sendable {
    public var isRequired = false
    /// Most preferred first.
    public var choices: [Choice]
    public var documentation: String?

    public struct Choice: Sendable {
        /// `application/json`; may be a range such as `image/*`.
        public var mediaType: String
        public var schema: DeferredSchema?
        /// How members of a form are written, where that differs from what their type says. OpenAPI 3.1 section 4.8.15.
        public var encodings: ExactDictionary<PartEncoding> = [:]
        public var example: JSONValue?

        public init(_ mediaType: String, schema: DeferredSchema? = nil) {
            self.mediaType = mediaType
            self.schema = schema
        }
    }

    public struct PartEncoding: Sendable {
        /// Of the part of a multipart form; nil: by the type of its value.
        public var contentType: String?
        public var style: ParameterStyle?
        public var explodes: Bool?
        public var allowsReserved = false

        public init() {}
    }

    public init(_ choices: [Choice], isRequired: Bool = false) {
        self.choices = choices
        self.isRequired = isRequired
    }
}
