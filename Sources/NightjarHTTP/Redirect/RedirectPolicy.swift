/// How a client handles redirects.
public struct RedirectSettings: Sendable, Equatable {
    /// If false, a redirect is returned like any other response.
    public var follows = true
    /// The maximum number of redirects in one call. One more is an error.
    public var maximum = 10
    /// Whether a redirect from https to http is followed.
    public var allowsDowngrade = false
    /// Whether the client stores cookies. A redirect that sets a cookie and leads back to the same URL is then not a
    /// loop, because the repeated request carries the cookie.
    public var keepsCookies = false
    /// Whether a redirect with Retry-After is followed only after the requested wait (RFC 9110 section 10.2.3).
    public var respectsRetryAfter = true
    /// The longest such wait. A redirect that asks for more is an error.
    public var longestWait = Duration.seconds(60)

    public init() {}
}

/// A response that redirected the call.
public struct VisitedURL: Sendable, Equatable {
    public let method: Method
    public let url: RequestURL
    public let status: Int
}

/// Decides how the redirects of one call are handled. RFC 9110 section 15.4.
///
/// Receives each final response and records the URLs that the call has visited.
package struct RedirectPolicy: Sendable {
    package enum Verdict: Sendable {
        /// The response is not a redirect, or redirects are not followed.
        case respond
        case follow(ProposedRedirect)
        /// The redirect cannot be followed: `protocol` if the server or the settings prevent it, `invalid_request` if
        /// the body cannot be sent again. The message names the chain of redirects.
        case fail(NightjarError)
    }

    /// The redirects followed so far, first to last.
    package private(set) var history: [VisitedURL] = []
    /// The fragment of the current URL, encoded. A redirect inherits it (RFC 9110 section 10.2.2).
    package private(set) var fragment: String?
    private let settings: RedirectSettings
    /// The index in ``history`` from which loops are detected.
    private var loopStart = 0

    package init(_ settings: RedirectSettings, fragment: String? = nil) {
        self.settings = settings
        self.fragment = fragment
    }

    /// Handles a response head.
    ///
    /// - Parameters:
    ///   - bodyIsReplayable: the body can be sent again, or none of it was consumed.
    ///   - wallClock: seconds since 1970, for a Retry-After date in a response without a Date field.
    package mutating func received(
        _ head: ResponseHead, to method: Method, at url: RequestURL, bodyIsReplayable: Bool,
        wallClock: @autoclosure () -> Double = 0
    ) -> Verdict {
        guard settings.follows, RedirectPolicy.isRedirect(head.status),
            let field = head.headers.firstIndex(of: "Location")
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
                    error.kind, "\(error.message) (\(chain))", phase: .receive, retryAfter: error.retryAfter))
        }
    }

    /// The caller declined the redirect and receives the response itself.
    package mutating func declined() {
        if !history.isEmpty { history.removeLast() }
    }

    /// The caller changed the target of a redirect. `text` is interpreted like the value of a Location field.
    ///
    /// - Throws: `protocol` if `text` is not a valid target. The message names the chain.
    package mutating func changed(
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
            throw NightjarError(error.kind, "\(error.message) (\(chain))", phase: .receive)
        }
    }

    /// 300 offers a choice to the caller, 304 is the result of a conditional request, 305 and 306 are deprecated.
    private static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// RFC 9110 sections 15.4.2 to 15.4.9. As in every browser, 301 and 302 change POST to GET.
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
            throw .unfollowable("it has two different Location fields")
        }
        return try headers.withBytes(at: field) { _, value in
            Result { () throws(NightjarError) in try Location(value, base: base, fragment: fragment) }
        }.get()
    }

    /// - Parameter progresses: the response set a cookie or had a Retry-After, so a redirect back to the same URL is
    ///   not a loop: the next request carries the cookie or is sent later. Polling by redirect works up to the limit.
    private mutating func check(
        _ proposed: ProposedRedirect, progresses: Bool, _ bodyIsReplayable: Bool
    ) throws(NightjarError) {
        guard history.count <= settings.maximum else {
            throw .unfollowable("it is redirect number \(history.count), but the limit is \(settings.maximum)")
        }
        guard settings.allowsDowngrade || proposed.url.origin.isTLS || !proposed.from.origin.isTLS else {
            throw .unfollowable("it leads from https to \(brief(proposed.url)); allow downgrades if this is intended")
        }
        guard proposed.wait <= settings.longestWait else {
            throw NightjarError(
                .rateLimited,
                "the redirect cannot be followed: it asks to wait \(proposed.wait.inSeconds) s, but the limit is "
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

    /// The number of links that a message names at the beginning and at the end of the chain.
    private static let linksNamed = (first: 4, last: 6)

    /// The chain of requests and statuses: `GET http://a/ -> 302, GET http://b/ -> 302`.
    private var chain: String {
        let links = history.map { "\($0.method) \(brief($0.url)) -> \($0.status)" }
        let (first, last) = RedirectPolicy.linksNamed
        guard links.count > first + last else { return links.joined(separator: ", ") }
        let between = "\(links.count - first - last) more"
        return (links.prefix(first) + [between] + links.suffix(last)).joined(separator: ", ")
    }

    /// The URL without secrets, truncated so that a chain of long URLs stays readable.
    private func brief(_ url: RequestURL) -> String {
        let text = url.redacted
        return text.utf8.count <= 200 ? text : text.prefix(200) + "..."
    }
}

/// The request that follows a redirect.
public struct ProposedRedirect: Sendable {
    public var method: Method
    /// The target. Changing it also changes which fields ``headers(from:sensitive:)`` forwards.
    public var url: RequestURL
    /// The status of the redirect response.
    public let status: Int
    /// The wait that the server asks for before the request (Retry-After).
    public let wait: Duration
    /// The URL that sent the redirect.
    public let from: RequestURL
    let originalMethod: Method

    /// True if the method is unchanged, so the body is sent again.
    public var keepsBody: Bool { method == originalMethod }

    /// True if the target's origin (scheme, host or port) differs, so credentials must not be sent.
    public var dropsCredentials: Bool { url.origin != from.origin }

    /// The fields of the previous request that are forwarded. Fields dropped by an earlier hop are not restored if a
    /// later hop returns to the original origin, because the hop in between chose the target.
    ///
    /// - Parameters:
    ///   - fields: the fields of the previous request.
    ///   - sensitive: field names that the caller declares as credentials.
    ///   - forwarded: the fields that are sent to another origin.
    package func headers(
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

    /// The Referer for another origin: only the origin of the caller's Referer, because path and query may contain
    /// secrets. Not sent from https to http (RFC 9110 section 10.1.3).
    private func refererOrigin(_ value: UnsafeRawBufferPointer, sensitive: [String]) -> String? {
        guard !sensitive.contains(where: { ASCII.equalIgnoringCase($0.utf8, "referer".utf8) }),
            let referer = try? RequestURL(String(decoding: value, as: UTF8.self)),
            url.origin.isTLS || !(referer.origin.isTLS || from.origin.isTLS)
        else { return nil }
        return referer.origin.description + "/"
    }

    /// True for fields that describe the body. RFC 9110 section 15.4.
    private static func describesContent(_ name: UnsafeRawBufferPointer) -> Bool {
        if name.count > 8, ASCII.isCaseless(UnsafeRawBufferPointer(rebasing: name[..<8]), "content-") { return true }
        let others: [StaticString] = [
            "digest", "repr-digest", "last-modified", "transfer-encoding", "trailer", "expect",
        ]
        return others.contains { ASCII.isCaseless(name, $0) }
    }
}

extension RequestURL {
    /// True if both URLs produce the same request line and Host, ignoring user info.
    func isSameResource(_ other: RequestURL) -> Bool { origin == other.origin && target == other.target }
}
