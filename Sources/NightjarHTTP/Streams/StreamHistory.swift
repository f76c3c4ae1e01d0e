/// The changes of a stream's state, for an explanation. Contains no secrets.
package struct StreamHistory<State: RawRepresentable & Equatable & Sendable>: Sendable where State.RawValue == String {
    package private(set) var state: State
    private var lines: [String]

    package init(_ state: State) {
        self.state = state
        lines = ["at 0.0 s: \(state.rawValue)"]
    }

    /// Records a state, if it has changed.
    ///
    /// - Parameter reason: why the stream has this state, as a clause.
    package mutating func note(_ state: State, _ reason: String, at time: Duration) {
        guard state != self.state else { return }
        self.state = state
        if lines.count == capacity { lines.removeFirst() }
        lines.append("at \(time.shortSeconds) s: \(state.rawValue): \(reason)")
    }

    package var explanation: String { lines.joined(separator: "\n") }

    private var capacity: Int { 100 }
}
