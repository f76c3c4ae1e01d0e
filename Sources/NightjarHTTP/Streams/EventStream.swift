import NIOCore

/// The state of an event stream.
public enum EventStreamState: String, Sendable {
    case connecting, open, waiting, closed
}

/// The state machine of an event stream with reconnections (WHATWG HTML, section 9.2). It decides when to connect, how
/// long to wait and when to stop. The first action is ``Action/connect``.
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
        /// Send the request of ``EventStream/prepare(_:using:)``, and then call ``EventStream/opened(_:)`` or
        /// ``EventStream/ended(_:using:)``.
        case connect
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
    // The properties of the request, which are known when the first connection is prepared:
    private var reconnection = EventStreamSettings.Reconnection.never
    private var isIdempotent = false
    /// The key of all connections, if the request asks for a generated key.
    private var idempotencyKey: IdempotencyKey?
    private var isPrepared = false
    private var decoder: EventDecoder
    private var replays = ReplayFilter()
    private var hasBeenOpen = false
    /// The time that the server has set.
    private var reconnectionTime: Duration
    /// The number of connections in sequence that have failed, or have ended without an event.
    private var failures = 0
    /// The last id before the connection.
    private var previousID = ByteBuffer()
    /// The id of the last event that was returned, or a later id without data. The decoder's id is that of the last event
    /// of the connection, which an earlier connection may have delivered.
    package private(set) var rawLastEventID: ByteBuffer

    package init(_ settings: EventStreamSettings) {
        self.settings = settings
        reconnectionTime = settings.reconnectionTime
        rawLastEventID = ByteBuffer(string: settings.lastEventID)
        decoder = EventDecoder(maximumSize: settings.maximumEvent, lastEventID: rawLastEventID)
    }

    /// The id of the last event that was returned, or a later id without data. Does not go back while the server sends
    /// events again.
    package var lastEventID: String { String(buffer: rawLastEventID) }
    /// The wait before the next connection while no connection fails: the last one that the server has set.
    package var currentReconnectionTime: Duration {
        decoder.reconnectionTime.map(EventStream.clamped) ?? reconnectionTime
    }

    // MARK: Connecting

    /// Returns the request of the next connection.
    ///
    /// A Last-Event-ID field of `request` counts as ``EventStreamSettings/lastEventID``, unless that is set.
    ///
    /// - Throws: `invalid_request` if a field cannot be added.
    package mutating func prepare(
        _ request: Request, using random: inout some RandomNumberGenerator
    ) throws(NightjarError) -> Request {
        var request = request
        if !isPrepared, settings.lastEventID.isEmpty, let given = request.headers["last-event-id"] {
            rawLastEventID = ByteBuffer(string: given)
            decoder = EventDecoder(maximumSize: settings.maximumEvent, lastEventID: rawLastEventID)
        }
        isPrepared = true
        if request.headers["accept"] == nil { try request.headers.set("Accept", "text/event-stream") }
        if request.headers["cache-control"] == nil { try request.headers.set("Cache-Control", "no-store") }
        request.headers.remove("Last-Event-ID")
        if decoder.lastEventID.readableBytes > 0 {
            try request.headers.set("Last-Event-ID", String(buffer: decoder.lastEventID))
        }
        request.prepareForLongExchange()
        request.timeouts.idle = settings.idleTimeout ?? request.timeouts.idle ?? EventStreamSettings.defaultIdleTimeout
        fixIdempotencyKey(of: &request, using: &random)
        let hasKey = request.idempotencyKey != .none || request.headers[IdempotencyKey.fieldName] != nil
        isIdempotent = request.method.isIdempotent || request.isIdempotent || hasKey
        let usual: EventStreamSettings.Reconnection =
            request.method.isSafe ? .always : isIdempotent ? .afterFailure : .never
        reconnection = request.body.isReplayable ? settings.reconnection ?? usual : .never
        return request
    }

    /// Replaces a key that each call would generate by one key for all connections.
    private mutating func fixIdempotencyKey(
        of request: inout Request, using random: inout some RandomNumberGenerator
    ) {
        guard request.idempotencyKey == .generated, request.headers[IdempotencyKey.fieldName] == nil else { return }
        let key = idempotencyKey ?? IdempotencyKey(using: &random)
        idempotencyKey = key
        request.idempotencyKey = .key(key)
    }

    /// Handles the head of a response with an expected status. The caller then reads the body, if the result is nil.
    package mutating func opened(_ response: Response) -> Action? {
        guard state == .connecting else { return .end }
        if response.status == 204 {
            change(to: .closed, "the server sent 204: there are no more events")
            return .end
        }
        guard response.head.isEventStream else {
            let type = response.headers["content-type"]
            let found = type.map { "its Content-Type is \(quoted($0))" } ?? "it has no Content-Type"
            let error = NightjarError(
                .decoding, "the response is not an event stream: \(found), not text/event-stream"
            ).about(response)
            change(to: .closed, error.message)
            return .fail(error)
        }
        change(to: .open, "the server sent \(response.status)")
        hasBeenOpen = true
        previousID = decoder.lastEventID
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
                rawLastEventID = event.rawID
                return event
            }
            if !replays.mayReplay { rawLastEventID = decoder.lastEventID }
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
        // A server that sets the time or an id and ends the response asks the client to poll.
        if error == nil, decoder.reconnectionTime != nil || decoder.lastEventID != previousID { failures = 0 }
        reconnectionTime = currentReconnectionTime
        resetDecoder()
        let reason = error?.message ?? "the server ended the response"
        guard mayReconnect(after: error) else {
            change(to: .closed, reason)
            guard let error else { return .end }
            return .fail(hasBeenOpen ? error.afterDelivery(of: delivered, "event") : error)
        }
        change(to: .waiting, reason)
        failures += 1
        let backoff = Backoff(base: reconnectionTime, cap: max(EventStream.longestBackoff, reconnectionTime))
        let wait = backoff.longWait(afterAttempt: failures, using: &random)
        return .wait(max(wait, error?.retryAfter ?? .zero))
    }

    /// Handles the end of a wait.
    package mutating func waited() -> Action {
        guard state == .waiting else { return .end }
        change(to: .connecting, "the wait has ended")
        return .connect
    }

    /// Closes the stream and releases its memory.
    package mutating func close() {
        change(to: .closed, "the stream was closed")
        reconnectionTime = currentReconnectionTime
        resetDecoder()
    }

    /// Discards the incomplete event of the connection that has ended.
    private mutating func resetDecoder() {
        decoder = EventDecoder(maximumSize: settings.maximumEvent, lastEventID: decoder.lastEventID)
    }

    private mutating func change(to state: State, _ reason: String) {
        guard self.state != .closed else { return }
        (self.state, self.reason) = (state, reason)
    }

    private func mayReconnect(after error: NightjarError?) -> Bool {
        guard hasBeenOpen else { return false }
        guard let error else { return reconnection == .always }
        guard reconnection != .never, isIdempotent || !error.requestMayHaveBeenProcessed else { return false }
        // A server that asks for a longer wait is not available for this stream.
        guard error.retryAfter ?? .zero <= EventStreamSettings.reconnectionTimes.upperBound else { return false }
        switch error.kind {
        case .offline, .dns, .connect, .connectionLost, .timeout, .rateLimited: return true
        case .server: return error.status.map { [502, 503, 504].contains($0) } ?? true
        default: return false
        }
    }

    private static func clamped(_ time: Duration) -> Duration {
        let range = EventStreamSettings.reconnectionTimes
        return min(max(time, range.lowerBound), range.upperBound)
    }

    /// The maximum wait, unless the server asks for a longer one.
    private static let longestBackoff = Duration.seconds(60)
}

extension ResponseHead {
    /// Whether the media type is that of an event stream.
    package var isEventStream: Bool {
        headers["content-type"].flatMap(MediaType.init)?.essence == "text/event-stream"
    }
}
