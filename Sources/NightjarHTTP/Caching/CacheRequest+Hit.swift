/// Determines the form in which a stored response is served.
extension CacheRequest {
    /// Returns the hit for a stored response that can be served: a response that was just validated, or a stale
    /// response after a failure or the expiry of the total timeout.
    public func hit(
        with stored: StoredResponse, index: Int, at now: Timestamp, because reason: CacheHit.Reason
    ) -> CacheHit {
        hit(with: stored, index, stored.freshness, at: now, because: reason)
    }

    func hit(
        with stored: StoredResponse, _ index: Int, _ freshness: Freshness, at now: Timestamp,
        because reason: CacheHit.Reason
    ) -> CacheHit {
        let age = freshness.age(at: now)
        return CacheHit(
            index: index, age: age, timeToLive: freshness.lifetime - age, because: reason, form: form(of: stored))
    }

    /// Returns the form in which a stored response is served. Conditions take precedence over ranges. RFC 9111 section
    /// 4.3.2, RFC 9110 section 13.2.2.
    private func form(of stored: StoredResponse) -> CacheHit.Form {
        guard !traits.isEmpty, 200..<300 ~= stored.status else { return .whole }
        if isUnchanged(stored) { return .notModified }
        if let part = stored.part {
            let wanted = range?.part(within: part)
            return wanted.map {
                .part(($0.lowerBound - part.bytes.lowerBound)..<($0.upperBound - part.bytes.lowerBound))
            }
                ?? .whole
        }
        guard let range, range != .other, stored.status == 200, !stored.isDecoded, rangeHolds(stored) else {
            return .whole
        }
        // A suffix range of an empty body selects the whole body. The response is not a 206, because a Content-Range
        // field cannot describe an empty range.
        if case .last(let count) = range, count > 0, stored.contentLength == 0 { return .whole }
        return range.part(of: stored.contentLength).map { .part($0) } ?? .unsatisfiable
    }

    /// Returns true if a stored 206 response contains all bytes of the requested range, and the condition of If-Range,
    /// if any, is met. Returns false if the request has no range. RFC 9111 section 3.3.
    func hasPart(_ stored: StoredResponse) -> Bool {
        guard let range, let part = stored.part else { return false }
        return range.part(within: part) != nil && rangeHolds(stored)
    }

    /// Returns true if the caller's own condition shows that the caller already has this version.
    private func isUnchanged(_ stored: StoredResponse) -> Bool {
        if traits.contains(.noneMatch) {
            var isListed = false
            let tag = stored.headers.firstIndex(of: "etag")
            fields.forEach("if-none-match") { list in
                isListed =
                    isListed
                    || tag.map { stored.headers.withBytes(at: $0) { EntityTag($1).isListed(in: list) } }
                        ?? EntityTag.isAny(EntityTag.trimmed(list))
            }
            return isListed
        }
        guard traits.contains(.modifiedSince), let index = fields.firstIndex(of: "if-modified-since"),
            let since = fields.date(at: index, received: stored.received)
        else { return false }
        let changed =
            stored.headers.date(at: stored.headers.firstIndex(of: "last-modified"), received: stored.received)
            ?? stored.headers.date(at: stored.headers.firstIndex(of: "date"), received: stored.received)
            ?? stored.received.seconds
        return changed <= since
    }

    /// Returns true if there is no If-Range, or if its condition is met. RFC 9110 section 13.1.5.
    ///
    /// The condition must equal the strong entity tag or the Last-Modified of the stored response. The Last-Modified
    /// must be earlier than the Date.
    private func rangeHolds(_ stored: StoredResponse) -> Bool {
        guard traits.contains(.ifRange), let index = fields.firstIndex(of: "if-range") else { return true }
        return fields.withBytes(at: index) { _, condition in
            if let tag = stored.headers.firstIndex(of: "etag"),
                stored.headers.withBytes(at: tag, { EntityTag($1).isStronglySame(EntityTag(condition)) })
            {
                return true
            }
            guard let date = HTTPDate.parse(condition, received: stored.received.seconds),
                let changed = stored.headers.date(
                    at: stored.headers.firstIndex(of: "last-modified"), received: stored.received),
                let made = stored.headers.date(at: stored.headers.firstIndex(of: "date"), received: stored.received)
            else { return false }
            return date == changed && made > changed
        }
    }
}
