import NIOCore
import NightjarAPI
import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

private struct Article: Codable, Equatable, Sendable {
    var id: Int
    var title: String
}

extension Endpoint where Response == Article {
    fileprivate static func article(id: Int) -> Self { .get("/articles/{id}", ["id": id]) }
    fileprivate static func create(_ article: Article) -> Self { .post("/articles", body: article) }
}

extension Endpoint where Response == [String] {
    fileprivate static func titles(page: Int?) -> Self {
        .get("/articles", ["page": page], at: JSONPointer(tokens: ["titles"]))
    }
}

extension Endpoint where Response == Void {
    fileprivate static func remove(id: Int) -> Self { .delete("/articles/{id}", ["id": id]) }
}

@Suite struct EndpointTests {
    private let reply: [ScriptedTransport.Step] = [
        .head(200, [("Content-Type", "application/json")]), .body(#"{"id":42,"title":"Hello"}"#), .end,
    ]

    private func sent(_ transport: ScriptedTransport) -> [String] {
        transport.log.withLock { $0.heads.map { String($0.prefix { $0 != "\r\n" }) } }
    }

    @Test func endpointRequiringALoginFailsWithoutOne() throws {
        let transport = ScriptedTransport([reply, reply])
        var operation = Operation("me", .get, "/me")
        operation.requiresAuth = true
        let endpoint = Endpoint<Article>(operation)
        let error = #expect(throws: NightjarError.self) { try client(transport).sendBlocking(endpoint) }
        #expect(error?.kind == .invalidRequest)
        #expect(
            error?.message
                == #"endpoint "me" requires authentication, but no credentials are set; set the client's option "#
                + #"auth or add "#
                + "a header with credentials to the request")
        #expect(sent(transport).isEmpty)
        _ = try client(transport) { $0.auth = .bearer("t") }.sendBlocking(endpoint)
        var own = endpoint
        try own.request.headers.set("X-API-Key", "k")
        _ = try client(transport).sendBlocking(own)
        #expect(sent(transport).count == 2)
    }

    @Test func endpointDecodesItsResponse() async throws {
        let transport = ScriptedTransport([reply, reply])
        let api = try client(transport)
        let article = try await api.send(.article(id: 42))
        #expect(article == Article(id: 42, title: "Hello"))
        #expect(try api.sendBlocking(.article(id: 7)).id == 42)
        #expect(sent(transport) == ["GET /v1/articles/42 HTTP/1.1", "GET /v1/articles/7 HTTP/1.1"])
    }

    @Test func bodyIsEncodedAsJSON() async throws {
        let transport = ScriptedTransport([reply])
        let api = try client(transport)
        _ = try await api.send(.create(Article(id: 1, title: "x")))
        let head = transport.log.withLock { $0.heads[0] }
        #expect(head.hasPrefix("POST /v1/articles HTTP/1.1\r\n"))
        #expect(head.contains("\r\nContent-Type: application/json\r\n"))
        #expect(head.contains("\r\nContent-Length: 20\r\n"))
    }

    @Test func bodyMayBeALiteralWithVariables() async throws {
        let (id, title): (Int, String) = (7, "Owls")
        let transport = ScriptedTransport(Array(repeating: reply, count: 4))
        let api = try client(transport)
        let endpoints: [Endpoint<Void>] = [
            .post("/a", body: ["id": id, "title": title]),
            .put("/a/{id}", ["id": id], body: ["id": id, "title": title]),
            .patch("/a", body: ["title": title, "note": nil]), .post("/a").sending([id, title]),
        ]
        let bodies = try endpoints.map { try $0.makeRequest().body }
        let texts = bodies.map { body in
            if case .bytes(let buffer) = body { String(buffer: buffer) } else { "" }
        }
        let both = #"{"id":7,"title":"Owls"}"#
        #expect(texts == [both, both, #"{"title":"Owls","note":null}"#, #"[7,"Owls"]"#])
        for endpoint in endpoints { try await api.send(endpoint) }
        #expect(sent(transport)[1] == "PUT /v1/a/7 HTTP/1.1")
        let error = #expect(throws: NightjarError.self) {
            try Endpoint<Void>.post("/a", body: ["id": id, "ratio": Double.infinity]).makeRequest()
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func untypedEndpointsAreStreamedAndListed() async throws {
        let list: [ScriptedTransport.Step] = [.head(200), .body("[1,2]"), .end]
        let transport = ScriptedTransport([reply, list])
        let api = try client(transport)
        let streamed = try await api.stream(.get("/a", ["page": 2]))
        #expect(try await streamed.collect(upTo: 100).status == 200)
        var sizes: [Int] = []
        for try await page in try api.pages(.get("/b"), Pagination()) { sizes.append(page.count) }
        #expect(sizes == [2])
        #expect(sent(transport).first == "GET /v1/a?page=2 HTTP/1.1")
    }

    @Test func otherValuesAreSentInTheQuery() async throws {
        let titles: [ScriptedTransport.Step] = [.head(200), .body(#"{"titles":["a","b"]}"#), .end]
        let transport = ScriptedTransport([titles, titles])
        let api = try client(transport)
        #expect(try await api.send(.titles(page: 2)) == ["a", "b"])
        #expect(try await api.send(.titles(page: nil)) == ["a", "b"])
        #expect(sent(transport) == ["GET /v1/articles?page=2 HTTP/1.1", "GET /v1/articles HTTP/1.1"])
    }

    @Test func responseMayBeVoidBytesOrComplete() async throws {
        let transport = ScriptedTransport([[.head(204), .end], reply, reply, reply])
        let api = try client(transport)
        try await api.send(.remove(id: 3))
        let bytes: ByteBuffer = try await api.send(.get("/a"))
        #expect(String(buffer: bytes) == #"{"id":42,"title":"Hello"}"#)
        let whole: NightjarHTTP.Response = try await api.send(.get("/a"))
        #expect(whole.status == 200)
        let value: JSONValue = try await api.send(.get("/a"))
        #expect(value["id"] == 42)
    }

    @Test func catalogProvidesEndpoints() async throws {
        let transport = ScriptedTransport([reply])
        let api = try client(transport) { configuration in
            try? configuration.merge(
                json: #"{"endpoints": {"article": {"path": "/articles/{id}", "parameters": {"id": "integer"}}}}"#)
        }
        let catalog = try #require(api.catalog)
        let article = try await api.send(catalog.endpoint("article", as: Article.self, ["id": 42]))
        #expect(article.title == "Hello")
        let error = #expect(throws: NightjarError.self) {
            try catalog.endpoint("artcle", as: Article.self)
        }
        #expect(error?.message == #"there is no endpoint "artcle"; did you mean "article"?"#)
        await #expect(throws: NightjarError.self) {
            try await api.send(catalog.endpoint("article", as: Article.self, ["id": "x"]))
        }
        #expect(sent(transport).count == 1)
    }

    @Test func acceptOfTheClientIsPreserved() async throws {
        let transport = ScriptedTransport([reply, reply])
        let api = try client(transport) { configuration in
            try? configuration.headers.set("Accept", "application/vnd.test+json")
            try? configuration.merge(
                json: #"{"endpoints": {"article": {"path": "/a", "response": {"type": "object"}}}}"#)
        }
        let endpoint: Endpoint<NightjarHTTP.Response> = try #require(api.catalog).endpoint("article")
        _ = try await api.send(endpoint)
        #expect(transport.log.withLock { $0.heads[0] }.contains("\r\nAccept: application/vnd.test+json\r\n"))
        #expect(!transport.log.withLock { $0.heads[0] }.contains("Accept: application/json"))
    }

    // MARK: Responses that do not match the description

    private static let described =
        #"{"endpoints": {"old": {"path": "/a", "response": {"type": "object", "required": ["name"]}, "deprecated": true}}}"#

    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private func described(
        _ validation: ResponseValidation, _ lines: Lines, _ transport: ScriptedTransport
    ) throws -> (Client, Endpoint<NightjarHTTP.Response>) {
        let api = try client(transport) { configuration in
            try? configuration.merge(json: Self.described)
            configuration.responseValidation = validation
            configuration.log = LogSink(level: .warning) { line in lines.all.withLock { $0.append(line.message) } }
        }
        return (api, try #require(api.catalog).endpoint("old"))
    }

    @Test func responsesAreNotValidatedByDefault() async throws {
        let lines = Lines()
        let (api, endpoint) = try described(.off, lines, ScriptedTransport([reply, reply]))
        #expect(try await api.send(endpoint).status == 200)
        #expect(try await api.send(endpoint).decisions.isEmpty)
        // The warning is logged once for each client, not for each call.
        #expect(lines.all.withLock { $0 } == [#"endpoint "old" is deprecated"#])
    }

    @Test func warningIsLoggedAndADecision() async throws {
        let lines = Lines()
        let (api, endpoint) = try described(.warn, lines, ScriptedTransport([reply]))
        let response = try await api.send(endpoint)
        let problem =
            #"the response of endpoint "old": the JSON is not as described: at "/name": expected a value, found nothing"#
        #expect(response.decisions.map(\.what) == [.mismatched(problem: problem)])
        #expect(response.decisions.first?.json["problem"] == .string(problem))
        #expect(lines.all.withLock { $0 }.last == "GET http://api.test/v1/a: \(problem)")
    }

    @Test func errorNamesTheMismatch() async throws {
        let (api, endpoint) = try described(.error, Lines(), ScriptedTransport([reply]))
        let error = await #expect(throws: NightjarError.self) { try await api.send(endpoint) }
        #expect(error?.kind == .decoding)
        #expect(error?.status == 200)
        #expect(error?.message.contains(#"at "/name""#) == true)
    }

    @Test func idempotentPostIsRetried() async throws {
        let transport = ScriptedTransport([[.fail(.connectionLost)], reply])
        let api = try client(transport) { configuration in
            configuration.retry.maximumAttempts = 2
            configuration.retry.base = .milliseconds(1)
            try? configuration.merge(
                json: #"{"endpoints": {"put": {"path": "/a", "method": "POST", "idempotent": true}}}"#)
        }
        let endpoint: Endpoint<NightjarHTTP.Response> = try #require(api.catalog).endpoint("put")
        #expect(try await api.send(endpoint).attempts == 2)
    }
}
