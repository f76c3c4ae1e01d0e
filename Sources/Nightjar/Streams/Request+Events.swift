import NightjarHTTP

extension Request {
    /// Returns the request of one connection of an event stream.
    ///
    /// - Parameter lastEventID: The value of the field Last-Event-ID; nil: the field is not sent.
    package func forEvents(_ settings: EventStreamSettings, lastEventID: String?) throws(NightjarError) -> Request {
        var request = self
        if request.headers["accept"] == nil { try request.headers.set("Accept", "text/event-stream") }
        if request.headers["cache-control"] == nil { try request.headers.set("Cache-Control", "no-store") }
        if let lastEventID { try request.headers.set("Last-Event-ID", lastEventID) }
        request.usesCache = false
        request.coalesces = false
        request.timeouts.idle = settings.idleTimeout
        request.timeouts.total = request.timeouts.total ?? Timeouts.unlimited
        return request
    }

    /// Returns the state machine of an event stream with this request.
    ///
    /// - Throws: `invalid_argument` for invalid settings.
    package func eventStream(_ settings: EventStreamSettings) throws(NightjarError) -> EventStream {
        try settings.check()
        var settings = settings
        if !body.isReplayable { settings.reconnection = .never }
        return EventStream(settings, isSafe: method.isSafe, isIdempotent: mayBeRepeated)
    }

    private var mayBeRepeated: Bool {
        if case .none = idempotencyKey { return method.isIdempotent || isIdempotent }
        return true
    }

    /// The request with one idempotency key for all connections, if each call would generate another one.
    var withFixedIdempotencyKey: Request {
        guard idempotencyKey == .generated else { return self }
        var request = self
        var random = SystemRandomNumberGenerator()
        request.idempotencyKey = .key(IdempotencyKey(using: &random))
        return request
    }
}
