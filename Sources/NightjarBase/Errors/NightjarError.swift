/// The failure of a call. Immutable. Has the size of one pointer.
///
/// The URL has no user info. Known credentials are masked in the message and in the query of the URL.
public struct NightjarError: Error, Sendable, CustomStringConvertible {
    /// The kind of a failure.
    public typealias Kind = ErrorKind
    /// The phase of a call in which a failure occurred.
    public typealias Phase = ErrorPhase

    /// The values of an error. `context` holds the request, the response and the decisions of the call.
    package struct Facts: Sendable {
        package var kind: ErrorKind
        package var message: String
        package var phase: ErrorPhase?
        package var url: String?
        package var status: Int?
        package var attempts = 0
        package var code: Int32 = 0
        package var requestMayHaveBeenProcessed = false
        package var retryAfter: Duration?
        package var earlier: [NightjarError] = []
        package var batchIndex: Int?
        package var delivered: Int?
        package var offlineReason: OfflineReason?
        package var context: (any ErrorContext)?

        package init(_ kind: ErrorKind, _ message: String) {
            self.kind = kind
            self.message = message
        }
    }

    /// Boxes the facts so that every error is one pointer.
    private final class Storage: Sendable {
        let facts: Facts

        init(_ facts: Facts) { self.facts = facts }
    }

    private let storage: Storage
    package var facts: Facts { storage.facts }

    public init(
        _ kind: ErrorKind, _ message: String, phase: ErrorPhase? = nil, url: String? = nil, attempts: Int = 0,
        code: Int32 = 0, requestMayHaveBeenProcessed: Bool = false, retryAfter: Duration? = nil
    ) {
        var facts = Facts(kind, message)
        facts.phase = phase
        facts.url = url
        facts.attempts = attempts
        facts.code = code
        facts.requestMayHaveBeenProcessed = requestMayHaveBeenProcessed
        facts.retryAfter = retryAfter
        self.init(facts)
    }

    package init(_ facts: Facts) { storage = Storage(facts) }

    public var kind: ErrorKind { facts.kind }
    public var phase: ErrorPhase? { facts.phase }
    /// The message for the developer: what failed, on what, and what to do.
    public var message: String { facts.message }
    /// The URL of the call without user info and with masked query credentials.
    public var url: String? { facts.url }
    /// The status of ``response``.
    public var status: Int? { facts.status }
    /// The number of exchanges that were started for the call, including redirects.
    public var attempts: Int { facts.attempts }
    /// The error code of the operating system, of a library (TLS, SQLite, zlib) or of a proxy. 0 if there is none.
    public var code: Int32 { facts.code }
    /// True if the server may have processed the request. Sending the request again may repeat its effect.
    public var requestMayHaveBeenProcessed: Bool { facts.requestMayHaveBeenProcessed }
    /// The wait before a new call can succeed, such as the server's Retry-After or the wait for a limit of the client.
    /// Nil if unknown.
    public var retryAfter: Duration? { facts.retryAfter }

    /// The errors of the attempts before the last one, first to last.
    public var earlier: [NightjarError] { facts.earlier }
    /// The index of the failed request in its batch, from 0. Nil if the error does not belong to one request.
    public var batchIndex: Int? { facts.batchIndex }

    /// The number of lines, values or events that were delivered before a stream failed. Nil if the error does not
    /// belong to a stream.
    public var delivered: Int? { facts.delivered }

    /// Why the call was not sent. Nil unless the kind is `offline`.
    public var offlineReason: OfflineReason? { kind == .offline ? facts.offlineReason ?? .noNetwork : nil }

    /// Returns a copy of this error whose ``batchIndex`` is `index`.
    public func inBatch(at index: Int) -> NightjarError {
        var facts = facts
        facts.batchIndex = index
        return NightjarError(facts)
    }

    /// Returns a copy of this error for a stream that failed after `count` elements were delivered.
    ///
    /// - Parameter noun: The name of an element, such as `line`.
    package func afterDelivery(of count: Int, _ noun: String) -> NightjarError {
        var facts = facts
        facts.delivered = count
        facts.message += count == 1 ? "; 1 \(noun) was delivered" : "; \(count) \(noun)s were delivered"
        return NightjarError(facts)
    }

    /// A copy of this error with ``requestMayHaveBeenProcessed`` set to true.
    public var mayHaveBeenProcessed: NightjarError {
        var facts = facts
        facts.requestMayHaveBeenProcessed = true
        return NightjarError(facts)
    }

    /// True if the same call may succeed later without a change.
    public var isRetryable: Bool {
        switch kind {
        case .offline, .dns, .connectionLost, .timeout, .rateLimited: true
        // A proxy that has rejected the credentials (407) rejects them again, and may lock the account.
        case .connect: code != 407
        // 408 Request Timeout and 425 Too Early (RFC 8470) are temporary conditions.
        case .client: [408, 425].contains(status)
        // 501 and 505 are permanent. Without a status, the error reports a circuit breaker that rejects calls or a
        // failing token server, which are temporary conditions.
        case .server: status.map { [500, 502, 503, 504].contains($0) } ?? true
        case .invalidArgument, .invalidURL, .invalidRequest, .forked, .closed, .reentrant, .cancelled: false
        case .tls, .pinMismatch, .protocol, .tooLarge, .noMemory, .decoding: false
        case .unauthorized, .forbidden, .notFound, .cacheMiss, .storage, .script: false
        case .contentChanged, .checksumMismatch, .graphQL: false
        }
    }

    /// The message for the end user, without technical terms. Nil for a cancelled call.
    public var userMessage: String? {
        switch kind {
        case .cancelled: nil
        case .offline: "You appear to be offline. Check your connection and try again."
        case .dns, .connect, .connectionLost: "The connection to the server failed. Check your network and try again."
        case .timeout: "The server took too long to respond. Try again."
        case .tls, .pinMismatch: "A secure connection to the server could not be made."
        case .unauthorized: "You are not signed in, or your session has ended. Sign in and try again."
        case .forbidden: "You do not have permission to do this."
        case .notFound: "This could not be found."
        case .rateLimited: "There were too many requests. Wait a moment and try again."
        case .client, .graphQL: "The server did not accept this."
        case .server: "The server has a problem. Try again later."
        case .protocol, .decoding: "The server's response could not be understood."
        case .tooLarge: "There is more data than this program accepts."
        case .noMemory: "This device does not have enough free memory."
        case .storage: "Something could not be read or saved on this device."
        case .cacheMiss: "This is not available offline."
        case .contentChanged: "The file has changed on the server. Start again."
        case .checksumMismatch: "The file arrived damaged. Try again."
        case .invalidArgument, .invalidURL, .invalidRequest, .forked, .closed, .reentrant, .script:
            "Something went wrong in this program."
        }
    }

    /// One line: the kind, the phase of a timeout, the index in a batch, the message and the URL.
    public var description: String {
        var text = kind.name
        if kind == .timeout, let phase { text += " (\(phase.name))" }
        if let batchIndex { text += ": requests[\(batchIndex)]" }
        text += ": \(message)"
        if let url { text += " [\(url)]" }
        return text
    }
}

extension NightjarError: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
}

/// The call to which an error belongs. A protocol, because this module does not declare requests and responses.
package protocol ErrorContext: Sendable {}
