import NIOCore
import Testing

@testable import NightjarHTTP
@testable import NightjarTesting

@Suite struct MockTableTests {
    private func request(
        _ method: Method, _ url: String, body: String = "", headers: [(String, String)] = []
    ) throws -> ArrivedRequest {
        var fields = Headers()
        for (name, value) in headers { try fields.add(name, value) }
        return ArrivedRequest(method: method, url: try RequestURL(url), headers: fields, body: ByteBuffer(string: body))
    }

    private func status(_ choice: MockTable.Choice) -> Int? {
        if case .respond(let response) = choice { response.status } else { nil }
    }

    private func message(_ choice: MockTable.Choice) -> String? {
        if case .fail(let error) = choice { error.message } else { nil }
    }

    @Test func firstMatchingRouteResponds() throws {
        var table = try MockTable([
            MockRoute(.get, "/a", MockResponse(status: 201)), MockRoute(.get, "/{any}", MockResponse(status: 202)),
        ])
        #expect(status(table.choose(try request(.get, "http://x/a"), base: nil)) == 201)
        #expect(status(table.choose(try request(.get, "http://x/b"), base: nil)) == 202)
        #expect(table.uses(of: "GET /a") == 1)
        #expect(table.uses(of: "GET /c") == nil)
        #expect(table.totalUses == 2)
    }

    @Test func sequenceRepeatsOrEnds() throws {
        var route = try MockRoute(.get, "/a", MockResponse(status: 503), MockResponse(status: 200))
        func plan(_ whenExhausted: MockRoute.ExhaustionPolicy) throws -> [Int?] {
            route.whenExhausted = whenExhausted
            var table = try MockTable([route])
            return try (0..<4).map { _ in status(table.choose(try request(.get, "http://x/a"), base: nil)) }
        }
        #expect(try plan(.last) == [503, 200, 200, 200])
        #expect(try plan(.first) == [503, 200, 503, 200])
        #expect(try plan(.error) == [503, 200, nil, nil])
        var table = try MockTable([route])
        for _ in 0..<2 { _ = table.choose(try request(.get, "http://x/a"), base: nil) }
        #expect(
            message(table.choose(try request(.get, "http://x/a"), base: nil))
                == "the mock route GET /a has used up its 2 responses; add one, or set when_exhausted = \"last\" to repeat the last one"
        )
    }

    @Test func exhaustedRouteIsSkipped() throws {
        var first = try MockRoute(.get, "/a", MockResponse(status: 201))
        first.times = 1
        var table = try MockTable([first, MockRoute(.get, "/a", MockResponse(status: 202))])
        #expect(status(table.choose(try request(.get, "http://x/a"), base: nil)) == 201)
        #expect(status(table.choose(try request(.get, "http://x/a"), base: nil)) == 202)
        #expect(table.failureMessage == nil)
    }

    @Test func queryHeadersAndBodyAreCompared() throws {
        var pattern = RequestPattern(.post, try PathPattern("/a"))
        pattern.query = [("page", .value("1")), ("tag", .values(["a", "b"])), ("debug", .absent)]
        pattern.headers = [("X-Key", .present)]
        pattern.body = .json(.object([.init("title", .string("Hi")), .init("n", .number(1))]))
        var table = try MockTable([MockRoute(pattern, .sequence([MockResponse()]), name: "make")])
        func describe(_ url: String, _ body: String, _ headers: [(String, String)] = [("x-key", "1")]) throws -> String?
        {
            message(table.choose(try request(.post, url, body: body, headers: headers), base: nil))
        }
        let good = "http://x/a?page=1&tag=a&tag=b"
        let json = "{\"n\": 1, \"title\": \"Hi\", \"more\": []}"
        #expect(try describe(good, json) == nil)
        let start = "no mock route matches POST http://x/a"
        let nearest = "the nearest is \"make\" (POST /a), but"
        #expect(
            try describe("http://x/a?page=2&tag=a&tag=b", json)
                == "\(start)?page=2&tag=a&tag=b; \(nearest) the query item \"page\" must be \"1\" but differs"
        )
        #expect(
            try describe("http://x/a?page=1&tag=a&tag=b&debug=1", json)
                == "\(start)?page=1&tag=a&tag=b&debug=1; \(nearest) the query item \"debug\" must be absent")
        #expect(
            try describe(good, json, [])
                == "\(start)?page=1&tag=a&tag=b; \(nearest) the header \"X-Key\" is missing")
        #expect(
            try describe(good, "{\"title\": \"Ho\", \"n\": 1}")
                == "\(start)?page=1&tag=a&tag=b; \(nearest) its JSON body differs at \"/title\"")
        #expect(
            try describe(good, "title=Hi")
                == "\(start)?page=1&tag=a&tag=b; \(nearest) its body is JSON but the request's is not")
    }

    @Test func unmatchedCallNamesTheNearestRoute() throws {
        var table = try MockTable([
            MockRoute(.get, "/users", MockResponse()), MockRoute(.get, "/articles/{id}", MockResponse()),
        ])
        #expect(
            message(table.choose(try request(.get, "http://x/articles?key=secret"), base: nil))
                == "no mock route matches GET http://x/articles?key=***; the nearest is GET /articles/{id}, but its "
                + "path is \"/articles/{id}\"")
        #expect(
            message(table.choose(try request(.delete, "http://x/articles/1"), base: nil))
                == "no mock route matches DELETE http://x/articles/1; the nearest is GET /articles/{id}, but its method "
                + "is GET")
        var empty = try MockTable([])
        #expect(
            message(empty.choose(try request(.get, "http://x/"), base: nil))
                == "no mock route matches GET http://x/: the mock has no routes; add one, or set passthrough")
    }

    @Test func unmetExpectationsAreReported() throws {
        var twice = try MockRoute(.get, "/a", MockResponse())
        twice.times = 2
        var maybe = try MockRoute(.get, "/maybe", MockResponse())
        maybe.isOptional = true
        var table = try MockTable([twice, MockRoute(.get, "/b", MockResponse()), maybe])
        _ = table.choose(try request(.get, "http://x/a"), base: nil)
        _ = table.choose(try request(.get, "http://x/nowhere"), base: nil)
        #expect(
            table.failureMessage?.message
                == "the route GET /a was used once instead of 2 times; the route GET /b was never used; a call matched no route"
        )
        #expect(table.calls.map(\.route) == [0, nil])
        table.reset()
        #expect(table.calls.isEmpty)
        #expect(table.totalUses == 0)
    }

    @Test func recordedCallsAreBounded() throws {
        var table = try MockTable([MockRoute(.get, "/a", MockResponse())])
        let call = try request(.get, "http://x/a")
        for _ in 0..<2500 { _ = table.choose(call, base: nil) }
        #expect(table.calls.count <= 1000)
        #expect(table.calls.count + table.droppedCalls == 2500)
        #expect(table.uses(of: "GET /a") == 2500)
    }

    // MARK: Responses

    private func events(_ script: ExchangeScript) -> [String] {
        script.steps.map { step in
            let delay = step.delay == .zero ? "" : "+\(step.delay.nanosecondsClamped / 1_000_000)ms "
            switch step.event {
            case .head(let head): return delay + "head \(head.status)"
            case .body(let bytes): return delay + "body \(bytes.readableBytes)"
            case .finish: return delay + "finish"
            case .fail(let error): return delay + "fail \(error.kind.name)"
            case .socket(.send(let message)): return delay + "send \(message.payload.readableBytes)"
            case .socket(.expect): return delay + "expect"
            case .socket(.close(let code, let reason)): return delay + "close \(code?.rawValue ?? 0) \(reason)"
            }
        }
    }

    @Test func webSocketFollowsItsSteps() throws {
        var headers = Headers()
        try headers.add("Upgrade", "websocket")
        let handshake = ArrivedRequest(method: .get, url: try RequestURL("http://x/a"), headers: headers)
        var late = MockResponse.WebSocketStep.send("abc")
        late.delay = .milliseconds(7)
        let response = MockResponse.webSocket([.receive, late, try .close(code: nil), .drop])
        #expect(
            events(response.script(to: handshake))
                == ["head 101", "expect", "+7ms send 3", "close 0 ", "fail connection_lost"])
        #expect(events(response.script(to: try request(.get, "http://x/a"))) == ["fail invalid_request"])
    }

    @Test func responseFollowsItsOptions() throws {
        let call = try request(.get, "http://x/a")
        let text = ByteBuffer(string: String(repeating: "x", count: 100))
        #expect(events(MockResponse(body: text).script(to: call)) == ["head 200", "body 100", "finish"])
        #expect(
            events(MockResponse(body: text, delay: .milliseconds(5), pieces: 60).script(to: call))
                == ["+5ms head 200", "body 60", "body 40", "finish"])
        #expect(
            events(MockResponse(body: text, rate: 500).script(to: call))
                == ["head 200", "+100ms body 50", "+100ms body 50", "finish"])
        #expect(events(MockResponse(status: 204, body: text).script(to: call)) == ["head 204", "finish"])
        #expect(
            events(MockResponse(body: text).script(to: try request(.head, "http://x/a"))) == ["head 200", "finish"])
    }

    @Test func invalidHeadersOfALiteralAreRejected() throws {
        let route = try MockRoute(.get, "/a", MockResponse(headers: ["X-A": "b", "X B": "c"]))
        let error = #expect(throws: NightjarError.self) { try MockTable([route]) }
        #expect(error?.kind == .invalidRequest && error?.message.contains("X B") == true)
    }

    @Test(arguments: MockFault.Kind.allCases)
    func faultsOccurAtTheirPosition(kind: MockFault.Kind) throws {
        let script = MockResponse.fault(kind).script(to: try request(.get, "http://x/a"))
        let isEarly = [.offline, .dns, .connect, .tls, .connectTimeout].contains(kind)
        #expect(script.failsBeforeSending == isEarly)
        if kind == .hang { return #expect(script.steps.isEmpty) }
        guard script.steps.count == 1, case .fail(let error)? = script.steps.first?.event else {
            Issue.record("\(kind) has events other than its failure")
            return
        }
        #expect(error.requestMayHaveBeenProcessed == !isEarly)
    }

    @Test(arguments: MockFault.Kind.allCases)
    func onlyFaultsOfAConnectionOccurAfterSomeBytes(kind: MockFault.Kind) throws {
        let route = try MockRoute(.get, "/a", MockResponse(status: 200), .fault(kind, after: 3))
        guard [.offline, .dns, .connect, .tls, .connectTimeout].contains(kind) else {
            return #expect(try MockTable([route]).routes.count == 1)
        }
        let error = #expect(throws: NightjarError.self) { try MockTable([route]) }
        #expect(error?.kind == .invalidArgument)
        #expect(
            error?.message
                == "the mock route GET /a has an invalid fault: \"\(kind.rawValue)\" occurs before the body, so after cannot be set"
        )
    }

    @Test func connectionIsLostAfterSomeBytes() throws {
        var response = MockResponse.fault(.connectionLost, after: 3)
        response.body = ByteBuffer(string: "abcdef")
        #expect(
            events(response.script(to: try request(.get, "http://x/a"))) == [
                "head 200", "body 3", "fail connection_lost",
            ])
    }
}
