/// Builds the requests that the cache sends or makes conditional.
extension CacheRequest {
    /// The maximum number of entity tags that the cache adds to a request. Further tags are not used.
    private static let largestTagCount = 8
    /// The maximum length of a validator in bytes. A longer validator is not used.
    private static let longestTag = 512
    private static let conditionalNames = ["If-None-Match", "If-Modified-Since", "Range", "If-Range"]

    /// Returns a request for a new response. Unless the caller set Cache-Control, the request contains no-cache, so
    /// that caches on the path revalidate their responses.
    func reloading() -> CacheFetch {
        var fetch = CacheFetch(because: .request)
        if !directives.isPresent { fetch.sets = [CacheFetch.Field(name: "Cache-Control", value: "no-cache")] }
        return fetch
    }

    /// Returns a background request that revalidates a stored response, or fetches it again if it has no usable
    /// validator. The caller's conditions do not apply, and the complete representation is requested.
    func refreshing(_ stored: StoredResponse, _ index: Int) -> CacheFetch {
        var fetch = CacheFetch(because: .stale)
        let validators = Validators(stored)
        if let tag = validators.tag { fetch.sets.append(CacheFetch.Field(name: "If-None-Match", value: tag)) }
        if let date = validators.modified {
            fetch.sets.append(CacheFetch.Field(name: "If-Modified-Since", value: date))
        }
        fetch.validating = fetch.sets.isEmpty ? nil : index
        fetch.removes =
            traits.isEmpty
            ? []
            : CacheRequest.conditionalNames.filter { name in
                !fetch.sets.contains { $0.name == name }
            }
        return fetch
    }

    /// Returns a request that validates a stored response. Section 4.3.1.
    ///
    /// Adds no conditions if the stored response has no usable validator. If the caller set If-None-Match, also adds
    /// none if that field contains `*` or the stored response has no usable entity tag.
    func forward(
        _ candidates: [StoredResponse], _ index: Int, _ freshness: Freshness, at now: Timestamp,
        because reason: CacheStatus.ForwardReason
    ) -> CacheDecision {
        var fetch = CacheFetch(because: reason)
        fetch.fallback = fallback(index, freshness, at: now)
        let validators = Validators(candidates[index])
        if let tag = validators.tag {
            guard let list = tags(candidates, first: tag) else { return .fetch(fetch) }
            fetch.sets.append(CacheFetch.Field(name: "If-None-Match", value: list))
        } else if traits.contains(.noneMatch) {
            // Add no condition, because a server ignores If-Modified-Since if there is an If-None-Match.
            return .fetch(fetch)
        }
        if let date = validators.modified, !traits.contains(.noneMatch) {
            fetch.sets.append(CacheFetch.Field(name: "If-Modified-Since", value: date))
        }
        guard !fetch.sets.isEmpty else { return .fetch(fetch) }
        if policy == .revalidate, !directives.isPresent {
            fetch.sets.append(CacheFetch.Field(name: "Cache-Control", value: "max-age=0"))
        }
        fetch.validating = index
        return .validate(fetch)
    }

    /// Returns a list of the entity tags of the usable candidates (at most ``largestTagCount``) and of the caller's
    /// If-None-Match. Section 4.3.2.
    ///
    /// - Returns: nil if the caller's list contains `*`, because a 304 would then not identify a candidate.
    private func tags(_ candidates: [StoredResponse], first: String) -> String? {
        var tags = [first]
        for candidate in candidates where tags.count < CacheRequest.largestTagCount {
            guard !candidate.isDecoded || acceptsDecoded, candidate.status != 206 || hasPart(candidate),
                let tag = Validators(candidate).tag, !tags.contains(tag),
                VariantKey.matches(candidate.variantFields, fields, fingerprint: fingerprint)
            else { continue }
            tags.append(tag)
        }
        var isAny = false
        fields.forEach("if-none-match") { value in
            EntityTag.forEach(in: value) { element in
                isAny = isAny || EntityTag.isAny(element)
                let tag = String(decoding: element, as: UTF8.self)
                if !tags.contains(tag) { tags.append(tag) }
            }
        }
        return isAny ? nil : tags.joined(separator: ", ")
    }

    /// Returns the stale response to serve if the server or the connection fails. RFC 5861 section 4. Returns nil if
    /// the request, the policy or the response requires validation, if the age or the expiry of the response is
    /// unknown, or if neither the request nor the response contains a stale-if-error of more than 0 s.
    private func fallback(_ index: Int, _ freshness: Freshness, at now: Timestamp) -> CacheFetch.Fallback? {
        guard !directives.noCache, directives.maxAge != 0, policy != .revalidate, !freshness.isInvalidated,
            !freshness.directives.forbidsStale, !freshness.isFromFuture(now.milliseconds),
            let window = [directives.staleIfError, freshness.directives.staleIfError].compactMap({ $0 }).max(),
            window > 0,
            let until = freshness.freshUntil?.later(by: .seconds(window))
        else { return nil }
        return CacheFetch.Fallback(index: index, until: until)
    }

    /// The validators of a stored response, as field values.
    private struct Validators {
        let tag: String?
        let modified: String?

        init(_ stored: StoredResponse) {
            tag = stored.headers.text("etag", longest: CacheRequest.longestTag)
            modified = stored.headers.text("last-modified", longest: CacheRequest.longestTag)
        }
    }
}

extension Headers {
    /// Returns the first value of this name that has 1 to `longest` bytes and is valid UTF-8.
    fileprivate func text(_ name: StaticString, longest: Int) -> String? {
        var found: String?
        forEach(name) { value in
            guard found == nil, !value.isEmpty, value.count <= longest else { return }
            found = String(validating: value, as: UTF8.self)
        }
        return found
    }
}
