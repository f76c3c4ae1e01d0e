import NightjarHTTP

/// The file and mode of a cassette.
public struct CassetteOptions: Sendable {
    /// Whether exchanges are recorded or replayed.
    public enum Mode: String, Sendable, CaseIterable {
        /// Send every request to the network and record the exchanges. The first recorded exchange replaces an
        /// existing file.
        case record
        /// Replay exchanges from the file. Other requests fail.
        case replay
        /// Replay exchanges from the file. Send other requests to the network and add them to the file.
        case auto
    }

    public var file: String
    public var mode: Mode
    /// Whether the last exchange of a request can be replayed any number of times. Otherwise each exchange is replayed
    /// once.
    public var repeats = false
    /// Whether replayed responses take as long as the recorded responses.
    public var replaysTiming = false
    public var comparison = CassetteComparison()
    /// Additional secrets to remove.
    public var secrets = CassetteSecrets()

    public init(_ file: String, mode: Mode = .auto) {
        self.file = file
        self.mode = mode
    }
}
