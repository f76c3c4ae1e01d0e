import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTesting
import Synchronization
import Testing

@Suite struct MockTests {
    private func client(_ mock: Mock?, _ configure: (inout Configuration) throws -> Void = { _ in }) throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.mock = mock
        configuration.retry.base = .milliseconds(1)
        try configure(&configuration)
        return try Client(configuration)
    }

    @Test func mockedFailureIsRetried() throws {
        let mock = try Mock(
            json: """
                [{"path": "/a", "responses": [{"fault": "connection_lost"}, 503, {"json": {"n": 1}}]}]
                """)
        let client = try client(mock)
        let response = try client.sendBlocking(Request(.get, "/a"))
        #expect(response.attempts == 3)
        #expect(String(buffer: response.body) == "{\"n\":1}")
        #expect(response.headers["Content-Type"] == "application/json")
        #expect(mock.totalUses == 3)
        client.close()
    }

    @Test func webSocketIsMocked() async throws {
        let mock = try Mock([
            MockRoute(
                .get, "/chat",
                .webSocket([
                    .send("welcome"), .receive("hello"), .receive(ByteBuffer(bytes: [0, 255])),
                    .receive(json: ["a": 1]),
                    .receive, .send(ByteBuffer(bytes: [1])), .close(code: 4001, reason: "bye"),
                ]), .webSocket([.drop]))
        ])
        let client = try client(mock)
        let socket = try client.webSocket(Request(.get, "/chat"))
        try await socket.send("hello")
        try await socket.send(.binary(ByteBuffer(bytes: [0, 255])))
        try await socket.send(#"{"b": 2, "a": 1}"#)
        try await socket.send("any")
        var messages = socket.makeAsyncIterator()
        #expect(try await messages.next() == .text("welcome"))
        #expect(try await messages.next() == .binary(ByteBuffer(bytes: [1])))
        await #expect(throws: NightjarError.self) { try await messages.next() }
        #expect(socket.closeCode == 4001)
        #expect(socket.closeReason == "bye")
        var dropped = try client.webSocket(Request(.get, "/chat")).makeAsyncIterator()
        await #expect {
            try await dropped.next()
        } throws: {
            ($0 as? NightjarError)?.kind == .connectionLost
        }
        #expect(throws: NightjarError.self) { try MockResponse.WebSocketStep.close(code: 1005) }
        try mock.verify()
        client.close()
    }

    @Test func redirectsAndLoginsAreMocked() throws {
        let mock = try Mock(
            json: """
                [{"path": "/token", "form": {"grant_type": "client_credentials"}, "responses":
                    [{"json": {"access_token": "one", "expires_in": 60}}, {"json": {"access_token": "two", "expires_in": 60}}]},
                 {"path": "/old", "response": {"status": 302, "headers": {"Location": "/v1/new"}}},
                 {"path": "/new", "headers": {"Authorization": "Bearer two"}, "response": {"body": "in"}},
                 {"path": "/new", "response": 401}]
                """)
        let client = try client(mock) {
            try $0.merge(
                json: """
                    {"auth": {"type": "oauth2", "grant": "client_credentials", "token_url": "/token", "client_id": "me",
                              "client_secret": "s"}}
                    """)
        }
        let response = try client.sendBlocking(Request(.get, "/old"))
        #expect(String(buffer: response.body) == "in")
        try mock.verify()
        client.close()
    }

    @Test func callWithoutARouteFails() throws {
        let client = try client(try Mock(json: "[{\"method\": \"GET\", \"path\": \"/articles\", \"response\": 200}]"))
        let error = #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.post, "/articles")) }
        #expect(error?.kind == .invalidRequest)
        #expect(
            error?.message
                == "no mock route matches POST http://api.test/v1/articles; the nearest is GET /articles, "
                + "but its method "
                + "is GET")
        client.close()
    }

    @Test(arguments: [
        ("dns", ErrorKind.dns), ("connect", .connect), ("tls", .tls), ("offline", .offline), ("timeout", .timeout),
        ("connect_timeout", .timeout), ("connection_lost", .connectionLost), ("malformed", .protocol),
    ])
    func faultsAreTheirErrors(name: String, kind: ErrorKind) throws {
        let client = try client(try Mock(json: "[{\"response\": {\"fault\": \"\(name)\"}}]")) {
            $0.retry.maximumAttempts = 1
        }
        let error = #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/")) }
        #expect(error?.kind == kind)
        client.close()
    }

    @Test func hangEndsWithTheTimeout() throws {
        let client = try client(try Mock(json: "[{\"response\": {\"fault\": \"hang\"}}]")) {
            $0.retry.maximumAttempts = 1
        }
        var request = Request(.get, "/")
        request.timeouts.total = .milliseconds(30)
        let error = #expect(throws: NightjarError.self) { try client.sendBlocking(request) }
        #expect(error?.kind == .timeout)
        client.close()
    }

    @Test func handlerProvidesTheResponse() throws {
        let mock = try Mock(
            [MockRoute(RequestPattern(.post, try PathPattern("/echo/{id}")), .responder(7))],
            respond: { tokenRequest in
                #expect(tokenRequest.responder == 7)
                let text =
                    String(buffer: tokenRequest.request.body) + " " + (tokenRequest.parameters.first?.value ?? "")
                tokenRequest.respond(Result { () throws(NightjarError) in try MockResponse.text(text, status: 201) })
            })
        let client = try client(mock)
        var request = Request(.post, "/echo/9")
        request.body = .bytes(ByteBuffer(string: "hello"))
        let response = try client.sendBlocking(request)
        #expect(response.status == 201)
        #expect(String(buffer: response.body) == "hello 9")
        client.close()
    }

    @Test func invalidFaultOfAHandlerFailsTheCall() throws {
        let mock = try Mock(
            [MockRoute(RequestPattern(), .responder(1))],
            respond: { $0.respond(.success(.fault(.connect, after: 3))) })
        let client = try client(mock)
        let error = #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/")) }
        #expect(error?.kind == .invalidArgument)
        client.close()
    }

    @Test func releasedDecisionRequestFailsTheCall() throws {
        let client = try client(try Mock([MockRoute(RequestPattern(), .responder(1))], respond: { _ in }))
        let error = #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/")) }
        #expect(error?.kind == .script)
        client.close()
    }

    @Test func streamedBodyIsComparedCompletely() throws {
        let mock = try Mock(json: "[{\"method\": \"POST\", \"json\": {\"a\": 1}, \"response\": 204}]")
        let client = try client(mock)
        var request = Request(.post, "/")
        request.body = .stream(length: nil)
        let parts = Mutex(["{\"a\":", " 1}"])
        var handlers = TaskHandlers { _, _ in }
        handlers.provideBody = { _, _ in
            let part = parts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            return part.map { .bytes(ByteBuffer(string: $0)) } ?? .end
        }
        #expect(try client.sendBlocking(request, handlers: handlers).status == 204)
        client.close()
    }

    @Test func sameSeedFailsTheSameCalls() throws {
        func plan() throws -> [ErrorKind?] {
            let client = try client(try Mock(json: "[{\"response\": {\"body\": \"hello\"}}]")) {
                $0.retry.maximumAttempts = 1
                $0.network = NetworkProfile(loss: 0.5, seed: 11)
            }
            defer { client.close() }
            return (0..<20).map { _ in
                do throws(NightjarError) {
                    _ = try client.sendBlocking(Request(.get, "/"))
                    return nil
                } catch { return error.kind }
            }
        }
        let first = try plan()
        #expect(try plan() == first)
        #expect(Set(first.compactMap { $0 }).isSubset(of: [.connect, .connectionLost]))
        #expect((4...16).contains(first.filter { $0 == nil }.count))
    }

    @Test func slowNetworkDelaysTheResponse() throws {
        let client = try client(
            try Mock(json: "[{\"response\": {\"body\": \"\(String(repeating: "x", count: 4000))\"}}]")
        ) {
            $0.network = NetworkProfile(latency: .milliseconds(20), down: 100_000)
        }
        let began = ContinuousClock.now
        #expect(try client.sendBlocking(Request(.get, "/")).body.readableBytes == 4000)
        let first = ContinuousClock.now - began
        // Connecting and the round trip take 20 ms each, and 4000 bytes take 40 ms.
        #expect(first >= .milliseconds(78))
        client.close()
    }

    @Test func offlineProfileFailsOffline() throws {
        let client = try client(try Mock(json: "[{\"response\": 200}]")) { $0.network = try NetworkProfile("offline") }
        let error = #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/")) }
        #expect(error?.kind == .offline)
        client.close()
    }

    @Test(arguments: [
        ("[{\"path\": \"/a\"}]", "option \"mock[1]\" is a route without a response; set response or responses"),
        ("[{\"pth\": \"/a\", \"response\": 200}]", "unknown option \"mock[1].pth\"; did you mean \"path\"?"),
        (
            "[{\"response\": {\"sttus\": 200}}]",
            "unknown option \"mock[1].response.sttus\"; did you mean \"status\"?"
        ),
        (
            "[{\"response\": {\"fault\": \"conect\"}}]",
            "option \"mock[1].response.fault\" is \"conect\", which is not a known fault; did you mean \"connect\"?"
        ),
        (
            "[{\"response\": {\"fault\": {\"kind\": \"connect\", \"after\": 1}}}]",
            "option \"mock[1].response.fault\": \"connect\" occurs before the body, so after cannot be set"
        ),
        ("[{\"response\": {\"function\": 1}}]", "option \"mock[1].response.function\" is not allowed in JSON"),
        ("[{\"response\": 99}]", "option \"mock[1].response\" must be between 100 and 599, got 99"),
        ("7", "option \"mock\" must be a list of routes, found an integer"),
    ])
    func invalidOptionsAreNamed(json: String, message: String) {
        let error = #expect(throws: NightjarError.self) { try Mock(json: json) }
        #expect(error?.message == message)
    }

    @Test func cassetteWithoutAFileIsRejected() throws {
        let error = #expect(throws: NightjarError.self) {
            try client(nil) { $0.cassette = CassetteOptions("/nonexistent/c.json", mode: .replay) }
        }
        #expect(error?.kind == .storage)
        #expect(
            error?.message
                == "the cassette \"/nonexistent/c.json\" does not exist; record it first (mode \"record\" or "
                + "\"auto\")"
        )
        let ephemeral = #expect(throws: NightjarError.self) {
            try client(nil) {
                $0.cassette = CassetteOptions("/tmp/c.json")
                $0.isEphemeral = true
            }
        }
        #expect(ephemeral?.kind == .invalidArgument)
    }
}
