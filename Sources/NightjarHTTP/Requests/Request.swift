import NIOCore

/// A request as the caller describes it. A value type: copy it, change the copy, and send it any number of times.
public struct Request: Sendable {
    public var method: Method
    /// An absolute http or https URL, or a path that is resolved against the client's base URL.
    public var target: String
    /// A resolved URL with its user info. Replaces ``target``, ``parameters`` and ``query``.
    package var resolved: RequestURL?
    /// Values for the variables of ``target``, which is then a URI template (RFC 6570 up to level 3):
    /// `/users/{id}/files{?page}`. If empty, the target is used literally, including any braces.
    public var parameters: [(name: String, value: String)] = []
    /// Query items, percent-encoded and appended in order to the query of ``target``. A name may repeat.
    public var query: [(name: String, value: String)] = []
    /// Header fields. They replace the client's default fields of the same name.
    public var headers = Headers()
    /// The Content-Type of the body, used if neither ``headers`` nor the client's headers have one. Nil if unknown.
    package var impliedType: ImpliedType?
    /// Cookies of this call, as `name=value`, already encoded. They replace cookies of the same name from the client's
    /// jar. If ``headers`` or the client's headers have a Cookie field, these cookies are appended to it and the jar is
    /// not used.
    package var cookies: [String] = []
    public var body = RequestBody.none
    /// Compresses the body with gzip. The server must be known to support it, because the client cannot negotiate it.
    public var compresses = false
    /// Sends `Expect: 100-continue` and waits for the server before sending the body. Nil: only for a body of at least
    /// 1 MiB or of unknown length.
    public var expectsContinue: Bool?
    /// Allows a body on GET or HEAD. HTTP defines no meaning for it and intermediaries may drop or reject it (RFC 9110
    /// section 9.3.1). If false, such a request fails.
    public var allowsBodyOnGet = false
    /// Statuses that are a success. If empty: 200 to 299, and 304.
    public var expectedStatuses: [StatusRange] = []
    /// The schema for a JSON response. A response that does not match fails with `decoding`. Responses without a body
    /// are accepted. Streamed responses cannot be checked, so such a call is rejected.
    public var schema: JSONSchema?
    /// The response that the endpoint's description promises. Nil: none. See ``Operation/request(_:)``.
    package var contract: ResponseContract?
    /// Redirect settings that differ from the client's. Nil: the client's.
    public var redirect: RedirectSettings?
    /// Retry settings that differ from the client's. Nil: the client's.
    public var retry: RetryChanges?
    /// The request is idempotent regardless of its method. It is retried even if the server may have processed it.
    public var isIdempotent = false
    /// The idempotency key, by which a server recognizes a repetition, so that even a POST can be retried.
    public var idempotencyKey = IdempotencyKey.Choice.none
    /// Whether a compressed response is accepted and decoded. Nil: the client's setting. If false, the client's
    /// Accept-Encoding is not sent and the body is delivered as received.
    public var decompresses: Bool?
    /// If false, the call sends none of the client's cookies and stores none.
    public var usesCookies = true
    /// The cache policy if it differs from the client's. Nil: the client's.
    public var cachePolicy: CachePolicy?
    /// If false, the call neither reads nor writes the client's cache.
    public var usesCache = true
    /// Whether a safe call shares the exchange of an equal call that is in flight. Nil: the client's setting. Streamed
    /// responses are never shared.
    public var coalesces: Bool?
    /// The client's limit group whose limits apply to this call instead of those of its origin.
    public var limitGroup: String?
    /// Whether a response's Retry-After is respected. Nil: the client's setting, ``Configuration/respectsRetryAfter``.
    public var respectsRetryAfter: Bool?
    /// If false, the call sends none of the client's credentials.
    public var usesAuth = true
    /// The URLs that the call may access, redirects included. Nil: any.
    package var confinement: Confinement?
    /// The names of the client's credentials to send, all of them, for a client whose credentials are configured by
    /// scheme. If empty, ``security`` decides. A client without such credentials rejects the call.
    public var schemes: [String] = []
    /// Alternative security requirements, one of which must be met, for a client whose credentials are configured by
    /// scheme. Other clients ignore it and send the credentials they have. Nil: no requirement is known and no scheme
    /// credentials are sent.
    package var security: [SecurityRequirement]?
    /// Timeouts that differ from the client's.
    public var timeouts = Timeouts()
    /// The maximum size of a collected response body in bytes. Nil: the client's limit.
    public var maximumBody: Int?

    public init(_ method: Method, _ target: String) {
        self.method = method
        self.target = target
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
public struct StatusRange: Sendable, Equatable {
    public var lowest: Int
    public var highest: Int

    public init(_ status: Int) { self.init(status, status) }
    public init(_ lowest: Int, _ highest: Int) {
        self.lowest = lowest
        self.highest = highest
    }

    public func contains(_ status: Int) -> Bool { lowest <= status && status <= highest }
}

/// Timeouts, from 0 to 3153600000 seconds (100 years). ``unlimited`` (0) and anything longer than 100 years means no
/// timeout. Nil means not set: a request then uses the client's timeout, and a client the default.
public struct Timeouts: Sendable, Equatable {
    /// No timeout: zero, in every language.
    public static let unlimited = Duration.zero

    /// The time to open a connection, including TLS. The wait for a free connection of a limited pool counts only
    /// towards `total`.
    public var connect: Duration?
    /// The maximum time without a byte in either direction while the request is sent or the response is awaited.
    public var idle: Duration?
    /// The maximum time for the whole call, including all attempts.
    public var total: Duration?

    public init(connect: Duration? = nil, idle: Duration? = nil, total: Duration? = nil) {
        self.connect = connect
        self.idle = idle
        self.total = total
    }

    /// A copy in which values that are nil are taken from `other`.
    public func filled(from other: Timeouts) -> Timeouts {
        Timeouts(connect: connect ?? other.connect, idle: idle ?? other.idle, total: total ?? other.total)
    }

    /// A copy in which ``unlimited`` is replaced with nil.
    package var limits: Timeouts {
        Timeouts(connect: Timeouts.limit(connect), idle: Timeouts.limit(idle), total: Timeouts.limit(total))
    }

    private static func limit(_ length: Duration?) -> Duration? {
        guard let length, length > .zero, length <= .seconds(Duration.mostSeconds) else { return nil }
        return length
    }

    /// - Throws: `invalid_argument` if a timeout is negative.
    package func check() throws(NightjarError) {
        for (name, length) in [("timeout.connect", connect), ("timeout.idle", idle), ("timeout.total", total)] {
            if let length, length < .zero { throw .duration(name, length.inSeconds) }
        }
    }
}
