import NightjarHTTP

/// Which file exchanges are recorded to and replayed from, and how.
public struct CassetteOptions: Sendable {
    public enum Mode: String, Sendable, CaseIterable {
        /// Everything goes to the network, and what comes of it becomes the file.
        case record
        /// Everything comes from the file; what it does not have fails.
        case replay
        /// What the file has comes from it, what it does not have from the network, and is added.
        case auto
    }

    public var file: String
    public var mode: Mode
    /// Whether the last exchange of a request is played again and again. Otherwise each is played once.
    public var repeats = false
    /// Whether what is replayed takes as long as it took.
    public var keepsTime = false
    public var comparison = CassetteComparison()
    /// What is a secret, beside what is known for it.
    public var secrets = CassetteSecrets()

    public init(_ file: String, mode: Mode = .auto) {
        self.file = file
        self.mode = mode
    }
}
