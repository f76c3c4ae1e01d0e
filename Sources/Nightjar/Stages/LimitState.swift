import NightjarHTTP

/// The state of the limits of an origin or a group, or of a resource that its server has paused with Retry-After.
public struct LimitState: Sendable, Equatable {
    /// The state of a circuit breaker.
    public typealias Circuit = CircuitBreaker.Visible

    public let name: String
    /// Exchanges in progress.
    public let inFlight: Int
    public let queued: Int
    public let circuit: Circuit
    /// The remaining pause that the server requested; nil: none.
    public let pause: Duration?
}

/// The JSON form for C and Lua.
extension LimitState {
    /// An object with `name`, `in_flight`, `queued`, `circuit` and, if the server requested a pause, `pause` in
    /// seconds.
    public var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("name", .string(name)), .init("in_flight", .integer(Int64(inFlight))),
            .init("queued", .integer(Int64(queued))), .init("circuit", .string(circuit.name)),
        ]
        if let pause { members.append(.init("pause", .number(pause.inSeconds))) }
        return .object(members)
    }
}

extension CircuitBreaker.Visible {
    public var name: String {
        switch self {
        case .closed: "closed"
        case .open: "open"
        case .halfOpen: "half_open"
        }
    }
}
