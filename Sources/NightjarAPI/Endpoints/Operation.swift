/// An operation of an API: its request and its responses. OpenAPI 3.1 section 4.8.10.
///
/// ``request(_:)`` combines the operation with ``Arguments``.
package struct Operation: Sendable {
    /// The operation's name, unique in its ``Catalog``.
    package var name: String
    package var method: Method
    /// The path, relative to the client's base URL: `/users/{id}`. Braces contain the names of path parameters; there
    /// is no other template syntax.
    package var path: String
    /// The absolute URL of a server that replaces the client's base URL, with its variables filled in. Usually nil.
    package var server: String?
    package var parameters: [Parameter] = []
    /// The body. Nil if the operation accepts none.
    package var content: RequestContent?
    /// The responses. If empty, responses are not validated.
    package var responses: [ResponseDescription] = []
    /// The action to take if a response does not match its description. Nil: the client's setting.
    package var responseValidation: ResponseValidation?
    /// Whether credentials are required. True: a call without credentials of the client or the request fails without
    /// being sent. False: the client's credentials are not sent. Nil: the client's credentials are sent if there are
    /// any.
    package var requiresAuth: Bool?
    /// Alternative security requirements. If the client's credentials are keyed by security scheme, they must meet one
    /// of the requirements. Nil: unspecified.
    package var security: [SecurityRequirement]?
    /// True if the operation is idempotent regardless of its method. The operation may then be retried.
    package var isIdempotent = false
    /// The cache policy if it differs from the client's.
    package var cachePolicy: CachePolicy?
    package var usesCache = true
    package var timeouts = Timeouts()
    /// The pagination of the list that the operation returns. Nil: the operation returns no list, or pagination is
    /// unspecified.
    package var pagination: Pagination?
    /// Unparsed pagination options from a description: the extension `x-nightjar-pagination`.
    package var paginationOptions: JSONValue?
    /// A summary in one line.
    package var summary: String?
    /// A description in CommonMark.
    package var documentation: String?
    /// The groups to which the operation belongs.
    package var tags: [String] = []
    package var isDeprecated = false

    package init(_ name: String, _ method: Method, _ path: String) {
        self.name = name
        self.method = method
        self.path = path
    }

    /// Returns the names of the path parameters in a template. The query after `?` contains none.
    package static func names(inPath template: String) -> [String] { PathTemplate(template).names }
}

/// The body that an operation accepts. OpenAPI 3.1 section 4.8.13.
package struct RequestContent: Sendable {
    package var isRequired = false
    /// The media types, most preferred first.
    package var choices: [Choice]
    package var documentation: String?

    package struct Choice: Sendable {
        /// A media type, or a range such as `image/*`.
        package var mediaType: String
        package var schema: DeferredSchema?
        /// How form members are serialized, if not by the default for their type. OpenAPI 3.1 section 4.8.15.
        package var encodings: ExactDictionary<PartEncoding> = [:]
        package var example: JSONValue?

        package init(_ mediaType: String, schema: DeferredSchema? = nil) {
            self.mediaType = mediaType
            self.schema = schema
        }
    }

    package struct PartEncoding: Sendable {
        /// The Content-Type of a part of a multipart form. Nil: derived from the type of its value.
        package var contentType: String?
        package var style: ParameterStyle?
        package var explodes: Bool?
        package var allowsReserved = false

        package init() {}
    }

    package init(_ choices: [Choice], isRequired: Bool = false) {
        self.choices = choices
        self.isRequired = isRequired
    }
}
