/// What the whole of `/v1` answers while `/__control` says so. Lives on the server's loop.
final class Outage: Resettable {
    enum Mode: String {
        case none
        case unavailable = "503"
        /// The connection closes without an answer.
        case drop
    }

    var mode = Mode.none

    /// Nil where there is no outage.
    var answer: Response? {
        switch mode {
        case .none: nil
        case .unavailable: Problem(.serviceUnavailable, "/__control asked for an outage").response
        case .drop: .dropped
        }
    }

    func reset() { mode = .none }
}
