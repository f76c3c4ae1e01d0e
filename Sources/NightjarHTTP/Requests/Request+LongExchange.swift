extension Request {
    /// Makes the request one whose response is long: an event stream, a WebSocket or a download. It bypasses the cache,
    /// is not shared with other calls, and has no total timeout unless the request sets one.
    package mutating func prepareForLongExchange() {
        usesCache = false
        coalesces = false
        timeouts.total = timeouts.total ?? Timeouts.unlimited
    }
}
