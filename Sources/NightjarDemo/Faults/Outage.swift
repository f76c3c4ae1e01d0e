/// A simulated outage of `/v1`, `/news` and `/me`, controlled by `/__control`. Used only on the server's event loop.
final class Outage: Resettable {
    enum Mode: String {
        case none
        case unavailable = "503"
        /// The connection is closed without a response.
        case drop
    }

    var mode = Mode.none

    /// Nil if there is no outage.
    var response: Response? {
        switch mode {
        case .none: nil
        case .unavailable: Problem(.serviceUnavailable, "the outage was requested by /__control").response
        case .drop: .dropped
        }
    }

    func reset() { mode = .none }
}
