import NIOCore
import Testing

@testable import NightjarHTTP

/// A generator whose numbers are all equal: the waits are the shortest or the longest.
private struct Constant: RandomNumberGenerator {
    var value: UInt64
    mutating func next() -> UInt64 { value }
}

private func response(_ status: Int = 200, type: String? = "text/event-stream") -> Response {
    var headers = Headers()
    if let type { try? headers.set("Content-Type", type) }
    return Response(
        head: ResponseHead(status: status, headers: headers), body: ByteBuffer(), url: try! RequestURL("http://a.test/")
    )
}

/// The action as a text.
private func text(_ action: EventStream.Action?) -> String {
    switch action {
    case nil: "read"
    case .connect: "connect"
    case .wait(let time): "wait \(time.inSeconds)"
    case .end: "end"
    case .fail(let error): "\(error.kind.name): \(error.message)"
    }
}

private let lost = NightjarError(.connectionLost, "the connection was lost", requestMayHaveBeenProcessed: true)
private let refused = NightjarError(.connect, "the connection was refused")

@Suite struct EventStreamTests {
    private var shortest = Constant(value: 0)

    /// Returns a stream whose first connection is prepared.
    private func stream(
        _ request: Request = Request(.get, "/"), _ change: (inout EventStreamSettings) -> Void = { _ in }
    ) throws -> EventStream {
        var settings = EventStreamSettings()
        change(&settings)
        try settings.check()
        var stream = EventStream(settings)
        _ = try prepared(&stream, request)
        return stream
    }

    /// Returns the headers of the next connection.
    private func prepared(_ stream: inout EventStream, _ request: Request = Request(.get, "/")) throws -> Headers {
        var random = Constant(value: 0)
        return try stream.prepare(request, using: &random).headers
    }

    private func post(withKey: Bool = false) -> Request {
        var request = Request(.post, "/")
        if withKey { request.idempotencyKey = .generated }
        return request
    }

    /// Opens the stream and returns the data of its events.
    private func receive(_ stream: inout EventStream, _ body: String) throws -> [String] {
        stream.append(ByteBuffer(string: body))
        var data: [String] = []
        while let event = try stream.next() { data.append(event.data) }
        return data
    }

    @Test mutating func streamResumesAfterTheLastEvent() throws {
        var stream = EventStream(EventStreamSettings())
        #expect(try prepared(&stream)["last-event-id"] == nil)
        #expect(text(stream.opened(response())) == "read")
        #expect(stream.state == .open)
        #expect(try receive(&stream, "id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: ") == ["a", "b"])
        #expect(text(stream.ended(lost, using: &shortest)) == "wait 1.0")
        #expect(stream.state == .waiting)
        #expect(text(stream.waited()) == "connect")
        #expect(try prepared(&stream)["last-event-id"] == "2")
        #expect(text(stream.opened(response())) == "read")
        // The server sends the second event again.
        #expect(try receive(&stream, "id: 2\ndata: b\n\nid: 3\ndata: c\n\n") == ["c"])
        #expect(text(stream.ended(nil, using: &shortest)) == "wait 1.0")
        #expect(text(stream.waited()) == "connect")
        #expect(try prepared(&stream)["last-event-id"] == "3")
        #expect(text(stream.opened(response(204, type: nil))) == "end")
        #expect(stream.state == .closed)
        #expect(stream.delivered == 3)
    }

    /// The server sends events again from the first one on. Its ids are older than those that were returned.
    @Test mutating func lastIDDoesNotGoBackDuringAReplay() throws {
        var stream = try stream()
        _ = stream.opened(response())
        #expect(try receive(&stream, "id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\n\n") == ["a", "b"])
        #expect(stream.lastEventID == "3")
        _ = stream.ended(nil, using: &shortest)
        _ = stream.waited()
        #expect(try prepared(&stream)["last-event-id"] == "3")
        _ = stream.opened(response())
        #expect(try receive(&stream, "id: 0\n\n") == [])
        #expect(stream.lastEventID == "3")
        #expect(try receive(&stream, "id: 1\ndata: a\n\n") == [])
        #expect(stream.lastEventID == "3")
        // The server continues after the last event of this connection.
        #expect(try prepared(&stream)["last-event-id"] == "1")
        #expect(try receive(&stream, "id: 2\ndata: b\n\nid: 4\ndata: c\n\n") == ["c"])
        #expect(stream.lastEventID == "4")
        #expect(try receive(&stream, "id: 5\n\n") == [])
        #expect(stream.lastEventID == "5")
    }

    @Test mutating func reconnectionTimeRemainsAfterTheClose() throws {
        var stream = try stream()
        _ = stream.opened(response())
        #expect(try receive(&stream, "retry: 2500\ndata: a\n\n") == ["a"])
        stream.close()
        #expect(stream.currentReconnectionTime == .seconds(2.5))
    }

    @Test mutating func waitsDoubleUntilAnEventArrives() throws {
        var longest = Constant(value: .max)
        var stream = try stream()
        _ = stream.opened(response())
        var waits: [String] = []
        for _ in 0..<9 {
            waits.append(text(stream.ended(refused, using: &longest)))
            _ = stream.waited()
        }
        #expect(waits == [1.5, 3, 6, 12, 24, 48, 90, 90, 90].map { "wait \(Double($0))" })
        _ = stream.opened(response())
        #expect(text(stream.ended(nil, using: &longest)) == "wait 90.0")
        _ = stream.waited()
        _ = stream.opened(response())
        #expect(try receive(&stream, "data: a\n\n") == ["a"])
        #expect(text(stream.ended(nil, using: &longest)) == "wait 1.5")
    }

    @Test(arguments: [("2000", 2.0), ("0", 0.1), ("999999999", 300.0)])
    func serverSetsTheReconnectionTime(_ retry: String, _ seconds: Double) throws {
        var shortest = Constant(value: 0)
        var stream = try stream()
        _ = stream.opened(response())
        #expect(try receive(&stream, "retry: \(retry)\n\ndata: a\n\n") == ["a"])
        #expect(text(stream.ended(nil, using: &shortest)) == "wait \(seconds)")
    }

    /// Servers that let the client poll send an id or the reconnection time, and end the response.
    @Test(arguments: ["retry: 2000\n\n", "id: 7\ndata\n\n", "id: 7\n\n"])
    func pollingDoesNotDoubleTheWait(_ body: String) throws {
        var shortest = Constant(value: 0)
        var stream = try stream()
        var waits: Set<String> = []
        for number in 0..<4 {
            _ = stream.opened(response())
            _ = try receive(&stream, body.replacing("7", with: String(number)))
            waits.insert(text(stream.ended(nil, using: &shortest)))
            _ = stream.waited()
        }
        #expect(waits == [body.hasPrefix("retry") ? "wait 2.0" : "wait 1.0"])
    }

    @Test func firstConnectionFailsLikeACall() throws {
        var random = Constant(value: 0)
        for error in [lost, refused] {
            var stream = try stream()
            #expect(text(stream.ended(error, using: &random)) == "\(error.kind.name): \(error.message)")
            #expect(stream.state == .closed)
        }
    }

    @Test(arguments: [
        (NightjarError(.rateLimited, "429", retryAfter: .seconds(30)), "wait 30.0"),
        (
            NightjarError(.rateLimited, "429", retryAfter: .seconds(301)), "rate_limited: 429; 0 events were delivered"
        ),
        (EventStreamTests.status(502), "wait 1.0"), (EventStreamTests.status(503), "wait 1.0"),
        (EventStreamTests.status(504), "wait 1.0"), (NightjarError(.timeout, "slow"), "wait 1.0"),
        (NightjarError(.offline, "offline"), "wait 1.0"), (NightjarError(.dns, "dns"), "wait 1.0"),
        (EventStreamTests.status(500), "server: 500; 0 events were delivered"),
        (NightjarError(.notFound, "404"), "not_found: 404; 0 events were delivered"),
        (NightjarError(.unauthorized, "401"), "unauthorized: 401; 0 events were delivered"),
        (NightjarError(.pinMismatch, "pin"), "pin_mismatch: pin; 0 events were delivered"),
        (NightjarError(.cancelled, "cancelled"), "cancelled: cancelled; 0 events were delivered"),
    ])
    func laterConnectionsAreRepeatedAfterTemporaryFailures(_ error: NightjarError, _ action: String) throws {
        var random = Constant(value: 0)
        var stream = try stream()
        _ = stream.opened(response())
        #expect(text(stream.ended(error, using: &random)) == action)
    }

    private static func status(_ status: Int) -> NightjarError {
        var facts = NightjarError.Facts(.server, "\(status)")
        facts.status = status
        facts.requestMayHaveBeenProcessed = true
        return NightjarError(facts)
    }

    @Test(arguments: [
        (nil, "the response is not an event stream: it has no Content-Type, not text/event-stream"),
        (
            "text/html; charset=utf-8",
            "the response is not an event stream: its Content-Type is \"text/html; charset=utf-8\", not text/event-stream"
        ),
    ])
    func otherMediaTypeFails(_ type: String?, _ message: String) throws {
        var stream = try stream()
        #expect(text(stream.opened(response(type: type))) == "decoding: \(message)")
        #expect(stream.state == .closed)
        #expect(stream.reason == message)
        var parameters = try self.stream()
        #expect(text(parameters.opened(response(type: "Text/Event-Stream;charset=utf-8"))) == "read")
    }

    @Test func postIsSentAgainOnlyIfThatIsSafe() throws {
        var random = Constant(value: 0)
        // Without a key, the end of the response is the end of the stream, and a failure is final.
        var plain = try stream(post())
        _ = plain.opened(response())
        #expect(
            text(plain.ended(lost, using: &random))
                == "connection_lost: the connection was lost; 0 events were delivered")
        var finished = try stream(post())
        _ = finished.opened(response())
        #expect(text(finished.ended(nil, using: &random)) == "end")
        // With a key, a failure is repeated.
        var keyed = try stream(post(withKey: true))
        _ = keyed.opened(response())
        #expect(text(keyed.ended(lost, using: &random)) == "wait 1.0")
        _ = keyed.waited()
        _ = keyed.opened(response())
        #expect(text(keyed.ended(nil, using: &random)) == "end")
        // If reconnection is requested, a request that the server has not received is repeated.
        var requested = try stream(post()) { $0.reconnection = .always }
        _ = requested.opened(response())
        #expect(text(requested.ended(refused, using: &random)) == "wait 1.0")
        _ = requested.waited()
        _ = requested.opened(response())
        #expect(text(requested.ended(lost, using: &random)).hasPrefix("connection_lost"))
    }

    @Test func reconnectionCanBeDisabled() throws {
        var random = Constant(value: 0)
        var stream = try stream { $0.reconnection = .never }
        _ = stream.opened(response())
        #expect(text(stream.ended(nil, using: &random)) == "end")
    }

    @Test func savedCursorIsSent() throws {
        var settings = EventStreamSettings()
        settings.lastEventID = "42"
        var stream = EventStream(settings)
        #expect(try prepared(&stream)["last-event-id"] == "42")
    }

    /// A field of the request is the first cursor, and is replaced later.
    @Test mutating func fieldOfTheRequestIsACursor() throws {
        var request = Request(.get, "/")
        try request.headers.set("last-event-id", "7")
        var stream = EventStream(EventStreamSettings())
        #expect(try prepared(&stream, request)["last-event-id"] == "7")
        _ = stream.opened(response())
        #expect(try receive(&stream, "id: 8\ndata: a\n\n") == ["a"])
        #expect(try prepared(&stream, request)["last-event-id"] == "8")
        #expect(try receive(&stream, "id\ndata: b\n\n") == ["b"])
        #expect(try prepared(&stream, request)["last-event-id"] == nil)
    }

    @Test mutating func requestIsPrepared() throws {
        var request = post(withKey: true)
        request.timeouts.idle = .seconds(5)
        var stream = EventStream(EventStreamSettings())
        var random = SystemRandomNumberGenerator()
        let first = try stream.prepare(request, using: &random)
        #expect(first.headers["accept"] == "text/event-stream")
        #expect(first.timeouts.idle == .seconds(5))
        #expect(first.timeouts.total == Timeouts.unlimited)
        #expect(!first.usesCache && first.coalesces == false)
        let second = try stream.prepare(request, using: &random)
        #expect(first.idempotencyKey == second.idempotencyKey && first.idempotencyKey != .generated)
    }

    @Test mutating func cursorSurvivesConnectionsWithoutEvents() throws {
        var stream = try stream()
        _ = stream.opened(response())
        #expect(try receive(&stream, "id: 5\ndata: a\n\n") == ["a"])
        for _ in 0..<3 {
            _ = stream.ended(nil, using: &shortest)
            #expect(text(stream.waited()) == "connect")
            #expect(try prepared(&stream)["last-event-id"] == "5")
            _ = stream.opened(response())
            #expect(try receive(&stream, ": nothing\n\n").isEmpty)
        }
    }

    @Test mutating func eventsWithEqualIDsAreKept() throws {
        var stream = try stream()
        _ = stream.opened(response())
        #expect(try receive(&stream, "id: 1\ndata: a\n\nid: 1\ndata: b\n\n") == ["a", "b"])
        _ = stream.ended(nil, using: &shortest)
        _ = stream.waited()
        _ = stream.opened(response())
        #expect(try receive(&stream, "id: 1\ndata: c\n\nid: 1\ndata: a\n\n") == ["c", "a"])
        _ = stream.ended(nil, using: &shortest)
        _ = stream.waited()
        _ = stream.opened(response())
        #expect(try receive(&stream, "id: 1\ndata: c\n\nid: 1\ndata: a\n\nid: 1\ndata: d\n\n") == ["d"])
    }

    @Test mutating func eventsWithoutIDsAreNeverDropped() throws {
        var stream = try stream()
        _ = stream.opened(response())
        #expect(try receive(&stream, "data: a\n\nid: 1\ndata: b\n\ndata: ping\n\n") == ["a", "b", "ping"])
        _ = stream.ended(nil, using: &shortest)
        _ = stream.waited()
        _ = stream.opened(response())
        #expect(try receive(&stream, "data: ping\n\nid: 1\ndata: b\n\ndata: ping\n\n") == ["ping", "ping"])
    }

    @Test func invalidSettingsAreRejected() {
        for change: (inout EventStreamSettings) -> Void in [
            { $0.reconnectionTime = .milliseconds(99) }, { $0.reconnectionTime = .seconds(301) },
            { $0.maximumEvent = 0 }, { $0.lastEventID = "a\nb" }, { $0.lastEventID = "a\0" },
        ] {
            var settings = EventStreamSettings()
            change(&settings)
            #expect(throws: NightjarError.self) { try settings.check() }
        }
    }

    @Test mutating func historyNamesEachChange() throws {
        var history = StreamHistory(EventStreamState.connecting)
        var stream = try stream()
        history.note(stream.state, stream.reason, at: .zero)
        _ = stream.opened(response())
        history.note(stream.state, stream.reason, at: .milliseconds(20))
        _ = stream.ended(lost, using: &shortest)
        history.note(stream.state, stream.reason, at: .milliseconds(30))
        stream.close()
        history.note(stream.state, stream.reason, at: .milliseconds(40))
        #expect(
            history.explanation == """
                at 0.0 s: connecting
                at 0.02 s: open: the server sent 200
                at 0.03 s: waiting: the connection was lost
                at 0.04 s: closed: the stream was closed
                """)
    }
}
