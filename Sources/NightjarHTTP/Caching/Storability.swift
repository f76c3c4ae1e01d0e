/// Whether an answer is kept. RFC 9111 section 3.
public enum Storability: Sendable, Equatable {
    /// What is to be kept of it; its content has yet to come: ``StoredResponse/completed(contentLength:trailers:)``.
    case store(StoredResponse)
    case refuse(Refusal)

    public enum Refusal: Sendable, Equatable {
        /// Of another method than GET.
        case method
        /// The request says no-store.
        case request
        /// The answer says no-store.
        case noStore
        /// Of a status that is never stored, or that a must-understand is not understood of.
        case status
        /// Vary names `*`, or a credential that could not be hidden.
        case vary
        /// Nothing says how long it is good for, and its status is none that allows a guess.
        case notAllowed
        /// Never fresh, and with nothing to validate it by.
        case useless
    }
}

extension CacheRequest {
    /// Whether the answer to this request is kept, and as what. Takes no memory where it is not.
    ///
    /// - Parameters:
    ///   - isDecoded: the content will be kept without its codings.
    ///   - requested: when the request was put on the wire.
    ///   - received: when the head had come.
    public func storability(
        of head: ResponseHead, isDecoded: Bool = false, requested: Timestamp, received: Timestamp
    ) -> Storability {
        guard method == .get else { return .refuse(.method) }
        guard !directives.noStore else { return .refuse(.request) }
        guard !StatusRules.isNeverStored(head.status) else { return .refuse(.status) }
        let found = CacheFields(head.headers)
        let said = found.directives
        if said.flags.contains(.mustUnderstand) {
            guard StatusRules.isUnderstood(head.status) else { return .refuse(.status) }
        } else if said.noStore {
            return .refuse(.noStore)
        }
        guard
            said.maxAge != nil || found.expires != nil || !said.flags.isDisjoint(with: [.isPublic, .isPrivate])
                || StatusRules.isHeuristicallyCacheable(head.status)
        else { return .refuse(.notAllowed) }
        guard
            found.entityTag != nil || found.lastModified != nil || policy.ignoresAge && head.status < 400
                || mayBeUsed(found, head, received)
        else { return .refuse(.useless) }
        var selecting: [StoredResponse.SelectingField] = []
        if found.vary != nil {
            guard let fields = Selecting.fields(named: head.headers, of: fields, fingerprint: fingerprint) else {
                return .refuse(.vary)
            }
            selecting = fields
        }
        return .store(
            StoredResponse(
                status: head.status, reason: head.reason, minorVersion: head.minorVersion,
                headers: head.headers.stored(found, received: received), requested: requested, received: received,
                selecting: selecting, isDecoded: isDecoded))
    }

    /// Fresh for a while, or of use while it is stale.
    private func mayBeUsed(_ found: CacheFields, _ head: ResponseHead, _ received: Timestamp) -> Bool {
        let said = found.directives
        if said.staleWhileRevalidate ?? 0 > 0 || said.staleIfError ?? 0 > 0 { return true }
        guard said.maxAge == nil else { return said.maxAge != 0 && !said.noCache }
        guard found.expires != nil, !said.noCache else { return false }
        let freshness = Freshness(
            found, head.headers, status: head.status, requested: received, received: received)
        return freshness.lifetime > 0
    }
}

extension StoredResponse {
    /// With what is known when the content has come whole.
    ///
    /// - Parameter contentLength: bytes as they are kept.
    /// - Returns: nil where they are not as many as the answer had promised: an incomplete answer is not stored. Section 3.3.
    public func completed(contentLength: Int, trailers: Headers = Headers()) -> StoredResponse? {
        if !isDecoded, status != 204, let index = headers.firstIndex(of: "content-length") {
            let promised = headers.withBytes(at: index) { _, value in
                value.isEmpty || !value.allSatisfy(ASCII.isDigit) ? nil : Int(String(decoding: value, as: UTF8.self))
            }
            guard promised == contentLength else { return nil }
        }
        var copy = self
        copy.contentLength = contentLength
        copy.trailers = trailers
        return copy
    }
}
