import NIOCore

/// What happens in one exchange, and when: the common form of a mock's answer and of a recorded one.
public struct ExchangeScript: Sendable {
    public enum Event: Sendable {
        case head(ResponseHead)
        case body(ByteBuffer)
        case finish(trailers: Headers)
        case fail(NightjarError)
    }

    public struct Step: Sendable {
        /// Since the step before; of the first, since the request was sent.
        public var delay: Duration
        public var event: Event

        public init(_ event: Event, after delay: Duration = .zero) {
            self.event = event
            self.delay = delay
        }
    }

    /// Played in their order. The last one is `finish` or `fail`; an exchange without one never ends by itself.
    public var steps: [Step]
    /// The connection could not be made: nothing was sent.
    public var failsBeforeSending = false

    public init(_ steps: [Step]) { self.steps = steps }
}
