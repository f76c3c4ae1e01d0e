/// What becomes of a request at the cache.
public enum CacheDecision: Sendable, Equatable {
    /// From what is stored.
    case answer(CacheAnswer)
    /// The same, and what is stored is fetched anew, with nobody waiting for it.
    case answerAndRefresh(CacheAnswer, CacheFetch)
    /// The server is asked whether the stored answer still holds.
    case validate(CacheFetch)
    case fetch(CacheFetch)
    /// The server is not to be asked, and nothing that is stored will do: `cache_miss`.
    case refuse(Refusal)

    public enum Refusal: Sendable, Equatable {
        case nothingStored
        /// What is stored is for requests with other fields (Vary), or kept in another form.
        case nothingForSuchRequest
        /// What is stored would have to be validated.
        case stale
        /// If-Match and If-Unmodified-Since are the server's to decide.
        case precondition

        /// For the message of the error.
        public var sentence: String {
            switch self {
            case .nothingStored: "nothing is stored under this URL"
            case .nothingForSuchRequest: "what is stored under this URL is for requests with other fields"
            case .stale: "what is stored has to be validated by the server first"
            case .precondition: "If-Match and If-Unmodified-Since are for the server to decide"
            }
        }
    }
}

/// An answer out of the store.
public struct CacheAnswer: Sendable, Equatable {
    public enum Reason: Sendable, Equatable {
        case fresh
        /// The request takes it so: max-stale.
        case maxStale
        /// Within stale-while-revalidate of the answer. RFC 5861 section 3.
        case staleWhileRevalidate
        /// Within stale-if-error of answer or request, the server having failed. RFC 5861 section 4.
        case staleIfError
        /// The policy takes any age.
        case anyAge
        /// The server has just said that it holds.
        case validated
    }

    public enum Form: Sendable, Equatable {
        /// As it is stored: without its content for HEAD.
        case whole
        /// 304: the request's own condition says that its caller has it.
        case notModified
        /// 206: these bytes of the stored content.
        case part(Range<Int>)
        /// 416: the content has no such bytes.
        case unsatisfiable
    }

    /// Of the candidates.
    public var index: Int
    /// In seconds.
    public var age: Int64
    /// Seconds until it is stale; zero or less: since when it is. RFC 9211 section 2.3.
    public var timeToLive: Int64
    public var because: Reason
    public var form: Form

    public var isStale: Bool { timeToLive <= 0 && because != .validated }
}

/// A request to the server, and what it is for.
public struct CacheFetch: Sendable, Equatable {
    public struct Field: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    public let because: CacheStatus.ForwardReason
    /// The candidate that a 304 would be for; nil: a 304 is the caller's.
    public var validating: Int?
    /// In place of the request's own of these names.
    public var sets: [Field] = []
    /// Fields that do not go along: those that are the caller's affair, where the request is the cache's own.
    public var removes: [String] = []
    /// What may be answered where the server cannot.
    public var fallback: Fallback?

    /// The request to the server differs from the caller's.
    public var changesRequest: Bool { !sets.isEmpty || !removes.isEmpty }

    public init(because: CacheStatus.ForwardReason) { self.because = because }

    /// For no connection, and for 500, 502, 503 and 504. RFC 5861 section 4.
    public struct Fallback: Sendable, Equatable {
        /// Of the candidates.
        public let index: Int
        /// Not at this moment or later.
        public let until: Timestamp
    }

    /// A failure of the server that a stale answer may stand in for.
    public static func isFailure(status: Int) -> Bool { status == 500 || 502...504 ~= status }
}
