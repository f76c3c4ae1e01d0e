/// The settings of a download.
public struct DownloadSettings: Sendable {
    /// Whether a part of the file that an earlier download has left is continued.
    public enum Resumption: Sendable {
        /// If the part is of the same URL and has a strong validator. The default.
        case automatic
        /// The part is discarded.
        case never
        /// Continues the download of the state text, whose part may be elsewhere. Its URL may differ, for example in a
        /// signature. The download fails with `content_changed` if the part or its state file is missing, or if the
        /// state file has another validator.
        case state(String)
    }

    /// The id of the download in the client's journal; see ``UploadSettings/id``. Nil: the journal is not used. Only for
    /// GET requests.
    public var id: String?
    public var resumption = Resumption.automatic
    /// The digest that the content must have.
    public var checksum: Checksum?
    /// The maximum number of connections, 1 to 16. More than one are used only if the server supports ranges and the
    /// content has a strong validator.
    public var connections = 1
    /// Whether the download starts over if it cannot continue: the content has changed, it has no strong validator, or
    /// the server ignores ranges. Otherwise it fails with `content_changed`, and keeps a part that has a strong
    /// validator; if a request fails and the content has no strong validator, it fails with the error of the request.
    public var restarts = true
    /// Whether a file with the final name is replaced. Nil: it is replaced, unless the name comes from the server.
    public var overwrites: Bool?
    /// The permissions of the file, such as 0o600. Nil: 0o666 without those in the umask.
    public var mode: UInt16?
    /// Whether the file gets the modification time that the server sent in Last-Modified.
    public var keepsTime = false
    /// The maximum rate in bytes per second. Nil: unlimited.
    public var maximumRate: Int?
    /// The number of consecutive failures without new data after which the download fails. Also the number of times
    /// that it may start over. 1 to 1,000,000; 1: it fails at the first failure.
    public var attempts = 5
    /// The longest wait before the first attempt after a failure. The wait is random. Its maximum doubles for each further
    /// attempt, up to 60 s, or to this wait if it is longer. A Retry-After of more than 60 s ends the download at once.
    public var retryDelay = Duration.seconds(1)
    /// The maximum size of the file in bytes. Nil: unlimited.
    public var maximumSize: Int?

    public init() {}

    /// - Throws: `invalid_argument`.
    package func check() throws(NightjarError) {
        try TransferSettings.check("connections", connections, DownloadSettings.connectionCounts)
        try TransferSettings.check(attempts: attempts, maximumRate: maximumRate, retryDelay: retryDelay)
        if let mode, mode > 0o7777 {
            throw NightjarError(.invalidArgument, "mode must be between 0 and 4095 (octal 7777), got \(mode)")
        }
        if let maximumSize { try TransferSettings.check("max_size", maximumSize, 1...Int.max) }
        if let id { try TransferSettings.check(id: id) }
        if case .state(let text) = resumption {
            guard id == nil else {
                throw NightjarError(
                    .invalidArgument, "a download with an id continues without a state text; remove id or resume")
            }
            _ = try DownloadRecord(text)
        }
    }

    /// Checks that the download can begin with a response that has arrived.
    ///
    /// - Throws: `invalid_argument`.
    package func checkForResponse() throws(NightjarError) {
        if case .state = resumption {
            throw NightjarError(.invalidArgument, "a response that becomes a download has no state text; remove resume")
        }
        guard id == nil else {
            throw NightjarError(.invalidArgument, "a response that becomes a download has no id; remove id")
        }
        guard connections == 1 else {
            throw NightjarError(
                .invalidArgument, "a response that becomes a download has one connection, got \(connections)")
        }
    }

    package static let connectionCounts = 1...16
}
