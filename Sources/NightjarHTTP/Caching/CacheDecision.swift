/// The decision of the cache about a request.
package enum CacheDecision: Sendable, Equatable {
    /// Serve a stored response.
    case hit(CacheHit)
    /// Serve a stored response and revalidate it in the background.
    case hitAndRevalidate(CacheHit, CacheFetch)
    /// Ask the server whether the stored response is still valid.
    case validate(CacheFetch)
    case fetch(CacheFetch)
    /// Fail with `cache_miss`: the server must not be contacted and no stored response can be used.
    case refuse(Refusal)

    package enum Refusal: Sendable, Equatable {
        case nothingStored
        /// The stored responses belong to requests with other field values (Vary), or have a form that this request
        /// cannot use.
        case nothingForSuchRequest
        /// The stored response must be validated first.
        case stale
        /// Only the server can evaluate If-Match and If-Unmodified-Since.
        case precondition

        /// The reason, for the error message.
        package var sentence: String {
            switch self {
            case .nothingStored: "no response is stored for this URL"
            case .nothingForSuchRequest: "the stored responses for this URL belong to requests with other field values"
            case .stale: "the stored response must be validated by the server first"
            case .precondition: "only the server can evaluate If-Match and If-Unmodified-Since"
            }
        }
    }
}

/// A response from the cache.
package struct CacheHit: Sendable, Equatable {
    package enum Reason: Sendable, Equatable {
        case fresh
        /// Stale, but the request's max-stale allows it.
        case maxStale
        /// Stale, but within the response's stale-while-revalidate. RFC 5861 section 3.
        case staleWhileRevalidate
        /// The server has failed, and the entry is within stale-if-error of the response or the request. RFC 5861
        /// section 4.
        case staleIfError
        /// The cache policy allows any age.
        case anyAge
        /// The server has just confirmed the stored response with a 304.
        case validated
    }

    package enum Form: Sendable, Equatable {
        /// The stored response. For HEAD, without its body.
        case whole
        /// 304, because the request's own condition shows that the caller already has this version.
        case notModified
        /// 206 with these bytes of the stored body.
        case part(Range<Int>)
        /// 416, because the stored body does not contain the range.
        case unsatisfiable
    }

    /// The index of the stored response among the candidates.
    package var index: Int
    /// The age in seconds.
    package var age: Int64
    /// Seconds until the response becomes stale; zero or less if it is stale. RFC 9211 section 2.3.
    package var timeToLive: Int64
    package var because: Reason
    package var form: Form

    package var isStale: Bool { timeToLive <= 0 && because != .validated }
}

/// A request to the server, and its relation to stored responses.
package struct CacheFetch: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    package let because: CacheStatus.ForwardReason
    /// The index of the candidate that a 304 confirms. Nil if a 304 is passed to the caller.
    package var validating: Int?
    /// Fields that replace the request's fields of the same names.
    package var sets: [Field] = []
    /// The names of fields to remove: the caller's conditions and ranges, which do not apply to a background
    /// revalidation.
    package var removes: [String] = []
    /// The stored response to serve if the server fails.
    package var fallback: Fallback?

    /// True if the request sent to the server differs from the caller's.
    package var changesRequest: Bool { !sets.isEmpty || !removes.isEmpty }

    package init(because: CacheStatus.ForwardReason) { self.because = because }

    /// A stored response for connection failures and for 500, 502, 503 and 504. RFC 5861 section 4.
    package struct Fallback: Sendable, Equatable {
        /// The index of the stored response among the candidates.
        package let index: Int
        /// The time from which the response must not be served any more.
        package let until: Timestamp
    }

    /// True for statuses that a stale response may replace.
    package static func isFailure(status: Int) -> Bool { status == 500 || 502...504 ~= status }
}
