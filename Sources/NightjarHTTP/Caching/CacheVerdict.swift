/// What the cache decided for a call, to be told. See ``Decision``.
public enum CacheVerdict: Sendable, Equatable {
    case answered(CacheAnswer.Reason, age: Int64)
    /// The server was asked.
    case asked(CacheStatus.ForwardReason, isConditional: Bool)
    case notStored(Storability.Refusal)

    /// As data has it.
    public var name: String {
        switch self {
        case .answered(let reason, _):
            switch reason {
            case .fresh: "fresh"
            case .maxStale: "max_stale"
            case .staleWhileRevalidate: "stale_while_revalidate"
            case .staleIfError: "stale_if_error"
            case .anyAge: "any_age"
            case .validated: "validated"
            }
        case .asked(_, isConditional: true): "validating"
        case .asked(_, isConditional: false): "miss"
        case .notStored: "not_stored"
        }
    }

    var sentence: String {
        switch self {
        case .answered(let reason, let age):
            switch reason {
            case .fresh: "answered from the cache: fresh, \(age) s old"
            case .maxStale: "answered from the cache: \(age) s old and stale, which the request allows (max-stale)"
            case .staleWhileRevalidate:
                "answered from the cache: \(age) s old and stale, and fetched anew meanwhile (stale-while-revalidate)"
            case .staleIfError:
                "answered from the cache: \(age) s old and stale, the server having failed (stale-if-error)"
            case .anyAge: "answered from the cache: \(age) s old, which the policy allows"
            case .validated: "answered from the cache: the server says that it still holds (304)"
            }
        case .asked(let reason, let isConditional):
            reason.sentence + (isConditional ? ": the server was asked whether it holds" : ": the server was asked")
        case .notStored(let refusal): "not kept in the cache: " + refusal.sentence
        }
    }
}

extension CacheStatus.ForwardReason {
    fileprivate var sentence: String {
        switch self {
        case .bypass: "the cache was not to look"
        case .method: "the method is none that is cached"
        case .uriMiss: "nothing was stored under the URL"
        case .varyMiss: "what was stored under the URL is for requests with other fields"
        case .miss: "what was stored could not be used"
        case .request: "the request did not want what was stored"
        case .stale: "what was stored was stale"
        case .partial: "a part only was stored"
        }
    }
}

extension Storability.Refusal {
    /// For messages: it goes behind a colon.
    public var sentence: String {
        switch self {
        case .method: "answers to GET alone are"
        case .request: "the request says no-store"
        case .noStore: "the answer says no-store"
        case .status: "its status is none that is"
        case .vary: "it is for this request alone (Vary)"
        case .notAllowed: "the answer does not say how long it is good for"
        case .useless: "it is never fresh and has nothing to be validated by"
        case .keepsStored: "the stored response is complete and not outdated by it"
        }
    }
}
