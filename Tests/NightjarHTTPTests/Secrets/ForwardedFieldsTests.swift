import Testing

@testable import NightjarHTTP

@Suite struct ForwardedFieldsTests {
    private func forwarded(
        _ fields: [(String, String)], from: String = "https://a/x", to location: String = "https://b/y",
        _ names: [String] = [], sensitive: [String] = []
    ) throws -> [String] {
        var request = Request(.get, from)
        for (name, value) in fields { try request.headers.add(name, value) }
        let first = try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil)
        var headers = Headers()
        try headers.add("Location", location)
        var policy = RedirectPolicy(RedirectSettings())
        let verdict = policy.received(
            ResponseHead(status: 302, headers: headers), to: .get, at: first.url, bodyIsReplayable: true)
        guard case .follow(let proposed) = verdict else {
            Issue.record("\(verdict)")
            return []
        }
        let next = try first.following(proposed, sensitive: sensitive, forwarded: try ForwardedFields(names))
        return next.fields.filter { $0.name != "Host" }.map { "\($0.name): \($0.value)" }
    }

    @Test func onlySafeFieldsAreForwardedToAnotherOrigin() throws {
        let secret = [
            "X-JWT", "Api_Key", "Auth", "Access_Key", "X-Passwd", "X-PIN", "X-Otp", "SID", "Key", "X-Nobody-Thought-Of",
            "X-Amz-Meta", "Origin",
        ]
        let fields = secret.map { ($0, "s") } + [("Accept", "a/b"), ("Accept-Language", "de"), ("Range", "bytes=0-")]
        #expect(try forwarded(fields) == ["Accept: a/b", "Accept-Language: de", "Range: bytes=0-"])
        #expect(try forwarded(fields, to: "/y").count == fields.count)
    }

    @Test func callerMayAllowFurtherFields() throws {
        let fields = [("X-Client", "c"), ("X-Tenant", "t"), ("X-Own", "o")]
        #expect(try forwarded(fields, ["x-client", "X-Own"], sensitive: ["X-Own"]) == ["X-Client: c"])
        for name in ["Authorization", "cookie", "Host", "a b", ""] {
            #expect(throws: NightjarError.self) { try ForwardedFields([name]) }
        }
    }

    /// A Referer that the caller has set is sent to other origins without its path and query.
    @Test func refererIsReducedToItsOrigin() throws {
        let referer = ("Referer", "https://a/account?token=s3cret#x")
        #expect(try forwarded([referer]) == ["Referer: https://a/"])
        #expect(try forwarded([referer], to: "/y") == ["Referer: \(referer.1)"])
        #expect(
            try forwarded([("Referer", "http://a/p?q")], from: "http://a/x", to: "http://b/") == ["Referer: http://a/"])
        #expect(try forwarded([("Referer", "https://c/p?q")], from: "http://a/x", to: "http://b/") == [])
        #expect(try forwarded([("Referer", "no URL")]) == [])
        #expect(try forwarded([referer], sensitive: ["referer"]) == [])
    }
}
