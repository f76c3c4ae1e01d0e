/// The changes of a stream's state, for an explanation. Contains no secrets.
package struct StreamHistory: Sendable {
    package private(set) var state = EventStream.State.connecting
    private var lines = ["at 0.0 s: connecting"]

    package init() {}

    /// Records the state of the stream, if it has changed.
    package mutating func note(_ stream: EventStream, at time: Duration) {
        guard stream.state != state else { return }
        state = stream.state
        if lines.count == StreamHistory.capacity { lines.removeFirst() }
        lines.append("at \(time.shortSeconds) s: \(state.rawValue): \(stream.reason)")
    }

    package var explanation: String { lines.joined(separator: "\n") }

    private static let capacity = 100
}
