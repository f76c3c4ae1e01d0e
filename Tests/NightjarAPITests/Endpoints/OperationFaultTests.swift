import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// Hostile parameter values.
@Suite struct OperationFaultTests {
    private static let values = [
        "a/b", "../x", "..", ".", "..;", "..\\", "%2e%2e", "%2F", "%00", "\0", "a\r\nX: y", "?x=1", "#x", "a&b=c",
        ";a=b",
        "//evil.example", "http://evil.example", "\\evil", "{id}", "{", "a b", "+", "\u{2024}\u{2024}",
        "\u{FF0E}\u{FF0E}",
        "\u{301}", "é", "\u{202E}", "\u{2028}", "=", ",", "|", "~", "@", ":", "'\"<>`",
    ]

    private func url(_ operation: Operation, _ arguments: Arguments) throws -> PreparedRequest {
        try PreparedRequest(
            try operation.request(arguments), base: RequestURL("https://api.example/v1"), defaults: Headers(),
            userAgent: nil)
    }

    /// A server that decodes the path once receives the value as one segment between the same two segments.
    @Test(arguments: values) func valueIsOnePathSegment(value: String) throws {
        let operation = Operation("user", .get, "/users/{name}/posts")
        guard value != ".", value != ".." else {
            #expect(throws: NightjarError.self) { try url(operation, ["name": value]) }
            return
        }
        let path = try url(operation, ["name": value]).url.path
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        #expect(segments.count == 5 && segments[2] == "users" && segments[4] == "posts", "\(path)")
        #expect(String(decoding: PercentEncoding.decoded(segments[3].utf8), as: UTF8.self) == value)
    }

    @Test(arguments: values) func valueIsOneQueryItem(value: String) throws {
        var operation = Operation("find", .get, "/find")
        operation.parameters = [Parameter("q", in: .query), Parameter("r", in: .query)]
        let query = try #require(try url(operation, ["q": value, "r": "z"]).url.query)
        let items = query.split(separator: "&", omittingEmptySubsequences: false)
        #expect(items.count == 2 && items[1] == "r=z")
        #expect(String(decoding: PercentEncoding.decoded(items[0].dropFirst(2).utf8), as: UTF8.self) == value)
        // With `allowsReserved`, reserved characters are not encoded. The value is still one item and does not end the
        // query.
        operation.parameters[0].allowsReserved = true
        let reserved = try url(operation, ["q": value, "r": "z"]).url
        #expect(reserved.query?.split(separator: "&", omittingEmptySubsequences: false).count == 2)
        #expect(reserved.origin.host == "api.example" && reserved.path == "/v1/find")
    }

    @Test(arguments: values) func valueIsOneHeaderFieldOrCookie(value: String) throws {
        var operation = Operation("find", .get, "/find")
        operation.parameters = [Parameter("X-A", in: .header), Parameter("c", in: .cookie)]
        let cookie = try String(buffer: url(operation, ["c": value]).head)
        #expect(cookie.utf8.count { $0 == 0x0A } == 3 && !cookie.contains(";"), "\(cookie)")
        do {
            let head = try String(buffer: url(operation, ["X-A": value]).head)
            #expect(head.utf8.count { $0 == 0x0A } == 3 && !head.utf8.contains(0), "\(head)")
        } catch let error as NightjarError {
            #expect(error.kind == .invalidRequest && value.utf8.contains { $0 < 0x20 })
        }
    }

    /// Swift combines a slash and a following combining mark into one `Character`. The slash must still separate
    /// segments.
    @Test func templatesAreReadByteByByte() throws {
        let operation = Operation("odd", .get, "/{a}/\u{301}{b}")
        #expect(PathTemplate(operation.path).segments.count == 3)
        #expect(throws: NightjarError.self) { try operation.request(["a": "..", "b": "x"]) }
        #expect(try operation.request(["a": "x", "b": "y"]).target == "/x/\u{301}y")
        #expect(PathTemplate("/{\u{301}a}").names == ["\u{301}a"])
    }

    /// A parameter cannot set fields that determine the framing or the routing of the message.
    @Test(arguments: ["Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Proxy-Authorization", "TE"])
    func framingFieldsAreRejected(name: String) throws {
        var operation = Operation("odd", .get, "/x")
        operation.parameters = [Parameter(name, in: .header)]
        let error = #expect(throws: NightjarError.self) { try url(operation, Arguments([(name, "chunked")])) }
        #expect(error?.kind == .invalidRequest && error?.message.contains("\"\(name)\" cannot be set") == true)
    }

    @Test func pathWithTwoLeadingSlashesIsNotAHost() throws {
        #expect(throws: NightjarError.self) { try url(Operation("odd", .get, "//evil.example/{a}"), ["a": "x"]) }
        #expect(throws: NightjarError.self) { try url(Operation("odd", .get, "/{a}/x"), ["a": ""]) }
    }

    /// A description may name another server for an operation. The client's credentials are not sent there.
    @Test func otherServerReceivesNoSecretsOfTheClient() throws {
        var defaults = Headers()
        try defaults.add("Authorization", "Bearer s3cret")
        try defaults.add("appid", "s3cret")
        let template = try RequestTemplate(
            base: RequestURL("https://u:s3cret@api.example/v1"), defaults: defaults, userAgent: nil,
            sensitive: ["appid"])
        var operation = Operation("odd", .get, "/x")
        for server in ["https://evil.example", "http://api.example", "https://api.example:8443", "//evil.example"] {
            operation.server = server
            let head = (try? PreparedRequest(operation.request(), template)).map { String(buffer: $0.head) } ?? ""
            #expect(!head.contains("s3cret") && !head.contains("Authorization"), "\(server)")
        }
        operation.server = "https://api.example/v2"
        #expect(String(buffer: try PreparedRequest(operation.request(), template).head).contains("Bearer s3cret"))
    }
}
