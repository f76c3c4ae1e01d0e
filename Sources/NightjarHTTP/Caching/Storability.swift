/// The decision whether a response is stored. RFC 9111 section 3.
public enum Storability: Sendable, Equatable {
    /// Store this response when its body is complete. See ``StoredResponse/completed(contentLength:trailers:)``.
    case store(StoredResponse)
    case refuse(Refusal)

    public enum Refusal: Sendable, Equatable {
        /// The request is neither a GET nor a POST with a 200 response that represents the target URL.
        case method
        /// The request contains no-store.
        case request
        /// The response contains no-store.
        case noStore
        /// The status is never stored, the response is a 206 that cannot be stored as a part, or must-understand
        /// applies and the status is not understood.
        case status
        /// Vary contains `*`, an invalid name, too many names, or a credential for which there is no fingerprint
        /// function.
        case vary
        /// The response has no explicit lifetime and neither public nor private, and its status does not permit a
        /// heuristic lifetime. For a POST: the response has no explicit lifetime.
        case notAllowed
        /// The response requires validation before it is used again, and has no validator.
        case useless
        /// The response would replace a stored response that is, or may be, more useful. See
        /// ``CacheRequest/mayReplace(_:with:received:)``.
        case keepsStored
        /// The caller has decided not to store the response.
        case caller
    }
}

extension CacheRequest {
    /// Decides whether the response to this request is stored, and in what form.
    ///
    /// - Parameters:
    ///   - isDecoded: true if the body will be stored without its content codings.
    ///   - requested: the time at which the request was sent.
    ///   - received: the time at which the response head was complete.
    public func storability(
        of head: ResponseHead, isDecoded: Bool = false, requested: Timestamp, received: Timestamp
    ) -> Storability {
        guard method == .get else { return .refuse(.method) }
        return storability(ofRepresentation: head, isDecoded: isDecoded, requested: requested, received: received)
    }

    /// Decides whether the response to this POST request is stored as the response to later GET and HEAD requests. This
    /// requires the status 200, an explicit lifetime and a Content-Location equal to the target URL. RFC 9110 section
    /// 9.3.3.
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
        var variantFields: [StoredResponse.VariantField] = []
        if found.vary != nil {
            guard let fields = VariantKey.fields(named: head.headers, of: fields, fingerprint: fingerprint) else {
                return .refuse(.vary)
            }
            variantFields = fields
        }
        var stored = StoredResponse(head, requested: requested, received: received)
        stored.headers = head.headers.stored(found, received: received)
        stored.variantFields = variantFields
        stored.isDecoded = isDecoded
        return .store(stored)
    }

    /// Returns true if the response to a GET request contains no-store without must-understand. This is a fast path for
    /// most responses that are not stored.
    public static func forbidsStoring(_ head: ResponseHead) -> Bool {
        var directives = ResponseDirectives()
        head.headers.forEach("cache-control") { directives.add($0) }
        return directives.noStore && !directives.flags.contains(.mustUnderstand)
    }

    /// Returns true if a 206 response contains a single part that is stored as received. RFC 9111 section 3.3.
    private func isPart(_ head: ResponseHead, isDecoded: Bool) -> Bool {
        guard let range, range != .other, !isDecoded else { return false }
        return head.headers.contentRange != nil
    }

    /// Returns true if the response has a positive lifetime and no no-cache, or a positive stale-while-revalidate or
    /// stale-if-error. It may then be used without a successful validation.
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
    /// Decides whether a storable response may replace the stored responses to this request.
    ///
    /// A response whose status does not describe the resource does not replace a stored part or a response whose status
    /// does. There are three exceptions: a redirect or client error with explicit freshness, a 206 response in place
    /// of stored parts, and a 206 response whose validator differs from those of the stored complete responses, if
    /// these are not stored decoded.
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

    /// Decides whether a storable response may replace stored responses that have not been looked up.
    public static func mayReplaceUnknown(with head: ResponseHead) -> Bool {
        StatusRules.supersedesStored(head.status)
    }

    /// Returns true if a response to this request supersedes `stored` although it is not stored itself.
    public func isSuperseded(_ stored: StoredResponse, by head: ResponseHead) -> Bool {
        isSuperseding(head) && isSelected(stored)
    }

    /// Returns true if a response may supersede stored responses.
    ///
    /// This includes a 200 response with no-store to a background refresh under `offline_first`. Otherwise, the policy
    /// would serve the old response forever. The page of a captive portal cannot be distinguished from such a response,
    /// but a portal cannot respond to a request over TLS with a verified certificate.
    public func isSuperseding(_ head: ResponseHead) -> Bool { StatusRules.supersedesStored(head.status) }
}

extension StoredResponse {
    /// Completes a stored response after its body has arrived.
    ///
    /// If the body of a part is shorter than its Content-Range, and Content-Length is missing or matches the body, the
    /// body is stored as a shorter part, because the positions of the received bytes are known. Section 3.3.
    ///
    /// - Parameter contentLength: the number of stored bytes.
    /// - Returns: nil if the length of the body does not match the fields, because incomplete responses are not stored.
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
