/// Holds a request's body back until the server asks for it, so that what it would refuse by the head alone is not
/// sent. RFC 9110 section 10.1.1.
///
///     waiting ──100 or patience over──▶ released
///        └───── final status ─────────▶ withheld
///        └───── 417 ──────────────────▶ withheld, and tried again without the expectation
public struct ExpectContinue: Sendable {
    public enum Action: Sendable, Equatable {
        case nothing
        case sendBody
        /// The body stays here. The connection cannot be used again: the server may still wait for the bytes, or take
        /// the next request for them (section 9.3 of RFC 9112).
        case dropBody
        /// As `dropBody`, and the request goes once more, without the expectation that this server does not know.
        case repeatWithoutExpectation
    }

    private enum State { case waiting, released, withheld }

    /// What the field says.
    public static let fieldValue = "100-continue"
    /// Servers older than the expectation, and some proxies, never answer it, so nobody waits for ever. curl's bound.
    public static let defaultPatience = Duration.seconds(1)
    /// Bytes from which on an unwanted body costs more than the wait. curl's bound.
    public static let worthwhileLength = 1 << 20

    private var state = State.waiting

    /// The head has been sent; a timer of ``defaultPatience`` runs.
    public init() {}

    /// Whether the body still waits for a word.
    public var isWaiting: Bool { state == .waiting }

    /// A head has come, interim or final.
    public mutating func received(status: Int) -> Action {
        // A late 100 is legal noise, and so is a second one.
        guard state == .waiting else { return .nothing }
        if status == 100 {
            state = .released
            return .sendBody
        }
        // Other interim answers, such as 103, say nothing about the body.
        if status < 200 { return .nothing }
        state = .withheld
        return status == 417 ? .repeatWithoutExpectation : .dropBody
    }

    /// Patience is over.
    public mutating func timerFired() -> Action {
        guard state == .waiting else { return .nothing }
        state = .released
        return .sendBody
    }
}
