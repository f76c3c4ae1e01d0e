import Testing

@testable import NightjarHTTP

@Suite struct RedirectPolicyTests {
    private func url(_ text: String) throws -> RequestURL { try RequestURL(text) }

    private func head(_ status: Int, _ location: String?, cookie: Bool = false) throws -> ResponseHead {
        var headers = Headers()
        if let location { try headers.add("Location", location) }
        if cookie { try headers.add("Set-Cookie", "a=1") }
        return ResponseHead(status: status, headers: headers)
    }

    private func followed(_ verdict: RedirectPolicy.Verdict) throws -> ProposedRedirect {
        guard case .follow(let proposed) = verdict else {
            Issue.record("\(verdict)")
            throw NightjarError(.protocol, "not followed")
        }
        return proposed
    }

    private func failure(_ verdict: RedirectPolicy.Verdict) throws -> NightjarError {
        guard case .fail(let error) = verdict else {
            Issue.record("\(verdict)")
            throw NightjarError(.protocol, "not failed")
        }
        return error
    }

    private func isResponse(_ verdict: RedirectPolicy.Verdict) -> Bool {
        if case .respond = verdict { true } else { false }
    }

    /// The status, the method before and the method after the redirect (RFC 9110 sections 15.4.2 to 15.4.9).
    @Test(arguments: [
        (301, "GET", "GET"), (301, "HEAD", "HEAD"), (301, "POST", "GET"), (301, "PUT", "PUT"),
        (301, "DELETE", "DELETE"),
        (302, "GET", "GET"), (302, "HEAD", "HEAD"), (302, "POST", "GET"), (302, "PATCH", "PATCH"),
        (303, "GET", "GET"), (303, "HEAD", "HEAD"), (303, "POST", "GET"), (303, "PUT", "GET"), (303, "DELETE", "GET"),
        (307, "GET", "GET"), (307, "POST", "POST"), (308, "POST", "POST"), (308, "PROPFIND", "PROPFIND"),
    ])
    func statusDeterminesTheMethod(status: Int, before: String, after: String) throws {
        var policy = RedirectPolicy(RedirectSettings())
        let method = try #require(Method(before))
        let proposed = try followed(
            policy.received(try head(status, "/b"), to: method, at: try url("http://a/"), bodyIsReplayable: true))
        #expect(proposed.method.name == after)
        #expect(proposed.keepsBody == (before == after))
        #expect(proposed.url == (try url("http://a/b")))
        #expect(policy.history == [.init(method: method, url: try url("http://a/"), status: status)])
    }

    @Test(arguments: [200, 201, 300, 304, 305, 306, 309, 404])
    func otherStatusesAreResponses(status: Int) throws {
        var policy = RedirectPolicy(RedirectSettings())
        #expect(
            isResponse(
                policy.received(try head(status, "/b"), to: .get, at: try url("http://a/"), bodyIsReplayable: true)))
        #expect(policy.history.isEmpty)
    }

    @Test func redirectWithoutLocationIsAResponse() throws {
        var policy = RedirectPolicy(RedirectSettings())
        #expect(
            isResponse(policy.received(try head(302, nil), to: .get, at: try url("http://a/"), bodyIsReplayable: true)))
        var settings = RedirectSettings()
        settings.follows = false
        policy = RedirectPolicy(settings)
        #expect(
            isResponse(policy.received(try head(302, "/b"), to: .get, at: try url("http://a/"), bodyIsReplayable: true))
        )
    }

    // MARK: Forwarded fields

    private func fieldsAfter(_ status: Int, _ from: String, _ location: String, _ method: Method) throws -> [String] {
        var settings = RedirectSettings()
        settings.allowsDowngrade = true
        var policy = RedirectPolicy(settings)
        let proposed = try followed(
            policy.received(try head(status, location), to: method, at: try url(from), bodyIsReplayable: true))
        var fields = Headers()
        for name in [
            "Accept", "Host", "authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "X-Mine", "Referer",
            "Content-Type", "Content-Encoding", "Digest", "Content-Language",
        ] { try fields.add(name, "x") }
        return proposed.headers(from: fields, sensitive: ["x-mine"]).map(\.name)
    }

    private static let all = [
        "Accept", "Host", "authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "X-Mine", "Referer",
        "Content-Type", "Content-Encoding", "Digest", "Content-Language",
    ]
    private static let content = ["Content-Type", "Content-Encoding", "Digest", "Content-Language"]

    @Test func allFieldsAreKeptWithinTheOrigin() throws {
        #expect(try fieldsAfter(307, "http://a/x", "http://A:80/y", .post) == Self.all)
        #expect(try fieldsAfter(301, "https://a/x", "/y", .get) == Self.all)
    }

    @Test func contentFieldsAreDroppedWithTheContent() throws {
        #expect(try fieldsAfter(303, "http://a/x", "/y", .post) == Self.all.filter { !Self.content.contains($0) })
    }

    @Test(arguments: ["http://b/", "http://a:81/", "https://a/", "http://a.a/", "//b"])
    func credentialsAreDroppedForOtherOrigins(location: String) throws {
        #expect(try fieldsAfter(308, "http://a/x", location, .post) == ["Accept"] + Self.content)
        #expect(try fieldsAfter(302, "http://a/x", location, .post) == ["Accept"])
    }

    @Test func refererIsDroppedOnADowngrade() throws {
        #expect(try fieldsAfter(308, "https://a/x", "http://a/x", .post) == ["Accept"] + Self.content)
    }

    @Test func redirectChangedByAHookDropsCredentials() throws {
        var policy = RedirectPolicy(RedirectSettings())
        var proposed = try followed(
            policy.received(try head(302, "/b"), to: .get, at: try url("http://a/"), bodyIsReplayable: true))
        #expect(!proposed.dropsCredentials)
        proposed.url = try url("http://b/")
        #expect(proposed.dropsCredentials)
    }

    // MARK: Limits

    @Test func redirectLimitNamesTheChain() throws {
        var policy = RedirectPolicy(RedirectSettings())
        for step in 0..<10 {
            let proposed = try followed(
                policy.received(
                    try head(302, "/\(step + 1)"), to: .get, at: try url("http://a/\(step)?token=secret"),
                    bodyIsReplayable: true))
            #expect(proposed.url.path == "/\(step + 1)")
        }
        let error = try failure(
            policy.received(try head(302, "/11"), to: .get, at: try url("http://u:p@a/10"), bodyIsReplayable: true))
        #expect(error.kind == .protocol)
        #expect(
            error.message == "the redirect cannot be followed: it is redirect number 11, but the limit is 10 "
                + "(redirects: GET http://a/0?token=*** -> 302, GET http://a/1?token=*** -> 302, "
                + "GET http://a/2?token=*** -> 302, GET http://a/3?token=*** -> 302, 1 more, GET http://a/5?token=*** -> 302, "
                + "GET http://a/6?token=*** -> 302, GET http://a/7?token=*** -> 302, GET http://a/8?token=*** -> 302, "
                + "GET http://a/9?token=*** -> 302, GET http://a/10 -> 302)")
    }

    @Test func messagesAreBounded() throws {
        var settings = RedirectSettings()
        settings.maximum = 500
        var policy = RedirectPolicy(settings)
        let long = String(repeating: "x", count: 10_000)
        for step in 0..<500 {
            _ = try followed(
                policy.received(
                    try head(302, "/\(step + 1)"), to: .get, at: try url("http://a/\(step)\(long)"),
                    bodyIsReplayable: true))
        }
        let error = try failure(
            policy.received(try head(302, "/"), to: .get, at: try url("http://a/"), bodyIsReplayable: true))
        #expect(error.message.utf8.count < 4096)
    }

    @Test func downgradeRequiresAnOption() throws {
        var policy = RedirectPolicy(RedirectSettings())
        let error = try failure(
            policy.received(
                try head(301, "http://a/?key=k"), to: .get, at: try url("https://a/"), bodyIsReplayable: true))
        #expect(
            error.message == "the redirect cannot be followed: it leads from https to http://a/?key=***; "
                + "set allow_downgrade if this is intended (redirects: GET https://a/ -> 301)")
        var settings = RedirectSettings()
        settings.allowsDowngrade = true
        policy = RedirectPolicy(settings)
        _ = try followed(
            policy.received(try head(301, "http://a/"), to: .get, at: try url("https://a/"), bodyIsReplayable: true))
    }

    @Test func loopsAreDetected() throws {
        var policy = RedirectPolicy(RedirectSettings())
        _ = try followed(
            policy.received(try head(302, "/b"), to: .get, at: try url("http://a/a"), bodyIsReplayable: true))
        let error = try failure(
            policy.received(try head(302, "/x/../a#top"), to: .get, at: try url("http://a/b"), bodyIsReplayable: true))
        #expect(
            error.message == "the redirect cannot be followed: it leads back to http://a/a, which is "
                + "a loop (redirects: GET http://a/a -> 302, GET http://a/b -> 302)")
    }

    @Test func postRedirectedToItsURLWithGetIsNotALoop() throws {
        var policy = RedirectPolicy(RedirectSettings())
        let proposed = try followed(
            policy.received(try head(303, "/form"), to: .post, at: try url("http://a/form"), bodyIsReplayable: true))
        #expect(proposed.method == .get)
    }

    @Test func newCookieMakesTheSameURLProgress() throws {
        var settings = RedirectSettings()
        var policy = RedirectPolicy(settings)
        let at = try url("http://a/a")
        _ = try failure(
            policy.received(try head(302, "/a", cookie: true), to: .get, at: at, bodyIsReplayable: true))

        settings.keepsCookies = true
        policy = RedirectPolicy(settings)
        for _ in 0..<10 {
            _ = try followed(
                policy.received(try head(302, "/a", cookie: true), to: .get, at: at, bodyIsReplayable: true))
        }
        _ = try failure(policy.received(try head(302, "/a", cookie: true), to: .get, at: at, bodyIsReplayable: true))
    }

    /// Servers use such redirects to let clients poll a job. The client waits each time, up to the redirect limit.
    @Test func retryAfterMakesARedirectToItselfProgress() throws {
        var policy = RedirectPolicy(RedirectSettings())
        let at = try url("http://a/job")
        var polling = try head(303, "/job")
        try polling.headers.add("Retry-After", "2")
        for _ in 0..<10 {
            let proposed = try followed(policy.received(polling, to: .get, at: at, bodyIsReplayable: true))
            #expect(proposed.wait == .seconds(2) && proposed.method == .get)
        }
        let error = try failure(policy.received(polling, to: .get, at: at, bodyIsReplayable: true))
        #expect(error.message.contains("it is redirect number 11, but the limit is 10"))

        // An invalid value is ignored.
        policy = RedirectPolicy(RedirectSettings())
        var garbage = try head(303, "/job")
        try garbage.headers.add("Retry-After", "soon")
        #expect(
            try failure(policy.received(garbage, to: .get, at: at, bodyIsReplayable: true)).message.contains("a loop"))
    }

    @Test func redirectWaitsForRetryAfterUpToTheLimit() throws {
        var settings = RedirectSettings()
        var slow = try head(302, "/b")
        try slow.headers.add("Retry-After", "61")
        var policy = RedirectPolicy(settings)
        let error = try failure(
            policy.received(slow, to: .get, at: try url("http://a/"), bodyIsReplayable: true))
        #expect(error.kind == .rateLimited && error.retryAfter == .seconds(61))
        #expect(error.message.contains("61.0 s") && error.message.contains("retry.max_wait"))
        settings.respectsRetryAfter = false
        policy = RedirectPolicy(settings)
        let proposed = try followed(policy.received(slow, to: .get, at: try url("http://a/"), bodyIsReplayable: true))
        #expect(proposed.wait == .zero)
    }

    /// PUT, POST and GET of one URL are three different requests.
    @Test func otherMethodMakesARedirectToItselfProgress() throws {
        var policy = RedirectPolicy(RedirectSettings())
        let at = try url("http://a/a")
        let proposed = try followed(policy.received(try head(303, "/a"), to: .put, at: at, bodyIsReplayable: true))
        #expect(proposed.method == .get)
        _ = try failure(policy.received(try head(302, "/a"), to: .get, at: at, bodyIsReplayable: true))
    }

    @Test func streamedBodyIsNotSentTwice() throws {
        var policy = RedirectPolicy(RedirectSettings())
        let error = try failure(
            policy.received(try head(307, "/b"), to: .post, at: try url("http://a/"), bodyIsReplayable: false))
        #expect(error.kind == .invalidRequest)
        #expect(
            error.message
                == "the redirect (307) requires the body to be sent again to http://a/b, but a streamed body can be sent "
                + "only once; set the body as bytes, or send the request to that URL "
                + "(redirects: POST http://a/ -> 307)")
        policy = RedirectPolicy(RedirectSettings())
        _ = try followed(
            policy.received(try head(303, "/b"), to: .post, at: try url("http://a/"), bodyIsReplayable: false))
    }

    @Test func invalidLocationIsReportedWithTheChain() throws {
        var policy = RedirectPolicy(RedirectSettings())
        let error = try failure(
            policy.received(try head(302, "file:///x"), to: .get, at: try url("http://a/"), bodyIsReplayable: true))
        #expect(
            error.message
                == "the redirect cannot be followed: the scheme \"file\" of its Location is not http or https "
                + "(redirects: GET http://a/ -> 302)")
        var two = try head(302, "/a")
        try two.headers.add("location", "/b")
        policy = RedirectPolicy(RedirectSettings())
        #expect(
            try failure(policy.received(two, to: .get, at: try url("http://a/"), bodyIsReplayable: true)).message
                == "the redirect cannot be followed: it has Location fields with different values "
                + "(redirects: GET http://a/ -> 302)")
    }

    @Test func fragmentIsInherited() throws {
        var policy = RedirectPolicy(RedirectSettings(), fragment: "a")
        _ = policy.received(try head(302, "/b"), to: .get, at: try url("http://a/"), bodyIsReplayable: true)
        #expect(policy.fragment == "a")
        _ = policy.received(try head(302, "/c#c"), to: .get, at: try url("http://a/b"), bodyIsReplayable: true)
        #expect(policy.fragment == "c")
    }
}
