import NIOCore
import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

@Suite struct ObserverTests {
    /// Records the observed events, one line each, and the exchanges.
    private final class Witness: Sendable {
        struct Seen {
            var words: [String] = []
            var exchanges: [CallObserver.ExchangeReport] = []
        }

        let seen = Mutex(Seen())

        var observer: CallObserver {
            CallObserver { [self] event in
                seen.withLock { seen in
                    switch event {
                    case .began(let call): seen.words.append("began \(call.request.method.name)")
                    case .exchanged(let exchange):
                        seen.exchanges.append(exchange)
                        let reply = exchange.head.map { String($0.status) } ?? "-"
                        seen.words.append("\(exchange.attempt) \(reply) \(exchange.error?.kind.name ?? "")")
                    case .ended(_, .success): seen.words.append("succeeded")
                    case .ended(_, .failure(let error)): seen.words.append("failed \(error.kind.name)")
                    }
                }
            }
        }

        var words: [String] { seen.withLock { $0.words } }
        var exchanges: [CallObserver.ExchangeReport] { seen.withLock { $0.exchanges } }
    }

    private func client(
        _ transport: ScriptedTransport, _ witness: Witness, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.retry.maximumAttempts = 1
        configuration.observers = [witness.observer]
        configure(&configuration)
        return try Client(configuration, transport: { _ in transport })
    }

    // MARK: Events

    @Test func callIsReportedFromStartToEnd() throws {
        let transport = ScriptedTransport([[.head(200, [("A", "b")]), .body("hel"), .body("lo"), .end]])
        transport.connection = ConnectionRecord(number: 7, peerAddress: "::1", peerPort: 80, connect: .zero)
        let witness = Witness()
        let client = try client(transport, witness)
        _ = try client.sendBlocking(Request(.get, "/articles"))
        client.close()
        #expect(witness.words == ["began GET", "1 200 ", "succeeded"])
        let exchange = try #require(witness.exchanges.first)
        #expect(exchange.body.map { String(buffer: $0) } == "hello")
        #expect(exchange.receivedBytes == 5)
        #expect(exchange.head?.headers["a"] == "b")
        #expect(exchange.request.headers["Host"] == "api.test")
        #expect(exchange.connection?.peer == "[::1]:80")
        #expect(exchange.phases.total >= exchange.phases.firstByte ?? .seconds(9))
    }

    @Test(arguments: [false, true])
    func eachRedirectIsAnExchange(isDrained: Bool) throws {
        let first: [ScriptedTransport.Step] =
            isDrained
            ? [.head(302, [("Location", "/there"), ("Content-Length", "0")]), .end]
            : [.head(302, [("Location", "/there")])]
        let transport = ScriptedTransport([first, [.head(200), .end]])
        let witness = Witness()
        let client = try client(transport, witness)
        let response = try client.sendBlocking(Request(.get, "/here"))
        client.close()
        #expect(witness.words == ["began GET", "1 302 ", "2 200 ", "succeeded"])
        #expect(witness.exchanges.map(\.request.url.path) == ["/v1/here", "/there"])
        #expect(response.request?.url.path == "/there")
    }

    @Test func failureIsReportedForTheExchangeAndTheCall() throws {
        let transport = ScriptedTransport([[.head(200), .body("h"), .fail(.connectionLost)]])
        let witness = Witness()
        let client = try client(transport, witness)
        #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/x")) }
        client.close()
        #expect(witness.words == ["began GET", "1 200 connection_lost", "failed connection_lost"])
    }

    @Test func unexpectedStatusFailsOnlyTheCall() throws {
        let witness = Witness()
        let client = try client(ScriptedTransport([[.head(404), .end]]), witness)
        #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/x")) }
        client.close()
        #expect(witness.words == ["began GET", "1 404 ", "failed not_found"])
    }

    @Test func tokenRequestIsReportedWithoutBodies() throws {
        let transport = ScriptedTransport([
            [.head(200, [("Content-Type", "application/json")]), .body(#"{"access_token": "s3cret"}"#), .end],
            [.head(200), .body("hello"), .end],
        ])
        let bodies = Mutex<[String]>([])
        let observer = CallObserver { event in
            bodies.withLock { bodies in
                switch event {
                case .began(let call): bodies.append("\(call.request.body)")
                case .exchanged(let exchange):
                    bodies.append("\(exchange.request.body)")
                    bodies.append(exchange.body.map { String(buffer: $0) } ?? "-")
                case .ended(_, let result): bodies.append((try? result.get()).map { String(buffer: $0.body) } ?? "-")
                }
            }
        }
        let client = try client(transport, Witness()) {
            $0.observers = [observer]
            let expired = Token(access: "old", refresh: "s3cret", expiry: .epoch)
            $0.auth = .login(TokenLogin(.oauth2(OAuth2(tokenURL: "/token")), token: expired))
        }
        _ = try client.sendBlocking(Request(.get, "/articles"))
        client.close()
        let seen = bodies.withLock { $0 }
        #expect(seen.contains("hello"))
        #expect(!seen.contains { $0.contains("s3cret") }, "\(seen)")
    }

    @Test func callWithoutAResponseEndsWithItsExchange() throws {
        let witness = Witness()
        let client = try client(ScriptedTransport([]), witness)
        let task = try client.start(Request(.get, "/x"), on: nil, TaskHandlers { _, _ in })
        task.cancel()
        client.close()
        let words = witness.words
        // The call may have been cancelled before its exchange began.
        #expect(words.first == "began GET")
        #expect(words.last == "failed cancelled")
        #expect(words.count == 2 || words[1] == "1 - cancelled")
    }

    @Test func observerRunsOnItsQueue() throws {
        let queue = CompletionQueue()
        let words = Mutex<Int>(0)
        let client = try client(ScriptedTransport([[.head(200), .end]]), Witness()) {
            $0.observers = [CallObserver(queue: queue) { _ in words.withLock { $0 += 1 } }]
        }
        _ = try client.sendBlocking(Request(.get, "/x"))
        client.close()
        #expect(words.withLock { $0 } == 0)
        queue.poll(timeout: .zero)
        #expect(words.withLock { $0 } == 3)
    }

    // MARK: Phases

    @Test func phasesAddUpToTheTotal() {
        var timing = Timing()
        timing.sent = .milliseconds(50)
        timing.firstByte = .milliseconds(80)
        timing.connection = ConnectionRecord(
            number: 1, peerAddress: nil, dns: .milliseconds(5), connect: .milliseconds(10), tls: .milliseconds(20))
        let phases = CallObserver.ExchangeReport.Phases(timing, from: .milliseconds(10), to: .milliseconds(90))
        #expect(phases.blocked == .milliseconds(5))
        #expect(phases.wait == .milliseconds(30))
        #expect(phases.receive == .milliseconds(10))
        #expect(phases.total == .milliseconds(80))
        #expect(phases.firstByte == .milliseconds(70))
    }

    @Test func connectTimeIsAtMostTheWaitingTime() {
        var timing = Timing()
        timing.sent = .milliseconds(12)
        timing.connection = ConnectionRecord(number: 1, peerAddress: nil, connect: .milliseconds(10))
        let phases = CallObserver.ExchangeReport.Phases(timing, from: .milliseconds(10), to: .milliseconds(20))
        #expect(phases.connect == nil)
        #expect(phases.blocked == .milliseconds(2))
        #expect(phases.wait == .milliseconds(8))
        #expect(phases.firstByte == nil)
    }

    @Test func withoutAConnectionTheTimeIsWaiting() {
        let phases = CallObserver.ExchangeReport.Phases(Timing(), from: .milliseconds(10), to: .milliseconds(20))
        #expect(phases.blocked == .milliseconds(10))
        #expect(phases.total == .milliseconds(10))
    }

    // MARK: As text

    @Test func tableIsAlignedAndHasNoSecrets() throws {
        let transport = ScriptedTransport([[.head(200), .end], [.head(503), .end], [.fail(.connectionLost)]])
        let witness = Witness()
        let client = try client(transport, witness)
        for _ in 0..<3 { _ = try? client.sendBlocking(Request(.get, "http://u:hunter2@a.test/x?token=hunter2")) }
        client.close()
        let table = TraceTable()
        let lines = [table.heading] + witness.exchanges.map { table.line($0) }
        #expect(lines.count == 4)
        let column = try #require(lines[0].firstRange(of: "url")).lowerBound
        let place = lines[0].utf8.distance(from: lines[0].utf8.startIndex, to: column)
        for line in lines.dropFirst() {
            #expect(line.utf8.dropFirst(place).elementsEqual("http://a.test/x?token=***".utf8), "\(line)")
        }
        #expect(lines[3].hasPrefix("GET     connection_lost "))
        let coloured = TraceTable(hasColors: true).line(witness.exchanges[1])
        #expect(coloured.hasPrefix("GET     \u{1B}[31m503"))
    }

    @Test func commandIsThatOfTheLastRequestWithMaskedSecrets() throws {
        let transport = ScriptedTransport([[.head(302, [("Location", "/there")])], [.head(404), .end]])
        let client = try client(transport, Witness()) { $0.sensitiveHeaders = ["X-Tenant"] }
        var request = Request(.post, "/here")
        request.body = .bytes(ByteBuffer(string: "{\"password\": \"hunter2\"}"))
        try request.headers.set("Authorization", "Bearer hunter2")
        try request.headers.set("X-Tenant", "hunter2")
        try request.headers.set("Content-Type", "application/json")
        let error = try #require(throws: NightjarError.self) { try client.sendBlocking(request) }
        let command = try #require(error.curl())
        #expect(command.hasPrefix("curl 'http://api.test/there' -H "), "\(command)")
        #expect(!command.contains("hunter2"))
        #expect(error.curl(showsSecrets: true)?.contains("X-Tenant: hunter2") == true)
        #expect(error.response?.curl() == command)
        #expect(error.request?.method == .get)
        #expect(NightjarError(.closed, "closed").curl() == nil)
    }

    // MARK: As an archive

    @Test func archiveFollowsHAR12() throws {
        let transport = ScriptedTransport([
            [.head(302, [("Location", "/there"), ("Set-Cookie", "a=b")])], [.head(200), .body("\u{1}text"), .end],
            [.fail(.connectionLost)], [],
        ])
        transport.connection = ConnectionRecord(
            number: 1, peerAddress: "127.0.0.1", peerPort: 1, dns: .zero, connect: .zero, tls: .zero)
        let witness = Witness()
        let client = try client(transport, witness)
        var request = Request(.post, "/x?q=1")
        request.body = .bytes(ByteBuffer(string: "content"))
        for _ in 0..<2 { _ = try? client.sendBlocking(request) }
        client.close()
        var writer = HARWriter()
        var text = String(buffer: writer.begin(version: "1"))
        for exchange in witness.exchanges { text += String(buffer: writer.entry(HAREntry(exchange))) }
        let archive = try JSONValue(parsing: text + String(buffer: writer.end()))
        #expect(witness.exchanges.count == 3)
        #expect(try JSONSchema(parsing: ObserverTests.schema).mismatch(in: archive) == nil)
        guard case .array(let entries) = archive["log"]?["entries"] else { throw NightjarError(.decoding, "none") }
        #expect(entries[0]["serverIPAddress"] == .string("127.0.0.1"))
        #expect(entries[0]["response"]?["redirectURL"] == .string("/there"))
    }

    /// The requirements of HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), except those for pages.
    private static let schema = """
        {"type": "object", "required": ["log"], "properties": {"log": {
          "type": "object", "required": ["version", "creator", "entries"],
          "properties": {
            "version": {"enum": ["1.2"]},
            "creator": {"type": "object", "required": ["name", "version"],
              "properties": {"name": {"type": "string"}, "version": {"type": "string"}}},
            "entries": {"type": "array", "items": {"type": "object",
              "required": ["startedDateTime", "time", "request", "response", "cache", "timings"],
              "properties": {
                "startedDateTime": {"type": "string", "format": "date-time"},
                "time": {"type": "number"},
                "request": {"type": "object",
                  "required": ["method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize",
                    "bodySize"],
                  "properties": {
                    "method": {"type": "string"}, "url": {"type": "string"}, "httpVersion": {"type": "string"},
                    "cookies": {"type": "array", "items": {"type": "object", "required": ["name", "value"]}},
                    "headers": {"type": "array", "items": {"type": "object", "required": ["name", "value"],
                      "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}},
                    "queryString": {"type": "array", "items": {"type": "object", "required": ["name", "value"]}},
                    "postData": {"type": "object", "required": ["mimeType", "text"]},
                    "headersSize": {"type": "integer"}, "bodySize": {"type": "integer"}}},
                "response": {"type": "object",
                  "required": ["status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL",
                    "headersSize", "bodySize"],
                  "properties": {
                    "status": {"type": "integer"}, "statusText": {"type": "string"},
                    "httpVersion": {"type": "string"}, "redirectURL": {"type": "string"},
                    "content": {"type": "object", "required": ["size", "mimeType"],
                      "properties": {"size": {"type": "integer"}, "mimeType": {"type": "string"}}},
                    "headersSize": {"type": "integer"}, "bodySize": {"type": "integer"}}},
                "cache": {"type": "object"},
                "timings": {"type": "object", "required": ["send", "wait", "receive"],
                  "properties": {"send": {"type": "number"}, "wait": {"type": "number"},
                    "receive": {"type": "number"}}},
                "serverIPAddress": {"type": "string"}, "connection": {"type": "string"},
                "comment": {"type": "string"}}}}}}}}
        """
}
