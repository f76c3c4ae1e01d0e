import NIOCore

/// Decides when to send a Ping, and when a connection is lost. RFC 6455 section 5.5.2.
///
///     idle ──interval──▶ pinged ──timeout──▶ lost
///       ▲──received bytes───┘
///
/// Any received byte shows that the server is alive: its Pong may be in the queue after a large message. Times are
/// nanoseconds of a monotonic clock.
struct WebSocketKeepAlive: Sendable {
    enum Verdict: Sendable, Equatable {
        case wait
        case ping
        case lost
    }

    private enum State {
        case idle(since: UInt64)
        case pinged(at: UInt64)
        /// The client does not read, so neither bytes nor a Pong can arrive.
        case paused
    }

    private let interval: Duration?
    private let timeout: Duration
    private var state: State
    private var count: UInt32 = 0

    init(_ settings: WebSocketConnectionSettings, now: UInt64) {
        interval = settings.pingInterval
        timeout = settings.pongTimeout
        state = .idle(since: now)
    }

    /// The time of the next call of ``reached(_:)``. Nil if there is none.
    var deadline: UInt64? {
        guard let interval else { return nil }
        return switch state {
        case .idle(let since): since.later(by: interval)
        case .pinged(let at): at.later(by: timeout)
        case .paused: nil
        }
    }

    /// The payload of the last Ping.
    var payload: ByteBuffer { ByteBuffer(integer: count) }

    /// Returns true if a Pong with this payload is the response to the last Ping.
    func isResponse(_ payload: ByteBuffer) -> Bool { count > 0 && payload == self.payload }

    mutating func received(now: UInt64) {
        if case .paused = state { return }
        state = .idle(since: now)
    }

    mutating func pause() { state = .paused }

    mutating func resume(now: UInt64) {
        if case .paused = state { state = .idle(since: now) }
    }

    mutating func reached(_ now: UInt64) -> Verdict {
        guard let deadline, deadline <= now else { return .wait }
        switch state {
        case .idle:
            count &+= 1
            state = .pinged(at: now)
            return .ping
        case .pinged: return .lost
        case .paused: return .wait
        }
    }
}
