import NIOCore

/// The PING frames of an HTTP/2 connection. RFC 9113 section 6.7.
struct PingState {
    private var sent: NIODeadline?
    /// Whether the response to the last PING has not arrived.
    private(set) var isPending = false

    /// Returns whether a PING must be sent now. None is sent if one was sent recently.
    mutating func send(at now: NIODeadline) -> Bool {
        if let sent, now - sent < PingState.interval { return false }
        (sent, isPending) = (now, true)
        return true
    }

    /// Records a response. Returns false if none was expected.
    mutating func receive() -> Bool {
        defer { isPending = false }
        return isPending
    }

    /// Servers close connections with frequent PINGs.
    private static let interval = TimeAmount.seconds(10)
}
