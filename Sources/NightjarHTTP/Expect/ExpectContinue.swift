/// Holds a request's content back until the server asks for it. RFC 9110 section 10.1.1.
///
///     idle ──headSent──▶ waiting ──100──▶ invited
///                           ├────timer──▶ released ──417──▶ withheld
///                           └────final status─────────────▶ withheld
public struct ExpectContinue: Sendable {
    public enum Action: Equatable, Sendable {
        case nothing
        /// Tell ``timerFired()`` after so long. There is no need to cancel it.
        case startTimer(Duration)
        case sendBody
        /// The answer is final and came without the content, which is not sent any more. Nor may the connection be used
        /// again: the server may still wait for the content, and would take the next request for it.
        case dropBody
        /// The server does not know the expectation (417): the same request is sent again, without it, on another
        /// connection, and the answer that has come is thrown away. That this happens once needs no counting: a request
        /// without the expectation has no such machine.
        case repeatWithoutExpectation
    }

    private enum State { case idle, waiting, invited, released, withheld }

    /// How long a server is waited for that may know nothing of the expectation. Curl's, too.
    public static let patience = Duration.seconds(1)
    /// Content from this size on is worth the wait, in bytes: sent in vain, it would cost more. Curl's, too.
    public static let worthwhileLength = 1 << 20

    private var state = State.idle
    private let patience: Duration
    private let bodyIsReplayable: Bool

    /// - Parameter bodyIsReplayable: content of which a part was sent can be sent again from its beginning.
    public init(patience: Duration = ExpectContinue.patience, bodyIsReplayable: Bool) {
        self.patience = patience
        self.bodyIsReplayable = bodyIsReplayable
    }

    /// Whether a request with this content asks first, where the caller leaves it to us.
    public static func isWorthwhile(for body: RequestBody) -> Bool {
        body.length.map { $0 >= worthwhileLength } ?? true
    }

    /// Whether content may be sent now.
    public var letsBodyPass: Bool { state == .invited || state == .released }

    /// The request's head, with `Expect: 100-continue`, was sent.
    public mutating func headSent() -> Action {
        switch state {
        case .idle:
            state = .waiting
            return .startTimer(patience)
        case .withheld: return .nothing
        case .waiting, .invited, .released:
            assertionFailure("the head was sent twice")
            return .nothing
        }
    }

    /// A response's head came, an interim one (1xx) or the final one.
    public mutating func received(status: Int) -> Action {
        switch state {
        case .idle:
            // Before the head has left: a server that gives up, for instance with 408.
            if status < 200 { return .nothing }
            state = .withheld
            return .dropBody
        case .waiting:
            if status == 100 {
                state = .invited
                return .sendBody
            }
            // 102 and 103 do not answer the expectation.
            if status < 200 { return .nothing }
            state = .withheld
            return status == 417 ? .repeatWithoutExpectation : .dropBody
        case .released:
            // A 100 that comes late is legal noise, and any other answer is the transport's matter. But a 417 is about
            // the expectation alone.
            guard status == 417, bodyIsReplayable else { return .nothing }
            state = .withheld
            return .repeatWithoutExpectation
        case .invited, .withheld:
            // Who has asked for the content means by 417 something else.
            return .nothing
        }
    }

    /// The time of ``Action/startTimer(_:)`` is over.
    public mutating func timerFired() -> Action {
        guard state == .waiting else { return .nothing }
        state = .released
        return .sendBody
    }
}
