/// What an answer without content tells about those that are stored. RFC 9111 sections 3.2, 4.3.3 to 4.3.5.
public enum NotModifiedMeaning: Sendable, Equatable {
    /// This one of the candidates holds.
    case stored(Int)
    /// It was the condition of the caller that was met, with a version that is not stored: 304 is the caller's answer.
    case callers
    /// It is for none that is stored: the request has to be sent again without conditions of the cache.
    case none
}

/// A stored answer whose fields were brought up to date.
public struct CacheUpdate: Sendable, Equatable {
    public let response: StoredResponse
    /// False: it may be answered now, and is to be removed, for the server no longer allows to keep it.
    public let isKept: Bool
}

/// What an answer to HEAD does to a stored one.
public enum HeadMeaning: Sendable, Equatable {
    case updated(CacheUpdate)
    /// The content has changed: the stored answer is not to be used before it is validated.
    case invalidated
    /// It says nothing about it.
    case unaffected
}

extension CacheRequest {
    /// Which of the candidates a 304 is for, that came for a request with conditions of the cache. Section 4.3.4.
    ///
    /// - Parameters:
    ///   - candidates: those that the decision was made among, in their order.
    ///   - validating: the one that was asked about.
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
            // A server that packs its answers weakens the tag of what it packs, and not that of a 304. To have the request
            // sent anew for that would be to have none of its answers validated.
            if let found = find(tag.isStronglySame) ?? find(tag.isWeaklySame) { return .stored(found) }
            return isOwnTag(tag) ? .callers : .none
        }
    }

    /// By the date of the last change, or, where there is none either, the one that was asked about.
    private func meaning(
        ofUntagged headers: Headers, among candidates: [StoredResponse], validating: Int
    ) -> NotModifiedMeaning {
        guard candidates.indices.contains(validating) else { return .none }
        let stored = candidates[validating]
        guard let index = headers.firstIndex(of: "last-modified") else {
            // With tags of the caller in the list nobody knows which of them it was.
            return traits.contains(.noneMatch) ? .none : .stored(validating)
        }
        let isSame = headers.withBytes(at: index) { _, value in
            stored.headers.firstIndex(of: "last-modified").map { other in
                stored.headers.withBytes(at: other) { $1.elementsEqual(value) }
            }
        }
        // One that is stored without a date was asked about by its tag.
        return isSame ?? !traits.contains(.noneMatch) ? .stored(validating) : .none
    }

    private func isOfUse(_ stored: StoredResponse) -> Bool {
        (!stored.isDecoded || wantsDecoded) && (stored.status != 206 || hasPart(stored))
            && Selecting.matches(stored.selecting, fields, fingerprint: fingerprint)
    }

    private func isOwnTag(_ tag: EntityTag) -> Bool {
        var isListed = false
        fields.forEach("if-none-match") { isListed = isListed || tag.isListed(in: $0) }
        return isListed
    }

    /// `stored` with the fields of a 304 that was for it.
    public func updated(
        _ stored: StoredResponse, byNotModified head: ResponseHead, requested: Timestamp, received: Timestamp
    ) -> CacheUpdate {
        update(stored, head.headers, requested, received)
    }

    /// What the answer to this request, which is a HEAD, says about one of the candidates. Section 4.3.5.
    public func meaning(
        ofHead head: ResponseHead, for stored: StoredResponse, requested: Timestamp, received: Timestamp
    ) -> HeadMeaning {
        guard head.status == 200, stored.status == 200, method == .head, isSelected(stored) else { return .unaffected }
        guard !head.headers.contradicts(stored) else { return .invalidated }
        // Alike is not the same: what our own call has changed is validated all the same.
        return .updated(update(stored, head.headers, requested, received, isInvalidated: stored.isInvalidated))
    }

    func isSelected(_ stored: StoredResponse) -> Bool {
        Selecting.matches(stored.selecting, fields, fingerprint: fingerprint)
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
        // Each response may bring new field names: without a bound a server could let the stored fields grow forever.
        var isKept = !directives.noStore && !found.directives.noStore && copy.headers.fitsResponse
        if found.vary != nil {
            if let fields = Selecting.fields(named: copy.headers, of: fields, fingerprint: fingerprint) {
                copy.selecting = fields
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
    /// Section 3.2: each field of `newer` in the place of all of its name, but for what the kept content hangs on. Of a tag
    /// that is but the strong form of a weak one the weak is kept, for what is kept was no more than alike.
    fileprivate func updated(by newer: Headers, _ found: CacheFields, received: Timestamp) -> Headers {
        var result = Headers(reservingFields: count + newer.count, bytes: end + newer.end + 48)
        let dropped = DroppedFields(newer, found)
        func isTaken(_ name: UnsafeRawBufferPointer) -> Bool {
            !dropped.contains(name) && !Headers.isOfContent(name) && !(name.count == 4 && keepsTag(newer, name))
        }
        for index in 0..<count {
            withBytes(at: index) { name, value in
                // They told of the answer that came before.
                if Headers.isOfMessage(name) || (newer.firstIndex(of: name) != nil && isTaken(name)) { return }
                // What the newer one wants unnamed until it is validated is not kept either.
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
        guard ASCII.isCaseless(name, "etag"), let mine = firstIndex(of: "etag"),
            let other = newer.firstIndex(of: "etag")
        else { return false }
        return withBytes(at: mine) { _, mine in
            newer.withBytes(at: other) { _, other in
                EntityTag(mine).isWeak && EntityTag(mine).isWeaklySame(EntityTag(other))
            }
        }
    }

    /// Whether a response may have these fields: the limits are those for fields from the network.
    fileprivate var fitsResponse: Bool {
        let limits = HTTP1ResponseDecoder.Limits()
        return count <= limits.maximumFields && end <= limits.maximumHead
    }

    /// Tell of the content as it came, which a 304 does not bring.
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

    /// Whether a validator differs from that of `stored`, if both have it.
    func hasOtherValidator(than stored: StoredResponse) -> Bool {
        for name in ["etag", "last-modified"] {
            if let mine = firstIndex(of: name), let other = stored.headers.firstIndex(of: name),
                !withBytes(at: mine, { _, mine in stored.headers.withBytes(at: other) { $1.elementsEqual(mine) } })
            {
                return true
            }
        }
        return false
    }

    /// A validator or the length is another than that of `stored`, where both are known.
    fileprivate func contradicts(_ stored: StoredResponse) -> Bool {
        if hasOtherValidator(than: stored) { return true }
        guard let index = firstIndex(of: "content-length") else { return false }
        if let other = stored.headers.firstIndex(of: "content-length") {
            return value(at: index) != stored.headers.value(at: other)
        }
        return !stored.isDecoded && Int(value(at: index)) != stored.contentLength
    }
}
