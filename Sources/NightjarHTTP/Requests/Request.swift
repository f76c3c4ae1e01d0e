import NIOCore

/// What a caller asks for. A value: change a copy, send it any number of times.
public struct Request: Sendable {
    public var method: Method
    /// An absolute http or https URL, or a path that is joined to the client's base URL.
    public var target: String
    /// Takes the place of ``target``, ``parameters`` and ``query``: a URL that was resolved before, with its user info.
    package var resolved: RequestURL?
    /// Values for the variables of ``target``, which is then a URI template (RFC 6570 to level 3):
    /// `/users/{id}/files{?page}`. None: the target is as it stands, braces and all.
    public var parameters: [(name: String, value: String)] = []
    /// Appended to the target's own query, in order, percent-encoded; a name may repeat.
    public var query: [(name: String, value: String)] = []
    /// Take the place of the client's default headers of the same name.
    public var headers = Headers()
    /// The Content-Type of the body, used if neither ``headers`` nor the client's headers have one; nil: unknown.
    package var impliedType: ImpliedType?
    /// Cookies of the call itself, `name=value`, as they go on the wire: beside those of the client's jar, of which those of
    /// the same names give way. Where ``headers`` or the client's have a Cookie field, behind what that says, and without the
    /// jar's.
    package var cookies: [String] = []
    public var body = RequestBody.none
    /// Whether the body is sent with the gzip coding, as a server must be known to understand: none can be asked.
    public var compresses = false
    /// Whether the server is asked before the body is sent (`Expect: 100-continue`); nil: for a body of a mebibyte or
    /// more, or of unknown length.
    public var expectsContinue: Bool?
    /// A body on GET or HEAD means nothing to HTTP and is dropped or refused on many ways (RFC 9110 section 9.3.1), so it
    /// is refused here unless this is set.
    public var allowsBodyOnGet = false
    /// Statuses that are an answer rather than an error; empty: 200 to 299, and 304.
    public var expectedStatuses: [StatusRange] = []
    /// What the JSON of an answer must look like; where it does not, the call fails as `decoding`. Answers without
    /// content pass, and those that are streamed cannot be checked: such a call is refused.
    public var schema: JSONSchema?
    /// What the endpoint says that this asks for; nil: it asks for none. See ``Operation/request(_:)``.
    public var contract: ResponseContract?
    /// What is done with redirects, where that differs from the client's.
    public var redirect: RedirectSettings?
    /// How often what has failed is tried again, where that differs from the client's.
    public var retry: RetryChanges?
    /// Asking twice is asking once, whatever the method says: what may have been seen by the server is tried again too.
    public var isIdempotent = false
    /// By which a server knows a repetition, so that also a POST may be repeated.
    public var idempotencyKey = IdempotencyKey.Choice.none
    /// Whether the answer may come compressed and is decompressed; nil: as the client has it. False sends no
    /// Accept-Encoding of the client's, and gives the bytes as they come.
    public var decompresses: Bool?
    /// False: this call sends none of the client's cookies and keeps none.
    public var usesCookies = true
    /// How the call uses the client's cache, where that differs from what the client has set.
    public var cachePolicy: CachePolicy?
    /// False: this call neither takes anything from the client's cache nor leaves anything there.
    public var usesCache = true
    /// Whether a safe call shares the exchange of one that is alike, where that differs from the client's. Streamed answers
    /// are never shared.
    public var coalesces: Bool?
    /// The client's group whose limits hold for this call rather than those of its origin.
    public var limitGroup: String?
    /// Whether the Retry-After of a response is respected, where that differs from the client's:
    /// ``Configuration/respectsRetryAfter``.
    public var respectsRetryAfter: Bool?
    /// False: this call carries none of the client's credentials.
    public var usesAuth = true
    /// Where the call may go, redirects included; nil: anywhere.
    package var confinement: Confinement?
    /// Names of the client's credentials that this call carries, all of them, of a client that has its credentials by scheme;
    /// empty: those that ``security`` asks for. Of any other client such a call is refused.
    public var schemes: [String] = []
    /// The ways in, of which one is enough, of a client that has its credentials by scheme; any other sends those it has.
    /// Nil: nobody has said, and none of them goes along.
    public var security: [SecurityRequirement]?
    /// Limits of time that differ from the client's.
    public var timeouts = Timeouts()
    /// Bytes of content that a collected response may have; nil: the client's limit.
    public var maximumBody: Int?

    public init(_ method: Method, _ target: String) {
        self.method = method
        self.target = target
    }
}

/// The content type of a body that was given as a value rather than as bytes.
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

/// A run of statuses.
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

/// Limits of time, from 0 to 3153600000 seconds (100 years). ``unlimited`` (0) is no limit, and so is anything longer than 100
/// years. Nil is not set: a request then has the client's limit, and a client the default.
public struct Timeouts: Sendable, Equatable {
    /// No limit: zero, in every language.
    public static let unlimited = Duration.zero

    /// From when a connection is attempted until it is open (TLS included). The wait for one of the connections that the
    /// client may have counts for `total` alone.
    public var connect: Duration?
    /// Without a byte in either direction while the request is sent or the response awaited.
    public var idle: Duration?
    /// The whole call, all attempts.
    public var total: Duration?

    public init(connect: Duration? = nil, idle: Duration? = nil, total: Duration? = nil) {
        self.connect = connect
        self.idle = idle
        self.total = total
    }

    /// This, with `other` where nothing is set.
    public func filled(from other: Timeouts) -> Timeouts {
        Timeouts(connect: connect ?? other.connect, idle: idle ?? other.idle, total: total ?? other.total)
    }

    /// These limits with nil in place of ``unlimited``: what is counted down.
    package var limits: Timeouts {
        Timeouts(connect: Timeouts.limit(connect), idle: Timeouts.limit(idle), total: Timeouts.limit(total))
    }

    private static func limit(_ length: Duration?) -> Duration? {
        guard let length, length > .zero, length <= .seconds(Duration.mostSeconds) else { return nil }
        return length
    }

    /// - Throws: `invalid_argument` for a negative limit.
    package func check() throws(NightjarError) {
        for (name, length) in [("timeout.connect", connect), ("timeout.idle", idle), ("timeout.total", total)] {
            if let length, length < .zero { throw .duration(name, length.inSeconds) }
        }
    }
}
