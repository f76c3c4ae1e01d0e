/// The settings of a client for redirects.
public struct RedirectSettings: Sendable, Equatable {
    /// True if redirects are followed. If false, a redirect is returned like any other response.
    public var follows = true
    /// The maximum number of redirects in one call. A call with more redirects fails. Redirects that the caller
    /// declined do not count.
    public var maximum = 10
    /// True if a redirect from https to http is followed. If false, the call fails.
    public var allowsDowngrade = false
    /// True if the client stores cookies. A redirect that sets a cookie and leads back to the same URL is then not a
    /// loop, because the repeated request may carry the cookie.
    public var keepsCookies = false
    /// True if a redirect with Retry-After is followed only after the requested wait (RFC 9110 section 10.2.3).
    public var respectsRetryAfter = true
    /// The longest wait before a redirect is followed. If a redirect requests a longer wait, the call fails, unless
    /// ``respectsRetryAfter`` is false.
    public var longestWait = Duration.seconds(60)
    /// True if only redirects that keep the method are followed. Another redirect is returned like any other response.
    package var keepsMethod = false

    public init() {}
}

/// A response that redirected the call.
public struct VisitedURL: Sendable, Equatable {
    public let method: Method
    public let url: RequestURL
    public let status: Int
}

/// Decides whether the redirects of one call are followed, and records the visited URLs. RFC 9110 section 15.4.
public struct RedirectPolicy: Sendable {
    public enum Verdict: Sendable {
        /// The response is not a redirect, has no Location field, or redirects are not followed.
        case respond
        case follow(ProposedRedirect)
        /// The redirect cannot be followed. The message contains the chain of redirects.
        ///
        /// The kind is `invalid_request` if the body cannot be sent again, `rate_limited` if the requested wait is too
        /// long, and `protocol` otherwise.
        case fail(NightjarError)
    }

    /// The redirects so far, first to last, except those that the caller declined.
    public private(set) var history: [VisitedURL] = []
    /// The fragment of the latest target, encoded. A redirect whose Location has no fragment inherits it. RFC 9110
    /// section 10.2.2.
    public private(set) var fragment: String?
    private let settings: RedirectSettings
    /// The index in ``history`` from which loops are detected.
    private var loopStart = 0

    public init(_ settings: RedirectSettings, fragment: String? = nil) {
        self.settings = settings
        self.fragment = fragment
    }

    /// Handles a response head.
    ///
    /// - Parameters:
    ///   - bodyIsReplayable: true if the body can be sent again, or if no part of the body was consumed.
    ///   - wallClock: seconds since 1970. Used if Retry-After is a date and the response has no valid Date field.
    public mutating func received(
        _ head: ResponseHead, to method: Method, at url: RequestURL, bodyIsReplayable: Bool,
        wallClock: @autoclosure () -> Double = 0
    ) -> Verdict {
        guard settings.follows, RedirectPolicy.isRedirect(head.status),
            let field = head.headers.firstIndex(of: "Location"),
            !settings.keepsMethod || RedirectPolicy.method(after: head.status, to: method) == method
        else { return .respond }
        history.append(VisitedURL(method: method, url: url, status: head.status))
        do throws(NightjarError) {
            let location = try self.location(head.headers, at: field, base: url)
            fragment = location.fragment
            let requested = RetryAfter.duration(head.headers, now: wallClock())
            let proposed = ProposedRedirect(
                method: RedirectPolicy.method(after: head.status, to: method), url: location.url, status: head.status,
                wait: settings.respectsRetryAfter ? requested ?? .zero : .zero, from: url, originalMethod: method)
            let setsCookie = settings.keepsCookies && head.headers.firstIndex(of: "Set-Cookie") != nil
            try check(proposed, progresses: setsCookie || requested != nil, bodyIsReplayable)
            return .follow(proposed)
        } catch {
            return .fail(
                NightjarError(
                    error.kind, "\(error.message) (redirects: \(chain))", phase: .receive,
                    retryAfter: error.retryAfter))
        }
    }

    /// Reports that the caller declined the redirect and receives its response.
    public mutating func declined() {
        if !history.isEmpty { history.removeLast() }
    }

    /// Changes the target of a redirect as the caller requested. `text` is interpreted like the value of a Location
    /// field.
    ///
    /// - Throws: the errors of ``Verdict/fail(_:)``. `protocol` also if `text` is not a valid target.
    public mutating func changed(
        _ proposed: ProposedRedirect, to text: String, bodyIsReplayable: Bool
    ) throws(NightjarError) -> ProposedRedirect {
        do throws(NightjarError) {
            let location = try text.withRawBytes { bytes throws(NightjarError) in
                try Location(bytes, base: proposed.from, fragment: fragment)
            }
            var changed = proposed
            changed.url = location.url
            fragment = location.fragment
            try check(changed, progresses: false, bodyIsReplayable)
            return changed
        } catch {
            throw NightjarError(error.kind, "\(error.message) (redirects: \(chain))", phase: .receive)
        }
    }

    /// Returns true for the statuses that are followed. 300 is not followed, because it offers a choice to the caller.
    private static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// Returns the method of the request that follows a redirect. As in browsers, 301 and 302 change POST to GET. RFC
    /// 9110 sections 15.4.2 to 15.4.9.
    private static func method(after status: Int, to method: Method) -> Method {
        switch status {
        case 301, 302: method == .post ? .get : method
        case 303: method == .head ? .head : .get
        default: method
        }
    }

    private func location(
        _ headers: Headers, at field: Int, base: RequestURL
    ) throws(NightjarError) -> Location {
        guard Set(headers.values("Location")).count == 1 else {
            throw .unfollowable("it has Location fields with different values")
        }
        return try headers.withBytes(at: field) { _, value in
            Result { () throws(NightjarError) in try Location(value, base: base, fragment: fragment) }
        }.get()
    }

    /// Checks that a redirect can be followed.
    ///
    /// - Parameter progresses: true if the response set a cookie that the client may store, or had a Retry-After. A
    ///   redirect back to the same URL is then not a loop, because the next response may differ.
    private mutating func check(
        _ proposed: ProposedRedirect, progresses: Bool, _ bodyIsReplayable: Bool
    ) throws(NightjarError) {
        guard history.count <= settings.maximum else {
            throw .unfollowable("it is redirect number \(history.count), but the limit is \(settings.maximum)")
        }
        guard settings.allowsDowngrade || proposed.url.origin.isTLS || !proposed.from.origin.isTLS else {
            throw .unfollowable(
                "it leads from https to \(brief(proposed.url)); set allow_downgrade if this is intended")
        }
        guard proposed.wait <= settings.longestWait else {
            throw NightjarError(
                .rateLimited,
                "the redirect cannot be followed: it requests a wait of \(proposed.wait.inSeconds) s, but the limit is "
                    + "\(settings.longestWait.inSeconds) s; repeat the call later, raise retry.max_wait, or set "
                    + "respect_retry_after to false", retryAfter: proposed.wait)
        }
        if progresses { loopStart = history.count }
        let isLoop = history[loopStart...].contains {
            $0.method == proposed.method && $0.url.isSameResource(proposed.url)
        }
        guard !isLoop else {
            throw .unfollowable("it leads back to \(brief(proposed.url)), which is a loop")
        }
        guard !proposed.keepsBody || bodyIsReplayable else {
            throw NightjarError(
                .invalidRequest,
                "the redirect (\(proposed.status)) requires the body to be sent again to \(brief(proposed.url)), but a "
                    + "streamed body can be "
                    + "sent only once; set the body as bytes, or send the request to that URL")
        }
    }

    // MARK: Messages

    /// The number of links that a message contains from the beginning and from the end of a long chain.
    private static let linksNamed = (first: 4, last: 6)

    /// The chain of requests and statuses: `GET http://a/ -> 302, GET http://b/ -> 302`.
    private var chain: String {
        let links = history.map { "\($0.method) \(brief($0.url)) -> \($0.status)" }
        let (first, last) = RedirectPolicy.linksNamed
        guard links.count > first + last else { return links.joined(separator: ", ") }
        let between = "\(links.count - first - last) more"
        return (links.prefix(first) + [between] + links.suffix(last)).joined(separator: ", ")
    }

    /// Returns the URL without secrets, truncated to 200 characters.
    private func brief(_ url: RequestURL) -> String {
        let text = url.redacted
        return text.utf8.count <= 200 ? text : text.prefix(200) + "..."
    }
}

/// The request that follows a redirect.
public struct ProposedRedirect: Sendable {
    public var method: Method
    /// The target. The fields that ``headers(from:sensitive:forwarded:)`` forwards depend on the target's origin.
    public var url: RequestURL
    /// The status of the redirect response.
    public let status: Int
    /// The wait that the server requested with Retry-After. Zero if there is none or Retry-After is ignored.
    public let wait: Duration
    /// The URL of the request that was redirected.
    public let from: RequestURL
    let originalMethod: Method

    /// True if the method is unchanged. The body is then sent again.
    public var keepsBody: Bool { method == originalMethod }

    /// True if the origin of the target differs from the origin of ``from``. Credentials are then not forwarded, except
    /// in fields that `ForwardedFields/names` contains and that the caller does not declare as credentials.
    public var dropsCredentials: Bool { url.origin != from.origin }

    /// Returns the fields of the previous request that are forwarded. If a later redirect returns to the original
    /// origin, dropped fields are not restored, because another origin chose the target.
    ///
    /// - Parameters:
    ///   - fields: the fields of the previous request.
    ///   - sensitive: field names that the caller declares as credentials.
    ///   - forwarded: the fields that are sent to another origin.
    public func headers(
        from fields: Headers, sensitive: [String] = [], forwarded: ForwardedFields = .standard
    ) -> Headers {
        guard dropsCredentials || !keepsBody else { return fields }
        var kept = Headers(reservingFields: fields.count, bytes: fields.byteCount + 2 * fields.count)
        for index in 0..<fields.count {
            fields.withBytes(at: index) { name, value in
                if dropsCredentials, !forwarded.allow(name, sensitive: sensitive) {
                    if ASCII.isCaseless(name, "referer"), var origin = refererOrigin(value, sensitive: sensitive) {
                        origin.withUTF8 { kept.append(name: name, value: UnsafeRawBufferPointer($0)) }
                    }
                    return
                }
                if !keepsBody, ProposedRedirect.describesContent(name) { return }
                kept.append(name: name, value: value)
            }
        }
        return kept
    }

    /// Returns the Referer for another origin: only the origin of the caller's Referer, because the path and query may
    /// contain secrets. Returns nil if Referer is a sensitive field, if `value` is not an absolute URL, or if the
    /// target is http and the Referer or ``from`` is https. RFC 9110 section 10.1.3.
    private func refererOrigin(_ value: UnsafeRawBufferPointer, sensitive: [String]) -> String? {
        guard !sensitive.contains(where: { ASCII.equalIgnoringCase($0.utf8, "referer".utf8) }),
            let referer = try? RequestURL(String(decoding: value, as: UTF8.self)),
            url.origin.isTLS || !(referer.origin.isTLS || from.origin.isTLS)
        else { return nil }
        return referer.origin.description + "/"
    }

    /// Returns true for fields that describe the body. RFC 9110 section 15.4.
    private static func describesContent(_ name: UnsafeRawBufferPointer) -> Bool {
        if name.count > 8, ASCII.isCaseless(UnsafeRawBufferPointer(rebasing: name[..<8]), "content-") { return true }
        let others: [StaticString] = [
            "digest", "repr-digest", "last-modified", "transfer-encoding", "trailer", "expect",
        ]
        return others.contains { ASCII.isCaseless(name, $0) }
    }
}

extension RequestURL {
    /// Returns true if both URLs have the same origin, path and query. User info is ignored.
    func isSameResource(_ other: RequestURL) -> Bool { origin == other.origin && target == other.target }
}
