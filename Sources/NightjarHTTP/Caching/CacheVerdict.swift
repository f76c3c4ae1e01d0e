/// A decision of the cache, for the explanation of a call. See ``Decision``.
public enum CacheVerdict: Sendable, Equatable {
    case hit(CacheHit.Reason, age: Int64)
    /// The request was sent to the server.
    case forwarded(CacheStatus.ForwardReason, isConditional: Bool)
    case notStored(Storability.Refusal)

    /// The machine-readable name.
    public var name: String {
        switch self {
        case .hit(let reason, _):
            switch reason {
            case .fresh: "fresh"
            case .maxStale: "max_stale"
            case .staleWhileRevalidate: "stale_while_revalidate"
            case .staleIfError: "stale_if_error"
            case .anyAge: "any_age"
            case .validated: "validated"
            }
        case .forwarded(_, isConditional: true): "validating"
        case .forwarded(_, isConditional: false): "miss"
        case .notStored: "not_stored"
        }
    }

    var sentence: String {
        switch self {
        case .hit(let reason, let age):
            switch reason {
            case .fresh: "served from the cache: fresh, \(age) s old"
            case .maxStale: "served from the cache: \(age) s old and stale, which the request allows (max-stale)"
            case .staleWhileRevalidate:
                "served from the cache: \(age) s old and stale, revalidated in the background (stale-while-revalidate)"
            case .staleIfError:
                "served from the cache: \(age) s old and stale, because the server failed (stale-if-error)"
            case .anyAge: "served from the cache: \(age) s old, which the cache policy allows"
            case .validated: "served from the cache: the server confirmed the stored response (304)"
            }
        case .forwarded(let reason, let isConditional):
            reason.sentence + (isConditional ? ": validated with the server" : ": requested from the server")
        case .notStored(let refusal): "not stored in the cache: " + refusal.sentence
        }
    }
}

extension CacheStatus.ForwardReason {
    fileprivate var sentence: String {
        switch self {
        case .bypass: "the cache was bypassed"
        case .method: "the method is not cacheable"
        case .uriMiss: "no response was stored for the URL"
        case .varyMiss: "the stored responses for the URL belong to requests with other field values"
        case .miss: "the stored response could not be used"
        case .request: "the request or its cache policy does not permit a stored response"
        case .stale: "the stored response was stale or required validation"
        case .partial: "only a part was stored"
        }
    }
}

extension Storability.Refusal {
    /// The reason, for messages.
    public var sentence: String {
        switch self {
        case .method: "the method is not GET"
        case .request: "the request has no-store"
        case .noStore: "the response has no-store"
        case .status: "the status of the response is not cacheable"
        case .vary: "the Vary field does not permit the use of the response for other requests"
        case .notAllowed: "the response has no explicit lifetime, which its status or method requires"
        case .useless: "the response requires validation before it is used again, and has no validator"
        case .keepsStored: "the response must not replace a stored response that is more useful"
        case .caller: "the program has decided not to store the response"
        }
    }
}
