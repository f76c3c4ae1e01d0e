extension PageTraversal {
    /// Returns the request for the page at `position`.
    ///
    /// - Throws: `protocol` if the page's origin is not allowed, or if only the first page uses TLS; `invalid_url` if
    ///   the URL becomes too long.
    func target(of position: PagePosition) throws(NightjarError) -> PageTarget {
        var items: [(name: String, value: String)] = []
        if let name = options.sizeParameter, let size = options.size { items.append((name, String(size))) }
        let parameter = plan?.parameter ?? ""
        if options.bodyParameter != nil, let value = position.bodyValue {
            var target = PageTarget(items.isEmpty ? first : try first.setting(items))
            target.bodyValue = value
            return target
        }
        switch position {
        case .first, .end:
            if options.style == .page, options.bodyParameter == nil {
                let name = options.parameter ?? "page"
                if first.queryValue(name) == nil { items.append((name, String(options.first))) }
            }
        case .page(let number): items.append((parameter, String(number)))
        case .offset(let offset): items.append((parameter, String(offset)))
        case .cursor(let cursor): items.append((parameter, cursor))
        case .query(let own): items += own.map { ($0.name, $0.value) }
        case .url(let url):
            try check(url)
            var target = PageTarget(url)
            target.carriesCredentials = url.origin == first.origin
            return target
        case .token(let token):
            guard let header = options.requestHeader else {
                items.append((parameter, token))
                break
            }
            var target = PageTarget(try first.setting(items))
            target.headerName = header
            target.headerValue = token
            return target
        }
        return PageTarget(items.isEmpty ? first : try first.setting(items))
    }

    func position(_ next: PageReading.Next, from url: RequestURL) throws(NightjarError) -> PagePosition {
        switch next {
        case .position(let position): position
        case .url(let text): .url(try followed(text, from: url))
        case .end: .end
        }
    }

    static func sentence(_ parts: [String]) -> String {
        guard let last = parts.last, parts.count > 1 else { return parts.first ?? "" }
        return parts.dropLast().joined(separator: ", ") + " and " + last
    }

    /// Resolves the URL of the next page from a response. Removes secrets of the first request from a URL of another
    /// origin.
    ///
    /// - Throws: `protocol` if the URL is invalid.
    func followed(_ text: String, from responseURL: RequestURL) throws(NightjarError) -> RequestURL {
        let url = try text.withRawBytes { bytes throws(NightjarError) in
            let trimmed = ASCII.trimmed(bytes)
            return try Location(UnsafeRawBufferPointer(rebasing: trimmed), base: responseURL, as: .nextPage).url
        }
        guard url.origin != first.origin else {
            return RequestURL(
                origin: first.origin, target: url.target, userInfo: first.userInfo, sensitive: first.sensitive)
        }
        let safe = RequestURL(origin: url.origin, target: url.target, userInfo: nil, sensitive: first.sensitive)
        return safe.withQuery(safe.queryParts.filter { !isOwnSecret($0) })
    }

    /// Returns true if a query item contains a secret of the first request, or has the name of one.
    private func isOwnSecret(_ part: Substring) -> Bool {
        let name = PercentEncoding.decoded(RequestURL.nameOf(part))
        let value = PercentEncoding.decoded(RequestURL.valueOf(part))
        if first.sensitive.contains(where: { RequestURL.isPart(part, named: $0) }) { return true }
        return first.queryParts.contains { own in
            guard first.isSecret(own) else { return false }
            if PercentEncoding.decoded(RequestURL.nameOf(own)) == name { return true }
            let secret = PercentEncoding.decoded(RequestURL.valueOf(own))
            if secret.count < PageTraversal.recognizableSecret { return !value.isEmpty && secret == value }
            // Also find a secret inside a longer value, such as a complete URL of the list.
            return value.contains(secret)
        }
    }

    /// The minimum length in bytes of a secret to search for inside other values. Shorter secrets may occur there by
    /// chance.
    private static let recognizableSecret = 8

    /// Checks that the list may continue at `url`.
    ///
    /// - Throws: `protocol` if the origin is not allowed, or if only the first page uses TLS.
    func check(_ url: RequestURL) throws(NightjarError) {
        guard url.origin != first.origin else { return }
        if first.origin.isTLS, !url.origin.isTLS {
            throw NightjarError(
                .protocol,
                "the list cannot be followed: its next page, at \(quoted(url.origin.description)), "
                    + "does not use TLS, but its first page does")
        }
        guard allowed.contains(url.origin) else {
            throw NightjarError(
                .protocol,
                "the list cannot be followed: its next page is at \(quoted(url.origin.description)), not at "
                    + "\(quoted(first.origin.description)); add this origin to allow_origins to follow the list "
                    + "without credentials")
        }
    }

    // MARK: Limits

    /// The maximum number of consecutive pages without new items. A server that filters items after paging sends at
    /// most dozens of empty pages in a row.
    static let maximumEmptyPages = 1000
    /// The maximum number of consecutive pages that repeat earlier pages, if their items are not distinctive. A list of
    /// measured values can have many equal pages.
    static let maximumConsecutiveKnownPages = 100
    /// The statuses with which servers respond to a request for a page after the last page.
    static let indicatesNone = [400, 404, 410, 416, 422]
}

extension Pagination {
    /// Checks the options.
    ///
    /// - Throws: `invalid_argument` if options are out of range or do not fit together.
    func check() throws(NightjarError) {
        func refuse(_ text: String) -> NightjarError { NightjarError(.invalidArgument, text) }
        if maximumPages < 1 { throw refuse("max_pages must be at least 1, got \(maximumPages)") }
        if maximumItems < 1 { throw refuse("max_items must be at least 1, got \(maximumItems)") }
        if first < 0 || first > Pagination.largestFirst {
            throw refuse("first must be between 0 and \(Pagination.largestFirst), got \(first)")
        }
        if prefetch < 0 || prefetch > Pagination.largestPrefetch {
            throw refuse("prefetch must be between 0 and \(Pagination.largestPrefetch), got \(prefetch)")
        }
        if let size, size < 1 { throw refuse("size must be at least 1, got \(size)") }
        if style == .header {
            guard let header, FieldSyntax.isToken(header.utf8) else {
                throw refuse("style header requires the option header: the name of the field with the next page")
            }
        }
        if let requestHeader, !FieldSyntax.isToken(requestHeader.utf8) {
            throw refuse("request_header must be the name of a header field, got \(quoted(requestHeader))")
        }
        if bodyParameter != nil {
            guard [.page, .offset, .cursor, .header].contains(style) else {
                throw refuse("body_param requires the style page, offset, cursor or header; set style")
            }
            guard parameter == nil, requestHeader == nil else {
                throw refuse("only one of body_param, param and request_header may be set")
            }
        }
        if parameter == "" { throw refuse("param is empty; set it to the name of the query item, or remove it") }
        _ = try origins()
    }

    /// Returns the options with style header if ``nextHeader`` is set.
    ///
    /// - Throws: `invalid_argument` if other options select the next page differently.
    func withStyleOfNextHeader() throws(NightjarError) -> Pagination {
        guard let nextHeader else { return self }
        guard FieldSyntax.isToken(nextHeader.utf8) else {
            throw NightjarError(
                .invalidArgument, "next_header must be the name of a header field, got \(quoted(nextHeader))")
        }
        guard style == .guess || style == .header else {
            throw NightjarError(
                .invalidArgument, "next_header requires the style header, got \(style.rawValue); remove style")
        }
        let others: [(String, Bool)] = [
            ("header", header.map { !$0.isExactly(nextHeader) } ?? false), ("next", next != nil),
            ("param", parameter != nil), ("request_header", requestHeader != nil),
            ("body_param", bodyParameter != nil),
        ]
        if let other = others.first(where: \.1) {
            throw NightjarError(.invalidArgument, "only one of next_header and \(other.0) may be set")
        }
        var options = self
        (options.style, options.header) = (.header, nextHeader)
        return options
    }

    func origins() throws(NightjarError) -> [Origin] {
        var origins: [Origin] = []
        for text in allowedOrigins {
            do throws(NightjarError) {
                origins.append(try RequestURL(text).origin)
            } catch {
                throw NightjarError(
                    .invalidArgument, "the allowed origin \(quoted(text)) is invalid: \(error.message)")
            }
        }
        return origins
    }
}

extension PagePosition {
    /// The value that selects the page in the body of a request. Nil if the body does not select the page.
    fileprivate var bodyValue: JSONValue? {
        switch self {
        case .page(let number), .offset(let number): .integer(Int64(number))
        case .cursor(let text), .token(let text): .string(text)
        case .first, .end, .query, .url: nil
        }
    }
}
