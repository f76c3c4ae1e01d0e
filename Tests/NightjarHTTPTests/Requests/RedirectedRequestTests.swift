import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct RedirectedRequestTests {
    private func following(
        _ status: Int, _ location: String, _ method: NightjarHTTP.Method = .post, _ fields: [(String, String)] = []
    ) throws -> PreparedRequest {
        var request = Request(method, "http://u:p@a/x")
        request.body = method == .get ? .none : .bytes(ByteBuffer(string: "body"))
        for (name, value) in fields { try request.headers.add(name, value) }
        let first = try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: "nightjar/1")
        var headers = Headers()
        try headers.add("Location", location)
        var policy = RedirectPolicy(RedirectSettings())
        let verdict = policy.received(
            ResponseHead(status: status, headers: headers), to: method, at: first.url, bodyIsReplayable: true)
        guard case .follow(let proposed) = verdict else {
            Issue.record("\(verdict)")
            return first
        }
        return try first.following(proposed, sensitive: ["X-Mine"])
    }

    private func text(_ request: PreparedRequest) -> String { String(buffer: request.wireHead) }

    private static let fields = [("Content-Type", "a/b"), ("Authorization", "x"), ("X-Mine", "y"), ("Accept", "*/*")]

    @Test func requestIsUnchangedWithinTheOrigin() throws {
        let request = try following(307, "../y?z", .post, Self.fields)
        #expect(
            text(request) == "POST /y?z HTTP/1.1\r\nHost: a\r\nUser-Agent: nightjar/1\r\nContent-Type: a/b\r\n"
                + "Authorization: x\r\nX-Mine: y\r\nAccept: */*\r\nContent-Length: 4\r\n\r\n")
        #expect(request.url.userInfo?.user == "u")
        guard case .bytes(let body) = request.body else {
            Issue.record("expected a body in memory")
            return
        }
        #expect(String(buffer: body) == "body")
    }

    @Test func credentialsAreDroppedForAnotherOrigin() throws {
        let request = try following(308, "https://b/y", .post, Self.fields)
        #expect(
            text(request) == "POST /y HTTP/1.1\r\nHost: b\r\nUser-Agent: nightjar/1\r\nContent-Type: a/b\r\n"
                + "Accept: */*\r\nContent-Length: 4\r\n\r\n")
        #expect(request.url.userInfo == nil)
    }

    /// The user name and password of a URL apply only to its origin, like other credentials.
    @Test func userInfoIsDroppedForAnotherOrigin() throws {
        #expect(text(try following(307, "/y")).contains("\r\nAuthorization: Basic dTpw\r\n"))
        #expect(!text(try following(307, "//b/y")).contains("Authorization"))
    }

    @Test func bodyIsDroppedWithGet() throws {
        let request = try following(303, "/y", .put, [("Content-Type", "a/b"), ("content-language", "de")])
        #expect(
            text(request) == "GET /y HTTP/1.1\r\nHost: a\r\nUser-Agent: nightjar/1\r\n"
                + "Authorization: Basic dTpw\r\n\r\n")
        guard case .none = request.body else {
            Issue.record("\(request.body)")
            return
        }
    }

    @Test func explicitHostIsDroppedForAnotherOrigin() throws {
        #expect(text(try following(302, "/y", .get, [("Host", "virtual")])).contains("\r\nHost: virtual\r\n"))
        #expect(text(try following(302, "//b/y", .get, [("Host", "virtual")])).contains("\r\nHost: b\r\n"))
    }
}
