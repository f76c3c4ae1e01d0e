/// An operation of an API: its request and its responses. OpenAPI 3.1 section 4.8.10.
///
/// A description without values. Together with ``Arguments`` it becomes a ``Request``.
public struct Operation: Sendable {
    /// The operation's name, unique in its ``Catalog``.
    public var name: String
    public var method: Method
    /// The path, relative to the client's base URL: `/users/{id}`. Braces contain the names of path parameters; there
    /// is no other template syntax.
    public var path: String
    /// The absolute URL of a server that replaces the client's base URL, with its variables filled in. Usually nil.
    public var server: String?
    public var parameters: [Parameter] = []
    /// The body. Nil if the operation accepts none.
    public var content: RequestContent?
    /// The responses. If empty, responses are not validated.
    public var responses: [ResponseDescription] = []
    /// The action to take if a response does not match its description. Nil: the client's setting.
    public var responseValidation: ResponseValidation?
    /// Whether credentials are required. True: a call without credentials of the client or the request fails without
    /// being sent. False: the client's credentials are not sent. Nil: the client's credentials are sent if there are
    /// any.
    public var requiresAuth: Bool?
    /// Alternative security requirements, one of which must be met, for a client whose credentials are configured by
    /// scheme. Nil: unspecified.
    public var security: [SecurityRequirement]?
    /// The operation is idempotent regardless of its method, so it may be retried.
    public var isIdempotent = false
    /// The cache policy if it differs from the client's.
    public var cachePolicy: CachePolicy?
    public var usesCache = true
    public var timeouts = Timeouts()
    /// How the list that it returns continues. Nil: it returns no list, or pagination is unspecified.
    public var pagination: Pagination?
    /// Unparsed pagination options from a description: the extension `x-nightjar-pagination`.
    public var paginationOptions: JSONValue?
    /// A summary in one line.
    public var summary: String?
    /// A description in CommonMark.
    public var documentation: String?
    /// The groups to which the operation belongs.
    public var tags: [String] = []
    public var isDeprecated = false

    public init(_ name: String, _ method: Method, _ path: String) {
        self.name = name
        self.method = method
        self.path = path
    }

    /// The names of the path parameters in a template. Text after `?` is a query and contains none.
    package static func names(inPath template: String) -> [String] { PathTemplate(template).names }
}

/// The body that an operation accepts. OpenAPI 3.1 section 4.8.13.
public struct RequestContent: Sendable {
    public var isRequired = false
    /// The media types, most preferred first.
    public var choices: [Choice]
    public var documentation: String?

    public struct Choice: Sendable {
        /// A media type, or a range such as `image/*`.
        public var mediaType: String
        public var schema: DeferredSchema?
        /// How form members are serialized, if not by the default for their type. OpenAPI 3.1 section 4.8.15.
        public var encodings: ExactDictionary<PartEncoding> = [:]
        public var example: JSONValue?

        public init(_ mediaType: String, schema: DeferredSchema? = nil) {
            self.mediaType = mediaType
            self.schema = schema
        }
    }

    public struct PartEncoding: Sendable {
        /// The Content-Type of a part of a multipart form. Nil: derived from the type of its value.
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
