import NIOCore
import Testing

@testable import NightjarHTTP

/// A generator whose numbers are all equal. 1 selects the shortest wait, `UInt64.max` the longest. With 0, `random(in:)`
/// does not return.
private struct Constant: RandomNumberGenerator {
    var value: UInt64
    mutating func next() -> UInt64 { value }
}

private func head(_ status: Int = 200, type: String? = "text/event-stream") -> ResponseHead {
    var headers = Headers()
    if let type { try? headers.set("Content-Type", type) }
    return ResponseHead(status: status, headers: headers)
}

/// The action as a text.
private func text(_ action: EventStream.Action?) -> String {
    switch action {
    case nil: "read"
    case .connect(let id): "connect \(id ?? "-")"
    case .wait(let time): "wait \(time.inSeconds)"
    case .end: "end"
    case .fail(let error): "\(error.kind.name): \(error.message)"
    }
}

private let lost = NightjarError(.connectionLost, "the connection was lost", requestMayHaveBeenProcessed: true)
private let refused = NightjarError(.connect, "the connection was refused")

@Suite struct EventStreamTests {
    private var shortest = Constant(value: 1)

    private func stream(
        isSafe: Bool = true, isIdempotent: Bool = true, _ change: (inout EventStreamSettings) -> Void = { _ in }
    ) -> EventStream {
        var settings = EventStreamSettings()
        change(&settings)
        return EventStream(settings, isSafe: isSafe, isIdempotent: isIdempotent)
    }

    /// Opens the stream and returns the data of its events.
    private func receive(_ stream: inout EventStream, _ body: String) throws -> [String] {
        stream.append(ByteBuffer(string: body))
        var data: [String] = []
        while let event = try stream.next() { data.append(event.data) }
        return data
    }

    @Test mutating func streamResumesAfterTheLastEvent() throws {
        var stream = stream()
        #expect(text(stream.begin()) == "connect -")
        #expect(text(stream.opened(head())) == "read")
        #expect(stream.state == .open)
        #expect(try receive(&stream, "id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: ") == ["a", "b"])
        #expect(text(stream.ended(lost, using: &shortest)) == "wait 0.5")
        #expect(stream.state == .waiting)
        #expect(text(stream.waited()) == "connect 2")
        #expect(text(stream.opened(head())) == "read")
        // The server sends the second event again.
        #expect(try receive(&stream, "id: 2\ndata: b\n\nid: 3\ndata: c\n\n") == ["c"])
        #expect(text(stream.ended(nil, using: &shortest)) == "wait 0.5")
        #expect(text(stream.waited()) == "connect 3")
        #expect(text(stream.opened(head(204, type: nil))) == "end")
        #expect(stream.state == .closed)
        #expect(stream.delivered == 3)
    }

    @Test mutating func waitsDoubleUntilAnEventArrives() throws {
        var longest = Constant(value: .max)
        var stream = stream()
        _ = stream.opened(head())
        var waits: [String] = []
        for _ in 0..<9 {
            waits.append(text(stream.ended(refused, using: &longest)))
            _ = stream.waited()
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { "wait \(Double($0))" })
        _ = stream.opened(head())
        #expect(text(stream.ended(nil, using: &longest)) == "wait 60.0")
        _ = stream.waited()
        _ = stream.opened(head())
        #expect(try receive(&stream, "data: a\n\n") == ["a"])
        #expect(text(stream.ended(nil, using: &longest)) == "wait 1.0")
    }

    @Test(arguments: [("2000", 2.0), ("0", 0.1), ("999999999", 300.0)])
    func serverSetsTheReconnectionTime(_ retry: String, _ seconds: Double) throws {
        var longest = Constant(value: .max)
        var stream = stream()
        _ = stream.opened(head())
        #expect(try receive(&stream, "retry: \(retry)\n\ndata: a\n\n") == ["a"])
        #expect(text(stream.ended(nil, using: &longest)) == "wait \(seconds)")
    }

    @Test func firstConnectionFailsLikeACall() {
        var random = Constant(value: 1)
        for error in [lost, refused] {
            var stream = stream()
            #expect(text(stream.ended(error, using: &random)) == "\(error.kind.name): \(error.message)")
            #expect(stream.state == .closed)
        }
    }

    @Test(arguments: [
        (NightjarError(.rateLimited, "429", retryAfter: .seconds(30)), "wait 30.0"),
        (EventStreamTests.status(502), "wait 0.5"), (EventStreamTests.status(503), "wait 0.5"),
        (EventStreamTests.status(504), "wait 0.5"), (NightjarError(.timeout, "slow"), "wait 0.5"),
        (NightjarError(.offline, "offline"), "wait 0.5"), (NightjarError(.dns, "dns"), "wait 0.5"),
        (EventStreamTests.status(500), "server: 500; 0 events were delivered"),
        (NightjarError(.notFound, "404"), "not_found: 404; 0 events were delivered"),
        (NightjarError(.unauthorized, "401"), "unauthorized: 401; 0 events were delivered"),
        (NightjarError(.pinMismatch, "pin"), "pin_mismatch: pin; 0 events were delivered"),
        (NightjarError(.cancelled, "cancelled"), "cancelled: cancelled; 0 events were delivered"),
    ])
    func laterConnectionsAreRepeatedAfterTemporaryFailures(_ error: NightjarError, _ action: String) {
        var random = Constant(value: 1)
        var stream = stream()
        _ = stream.opened(head())
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
    func otherMediaTypeFails(_ type: String?, _ message: String) {
        var stream = stream()
        #expect(text(stream.opened(head(type: type))) == "decoding: \(message)")
        #expect(stream.state == .closed)
        #expect(stream.reason == message)
        var parameters = self.stream()
        #expect(text(parameters.opened(head(type: "Text/Event-Stream;charset=utf-8"))) == "read")
    }

    @Test func postIsSentAgainOnlyIfThatIsSafe() {
        var random = Constant(value: 1)
        // Without a key, the end of the response is the end of the stream, and a failure is final.
        var plain = stream(isSafe: false, isIdempotent: false)
        _ = plain.opened(head())
        #expect(
            text(plain.ended(lost, using: &random))
                == "connection_lost: the connection was lost; 0 events were delivered")
        var finished = stream(isSafe: false, isIdempotent: false)
        _ = finished.opened(head())
        #expect(text(finished.ended(nil, using: &random)) == "end")
        // With a key, a failure is repeated.
        var keyed = stream(isSafe: false, isIdempotent: true)
        _ = keyed.opened(head())
        #expect(text(keyed.ended(lost, using: &random)) == "wait 0.5")
        _ = keyed.waited()
        _ = keyed.opened(head())
        #expect(text(keyed.ended(nil, using: &random)) == "end")
        // If reconnection is requested, a request that the server has not received is repeated.
        var requested = stream(isSafe: false, isIdempotent: false) { $0.reconnection = .always }
        _ = requested.opened(head())
        #expect(text(requested.ended(refused, using: &random)) == "wait 0.5")
        _ = requested.waited()
        _ = requested.opened(head())
        #expect(text(requested.ended(lost, using: &random)).hasPrefix("connection_lost"))
    }

    @Test func reconnectionCanBeDisabled() {
        var random = Constant(value: 1)
        var stream = stream { $0.reconnection = .never }
        _ = stream.opened(head())
        #expect(text(stream.ended(nil, using: &random)) == "end")
    }

    @Test mutating func savedCursorIsSent() {
        let stream = stream { $0.lastEventID = "42" }
        #expect(text(stream.begin()) == "connect 42")
    }

    @Test mutating func cursorSurvivesConnectionsWithoutEvents() throws {
        var stream = stream()
        _ = stream.opened(head())
        #expect(try receive(&stream, "id: 5\ndata: a\n\n") == ["a"])
        for _ in 0..<3 {
            _ = stream.ended(nil, using: &shortest)
            #expect(text(stream.waited()) == "connect 5")
            _ = stream.opened(head())
            #expect(try receive(&stream, ": nothing\n\n").isEmpty)
        }
    }

    @Test mutating func eventsWithEqualIDsAreKept() throws {
        var stream = stream()
        _ = stream.opened(head())
        #expect(try receive(&stream, "id: 1\ndata: a\n\nid: 1\ndata: b\n\n") == ["a", "b"])
        _ = stream.ended(nil, using: &shortest)
        _ = stream.waited()
        _ = stream.opened(head())
        #expect(try receive(&stream, "id: 1\ndata: c\n\nid: 1\ndata: a\n\n") == ["c", "a"])
        _ = stream.ended(nil, using: &shortest)
        _ = stream.waited()
        _ = stream.opened(head())
        #expect(try receive(&stream, "id: 1\ndata: c\n\nid: 1\ndata: a\n\nid: 1\ndata: d\n\n") == ["d"])
    }

    @Test mutating func eventsWithoutIDsAreNeverDropped() throws {
        var stream = stream()
        _ = stream.opened(head())
        #expect(try receive(&stream, "data: a\n\n") == ["a"])
        _ = stream.ended(nil, using: &shortest)
        _ = stream.waited()
        _ = stream.opened(head())
        #expect(try receive(&stream, "data: a\n\n") == ["a"])
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
        var history = StreamHistory()
        var stream = stream()
        history.note(stream, at: .zero)
        _ = stream.opened(head())
        history.note(stream, at: .milliseconds(20))
        _ = stream.ended(lost, using: &shortest)
        history.note(stream, at: .milliseconds(30))
        stream.close()
        history.note(stream, at: .milliseconds(40))
        #expect(
            history.explanation == """
                at 0.0 s: connecting
                at 0.02 s: open: the server sent 200
                at 0.03 s: waiting: the connection was lost
                at 0.04 s: closed: the stream was closed
                """)
    }
}
