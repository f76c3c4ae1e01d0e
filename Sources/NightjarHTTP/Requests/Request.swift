import NIOCore

/// A request as the caller describes it. It can be sent any number of times.
public struct Request: Sendable {
    /// The body of a request.
    public typealias Body = RequestBody
    /// A request as it was sent, for later inspection.
    public typealias Record = RequestRecord
    /// A key by which a server recognizes a repeated request.
    public typealias IdempotencyKey = NightjarHTTP.IdempotencyKey
    /// The query items of a request, or the values of the variables of its target.
    public typealias Items = RequestItems
    /// An inclusive range of statuses.
    public typealias StatusRange = NightjarHTTP.StatusRange
    /// The network settings of a request that differ from the client's.
    public typealias ConnectivityChanges = NightjarHTTP.ConnectivityChanges
    /// The security schemes whose credentials an endpoint requires together.
    public typealias SecurityRequirement = NightjarHTTP.SecurityRequirement
    /// The responses that the endpoint of a request describes.
    public typealias ResponseContract = NightjarHTTP.ResponseContract
    /// Statuses that a request expects: an integer, a range of integers, or a ``StatusRange``.
    public typealias StatusExpectation = NightjarHTTP.StatusExpectation

    public var method: Method
    /// An absolute http or https URL, or a path that is resolved against the client's base URL.
    public var target: String
    /// A resolved URL with its user info. Replaces ``target``, ``parameters`` and ``query``.
    package var resolved: RequestURL?
    /// Values for the variables of ``target``. If not empty, the target is a URI template (RFC 6570 up to level 3):
    /// `/users/{id}/files{?page}`. If empty, the target is used literally, including any braces.
    public var parameters: RequestItems = []
    /// Query items, percent-encoded and appended in order to the query of ``target``. A name may repeat.
    public var query: RequestItems = []
    /// The header fields, which replace the client's default fields of the same name.
    public var headers = Headers()
    /// The Content-Type of the body, used if neither ``headers`` nor the client's headers have one. Nil if unknown.
    package var impliedType: ImpliedType?
    /// The cookies of this call, as `name=value`, already encoded. They replace cookies of the same name from the
    /// client's jar. If ``headers`` or the client's headers have a Cookie field, these cookies are appended to the
    /// field and the jar is not used.
    package var cookies: [String] = []
    public var body = RequestBody.none
    /// Compresses the body with gzip. Set only for a server that is known to support gzip request bodies, because the
    /// client cannot negotiate the compression.
    public var compresses = false
    /// Sends `Expect: 100-continue` and waits up to 1 s for 100 (Continue) before sending the body. If nil, the client
    /// does this for a body of at least 1 MiB or of unknown length, unless the idle timeout is 1 s or less.
    public var expectsContinue: Bool?
    /// Allows a body on GET or HEAD. HTTP defines no meaning for such a body, and intermediaries may drop or reject it
    /// (RFC 9110 section 9.3.1). If false, a GET or HEAD request with a body fails.
    public var allowsBodyOnGet = false
    /// The statuses that count as success. If empty, 200 to 299 and 304.
    public var expectedStatuses: [StatusRange] = []
    /// The schema for a JSON response. If the response does not match, the call fails with `decoding`. Responses
    /// without a body are accepted. A call with a streamed response is rejected, because a stream cannot be checked.
    public var schema: JSONSchema?
    /// The responses that the endpoint's description defines. Nil if there is no description. See
    /// `Operation/request(_:)`.
    public var contract: ResponseContract?
    /// True if the request is a GraphQL operation. A response without data is then an error.
    package var isGraphQL = false
    /// The redirect settings of this call. Nil uses the client's settings.
    public var redirect: RedirectSettings?
    /// The retry settings that differ from the client's. Nil uses the client's settings.
    public var retry: RetryChanges?
    /// True if the request is idempotent regardless of its method. An idempotent request may be retried even if the
    /// server may have processed it.
    public var isIdempotent = false
    /// The idempotency key. A server recognizes a repeated request by its key, so that even a POST can be retried.
    public var idempotencyKey = IdempotencyKey.Choice.none
    /// True if a compressed response is accepted and decoded. Nil uses the client's setting. If false, the client's
    /// Accept-Encoding is not sent and the body is delivered as received. A request with a Range field never sends the
    /// client's Accept-Encoding.
    public var decompresses: Bool?
    /// If false, the call sends none of the client's cookies and stores none.
    public var usesCookies = true
    /// The cache policy of this call. Nil uses the client's policy.
    public var cachePolicy: CachePolicy?
    /// If false, the call neither reads nor writes the client's cache.
    public var usesCache = true
    /// The partition of the cache, such as the name of a tenant. Calls with different partitions never share a cached
    /// response or an exchange, even if their credentials are equal. The text is not sent and not stored. Nil: calls with
    /// equal credentials share responses.
    public var cachePartition: String?
    /// True if a safe call may share the exchange of an equal call that is in flight. Nil uses the client's setting.
    /// Streamed responses are never shared.
    public var coalesces: Bool?
    /// The limit group of this call. The group's limits replace those of the origin. Nil uses the limits of the origin.
    public var limitGroup: String?
    /// The tags that a successful write invalidates, as `Client.invalidate(tag:)` does. Has no effect on a safe method, and
    /// without a response from 200 to 399.
    public var invalidates: [String] = []
    /// The settings for waiting and for metered networks that differ from the client's.
    public var connectivity = ConnectivityChanges()
    /// True if Retry-After in responses is respected. Nil uses the client's ``Configuration/respectsRetryAfter``.
    public var respectsRetryAfter: Bool?
    /// If false, the call sends none of the client's credentials.
    public var usesAuth = true
    /// The restrictions of the call, which also apply to its redirects. Nil if there are no restrictions.
    package var confinement: Confinement?
    /// The names of the security schemes whose credentials are sent. A client whose credentials are not configured by
    /// scheme rejects the call. If empty, ``security`` decides.
    public var schemes: [String] = []
    /// Alternative security requirements. A client whose credentials are configured by scheme sends the credentials of
    /// the first alternative that has schemes and for which the client has all credentials, at most one of them in the
    /// Authorization field. If there is no such alternative, the call fails, unless the list is empty, an alternative
    /// has no schemes, or the request carries its own credentials. If the requirements are nil, the client sends no
    /// credentials. Any other client ignores the requirements and sends its credentials.
    public var security: [SecurityRequirement]?
    /// The timeouts that differ from the client's.
    public var timeouts = Timeouts()
    /// The maximum size of a collected response body in bytes. Nil uses the client's limit.
    public var maximumBody: Int?
    /// The canceller of the calls, transfers and streams of this request. The client defines its type.
    package var cancellation: (any AnyObject & Sendable)?

    public init(_ method: Method, _ target: String) {
        self.method = method
        self.target = target
    }

    /// Creates a request with a URI template and query items. Nil and null values omit a query item.
    ///
    ///     Request(.get, "/users/{id}/files", ["id": id], query: ["page": 2, "q": term])
    ///
    /// - Parameters:
    ///   - parameters: The values of the variables of `target`. If empty, the target is used literally.
    ///   - query: The query items.
    public init(_ method: Method, _ target: String, _ parameters: RequestItems = [], query: RequestItems) {
        self.init(method, target)
        self.parameters = parameters
        self.query = query
    }

    /// Creates a request with a URI template. See ``parameters``.
    public init(_ method: Method, _ target: String, _ parameters: RequestItems) {
        self.init(method, target, parameters, query: [])
    }
}

/// The content type of a body that was given as a value instead of as bytes.
package enum ImpliedType: Sendable {
    case json
    case form

    var line: StaticString {
        switch self {
        case .json: "Content-Type: application/json\r\n"
        case .form: "Content-Type: application/x-www-form-urlencoded\r\n"
        }
    }
}

/// An inclusive range of statuses.
public struct StatusRange: Sendable, Equatable, ExpressibleByIntegerLiteral {
    public var lowest: Int
    public var highest: Int

    public init(integerLiteral status: Int) { self.init(status) }
    public init(_ statuses: ClosedRange<Int>) { self.init(statuses.lowerBound, statuses.upperBound) }
    /// An empty range contains no status.
    public init(_ statuses: Range<Int>) {
        self = statuses.isEmpty ? StatusRange(1, 0) : StatusRange(statuses.lowerBound, statuses.upperBound - 1)
    }

    public init(_ status: Int) { self.init(status, status) }
    public init(_ lowest: Int, _ highest: Int) {
        self.lowest = lowest
        self.highest = highest
    }

    public func contains(_ status: Int) -> Bool { lowest <= status && status <= highest }
}

/// The timeouts of a request or a client. Zero (``unlimited``) and durations over 3153600000 seconds (100 years) mean
/// no timeout. If a timeout is nil, a request uses the client's timeout and a client uses the default.
public struct Timeouts: Sendable, Equatable {
    /// No timeout.
    public static let unlimited = Duration.zero

    /// The maximum time to open a connection, including TLS. The wait for a free connection of a limited pool counts
    /// only towards `total`.
    public var connect: Duration?
    /// The maximum time without a byte in either direction while the request is sent or the response is awaited or
    /// received. Does not run while the call waits for its caller.
    public var idle: Duration?
    /// The maximum time for the whole call, including all attempts.
    public var total: Duration?

    public init(connect: Duration? = nil, idle: Duration? = nil, total: Duration? = nil) {
        self.connect = connect
        self.idle = idle
        self.total = total
    }

    /// Returns a copy in which values that are nil are taken from `other`.
    public func filled(from other: Timeouts) -> Timeouts {
        Timeouts(connect: connect ?? other.connect, idle: idle ?? other.idle, total: total ?? other.total)
    }

    /// A copy in which durations that mean no timeout are replaced with nil.
    package var limits: Timeouts {
        Timeouts(connect: Timeouts.limit(connect), idle: Timeouts.limit(idle), total: Timeouts.limit(total))
    }

    private static func limit(_ length: Duration?) -> Duration? {
        guard let length, length > .zero, length <= .seconds(Duration.maximumSeconds) else { return nil }
        return length
    }

    /// Throws `invalid_argument` if a timeout is negative.
    package func check() throws(NightjarError) {
        for (name, length) in [("timeout.connect", connect), ("timeout.idle", idle), ("timeout.total", total)] {
            if let length, length < .zero { throw .duration(name, length.inSeconds) }
        }
    }
}
