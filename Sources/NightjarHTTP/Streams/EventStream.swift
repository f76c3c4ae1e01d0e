import NIOCore

/// The state of an event stream.
public enum EventStreamState: String, Sendable {
    case connecting, open, waiting, closed
}

/// The state machine of an event stream with reconnections (WHATWG HTML, section 9.2). It decides when to connect, how long to
/// wait and when to stop.
///
///     connecting ──head accepted──▶ open ──end, failure──▶ waiting ──time has passed──▶ connecting
///          ├──failure──▶ waiting      │                       │
///          └──────────────────────────┴──204, final failure, close──▶ closed
///
/// Each connection is a call. The first one fails like any other call. Later ones are repeated while their failures are
/// temporary. Differs from the standard: a response with the status 429, 502, 503 or 504 is a temporary failure.
package struct EventStream: Sendable {
    package typealias State = EventStreamState

    /// The next step of the caller.
    package enum Action: Sendable {
        /// Start a call with this Last-Event-ID; nil: without the field.
        case connect(lastEventID: String?)
        /// Wait, and then call ``EventStream/waited()``.
        case wait(Duration)
        /// The stream has ended.
        case end
        case fail(NightjarError)
    }

    package private(set) var state = State.connecting
    /// Why the stream has its state, as a clause. Empty for the first connection.
    package private(set) var reason = ""
    /// The number of events that were returned.
    package private(set) var delivered = 0
    private let settings: EventStreamSettings
    private let reconnection: EventStreamSettings.Reconnection
    private let isIdempotent: Bool
    private var decoder: EventDecoder
    private var replays = ReplayFilter()
    private var hasBeenOpen = false
    /// The time that the server has set.
    private var reconnectionTime: Duration
    /// The number of connections in sequence that delivered no event.
    private var failures = 0

    /// - Parameters:
    ///   - isSafe: Whether the method of the request is safe (RFC 9110 section 9.2.1).
    ///   - isIdempotent: Whether the request may be sent again, because of its method or an idempotency key.
    package init(_ settings: EventStreamSettings, isSafe: Bool, isIdempotent: Bool) {
        self.settings = settings
        self.isIdempotent = isIdempotent
        reconnection = settings.reconnection ?? (isSafe ? .always : isIdempotent ? .afterFailure : .never)
        reconnectionTime = settings.reconnectionTime
        decoder = EventDecoder(
            maximumSize: settings.maximumEvent, lastEventID: ByteBuffer(string: settings.lastEventID))
    }

    /// The id of the last event that the server has sent.
    package var lastEventID: String { String(buffer: decoder.lastEventID) }

    // MARK: Connecting

    /// Returns the first action.
    package func begin() -> Action { .connect(lastEventID: lastEventID.isEmpty ? nil : lastEventID) }

    /// Handles the head of a response with an expected status. The caller then reads the body, if the result is nil.
    package mutating func opened(_ head: ResponseHead) -> Action? {
        guard state == .connecting else { return .end }
        if head.status == 204 {
            change(to: .closed, "the server sent 204: there are no more events")
            return .end
        }
        let type = head.headers["content-type"]
        guard type.flatMap(MediaType.init)?.essence == "text/event-stream" else {
            let found = type.map { "its Content-Type is \(quoted($0))" } ?? "it has no Content-Type"
            let error = NightjarError(
                .decoding, "the response is not an event stream: \(found), not text/event-stream", phase: .receive)
            change(to: .closed, error.message)
            return .fail(error)
        }
        change(to: .open, "the server sent \(head.status)")
        hasBeenOpen = true
        decoder = EventDecoder(maximumSize: settings.maximumEvent, lastEventID: decoder.lastEventID)
        replays.connected()
        return nil
    }

    // MARK: Reading

    /// Adds a part of the body. Call only after ``next()`` has returned nil.
    package mutating func append(_ part: ByteBuffer) { decoder.append(part) }

    /// Returns the next event, or nil if more of the body is needed.
    ///
    /// - Throws: `too_large`. The stream has then failed.
    package mutating func next() throws(NightjarError) -> ServerEvent? {
        guard state == .open else { return nil }
        do throws(NightjarError) {
            while let event = try decoder.next() {
                guard replays.admits(event) else { continue }
                failures = 0
                delivered += 1
                return event
            }
            return nil
        } catch {
            change(to: .closed, error.message)
            throw error.afterDelivery(of: delivered, "event")
        }
    }

    /// The memory for the incomplete event, in bytes.
    package var heldBytes: Int { decoder.heldBytes }

    // MARK: Ending

    /// Handles the end of the body, or the failure of the call.
    ///
    /// - Parameter error: Nil if the body has ended normally.
    package mutating func ended(_ error: NightjarError?, using random: inout some RandomNumberGenerator) -> Action {
        guard state == .connecting || state == .open else { return .end }
        if let time = decoder.reconnectionTime { reconnectionTime = EventStream.clamped(time) }
        let reason = error?.message ?? "the server ended the response"
        guard mayReconnect(after: error) else {
            change(to: .closed, reason)
            guard let error else { return .end }
            return .fail(hasBeenOpen ? error.afterDelivery(of: delivered, "event") : error)
        }
        change(to: .waiting, reason)
        let wait = backoff(using: &random)
        failures += 1
        return .wait(max(wait, error?.retryAfter ?? .zero))
    }

    /// Handles the end of a wait.
    package mutating func waited() -> Action {
        guard state == .waiting else { return .end }
        change(to: .connecting, "the wait has ended")
        return begin()
    }

    package mutating func close() { change(to: .closed, "the stream was closed") }

    private mutating func change(to state: State, _ reason: String) {
        guard self.state != .closed else { return }
        (self.state, self.reason) = (state, reason)
    }

    private func mayReconnect(after error: NightjarError?) -> Bool {
        guard hasBeenOpen else { return false }
        guard let error else { return reconnection == .always }
        guard reconnection != .never, isIdempotent || !error.requestMayHaveBeenProcessed else { return false }
        switch error.kind {
        case .offline, .dns, .connect, .connectionLost, .timeout, .rateLimited: return true
        case .server: return error.status.map { [502, 503, 504].contains($0) } ?? true
        default: return false
        }
    }

    /// Returns a random wait between half of the ceiling and the ceiling. The ceiling is the reconnection time, doubled
    /// for each connection in sequence that delivered no event.
    private func backoff(using random: inout some RandomNumberGenerator) -> Duration {
        let limit = max(EventStream.longestBackoff, reconnectionTime)
        var ceiling = reconnectionTime
        for _ in 0..<min(failures, 16) where ceiling < limit { ceiling = min(ceiling * 2, limit) }
        let half = ceiling.nanosecondsClamped / 2
        return .nanoseconds(half + Int64.random(in: 0...max(half, 1), using: &random))
    }

    private static func clamped(_ time: Duration) -> Duration {
        let range = EventStreamSettings.reconnectionTimes
        return min(max(time, range.lowerBound), range.upperBound)
    }

    /// The maximum wait, unless the server asks for a longer one.
    private static let longestBackoff = Duration.seconds(60)
}
