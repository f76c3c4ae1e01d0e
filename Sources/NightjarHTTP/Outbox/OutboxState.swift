/// The state of an entry of an outbox.
public enum OutboxState: String, Sendable, CaseIterable {
    /// The entry waits for earlier entries of its key, for its next attempt, or for the network.
    case pending
    case sending
    /// The server has rejected the write, because the resource has changed (409 or 412). The entry waits until the program
    /// resolves or removes it.
    case conflict
    /// The server has rejected the write, or a limit was reached. The entry waits until the program retries or removes it.
    case parked
    /// The server may have processed the write. It must not be repeated without a decision of the program.
    case inDoubt = "in_doubt"
    /// The server has accepted the write, and its response is stored.
    case done

    /// Whether the entry waits for a decision of the program. Later entries of its key wait for it.
    public var isHeld: Bool {
        switch self {
        case .conflict, .parked, .inDoubt: true
        case .pending, .sending, .done: false
        }
    }

    /// Whether nothing changes without the program.
    public var isSettled: Bool { self == .done || isHeld }
}
