/// What goes wrong in place of an answer.
public struct MockFault: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        case offline
        case dns
        /// No address accepts the connection.
        case connect
        case tls
        /// The limit of time for the connection runs out, without being waited for.
        case connectTimeout = "connect_timeout"
        /// The idle limit runs out, without being waited for.
        case timeout
        /// No answer ever comes: the call's own limits of time are waited for.
        case hang
        /// The connection ends before the answer does.
        case connectionLost = "connection_lost"
        /// What comes is not HTTP.
        case malformed
    }

    public var kind: Kind
    /// Bytes of the body that come before it; nil: not even a head does.
    public var after: Int?

    /// - Parameter after: for what happens on a connection; the others happen before anything is sent.
    public init(_ kind: Kind, after: Int? = nil) {
        self.kind = kind
        self.after = after
    }

    /// Whether it hits the making of the connection, so that no server has seen the request.
    var isBeforeSending: Bool {
        switch kind {
        case .offline, .dns, .connect, .tls, .connectTimeout: true
        case .timeout, .hang, .connectionLost, .malformed: false
        }
    }

    /// What the call fails with; nil for what never ends.
    func error(to origin: Origin) -> NightjarError? {
        let host = origin.authority
        switch kind {
        case .offline: return NightjarError(.offline, "there is no network (a fault of the mock)")
        case .dns:
            return NightjarError(.dns, "the host \(quoted(host)) is not known (a fault of the mock)", phase: .dns)
        case .connect:
            return NightjarError(
                .connect, "no connection to \(host) was accepted (a fault of the mock)", phase: .connect)
        case .tls:
            return NightjarError(.tls, "the TLS handshake with \(host) failed (a fault of the mock)", phase: .tls)
        case .connectTimeout:
            return NightjarError(
                .timeout, "no connection to \(host) within the limit (a fault of the mock)", phase: .connect)
        case .timeout:
            return NightjarError(
                .timeout, "nothing moved on the connection to \(host) within the limit (a fault of the mock)",
                phase: .idle, requestMayHaveBeenProcessed: true)
        case .hang: return nil
        case .connectionLost:
            return NightjarError(
                .connectionLost, "\(host) closed the connection before its answer was complete (a fault of the mock)",
                phase: .receive, requestMayHaveBeenProcessed: true)
        case .malformed:
            return NightjarError(
                .protocol, "what \(host) answered is not HTTP (a fault of the mock)", phase: .receive,
                requestMayHaveBeenProcessed: true)
        }
    }
}
