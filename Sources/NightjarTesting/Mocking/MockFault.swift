import NightjarHTTP

/// A simulated failure.
public struct MockFault: Sendable, Equatable {
    /// The kind of a simulated failure.
    public enum Kind: String, Sendable, CaseIterable {
        case offline
        case dns
        /// No address accepts the connection.
        case connect
        case tls
        /// The connect timeout expires. The mock does not wait for it.
        case connectTimeout = "connect_timeout"
        /// The idle timeout expires. The mock does not wait for it.
        case timeout
        /// The server sends no more data. The call waits for its own timeouts.
        case hang
        /// The connection closes before the response is complete.
        case connectionLost = "connection_lost"
        /// The server sends something other than HTTP.
        case malformed
    }

    public var kind: Kind
    /// The number of body bytes that arrive before the fault. Nil if the fault occurs before the response head.
    public var after: Int?

    /// - Parameter after: the number of body bytes before the fault. Only for faults on an established connection. For
    ///   other faults, a mock rejects this parameter with `invalid_argument`.
    public init(_ kind: Kind, after: Int? = nil) {
        self.kind = kind
        self.after = after
    }

    /// True if the fault occurs while connecting. The server then does not receive the request.
    var isBeforeSending: Bool {
        switch kind {
        case .offline, .dns, .connect, .tls, .connectTimeout: true
        case .timeout, .hang, .connectionLost, .malformed: false
        }
    }

    /// The reason why a mock rejects the fault. Nil if the fault is valid.
    package var invalidity: String? {
        guard after != nil, isBeforeSending else { return nil }
        return "\(quoted(kind.rawValue)) occurs before the body, so after cannot be set"
    }

    /// Returns the error of the exchange, or nil if the exchange never ends.
    func error(to origin: Origin) -> NightjarError? {
        let host = origin.authority
        switch kind {
        case .offline: return NightjarError(.offline, "the machine has no network connection (mock fault)")
        case .dns:
            return NightjarError(.dns, "the host \(quoted(host)) could not be resolved (mock fault)", phase: .dns)
        case .connect:
            return NightjarError(
                .connect, "no connection to \(host) was accepted (mock fault)", phase: .connect)
        case .tls:
            return NightjarError(.tls, "the TLS handshake with \(host) failed (mock fault)", phase: .tls)
        case .connectTimeout:
            return NightjarError(
                .timeout, "connecting to \(host) timed out (mock fault)", phase: .connect)
        case .timeout:
            return NightjarError(
                .timeout, "the connection to \(host) transferred no data within the idle timeout (mock fault)",
                phase: .idle, requestMayHaveBeenProcessed: true)
        case .hang: return nil
        case .connectionLost:
            return NightjarError(
                .connectionLost, "\(host) closed the connection before the response was complete (mock fault)",
                phase: .receive, requestMayHaveBeenProcessed: true)
        case .malformed:
            return NightjarError(
                .protocol, "the response of \(host) is not HTTP (mock fault)", phase: .receive,
                requestMayHaveBeenProcessed: true)
        }
    }
}
