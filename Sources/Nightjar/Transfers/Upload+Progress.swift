import NightjarHTTP

extension Upload {
    /// The state of an upload.
    public enum State: String, Sendable {
        /// The file is being opened, or a request has not been sent.
        case connecting
        case sending
        /// An attempt has failed. Another one follows after a wait.
        case waiting
        case paused
        /// The digest of the content is being computed.
        case verifying
        /// The upload has ended.
        case ended
    }

    /// The progress of an upload.
    public struct Progress: Sendable, Equatable {
        public internal(set) var state = State.connecting
        /// The bytes that the server has, or that are on the way to it.
        public internal(set) var sent = 0
        /// The length of the content. Nil if it is not known.
        public internal(set) var total: Int?
        /// Bytes per second over the last 5 s. Nil in the first half second.
        public internal(set) var rate: Double?
        /// The time that the rest takes at the present rate. Nil if the rate or the length is not known.
        public internal(set) var timeLeft: Duration?
        /// The time when the server removes the upload if it is not complete. Nil if the server has sent none. Only for
        /// tus and the draft.
        public internal(set) var expires: Timestamp?

        package init() {}
    }

    /// A complete upload.
    public struct Result: Sendable {
        /// The length of the content in bytes.
        public internal(set) var size = 0
        /// The body bytes that were sent, including those that were sent again.
        public internal(set) var sent = 0
        /// The bytes that the server had from an earlier upload.
        public internal(set) var resumed = 0
        /// The number of requests.
        public internal(set) var attempts = 0
        /// The URL of the resource that the server has created, or of the upload, with masked credentials. Nil if the
        /// server has sent none.
        public internal(set) var url: String?
        /// The last response. Nil if it was lost after the server had received the whole content.
        public internal(set) var response: Response?
    }
}
