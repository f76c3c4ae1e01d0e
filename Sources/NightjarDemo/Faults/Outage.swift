/// The response of all `/v1` paths during an outage, which `/__control` starts. Used on the server's loop.
final class Outage: Resettable {
    enum Mode: String {
        case none
        case unavailable = "503"
        /// The connection closes without a response.
        case drop
    }

    var mode = Mode.none

    /// Nil without an outage.
    var answer: Response? {
        switch mode {
        case .none: nil
        case .unavailable: Problem(.serviceUnavailable, "an outage was requested with /__control").response
        case .drop: .dropped
        }
    }

    func reset() { mode = .none }
}
