/// What a client does when it is sent elsewhere.
public struct RedirectSettings: Sendable, Equatable {
    /// False: a redirect is an answer like any other.
    public var follows = true
    /// Redirects of one call that are followed; one more is an error.
    public var maximum = 10
    /// Whether https may lead to http.
    public var allowsDowngrade = false
    /// The client keeps cookies. What sets one and leads back is then no loop: the same question, asked with the cookie,
    /// is another one.
    public var keepsCookies = false
    /// Whether a redirect with Retry-After is followed after the wait that it asks for (RFC 9110 section 10.2.3).
    public var respectsRetryAfter = true
    /// The longest such wait; a redirect that asks for more is an error.
    public var longestWait = Duration.seconds(60)

    public init() {}
}

/// Decides about the redirects of one call. RFC 9110 section 15.4.
///
/// Asked with each final answer; remembers where the call has been.
public struct RedirectPolicy: Sendable {
    /// An answer that led elsewhere.
    public struct Visit: Sendable, Equatable {
        public let method: Method
        public let url: RequestURL
        public let status: Int
    }

    public enum Verdict: Sendable {
        /// Not a redirect, or none that we follow.
        case answer
        case follow(RedirectHop)
        /// `protocol` when server or settings forbid it, `invalid_request` when the body cannot be sent again. The
        /// message names the chain.
        case fail(NightjarError)
    }

    /// The answers that were followed, first to last.
    public private(set) var history: [Visit] = []
    /// The fragment of the URL that is asked for now, encoded. RFC 9110 section 10.2.2 has it outlive a redirect.
    public private(set) var fragment: String?
    private let settings: RedirectSettings
    /// Where in ``history`` loops are looked for.
    private var loopStart = 0

    public init(_ settings: RedirectSettings, fragment: String? = nil) {
        self.settings = settings
        self.fragment = fragment
    }

    /// An answer's head came.
    ///
    /// - Parameters:
    ///   - bodyIsReplayable: the request's content can be sent again, or none of it was taken yet.
    ///   - wallClock: seconds since 1970, for a Retry-After that names a moment in a response without Date.
    public mutating func received(
        _ head: ResponseHead, to method: Method, at url: RequestURL, bodyIsReplayable: Bool,
        wallClock: @autoclosure () -> Double = 0
    ) -> Verdict {
        guard settings.follows, RedirectPolicy.isRedirect(head.status),
            let field = head.headers.firstIndex(of: "Location")
        else { return .answer }
        history.append(Visit(method: method, url: url, status: head.status))
        do throws(NightjarError) {
            let location = try self.location(head.headers, at: field, base: url)
            fragment = location.fragment
            let asked = RetryAfter.duration(head.headers, now: wallClock())
            let hop = RedirectHop(
                method: RedirectPolicy.method(after: head.status, to: method), url: location.url, status: head.status,
                wait: settings.respectsRetryAfter ? asked ?? .zero : .zero, from: url, originalMethod: method)
            let setsCookie = settings.keepsCookies && head.headers.firstIndex(of: "Set-Cookie") != nil
            try check(hop, progresses: setsCookie || asked != nil, bodyIsReplayable)
            return .follow(hop)
        } catch {
            return .fail(
                NightjarError(
                    error.kind, "\(error.message) (\(chain))", phase: .receive, retryAfter: error.retryAfter))
        }
    }

    /// The caller wants the answer itself.
    public mutating func declined() {
        if !history.isEmpty { history.removeLast() }
    }

    /// The caller wants to go elsewhere: where a Location of this text would lead.
    ///
    /// - Throws: `protocol` for what is no place to go to, with the chain.
    public mutating func changed(
        _ hop: RedirectHop, to text: String, bodyIsReplayable: Bool
    ) throws(NightjarError) -> RedirectHop {
        do throws(NightjarError) {
            let location = try text.withRawBytes { bytes throws(NightjarError) in
                try Location(bytes, base: hop.from, fragment: fragment)
            }
            var changed = hop
            changed.url = location.url
            fragment = location.fragment
            try check(changed, progresses: false, bodyIsReplayable)
            return changed
        } catch {
            throw NightjarError(error.kind, "\(error.message) (\(chain))", phase: .receive)
        }
    }

    /// 300 offers a choice that is the caller's, 304 answers a condition, 305 and 306 are deprecated.
    private static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// RFC 9110 sections 15.4.2 to 15.4.9. That 301 and 302 make a POST a GET is what every browser does.
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
            throw .unfollowable("it has two Locations that differ")
        }
        return try headers.withBytes(at: field) { _, value in
            Result { () throws(NightjarError) in try Location(value, base: base, fragment: fragment) }
        }.get()
    }

    /// - Parameter progresses: a cookie or a Retry-After makes the same request another one: it carries the cookie, or it
    ///   asks again later. Leading back is then no loop, and polling by redirect works up to the limit.
    private mutating func check(
        _ hop: RedirectHop, progresses: Bool, _ bodyIsReplayable: Bool
    ) throws(NightjarError) {
        guard history.count <= settings.maximum else {
            throw .unfollowable("it is number \(history.count), and the limit is \(settings.maximum)")
        }
        guard settings.allowsDowngrade || hop.url.origin.isTLS || !hop.from.origin.isTLS else {
            throw .unfollowable("it leads from https to http, to \(brief(hop.url)); allow downgrades if that is right")
        }
        guard hop.wait <= settings.longestWait else {
            throw NightjarError(
                .rateLimited,
                "the redirect cannot be followed: it asks to wait \(hop.wait.inSeconds) s first, and the limit is "
                    + "\(settings.longestWait.inSeconds) s; call again then, raise retry.max_wait, or set "
                    + "respect_retry_after to false", retryAfter: hop.wait)
        }
        if progresses { loopStart = history.count }
        let isLoop = history[loopStart...].contains { $0.method == hop.method && $0.url.isSameResource(hop.url) }
        guard !isLoop else {
            throw .unfollowable("it leads back to \(brief(hop.url)), where the call has been: a loop")
        }
        guard !hop.keepsBody || bodyIsReplayable else {
            throw NightjarError(
                .invalidRequest,
                "the redirect (\(hop.status)) asks for the body again at \(brief(hop.url)), and a streamed body can be "
                    + "sent only once; give the body as bytes, or send it to that URL")
        }
    }

    // MARK: Messages

    /// How many of the chain's links a message names at its beginning and at its end.
    private static let linksNamed = (first: 4, last: 6)

    /// `GET http://a/ -> 302, GET http://b/ -> 302`: what was asked, and how it was answered.
    private var chain: String {
        let links = history.map { "\($0.method) \(brief($0.url)) -> \($0.status)" }
        let (first, last) = RedirectPolicy.linksNamed
        guard links.count > first + last else { return links.joined(separator: ", ") }
        let between = "\(links.count - first - last) more"
        return (links.prefix(first) + [between] + links.suffix(last)).joined(separator: ", ")
    }

    /// Without secrets, and cut: a chain of long URLs is still one message.
    private func brief(_ url: RequestURL) -> String {
        let text = url.redacted
        return text.utf8.count <= 200 ? text : text.prefix(200) + "..."
    }
}

/// The request that a redirect asks for.
public struct RedirectHop: Sendable {
    public var method: Method
    /// Whoever changes it changes with it what ``headers(from:sensitive:)`` lets through.
    public var url: RequestURL
    /// That of the answer that asks for it.
    public let status: Int
    /// How long the server asks to wait before the request (Retry-After).
    public let wait: Duration
    /// The URL that answered.
    public let from: RequestURL
    let originalMethod: Method

    /// False: the request has no content any more.
    public var keepsBody: Bool { method == originalMethod }

    /// The target is none of those that the credentials were meant for: scheme, host or port differ.
    public var dropsCredentials: Bool { url.origin != from.origin }

    /// The fields of the request before that go along. What was dropped stays dropped when a later hop leads back, for
    /// the one in between has chosen what is asked there.
    ///
    /// - Parameters:
    ///   - fields: those of the request before.
    ///   - sensitive: names that the caller wants treated as credentials.
    ///   - forwarded: the fields that go along to another origin.
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
                if !keepsBody, RedirectHop.describesContent(name) { return }
                kept.append(name: name, value: value)
            }
        }
        return kept
    }

    /// The Referer that another origin gets: the origin of the caller's, without its path and query, which may hold secrets.
    /// None goes from https to http: RFC 9110 section 10.1.3.
    private func refererOrigin(_ value: UnsafeRawBufferPointer, sensitive: [String]) -> String? {
        guard !sensitive.contains(where: { ASCII.equalIgnoringCase($0.utf8, "referer".utf8) }),
            let referer = try? RequestURL(String(decoding: value, as: UTF8.self)),
            url.origin.isTLS || !(referer.origin.isTLS || from.origin.isTLS)
        else { return nil }
        return referer.origin.description + "/"
    }

    /// RFC 9110 section 15.4 lists the fields that go with the content.
    private static func describesContent(_ name: UnsafeRawBufferPointer) -> Bool {
        if name.count > 8, ASCII.isCaseless(UnsafeRawBufferPointer(rebasing: name[..<8]), "content-") { return true }
        let others: [StaticString] = [
            "digest", "repr-digest", "last-modified", "transfer-encoding", "trailer", "expect",
        ]
        return others.contains { ASCII.isCaseless(name, $0) }
    }
}

extension RequestURL {
    /// The same on the wire, whoever asks.
    func isSameResource(_ other: RequestURL) -> Bool { origin == other.origin && target == other.target }
}
