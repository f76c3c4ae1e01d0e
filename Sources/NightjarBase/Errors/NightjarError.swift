/// Why a call failed. Immutable; small to pass around.
///
/// No secret is in it: the URL comes without user info and with masked query credentials.
public struct NightjarError: Error, Sendable, CustomStringConvertible {
    /// Values of an error. The request, the response and what was decided are in `context`.
    package struct Facts: Sendable {
        package var kind: ErrorKind
        package var message: String
        package var phase: ErrorPhase?
        package var url: String?
        package var status: Int?
        package var attempts: Int
        package var code: Int32
        package var requestMayHaveBeenProcessed: Bool
        package var retryAfter: Duration?
        package var earlier: [NightjarError] = []
        package var batchIndex: Int?
        package var context: (any ErrorContext)?

        package init(
            kind: ErrorKind, message: String, phase: ErrorPhase?, url: String?, status: Int? = nil, attempts: Int,
            code: Int32, requestMayHaveBeenProcessed: Bool, retryAfter: Duration?
        ) {
            self.kind = kind
            self.message = message
            self.phase = phase
            self.url = url
            self.status = status
            self.attempts = attempts
            self.code = code
            self.requestMayHaveBeenProcessed = requestMayHaveBeenProcessed
            self.retryAfter = retryAfter
        }
    }

    /// So that an error is one word, however much it knows.
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
        self.init(
            Facts(
                kind: kind, message: message, phase: phase, url: url, attempts: attempts, code: code,
                requestMayHaveBeenProcessed: requestMayHaveBeenProcessed, retryAfter: retryAfter))
    }

    package init(_ facts: Facts) { storage = Storage(facts) }

    public var kind: ErrorKind { facts.kind }
    public var phase: ErrorPhase? { facts.phase }
    /// For the developer: what happened, to what, and what to do.
    public var message: String { facts.message }
    /// The URL of the call without user info and with credentials in the query masked.
    public var url: String? { facts.url }
    /// The status of ``response``.
    public var status: Int? { facts.status }
    /// How many times the request was put on a connection.
    public var attempts: Int { facts.attempts }
    /// The number of the operating system or of TLS beneath this error; 0 when there is none.
    public var code: Int32 { facts.code }
    /// True when the server may have acted on the request although no answer came: a write must not be blindly repeated.
    public var requestMayHaveBeenProcessed: Bool { facts.requestMayHaveBeenProcessed }
    /// How long the server asked to wait (Retry-After), measured from the answer.
    public var retryAfter: Duration? { facts.retryAfter }

    /// What the attempts before the last one failed with, first to last. Each attempt costs time, and the last error is
    /// often the least telling.
    public var earlier: [NightjarError] { facts.earlier }
    /// Which of a batch's requests failed, from 0; nil for a failure that is of no batch, or of all of it.
    public var batchIndex: Int? { facts.batchIndex }

    /// The same failure, of the request at this place of a batch.
    public func inBatch(at index: Int) -> NightjarError {
        var facts = facts
        facts.batchIndex = index
        return NightjarError(facts)
    }

    /// The same failure of a call whose request the server has seen.
    public var mayHaveBeenProcessed: NightjarError {
        var facts = facts
        facts.requestMayHaveBeenProcessed = true
        return NightjarError(facts)
    }

    /// Whether the same call may succeed later without a change.
    public var isRetryable: Bool {
        switch kind {
        case .offline, .dns, .connect, .connectionLost, .timeout, .rateLimited: true
        // Request Timeout and Too Early (RFC 8470) are about the moment and not about the request.
        case .client: [408, 425].contains(status)
        // 501 and 505 say that the server never can. Without a status it is an open circuit, which closes in time.
        case .server: status.map { [500, 502, 503, 504].contains($0) } ?? true
        case .invalidArgument, .invalidURL, .invalidRequest, .forked, .closed, .reentrant, .cancelled: false
        case .tls, .pinMismatch, .protocol, .tooLarge, .noMemory, .decoding: false
        case .unauthorized, .forbidden, .notFound, .cacheMiss, .storage, .script: false
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
        case .client: "The server did not accept this."
        case .server: "The server has a problem. Try again later."
        case .protocol, .decoding: "The server's answer could not be understood."
        case .tooLarge: "The server's answer is too large."
        case .noMemory: "This device does not have enough free memory."
        case .storage: "Something could not be saved on this device."
        case .cacheMiss: "This is not available offline."
        case .invalidArgument, .invalidURL, .invalidRequest, .forked, .closed, .reentrant, .script:
            "Something went wrong in this program."
        }
    }

    /// One line: kind, phase, place in a batch, message and URL.
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

/// The call that an error belongs to: requests and responses are above errors.
package protocol ErrorContext: Sendable {}
