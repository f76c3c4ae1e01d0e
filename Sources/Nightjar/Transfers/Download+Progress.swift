extension Download {
    /// The state of a download.
    public enum State: String, Sendable {
        /// The part is being opened, or a response has not started.
        case connecting
        case receiving
        /// An attempt has failed. Another one follows after a wait.
        case waiting
        case paused
        /// All bytes have arrived. The file is compared with its digests and synced to the disk.
        case verifying
        /// The download has ended.
        case ended
    }

    /// The progress of a download.
    public struct Progress: Sendable, Equatable {
        public internal(set) var state = State.connecting
        /// The bytes in the part, including those of an earlier download.
        public internal(set) var received = 0
        /// The length of the file. Nil if it is not known.
        public internal(set) var total: Int?
        /// Bytes per second over the last 5 s. Nil in the first half second.
        public internal(set) var rate: Double?
        /// The time that the rest takes at the present rate. Nil if the rate or the length is not known.
        public internal(set) var timeLeft: Duration?

        package init() {}
    }

    /// A file that was downloaded.
    public struct File: Sendable, Equatable {
        /// The path of the file, absolute and without symbolic links.
        public internal(set) var path = ""
        /// The length of the file in bytes.
        public internal(set) var size = 0
        /// The body bytes that this download has received, including those that were discarded.
        public internal(set) var received = 0
        /// The bytes that an earlier download had received.
        public internal(set) var resumed = 0
        /// The number of requests.
        public internal(set) var attempts = 0
    }
}
