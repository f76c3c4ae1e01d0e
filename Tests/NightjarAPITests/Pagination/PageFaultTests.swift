import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// Hostile servers: the URLs that a list may follow, and the secrets that must not be saved or shown.
@Suite struct PageFaultTests {
    private typealias Reply = Conversation.Reply

    private func follow(
        _ next: String, from first: String = "https://api.example/v1/list",
        _ change: (inout Pagination) -> Void = { _ in }
    ) throws -> Conversation {
        let talk = try Conversation(.plain(.next, change), first)
        var body = JSONValue.object([.init("items", .array([1])), .init("next", .string(next))])
        return talk.read { _ in
            defer { body = .object([.init("items", .array([2])), .init("next", .null)]) }
            return Reply(body: (try? body.encoded()).map { String(buffer: $0) } ?? "")
        }
    }

    /// Other spellings of the list's own origin, and paths that look like another host.
    @Test(arguments: [
        ("HTTPS://API.example/x", "/x"), ("https://api.example:443/x", "/x"), ("https://API.EXAMPLE:0443/x", "/x"),
        ("//api.example/x", "/x"), ("/x", "/x"), ("x", "/v1/x"), ("?x", "/v1/list?x"), ("../x", "/x"),
        ("../../../x", "/x"), ("/\\evil.example/x", "/%5Cevil.example/x"),
        ("\\\\evil.example/x", "/v1/%5C%5Cevil.example/x"), ("/.//evil.example/x", "//evil.example/x"),
        ("evil.example", "/v1/evil.example"), ("%68ttps://evil.example/", "/v1/%68ttps://evil.example/"),
        (" https://api.example/x ", "/x"), ("https://api.example/x#@evil.example", "/x"),
        ("https://api.example?@evil.example", "/?@evil.example"),
    ])
    func linkOfTheSameOriginIsFollowed(next: String, target: String) throws {
        let talk = try follow(next)
        #expect(talk.error == nil && talk.requested.last == target, "\(next): \(talk.requested.last ?? "")")
        for target in talk.targets { #expect(target.url.origin.description == "https://api.example") }
    }

    @Test(arguments: [
        "https://evil.example/", "//evil.example/", "https:///evil.example/", "https://good@evil.example/",
        "https://api.example@evil.example/", "https://api.example:443@evil.example/", "https://@evil.example/",
        "https://api.example\\@evil.example/", "https://api.example%2Eevil.example/", "https://api.example%40evil/",
        "https://api.example.evil.example/", "https://api.example:8443/", "http://api.example/",
        "HTTP://api.example:443/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://127.1/",
        "https://2130706433/",
        "https://localhost/", "https://api.example\t.evil/", "https://api.example\r\nX: y/",
        "https://api.ex\u{0}ample/",
        "file:///etc/passwd", "FILE:/etc/passwd", "ftp://api.example/", "javascript:alert(1)", "data:,[1]",
        "http+unix://%2Frun%2Fdocker.sock/", "https:evil.example", "https:/evil.example", "https://", "https://:443/",
        "//", "///evil.example/",
    ])
    func linkOfAnotherOriginIsNotFollowed(next: String) throws {
        let talk = try follow(next)
        #expect(talk.requested == ["/v1/list"], "\(next): \(talk.requested)")
        #expect(talk.error?.kind == .protocol || talk.hasEnded, "\(next): \(talk.message)")
    }

    /// Different spellings of an IPv6 address are the same origin.
    @Test func addressesAreComparedInCanonicalForm() throws {
        for next in ["http://[::1]:8080/x", "http://[0:0:0:0:0:0:0:1]:8080/x", "HTTP://[::0001]:8080/x"] {
            #expect(try follow(next, from: "http://[::1]:8080/list").requested.last == "/x")
        }
        for next in ["http://[::1]/x", "http://[::2]:8080/x", "http://127.0.0.1:8080/x"] {
            #expect(try follow(next, from: "http://[::1]:8080/list").error?.kind == .protocol)
        }
    }

    /// Errors, saved states and explanations do not show secrets in the server's URLs.
    @Test func secretsOfTheServerAreMasked() throws {
        for next in [
            "https://evil.example/x?access_token=s3cret", "https://me:s3cret@api.example/", "ftp://s3cret/",
            "https://evil.example:99999/?sig=s3cret", "/x\u{1}?token=s3cret",
        ] {
            #expect(!(try follow(next).message.contains("s3cret")), "\(next)")
        }
        let talk = try Conversation(.plain(.guess))
        talk.read(1) { _ in
            Reply(body: #"{"items":[1],"next":"/list?page=2&X-Amz-Signature=s3cret&api_key=s3cret&session=s3cret"}"#)
        }
        #expect(talk.error == nil && !talk.traversal.explanation.contains("s3cret"))
        let state = String(decoding: Base64.decodeForURL(talk.traversal.state.utf8) ?? [], as: UTF8.self)
        #expect(state.contains("page=2") && !state.contains("s3cret"))
    }

    /// An allowed origin may lead back to the first origin. The allowed origin must not receive the secrets of the
    /// first origin.
    @Test func allowedOriginCannotObtainSecrets() throws {
        let talk = try Conversation(
            .plain(.next) { $0.allowedOrigins = ["https://cdn.example"] },
            "https://u:pw@api.example/list?api_key=s3cret")
        talk.read { target in
            switch target.url.target {
            case "/list?api_key=s3cret": Reply(body: #"{"items":[1],"next":"https://cdn.example/a?api_key=s3cret"}"#)
            case "/a": Reply(body: #"{"items":[2],"next":"https://api.example/b"}"#)
            case "/b": Reply(body: #"{"items":[3],"next":"//cdn.example/c?z=s3cret"}"#)
            default: Reply(body: #"{"items":[4],"next":null}"#)
            }
        }
        #expect(talk.requested == ["/list?api_key=s3cret", "/a", "/b", "/c"])
        #expect(talk.targets.map(\.carriesCredentials) == [true, false, true, false])
        #expect(talk.targets.map { $0.url.userInfo != nil } == [true, false, true, false])
    }

    /// A short secret is removed only where it is a whole value, because many values contain it by chance. A long
    /// secret is also removed inside other values.
    @Test(arguments: [
        (
            "https://u:pw@api.example/list?api_key=s3cr3tvalue",
            "a=1&u=https%3A%2F%2Fapi.example%2F%3Fapi_key%3Ds3cr3tvalue"
        ),
        ("https://u:pw@api.example/list?api_key=s3cr3tvalue", "a=1&z=x/y?api_key=s3cr3tvalue"),
        ("https://u:pw@api.example/list?api_key=s3cr3tvalue", "api%5Fkey=other&a=1&z=s3cr%33tvalue"),
        ("https://u:pw@api.example/list?api_key=1", "a=1&b=11"),
        ("https://u:pw@api.example/list?api_key=", "a=1&b="),
    ])
    func secretInsideAnotherValueIsOmitted(first: String, query: String) throws {
        let talk = try Conversation(.plain(.next) { $0.allowedOrigins = ["https://cdn.example"] }, first)
        talk.read { target in
            target.carriesCredentials
                ? Reply(body: #"{"items":[1],"next":"https://cdn.example/p?\#(query)"}"#)
                : Reply(body: #"{"items":[2],"next":null}"#)
        }
        let expected = query.hasPrefix("a=1&b=11") ? "/p?b=11" : query.hasSuffix("&b=") ? "/p?a=1&b=" : "/p?a=1"
        #expect(talk.requested.last == expected && talk.items == ["1", "2"])
    }

    /// `next` leads in a circle. The cycle is detected with and without a key. With a key, no item is delivered twice.
    @Test func cyclicPagesEnd() throws {
        var turn = 0
        func circle(_ target: PageTarget) -> Reply {
            turn += 1
            return Reply(body: #"{"items":[{"id":\#(turn % 3)}],"next":"/list?\#(turn % 3)"}"#)
        }
        let keyed = try Conversation(.plain(.next) { $0.key = try? JSONPointer("/id") })
        keyed.read(from: circle)
        #expect(keyed.items.count == 3 && keyed.error?.kind == .protocol)
        let plain = try Conversation(.plain(.next) { $0.maximumPages = 50 })
        plain.read(from: circle)
        #expect(plain.requested.count < 6 && plain.error?.kind == .protocol)
    }

    @Test func longCursorsAndURLsAreErrors() throws {
        let long = String(repeating: "c", count: 1 << 20)
        for (style, member) in [(Pagination.Style.cursor, "next_cursor"), (.next, "next")] {
            let talk = try Conversation(.plain(style))
            talk.read { _ in Reply(body: #"{"items":[1],"\#(member)":"\#(style == .next ? "/" : "")\#(long)"}"#) }
            #expect(talk.error != nil && talk.message.utf8.count < 1000 && talk.requested.count == 1)
            #expect(talk.traversal.state.utf8.count < 2 << 20)
        }
    }

    /// The response has 100,000 links. Only a bounded number is examined.
    @Test func linkFieldIsBounded() throws {
        let others = (0..<25_000).map { "<\($0)>;rel=x" }.joined(separator: ",")
        let talk = try Conversation(.plain(.link))
        talk.read { _ in Reply(body: "[1]", headers: Array(repeating: ("Link", others), count: 4)) }
        #expect(talk.requested.count == 1 && (talk.hasEnded || talk.error != nil))
    }

    /// The caller keeps the state and may have modified it.
    @Test(arguments: [
        #"{"url":"https://evil.example/x"}"#, #"{"url":"//evil.example/x"}"#, #"{"url":"https://u:p@api.example/x"}"#,
        #"{"url":"file:///etc/passwd"}"#, #"{"url":"http://api.example/x"}"#, #"{"url":"https://api.example:8443/x"}"#,
        #"{"url":"https://evil.example/x","secrets":["api_key"]}"#, #"{"url":"\\\\evil.example","secrets":["other"]}"#,
        #"{"url":"/x\r\ny"}"#, #"{"url":""}"#, #"{"page":9007199254740993}"#,
    ])
    func forgedStateSendsNoRequestElsewhere(position: String) throws {
        let first = "https://u:pw@api.example/list?api_key=s3cret"
        let talk = try Conversation(.plain(.next), first)
        talk.read(1) { _ in Reply(body: #"{"items":[1],"next":"/n"}"#) }
        let state = String(decoding: Base64.decodeForURL(talk.traversal.state.utf8) ?? [], as: UTF8.self)
        let forged = state.split(separator: #"{"url":"/n"}"#, omittingEmptySubsequences: false).joined(
            separator: position)
        #expect(forged != state)
        let resumed = try? Conversation(.plain(.next), first, resuming: Base64.encodeForURL(Array(forged.utf8)))
        resumed?.read { _ in Reply(body: "[]") }
        for target in resumed?.targets ?? [] {
            #expect(target.url.origin.description == "https://api.example", "\(position)")
            #expect(!target.url.target.utf8.contains { $0 <= 0x20 })
        }
    }
}
