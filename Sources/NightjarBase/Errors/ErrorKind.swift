/// The kind of a failure. Swift, C and Lua share this taxonomy.
///
/// The raw value is the `nj_status` of nightjar.h and never changes.
public enum ErrorKind: Int32, Sendable, CaseIterable {
    /// An argument violates its documented requirements: NULL, invalid UTF-8, a number out of range.
    case invalidArgument = 1
    /// The handle was created before a fork and is used in the child process.
    case forked = 2
    /// The client or the queue was closed before or during the call.
    case closed = 3
    /// The function would wait for the callback in which it was called.
    case reentrant = 4
    /// Memory could not be allocated, for example for a body, a JSON document or a file.
    case noMemory = 5

    /// The caller cancelled the call. ``NightjarError/userMessage`` is nil.
    case cancelled = 10
    /// A timeout expired. ``NightjarError/phase`` identifies the timeout: connect, idle or total.
    case timeout = 11
    case invalidURL = 12
    case invalidRequest = 13
    /// The machine has no network connection, or the network is metered or constrained and the call does not allow such
    /// a network.
    case offline = 14
    case dns = 15
    /// No address of the host accepted a connection, a proxy refused, or the system has no thread or descriptor left.
    case connect = 16
    case tls = 17
    /// The verified certificate chain of the server contains no pinned key.
    case pinMismatch = 18
    /// The connection closed before the response was complete, or the request for a token failed.
    case connectionLost = 19
    /// The peer violated HTTP or SOCKS, or a redirect cannot be followed.
    case `protocol` = 20
    /// A head, a body, a file or another value exceeds its size limit.
    case tooLarge = 21

    /// The status is 401, or the client has no valid login.
    case unauthorized = 30
    /// The status is 403.
    case forbidden = 31
    /// The status is 404.
    case notFound = 32
    /// The status is 429, the queue of a limit is full, or the call cannot wait as long as a limit of the client or the
    /// server requires.
    case rateLimited = 33
    /// Any other unexpected status below 500.
    case client = 34
    /// The status is 500 or above, a circuit breaker rejects the call, or the token server of a login has failed.
    case server = 35
    /// The content on the server has changed during a transfer, or a transfer cannot continue where it has ended.
    case contentChanged = 36

    case decoding = 40
    case cacheMiss = 41
    case storage = 42
    case script = 43
    /// The content does not have the digest that the caller or the server has given.
    case checksumMismatch = 44
    /// A GraphQL server has rejected a request, or an operation has returned no data.
    case graphQL = 45

    /// The name in C and Lua, such as `connection_lost`.
    public var name: String {
        switch self {
        case .invalidArgument: "invalid_argument"
        case .forked: "forked"
        case .closed: "closed"
        case .reentrant: "reentrant"
        case .noMemory: "no_memory"
        case .cancelled: "cancelled"
        case .timeout: "timeout"
        case .invalidURL: "invalid_url"
        case .invalidRequest: "invalid_request"
        case .offline: "offline"
        case .dns: "dns"
        case .connect: "connect"
        case .tls: "tls"
        case .pinMismatch: "pin_mismatch"
        case .connectionLost: "connection_lost"
        case .protocol: "protocol"
        case .tooLarge: "too_large"
        case .unauthorized: "unauthorized"
        case .forbidden: "forbidden"
        case .notFound: "not_found"
        case .rateLimited: "rate_limited"
        case .client: "client"
        case .server: "server"
        case .contentChanged: "content_changed"
        case .decoding: "decoding"
        case .cacheMiss: "cache_miss"
        case .storage: "storage"
        case .script: "script"
        case .checksumMismatch: "checksum_mismatch"
        case .graphQL: "graphql"
        }
    }

    /// Selects the kind for an HTTP status that the caller did not expect. RFC 9110 section 15.
    public init(unexpectedStatus status: Int) {
        switch status {
        case 401: self = .unauthorized
        case 403: self = .forbidden
        case 404: self = .notFound
        case 429: self = .rateLimited
        case 500...: self = .server
        default: self = .client
        }
    }
}

/// The phase in which a call failed. For ``ErrorKind/timeout``, the timeout that expired.
public enum ErrorPhase: Int32, Sendable {
    /// Looking up the host's addresses.
    case dns = 1
    /// Opening the connection. Also the connect timeout.
    case connect = 2
    /// The TLS handshake.
    case tls = 3
    /// Sending the request.
    case send = 4
    /// Waiting for or reading the response.
    case receive = 5
    /// The idle timeout: no bytes were sent or received for its duration.
    case idle = 6
    /// The total timeout.
    case total = 7

    public var name: String {
        switch self {
        case .dns: "dns"
        case .connect: "connect"
        case .tls: "tls"
        case .send: "send"
        case .receive: "receive"
        case .idle: "idle"
        case .total: "total"
        }
    }
}
