import Testing

@testable import NightjarHTTP

/// A stored response and a later request, with the decisions of the cache rules as words.
///
/// A field value such as `@-60` stands for a date: 60 seconds before the response was received.
struct CacheConversation: Sendable {
    var method = Method.get
    var status = 200
    var response: [(String, String)] = []
    var first: [(String, String)] = []
    var delay: Int64 = 0
    var after: Int64 = 0
    var then: [(String, String)] = []
    var thenMethod = Method.get
    var policy = CachePolicy.protocol
    var length = 10

    static let start = Timestamp(secondsSince1970: Int64(1_700_000_000)) ?? .epoch

    static func moment(_ seconds: Int64, milliseconds: Int64 = 0) -> Timestamp {
        start.later(by: .seconds(seconds) + .milliseconds(milliseconds)) ?? start
    }

    static func fields(_ list: [(String, String)]) -> Headers {
        var headers = Headers()
        for (name, value) in list {
            let text =
                value.hasPrefix("@") ? Int64(value.dropFirst()).map { HTTPDate.text(moment($0)) } ?? value : value
            do { try headers.add(name, text) } catch { Issue.record("invalid field \(name): \(value): \(error)") }
        }
        return headers
    }

    static func fingerprint(_ bytes: UnsafeRawBufferPointer) -> String {
        String(bytes.reduce(UInt64(7)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }, radix: 16)
    }

    static func request(
        _ fields: [(String, String)], _ method: Method = .get, policy: CachePolicy = .protocol,
        acceptsDecoded: Bool = true
    ) -> CacheRequest {
        CacheRequest(
            method, CacheConversation.fields(fields), policy: policy, acceptsDecoded: acceptsDecoded,
            fingerprint: fingerprint)
    }

    var head: ResponseHead { ResponseHead(status: status, headers: CacheConversation.fields(response)) }

    func storability(policy: CachePolicy = .protocol) -> Storability {
        CacheConversation.request(first, method, policy: policy).storability(
            of: head, requested: CacheConversation.moment(-delay), received: CacheConversation.start)
    }

    /// `store`, or the reason why the response is not stored.
    var storabilitySummary: String {
        switch storability(policy: policy) {
        case .store: "store"
        case .refuse(let reason): "\(reason)"
        }
    }

    var stored: StoredResponse? {
        guard case .store(let stored) = storability() else { return nil }
        return stored.completed(contentLength: length)
    }

    var decision: CacheDecision {
        CacheConversation.request(then, thenMethod, policy: policy).decide(
            among: stored.map { [$0] } ?? [], at: CacheConversation.moment(after))
    }

    /// The decision for the later request, such as `fresh`, `swr+refresh`, `validate:stale`, `fetch:uri-miss` or
    /// `refuse`. A status that differs from the stored one follows, as in `fresh 304`.
    var summary: String { decision.summary }
}

extension CacheDecision {
    var summary: String {
        switch self {
        case .hit(let hit): hit.summary
        case .hitAndRevalidate(let hit, _): hit.summary + "+refresh"
        case .validate(let fetch): "validate:" + fetch.because.rawValue
        case .fetch(let fetch): "fetch:" + fetch.because.rawValue
        case .refuse: "refuse"
        }
    }

    var forwardedFetch: CacheFetch? {
        switch self {
        case .validate(let fetch), .fetch(let fetch), .hitAndRevalidate(_, let fetch): fetch
        case .hit, .refuse: nil
        }
    }
}

extension CacheHit {
    var summary: String {
        let reason =
            switch because {
            case .fresh: "fresh"
            case .maxStale: "max-stale"
            case .staleWhileRevalidate: "swr"
            case .staleIfError: "sie"
            case .anyAge: "any-age"
            case .validated: "validated"
            }
        return switch form {
        case .whole: reason
        case .notModified: reason + " 304"
        case .part(let part): reason + " 206 \(part.lowerBound)-\(part.upperBound - 1)"
        case .unsatisfiable: reason + " 416"
        }
    }
}
