/// The effect of a 304 response on the stored responses. RFC 9111 section 4.3.4.
public enum NotModifiedMeaning: Sendable, Equatable {
    /// The candidate with this index is still valid.
    case stored(Int)
    /// The caller's own condition matched a version that is not stored. The caller receives the 304.
    case callers
    /// No stored response matches, or it is unknown which one does. The request must be sent again without the cache's
    /// conditions.
    case none
}

/// A stored response with updated fields.
public struct CacheUpdate: Sendable, Equatable {
    public let response: StoredResponse
    /// If false, the response may be served now but must be removed from the cache.
    public let isKept: Bool
}

/// The effect of a response to HEAD on a stored response.
public enum HeadMeaning: Sendable, Equatable {
    case updated(CacheUpdate)
    /// The representation has changed. The stored response must be validated before it is used.
    case invalidated
    /// The response does not affect the stored response.
    case unaffected
}

extension CacheRequest {
    /// Finds the candidate that a 304 response confirms. Section 4.3.4.
    ///
    /// - Parameters:
    ///   - candidates: the candidates of the decision, in the same order.
    ///   - validating: the index of the candidate that was validated.
    public func meaning(
        ofNotModified head: ResponseHead, among candidates: [StoredResponse], validating: Int
    ) -> NotModifiedMeaning {
        let headers = head.headers
        guard let index = headers.firstIndex(of: "etag") else {
            return meaning(ofUntagged: headers, among: candidates, validating: validating)
        }
        return headers.withBytes(at: index) { _, value in
            let tag = EntityTag(value)
            let inOrder = [validating] + candidates.indices.filter { $0 != validating }
            func find(_ isSame: (EntityTag) -> Bool) -> Int? {
                inOrder.first {
                    candidates.indices.contains($0) && isOfUse(candidates[$0]) && candidates[$0].tag(isSame)
                }
            }
            // A strong match is preferred, but a weak match suffices: some servers weaken the entity tag of a
            // compressed response, but not the tag of its 304.
            if let found = find(tag.isStronglySame) ?? find(tag.isWeaklySame) { return .stored(found) }
            return isOwnTag(tag) ? .callers : .none
        }
    }

    /// Finds the candidate for a 304 response without ETag. If both the 304 and the validated candidate have a
    /// Last-Modified, the two values must be equal. Otherwise, the 304 confirms the candidate, unless the request also
    /// listed tags of the caller.
    private func meaning(
        ofUntagged headers: Headers, among candidates: [StoredResponse], validating: Int
    ) -> NotModifiedMeaning {
        guard candidates.indices.contains(validating) else { return .none }
        let stored = candidates[validating]
        guard let index = headers.firstIndex(of: "last-modified") else {
            // If If-None-Match also listed tags of the caller, it is unknown which tag matched.
            return traits.contains(.noneMatch) ? .none : .stored(validating)
        }
        let isSame = headers.withBytes(at: index) { _, value in
            stored.headers.firstIndex(of: "last-modified").map { other in
                stored.headers.withBytes(at: other) { $1.elementsEqual(value) }
            }
        }
        // A candidate without Last-Modified was validated by its ETag, so the 304 confirms it unless If-None-Match also
        // listed tags of the caller.
        return isSame ?? !traits.contains(.noneMatch) ? .stored(validating) : .none
    }

    private func isOfUse(_ stored: StoredResponse) -> Bool {
        (!stored.isDecoded || acceptsDecoded) && (stored.status != 206 || hasPart(stored))
            && VariantKey.matches(stored.variantFields, fields, fingerprint: fingerprint)
    }

    private func isOwnTag(_ tag: EntityTag) -> Bool {
        var isListed = false
        fields.forEach("if-none-match") { isListed = isListed || tag.isListed(in: $0) }
        return isListed
    }

    /// Returns `stored` with the fields of a 304 that confirmed it.
    public func updated(
        _ stored: StoredResponse, byNotModified head: ResponseHead, requested: Timestamp, received: Timestamp
    ) -> CacheUpdate {
        update(stored, head.headers, requested, received)
    }

    /// Returns the effect of a response to this HEAD request on a stored response. Section 4.3.5.
    public func meaning(
        ofHead head: ResponseHead, for stored: StoredResponse, requested: Timestamp, received: Timestamp
    ) -> HeadMeaning {
        guard head.status == 200, stored.status == 200, method == .head, isSelected(stored) else { return .unaffected }
        guard !head.headers.conflictsWith(stored) else { return .invalidated }
        // Equal validators do not prove that the content is the same, so an invalidated response stays invalidated.
        return .updated(update(stored, head.headers, requested, received, isInvalidated: stored.isInvalidated))
    }

    func isSelected(_ stored: StoredResponse) -> Bool {
        VariantKey.matches(stored.variantFields, fields, fingerprint: fingerprint)
    }

    private func update(
        _ stored: StoredResponse, _ headers: Headers, _ requested: Timestamp, _ received: Timestamp,
        isInvalidated: Bool = false
    ) -> CacheUpdate {
        let found = CacheFields(headers)
        var copy = stored
        copy.headers = stored.headers.updated(by: headers, found, received: received)
        copy.requested = requested
        copy.received = received
        copy.isInvalidated = isInvalidated
        // Each response may add fields. Without a limit, the stored fields could grow indefinitely.
        var isKept = !directives.noStore && !found.directives.noStore && copy.headers.fitsResponse
        if found.vary != nil {
            if let fields = VariantKey.fields(named: copy.headers, of: fields, fingerprint: fingerprint) {
                copy.variantFields = fields
            } else {
                isKept = false
            }
        }
        return CacheUpdate(response: copy, isKept: isKept)
    }
}

extension StoredResponse {
    fileprivate func tag(_ isSame: (EntityTag) -> Bool) -> Bool {
        headers.firstIndex(of: "etag").map { headers.withBytes(at: $0) { isSame(EntityTag($1)) } } == true
    }
}

extension Headers {
    /// Returns the fields after an update. Section 3.2. Fields of `newer` replace fields of the same name, except
    /// fields that describe the stored body. Fields that may not be stored (``DroppedFields``) are removed. A stored
    /// weak tag is kept if `newer` has its strong form, because the stored body is only known to be equivalent.
    fileprivate func updated(by newer: Headers, _ found: CacheFields, received: Timestamp) -> Headers {
        var result = Headers(reservingFields: count + newer.count, bytes: end + newer.end + 48)
        let dropped = DroppedFields(newer, found)
        func isTaken(_ name: UnsafeRawBufferPointer) -> Bool {
            !dropped.contains(name) && !Headers.isOfContent(name) && !(name.count == 4 && keepsTag(newer, name))
        }
        for index in 0..<count {
            withBytes(at: index) { name, value in
                // Remove fields that described the earlier message, and fields that `newer` replaces.
                if Headers.isOfMessage(name) || (newer.firstIndex(of: name) != nil && isTaken(name)) { return }
                // Remove fields that the newer response excludes from storage.
                if !dropped.contains(name) { result.append(name: name, value: value) }
            }
        }
        for index in 0..<newer.count {
            newer.withBytes(at: index) { name, value in
                if isTaken(name) { result.append(name: name, value: value) }
            }
        }
        if found.date == nil { result.append("Date", HTTPDate.text(received)) }
        return result
    }

    private func keepsTag(_ newer: Headers, _ name: UnsafeRawBufferPointer) -> Bool {
        guard ASCII.isCaseless(name, "etag"), let own = firstIndex(of: "etag"),
            let other = newer.firstIndex(of: "etag")
        else { return false }
        return withBytes(at: own) { _, own in
            newer.withBytes(at: other) { _, other in
                EntityTag(own).isWeak && EntityTag(own).isWeaklySame(EntityTag(other))
            }
        }
    }

    /// True if the fields are within the decoder's default limits for fields from the network.
    fileprivate var fitsResponse: Bool {
        let limits = HTTP1ResponseDecoder.Limits()
        return count <= limits.maximumFields && end <= limits.maximumHead
    }

    /// Returns true for fields that describe the transferred body. A 304 has no body.
    private static func isOfContent(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 13: ASCII.isCaseless(name, "content-range")
        case 14: ASCII.isCaseless(name, "content-length")
        case 16: ASCII.isCaseless(name, "content-encoding")
        default: false
        }
    }

    private static func isOfMessage(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 3: ASCII.isCaseless(name, "age")
        case 4: ASCII.isCaseless(name, "date")
        case 12: ASCII.isCaseless(name, "cache-status")
        default: false
        }
    }

    /// Returns true if ETag or Last-Modified differs from that of `stored`. A missing field does not differ.
    func hasOtherValidator(than stored: StoredResponse) -> Bool {
        for name in ["etag", "last-modified"] {
            if let own = firstIndex(of: name), let other = stored.headers.firstIndex(of: name),
                !withBytes(at: own, { _, own in stored.headers.withBytes(at: other) { $1.elementsEqual(own) } })
            {
                return true
            }
        }
        return false
    }

    /// Returns true if ETag, Last-Modified or the length differs from that of `stored`. A missing field does not
    /// differ.
    fileprivate func conflictsWith(_ stored: StoredResponse) -> Bool {
        if hasOtherValidator(than: stored) { return true }
        guard let index = firstIndex(of: "content-length") else { return false }
        if let other = stored.headers.firstIndex(of: "content-length") {
            return value(at: index) != stored.headers.value(at: other)
        }
        return !stored.isDecoded && Int(value(at: index)) != stored.contentLength
    }
}
