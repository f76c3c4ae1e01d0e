/// Delays the request body until the server requests it with 100 (Continue) or a timer expires. RFC 9110 section
/// 10.1.1.
///
///     idle ──headSent──▶ waiting ──100──▶ sentContinue
///                           ├────timer──▶ released ──417──▶ withheld
///                           └────final status─────────────▶ withheld
///
/// A final status before the head was sent also leads to `withheld`. In `released`, a 417 has no effect if the body
/// cannot be sent again.
public struct ExpectContinue: Sendable {
    public enum Action: Equatable, Sendable {
        case nothing
        /// Start a timer and call ``timerFired()`` when it expires. The timer need not be cancelled.
        case startTimer(Duration)
        case sendBody
        /// The final response arrived before the body was sent. Do not send the body. Do not reuse the connection,
        /// because the server may still read the next bytes as the body.
        case dropBody
        /// The server does not support the expectation (417). Discard the response, and send the request again without
        /// the expectation on another connection.
        case repeatWithoutExpectation
    }

    private enum State { case idle, waiting, sentContinue, released, withheld }

    /// The time to wait for 100 (Continue) before the body is sent without it. The same as curl's default.
    public static let continueTimeout = Duration.seconds(1)
    /// The minimum body size in bytes for which the client waits. The same as curl's default.
    public static let worthwhileLength = 1 << 20

    private var state = State.idle
    private let continueTimeout: Duration
    private let bodyIsReplayable: Bool

    /// - Parameter bodyIsReplayable: true if the body can be sent again from its beginning.
    public init(continueTimeout: Duration = ExpectContinue.continueTimeout, bodyIsReplayable: Bool) {
        self.continueTimeout = continueTimeout
        self.bodyIsReplayable = bodyIsReplayable
    }

    /// Returns true if a request with `body` uses the expectation by default: the length is unknown or at least
    /// ``worthwhileLength``.
    public static func isWorthwhile(for body: RequestBody) -> Bool {
        body.length.map { $0 >= worthwhileLength } ?? true
    }

    /// True if the body may be sent now.
    public var allowsBody: Bool { state == .sentContinue || state == .released }

    /// Reports that the request head with `Expect: 100-continue` was sent.
    public mutating func headSent() -> Action {
        switch state {
        case .idle:
            state = .waiting
            return .startTimer(continueTimeout)
        case .withheld: return .nothing
        case .waiting, .sentContinue, .released:
            assertionFailure("the head was sent twice")
            return .nothing
        }
    }

    /// Handles a response head, interim (1xx) or final.
    public mutating func received(status: Int) -> Action {
        switch state {
        case .idle:
            // The response arrived before the head was sent, such as a 408 on an idle connection.
            if status < 200 { return .nothing }
            state = .withheld
            return .dropBody
        case .waiting:
            if status == 100 {
                state = .sentContinue
                return .sendBody
            }
            // 102 and 103 do not fulfil the expectation.
            if status < 200 { return .nothing }
            state = .withheld
            return status == 417 ? .repeatWithoutExpectation : .dropBody
        case .released:
            // A late 100 is valid and ignored. A 417 rejects only the expectation, so the request can be repeated
            // without the expectation if its body can be sent again. The transport handles all other responses.
            guard status == 417, bodyIsReplayable else { return .nothing }
            state = .withheld
            return .repeatWithoutExpectation
        case .sentContinue, .withheld:
            // After a 100, a 417 does not reject the expectation.
            return .nothing
        }
    }

    /// Reports that the timer of ``Action/startTimer(_:)`` has expired.
    public mutating func timerFired() -> Action {
        guard state == .waiting else { return .nothing }
        state = .released
        return .sendBody
    }
}
