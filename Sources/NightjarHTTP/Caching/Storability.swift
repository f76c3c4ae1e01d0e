/// Whether an answer is kept. RFC 9111 section 3.
public enum Storability: Sendable, Equatable {
    /// What is to be kept of it; its content has yet to come: ``StoredResponse/completed(contentLength:trailers:)``.
    case store(StoredResponse)
    case refuse(Refusal)

    public enum Refusal: Sendable, Equatable {
        /// Of another method than GET, and not a POST whose response represents its URL.
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
        /// It would replace a stored response that is worth more. See ``CacheRequest/mayReplace(_:with:received:)``.
        case keepsStored
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
        return storability(ofRepresentation: head, isDecoded: isDecoded, requested: requested, received: received)
    }

    /// Whether the response to this POST request is stored as the response to later GET and HEAD requests: it has an
    /// explicit lifetime, and its Content-Location is the target URL. RFC 9110 section 9.3.3.
    public func storability(
        ofPosted head: ResponseHead, to url: RequestURL, isDecoded: Bool = false, requested: Timestamp,
        received: Timestamp
    ) -> Storability {
        guard method == .post, head.status == 200, head.isRepresentation(of: url) else { return .refuse(.method) }
        let found = CacheFields(head.headers)
        guard found.directives.maxAge != nil || found.expires != nil else { return .refuse(.notAllowed) }
        return storability(ofRepresentation: head, isDecoded: isDecoded, requested: requested, received: received)
    }

    private func storability(
        ofRepresentation head: ResponseHead, isDecoded: Bool, requested: Timestamp, received: Timestamp
    ) -> Storability {
        guard !directives.noStore else { return .refuse(.request) }
        guard !StatusRules.isNeverStored(head.status), head.status != 206 || isPart(head, isDecoded: isDecoded) else {
            return .refuse(.status)
        }
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

    /// Whether the response to a GET request says no-store, and no must-understand directive overrides it. Most responses that
    /// are never stored say so, and no other field needs to be read.
    public static func forbidsStoring(_ head: ResponseHead) -> Bool {
        var directives = ResponseDirectives()
        head.headers.forEach("cache-control") { directives.add($0) }
        return directives.noStore && !directives.flags.contains(.mustUnderstand)
    }

    /// A 206 response that contains one part as it is on the server, and nothing else. RFC 9111 section 3.3.
    private func isPart(_ head: ResponseHead, isDecoded: Bool) -> Bool {
        guard let range, range != .other, !isDecoded else { return false }
        return head.headers.contentRange != nil
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

extension CacheRequest {
    /// Whether a response that may be stored may also replace the stored responses to this request.
    ///
    /// A response whose status is not about the resource itself replaces nothing, with two exceptions: a redirect or client
    /// error that is explicitly fresh, and a 206 response whose validator proves that the stored response is outdated.
    public func mayReplace(_ candidates: [StoredResponse], with head: ResponseHead, received: Timestamp) -> Bool {
        guard !StatusRules.supersedesStored(head.status) else { return true }
        let isPart = head.status == 206
        let replaced = candidates.filter { stored in
            let isOfValue = StatusRules.supersedesStored(stored.status) || stored.status == 206 && !isPart
            return isOfValue && isSelected(stored)
        }
        guard !replaced.isEmpty else { return true }
        guard !isPart else { return replaced.allSatisfy { !$0.isDecoded && head.headers.hasOtherValidator(than: $0) } }
        guard head.status < 500 else { return false }
        let found = CacheFields(head.headers)
        guard found.directives.maxAge != nil || found.expires != nil else { return false }
        return Freshness(found, head.headers, status: head.status, requested: received, received: received).lifetime > 0
    }

    /// Whether a response that may be stored may also replace stored responses that nobody has looked up.
    public static func mayReplaceUnknown(with head: ResponseHead) -> Bool {
        StatusRules.supersedesStored(head.status)
    }

    /// Whether a response to this request, which is not stored, means that `stored` no longer holds.
    public func isSuperseded(_ stored: StoredResponse, by head: ResponseHead) -> Bool {
        isSuperseding(head) && isSelected(stored)
    }

    /// Whether it may mean that for any stored response.
    ///
    /// A 200 with no-store does, also as the response to a refresh of `offline_first`: nothing tells a portal's page from a
    /// resource that must no longer be stored, and the policy would give the old response forever, since no later one could
    /// replace it. A portal can only do this to resources that are requested without TLS.
    public func isSuperseding(_ head: ResponseHead) -> Bool { StatusRules.supersedesStored(head.status) }
}

extension StoredResponse {
    /// With what is known when the content has come whole.
    ///
    /// A part whose content ends before its Content-Range does is stored as a shorter part: the positions of the bytes that
    /// have come are known. Section 3.3.
    ///
    /// - Parameter contentLength: bytes as they are kept.
    /// - Returns: nil where they are not as many as the answer had promised: an incomplete answer is not stored.
    public func completed(contentLength: Int, trailers: Headers = Headers()) -> StoredResponse? {
        var copy = self
        if status == 206 {
            guard let part, contentLength > 0, contentLength <= part.bytes.count else { return nil }
            if contentLength < part.bytes.count {
                let first = part.bytes.lowerBound
                let length = part.completeLength.map { String($0) } ?? "*"
                let shorter = "bytes \(first)-\(first + contentLength - 1)/\(length)"
                guard (try? copy.headers.set("Content-Range", shorter)) != nil else { return nil }
            }
        }
        if !isDecoded, status != 204, let index = headers.firstIndex(of: "content-length") {
            let promised = headers.withBytes(at: index) { _, value in
                value.isEmpty || !value.allSatisfy(ASCII.isDigit) ? nil : Int(String(decoding: value, as: UTF8.self))
            }
            guard promised == contentLength else { return nil }
        }
        copy.contentLength = contentLength
        copy.trailers = trailers
        return copy
    }
}
