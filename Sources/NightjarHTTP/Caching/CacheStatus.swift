/// The handling of a request by the cache, as a Cache-Status value: `nightjar; hit; ttl=30`. RFC 9211.
public struct CacheStatus: Sendable, Equatable {
    /// The reason why a request was sent to the server. Section 2.2.
    public enum ForwardReason: String, Sendable {
        /// The cache was bypassed.
        case bypass
        case method
        /// No response is stored for the URL.
        case uriMiss = "uri-miss"
        /// The stored responses for the URL do not match the request's fields.
        case varyMiss = "vary-miss"
        /// The stored response cannot be used.
        case miss
        /// The request or its cache policy does not permit the use of the stored response.
        case request
        case stale
        case partial
    }

    /// True if the response was served from the cache without waiting for the server.
    public var isHit = false
    public var forwarded: ForwardReason?
    /// The status of the server's response if the caller receives a stored response instead. Otherwise nil.
    public var forwardedStatus: Int?
    /// The time until the stored response becomes stale, in seconds. Zero or less if its lifetime has passed. Nil if no
    /// stored response is served.
    public var timeToLive: Int64?
    /// True if the server's response is to be stored when it is complete, or if a 304 has confirmed a stored response.
    public var isStored = false
    /// True if the request was coalesced with another request.
    public var isCollapsed = false
    /// A token with additional information.
    public var detail: String?

    public init() {}

    public init(_ hit: CacheHit) {
        isHit = hit.because != .validated && hit.because != .staleIfError
        timeToLive = hit.timeToLive
        switch hit.because {
        case .fresh, .validated: break
        case .maxStale: detail = "max-stale"
        case .staleWhileRevalidate: detail = "stale-while-revalidate"
        case .staleIfError: detail = "stale-if-error"
        case .anyAge: detail = "any-age"
        }
    }

    public init(_ fetch: CacheFetch) { forwarded = fetch.because }

    /// The value of the Cache-Status field.
    public var text: String {
        var text = "nightjar"
        if isHit { text += "; hit" }
        if !isHit, let forwarded {
            text += "; fwd=" + forwarded.rawValue
            if let forwardedStatus { text += "; fwd-status=" + String(forwardedStatus) }
        }
        if let timeToLive { text += "; ttl=" + String(timeToLive) }
        if !isHit, forwarded != nil {
            if isStored { text += "; stored" }
            if isCollapsed { text += "; collapsed" }
        }
        if let detail, FieldSyntax.isToken(detail.utf8), detail.utf8.first.map(ASCII.isLetter) == true {
            text += "; detail=" + detail
        }
        return text
    }
}

extension Headers {
    /// Returns a copy with the status of this cache. It is appended after the statuses of caches closer to the server.
    /// Section 2.
    public func adding(_ status: CacheStatus) -> Headers {
        var copy = self
        copy.append("Cache-Status", status.text)
        return copy
    }
}

extension StoredResponse {
    /// Returns the head of a response from the cache, with Age and Cache-Status. The head for a part or a 416 also
    /// has Content-Range and Content-Length. RFC 9111 section 5.1.
    public func head(for hit: CacheHit, _ cacheStatus: CacheStatus) -> ResponseHead {
        var result = Headers(reservingFields: headers.count + 3, bytes: headers.end + 128)
        for index in 0..<headers.count {
            headers.withBytes(at: index) { name, value in
                if !hit.form.omits(name) { result.append(name: name, value: value) }
            }
        }
        result.append("Age", String(hit.age))
        result.append("Cache-Status", cacheStatus.text)
        switch hit.form {
        case .whole: return head(status, reason, result, length: contentLength)
        case .notModified: return head(304, "Not Modified", result, length: 0)
        case .part(let part):
            let stored = self.part
            let first = stored?.bytes.lowerBound ?? 0
            let length = stored.map { $0.completeLength.map(String.init) ?? "*" } ?? String(contentLength)
            result.append("Content-Range", "bytes \(first + part.lowerBound)-\(first + part.upperBound - 1)/\(length)")
            result.append("Content-Length", String(part.count))
            return head(206, "Partial Content", result, length: part.count)
        case .unsatisfiable:
            result.append("Content-Range", "bytes */\(contentLength)")
            result.append("Content-Length", "0")
            return head(416, "Range Not Satisfiable", result, length: 0)
        }
    }

    private func head(_ status: Int, _ reason: String, _ headers: Headers, length: Int) -> ResponseHead {
        ResponseHead(
            status: status, reason: reason, version: version, headers: headers, contentLength: length)
    }
}

extension CacheHit.Form {
    /// Returns true for fields that are not copied: Age, which is computed, and fields that describe the complete body
    /// if the response has no body or only a part.
    fileprivate func omits(_ name: UnsafeRawBufferPointer) -> Bool {
        if name.count == 3 { return ASCII.isCaseless(name, "age") }
        guard self != .whole, name.count >= 12, ASCII.lowercase(name[0]) == UInt8(ascii: "c") else { return false }
        if ASCII.isCaseless(name, "content-length") || ASCII.isCaseless(name, "content-range") { return true }
        if case .part = self { return false }
        return ASCII.isCaseless(name, "content-type") || ASCII.isCaseless(name, "content-encoding")
            || ASCII.isCaseless(name, "content-language")
    }
}
