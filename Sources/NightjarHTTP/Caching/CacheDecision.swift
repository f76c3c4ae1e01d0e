/// The decision of the cache about a request.
public enum CacheDecision: Sendable, Equatable {
    /// Serve a stored response.
    case hit(CacheHit)
    /// Serve a stored response and revalidate it in the background.
    case hitAndRevalidate(CacheHit, CacheFetch)
    /// Validate the stored response with a conditional request.
    case validate(CacheFetch)
    case fetch(CacheFetch)
    /// Fail with `cache_miss`: the server must not be contacted and no stored response can be used.
    case refuse(Refusal)

    public enum Refusal: Sendable, Equatable {
        case nothingStored
        /// The stored responses belong to requests with other field values (Vary), or do not contain the requested
        /// range or the body in the requested form.
        case nothingForSuchRequest
        /// The stored response must be validated first.
        case stale
        /// Only the server can evaluate If-Match and If-Unmodified-Since.
        case precondition

        /// The reason, for the error message.
        public var sentence: String {
            switch self {
            case .nothingStored: "no response is stored for this URL"
            case .nothingForSuchRequest:
                "no stored response for this URL matches the fields (Vary), range and decoding of the request"
            case .stale: "the stored response must be validated by the server first"
            case .precondition: "only the server can evaluate If-Match and If-Unmodified-Since"
            }
        }
    }
}

/// A response from the cache.
public struct CacheHit: Sendable, Equatable {
    public enum Reason: Sendable, Equatable {
        case fresh
        /// Stale, but the request's max-stale allows it.
        case maxStale
        /// Stale, but within the response's stale-while-revalidate. RFC 5861 section 3.
        case staleWhileRevalidate
        /// The server or the connection has failed, or the total timeout has expired, and stale-if-error of the
        /// response or the request still permits the stored response. RFC 5861 section 4.
        case staleIfError
        /// The cache policy allows any age.
        case anyAge
        /// The server has just confirmed the stored response with a 304.
        case validated
    }

    public enum Form: Sendable, Equatable {
        /// The complete stored response.
        case whole
        /// 304, because the caller's own condition shows that the caller already has this version.
        case notModified
        /// 206 with these bytes of the stored body.
        case part(Range<Int>)
        /// 416, because the stored body does not contain the range.
        case unsatisfiable
    }

    /// The index of the stored response among the candidates.
    public var index: Int
    /// The age in seconds.
    public var age: Int64
    /// The time until the response becomes stale, in seconds. Zero or less if the lifetime has passed. RFC 9211 section
    /// 2.4.
    public var timeToLive: Int64
    public var because: Reason
    public var form: Form

    public var isStale: Bool { timeToLive <= 0 && because != .validated }
}

/// A request to the server, and its relation to stored responses.
public struct CacheFetch: Sendable, Equatable {
    public struct Field: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    public let because: CacheStatus.ForwardReason
    /// The index of the candidate that the request validates. A 304 may also confirm another candidate whose entity tag
    /// the request contains. If nil, a 304 is passed to the caller.
    public var validating: Int?
    /// Fields that replace the request's fields of the same names.
    public var sets: [Field] = []
    /// The names of fields to remove. A background revalidation removes the caller's conditions and ranges.
    public var removes: [String] = []
    /// The stored response to serve if the server or the connection fails. Nil if no stored response may replace a
    /// failure.
    public var fallback: Fallback?

    /// True if the request sent to the server differs from the caller's.
    public var changesRequest: Bool { !sets.isEmpty || !removes.isEmpty }

    public init(because: CacheStatus.ForwardReason) { self.because = because }

    /// A stored response that may replace a failure, such as a failed connection, a timeout or the status 503. RFC 5861
    /// section 4.
    public struct Fallback: Sendable, Equatable {
        /// The index of the stored response among the candidates.
        public let index: Int
        /// The time from which the response must no longer be served.
        public let until: Timestamp
    }

    /// Returns true for statuses that a stale response may replace.
    public static func isFailure(status: Int) -> Bool { status == 500 || 502...504 ~= status }
}
