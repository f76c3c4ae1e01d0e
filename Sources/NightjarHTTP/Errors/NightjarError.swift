/// Why a call failed. Immutable; small to pass around.
///
/// No secret is in it: the URL comes without user info and with masked query credentials.
public struct NightjarError: Error, Sendable, CustomStringConvertible {
    private struct Details: Sendable {
        var kind: ErrorKind
        var phase: ErrorPhase?
        var message: String
        var url: String?
        var response: Response?
        var attempts: Int
        var code: Int32
        var requestMayHaveBeenProcessed: Bool
        var retryAfter: Duration?
        var sent: PreparedRequest?
    }

    /// So that an error is one word, however much it knows.
    private final class Storage: Sendable {
        let details: Details
        init(_ details: Details) { self.details = details }
    }

    private let storage: Storage

    private init(_ details: Details) { storage = Storage(details) }

    public init(
        _ kind: ErrorKind, _ message: String, phase: ErrorPhase? = nil, url: String? = nil, response: Response? = nil,
        attempts: Int = 0, code: Int32 = 0, requestMayHaveBeenProcessed: Bool = false, retryAfter: Duration? = nil
    ) {
        self.init(
            Details(
                kind: kind, phase: phase, message: message, url: url, response: response, attempts: attempts,
                code: code, requestMayHaveBeenProcessed: requestMayHaveBeenProcessed, retryAfter: retryAfter))
    }

    public var kind: ErrorKind { storage.details.kind }
    public var phase: ErrorPhase? { storage.details.phase }
    /// For the developer: what happened, to what, and what to do.
    public var message: String { storage.details.message }
    /// The URL of the call without user info and with credentials in the query masked.
    public var url: String? { storage.details.url }
    /// The answer, when there was one (the kinds that name a status).
    public var response: Response? { storage.details.response }
    /// The status of ``response``.
    public var status: Int? { storage.details.response?.status }
    /// How many times the request was put on a connection.
    public var attempts: Int { storage.details.attempts }
    /// The number of the operating system or of TLS beneath this error; 0 when there is none.
    public var code: Int32 { storage.details.code }
    /// True when the server may have acted on the request although no answer came: a write must not be blindly repeated.
    public var requestMayHaveBeenProcessed: Bool { storage.details.requestMayHaveBeenProcessed }
    /// How long the server asked to wait (Retry-After), measured from the answer.
    public var retryAfter: Duration? { storage.details.retryAfter }

    /// What was sent last, or was about to be; nil for a failure that belongs to no call.
    public var request: RequestRecord? { (storage.details.sent ?? response?.sent).map(RequestRecord.init) }

    /// The command line with which curl sends the request of the call that failed; see ``Response/curl(showsSecrets:)``.
    public func curl(showsSecrets: Bool = false) -> String? {
        request.map { CurlCommand($0, showsSecrets: showsSecrets).text }
    }

    /// The same failure, told with the call it belongs to.
    public func of(_ request: PreparedRequest, attempts: Int) -> NightjarError {
        var details = storage.details
        details.url = details.url ?? request.url.redacted
        details.attempts = attempts
        details.sent = request
        return NightjarError(details)
    }

    /// The same failure of a call whose request the server has seen.
    public var mayHaveBeenProcessed: NightjarError {
        var details = storage.details
        details.requestMayHaveBeenProcessed = true
        return NightjarError(details)
    }

    /// Whether the same call may succeed later without a change.
    public var isRetryable: Bool {
        switch kind {
        case .offline, .dns, .connect, .connectionLost, .timeout, .rateLimited: true
        case .client: [408, 425].contains(status)
        case .server: [500, 502, 503, 504].contains(status)
        default: false
        }
    }

    /// For the person at the screen: a sentence without technical words; nil for a cancelled call.
    public var userMessage: String? {
        switch kind {
        case .cancelled: nil
        case .offline: "You appear to be offline. Check your connection and try again."
        case .dns, .connect, .connectionLost: "The server could not be reached. Check your connection and try again."
        case .timeout: "The server took too long to answer. Try again."
        case .tls, .pinMismatch: "A secure connection to the server could not be made."
        case .unauthorized: "You are not signed in, or your session has ended. Sign in and try again."
        case .forbidden: "You do not have permission to do this."
        case .notFound: "This could not be found."
        case .rateLimited: "There were too many requests. Wait a moment and try again."
        case .server: "The server has a problem. Try again later."
        case .storage: "Something could not be saved on this device."
        case .cacheMiss: "This is not available offline."
        default: "Something went wrong with this request."
        }
    }

    /// One line: kind, phase, message and URL.
    public var description: String {
        var text = kind.name
        if kind == .timeout, let phase { text += " (\(phase.name))" }
        text += ": \(message)"
        if let url { text += " [\(url)]" }
        return text
    }
}
