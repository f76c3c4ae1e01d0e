/// The settings of an event stream.
public struct EventStreamSettings: Sendable, Equatable {
    /// Whether the stream connects again after its connection has ended or failed.
    public enum Reconnection: Sendable, Equatable {
        /// After an end and after a failure. The default for safe methods, such as GET.
        case always
        /// Only after a failure: the end of the response is the end of the stream.
        case afterFailure
        case never
    }

    /// Nil: ``Reconnection/always`` for a safe method, ``Reconnection/afterFailure`` for another method with an
    /// idempotency key, and otherwise ``Reconnection/never``.
    public var reconnection: Reconnection?
    /// The id of the last event that was received by an earlier stream. The server is asked for the events after it.
    /// Empty: none.
    public var lastEventID = ""
    /// The shortest wait before a reconnection, until the server sends another one. From 0.1 to 300 s.
    public var reconnectionTime = Duration.seconds(1)
    /// The connection has failed if no byte arrives for this time, not even a comment. Zero: no limit. Nil: the idle
    /// timeout of the request, or else 60 s.
    public var idleTimeout: Duration?
    /// The maximum length of an event's data in bytes.
    public var maximumEvent = 1 << 20

    public init() {}

    /// - Throws: `invalid_argument`.
    package func check() throws(NightjarError) {
        guard EventStreamSettings.reconnectionTimes.contains(reconnectionTime) else {
            throw NightjarError(
                .invalidArgument,
                "reconnection_time must be between 0.1 and 300 seconds, got \(reconnectionTime.inSeconds)")
        }
        guard EventStreamSettings.eventSizes.contains(maximumEvent) else {
            throw NightjarError(
                .invalidArgument,
                "max_event must be between 1 and \(EventStreamSettings.eventSizes.upperBound) bytes, got \(maximumEvent)"
            )
        }
        guard FieldSyntax.isValue(lastEventID.utf8) else {
            throw NightjarError(
                .invalidArgument, "last_event_id must not contain a line end or another control character")
        }
    }

    package static let reconnectionTimes = Duration.milliseconds(100)...Duration.seconds(300)
    package static let eventSizes = 1...(1 << 30)
    static let defaultIdleTimeout = Duration.seconds(60)
}
