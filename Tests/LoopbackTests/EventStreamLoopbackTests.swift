import NIOCore
import Nightjar
import NightjarTestSupport
import Testing

private let streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

private func chunk(_ text: String) -> Bytes {
    Bytes(Array("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n".utf8))
}

@Suite struct EventStreamLoopbackTests {
    private var quick: Events.Settings {
        var settings = Events.Settings()
        settings.reconnectionTime = .milliseconds(100)
        return settings
    }

    @Test func eventsContinueOnAnotherConnection() async throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, .send(Bytes(Array(streamHead.utf8))), .send(chunk("id: 1\ndata: a\n\nid: 2\nda")),
                .reset,
            ],
            [
                .expectRequest, .send(Bytes(Array(streamHead.utf8))),
                .send(chunk("id: 1\ndata: a\n\nid: 2\ndata: b\n\n")), .send("0\r\n\r\n"),
            ],
            [.expectRequest, .send("HTTP/1.1 204 No Content\r\n\r\n")],
        ])
        let client = try client(of: peer)
        let events = try client.events(Request(.get, "/feed"), quick)
        var data: [String] = []
        #expect(events.response == nil)
        for try await event in events { data.append("\(event.id)\(event.data)") }
        #expect(events.response?.status == 204)
        #expect(data == ["1a", "2b"])
        #expect(events.lastEventID == "2")
        #expect(events.state == .closed)
        #expect(peer.requests.map { $0["last-event-id"] } == [nil, "1", "2"])
        #expect(peer.requests.map { $0["accept"] } == Array(repeating: "text/event-stream", count: 3))
        #expect(events.explanation.hasSuffix("closed: the server sent 204: there are no more events"))
        #expect(peer.failures == [])
    }

    @Test func anIdWithoutDataIsTheLastEventID() async throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, .send(Bytes(Array(streamHead.utf8))),
                .send(chunk("retry: 2500\n\nid: 1\ndata: a\n\nid: 2\n\n")), .send("0\r\n\r\n"),
            ]
        ])
        let client = try client(of: peer)
        var settings = quick
        settings.reconnection = .never
        let events = try client.events(Request(.get, "/feed"), settings)
        #expect(events.reconnectionTime == .milliseconds(100))
        var seen: [String] = []
        for try await event in events { seen.append("\(event.id) \(events.lastEventID)") }
        #expect(seen == ["1 1"])
        #expect(events.lastEventID == "2")
        #expect(events.reconnectionTime == .milliseconds(2500))
    }

    // MARK: Events of a response

    @Test func eventsOfAResponseEndWithIt() async throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, .send(Bytes(Array(streamHead.utf8))),
                .send(chunk("id: 1\ndata: a\n\n")), .send(chunk("id: 2\ndata: b\n\ndata: c")), .send("0\r\n\r\n"),
            ]
        ])
        let streamed = try await client(of: peer).stream(Request(.post, "/mcp", body: "{}"))
        let events = streamed.events()
        var data: [String] = []
        for try await event in events { data.append(event.data) }
        #expect(data == ["a", "b"])
        #expect(events.lastEventID == "2")
        #expect(events.state == .closed)
        #expect(peer.requests.count == 1)
    }

    @Test func aBrokenResponseThrowsAfterItsEvents() async throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .send(Bytes(Array(streamHead.utf8))), .send(chunk("id: 7\ndata: a\n\nid: 8\n")), .close]
        ])
        let streamed = try await client(of: peer).stream(Request(.get, "/"))
        let events = streamed.events()
        var data: [String] = []
        do throws(NightjarError) {
            for try await event in events { data.append(event.data) }
            Issue.record("no error")
        } catch {
            #expect(error.kind == .connectionLost)
            #expect(error.delivered == 1)
        }
        #expect(data == ["a"])
        #expect(events.lastEventID == "7")
        #expect(peer.requests.count == 1)
    }

    @Test func aResponseOfAnotherTypeHasNoEvents() async throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "{}")]])
        let streamed = try await client(of: peer).stream(Request(.get, "/"))
        do throws(NightjarError) {
            for try await _ in streamed.events() {}
            Issue.record("no error")
        } catch {
            #expect(error.kind == .decoding)
            #expect(error.message.hasPrefix("the response is not an event stream"))
        }
    }

    @Test func silenceIsALostConnection() async throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .send(Bytes(Array(streamHead.utf8))), .send(chunk("data: a\n\n")), .expectClose],
            [.expectRequest, .send("HTTP/1.1 204 No Content\r\n\r\n")],
        ])
        let client = try client(of: peer)
        var settings = quick
        settings.idleTimeout = .milliseconds(200)
        let events = try client.events(Request(.get, "/"), settings)
        var count = 0
        for try await _ in events { count += 1 }
        #expect(count == 1)
        #expect(peer.failures == [])
    }

    @Test func leavingTheLoopClosesTheConnection() async throws {
        let peer = try ScriptedPeer(
            [
                [.expectRequest, .send(Bytes(Array(streamHead.utf8))), .send(chunk("data: a\n\n")), .expectClose]
            ], maximumWait: .seconds(120))
        let client = try client(of: peer)
        for try await _ in try client.events(Request(.get, "/"), quick) { break }
        try await eventually("the connection is closed", within: .seconds(60)) { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    @Test func cancelledTaskEndsAWait() async throws {
        let peer = try ScriptedPeer([[.expectRequest, .send(Bytes(Array(streamHead.utf8))), .send("0\r\n\r\n")]])
        let client = try client(of: peer)
        var settings = Events.Settings()
        settings.reconnectionTime = .seconds(300)
        let events = try client.events(Request(.get, "/"), settings)
        let task = Task { for try await _ in events {} }
        try await eventually("the stream waits") { events.state == .waiting }
        task.cancel()
        let error = await #expect(throws: NightjarError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
    }

    @Test func linesAreStrings() async throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na\r"), .send("\nb\rc\nä")]
        ])
        let client = try client(of: peer)
        var lines: [String] = []
        for try await line in try await client.stream(Request(.get, "/")).lines() { lines.append(line) }
        #expect(lines == ["a", "b", "c", "ä"])
    }

    @Test func valuesAreDecoded() async throws {
        struct Item: Decodable, Equatable { var id: Int }
        let text = "{\"id\":1}\n\n{\"id\":2}\n{\"id\":\"x\"}\n"
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: Bytes(Array(text.utf8)))]])
        let client = try client(of: peer)
        var ids: [Int] = []
        let error = await #expect(throws: NightjarError.self) {
            for try await item in try await client.stream(Request(.get, "/")).values(of: Item.self) {
                ids.append(item.id)
            }
        }
        #expect(ids == [1, 2])
        #expect(error?.kind == .decoding)
        #expect(error?.delivered == 2)
        #expect(error?.message.hasPrefix("value 3 of the response: ") == true)
    }

    @Test func brokenBodyReportsTheNumberOfLines() async throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na\nb\nc"), .close]
        ])
        let client = try client(of: peer)
        var lines: [String] = []
        let error = await #expect(throws: NightjarError.self) {
            for try await line in try await client.stream(Request(.get, "/")).lines() { lines.append(line) }
        }
        #expect(lines == ["a", "b"])
        #expect(error?.kind == .connectionLost)
        #expect(error?.delivered == 2)
    }
}
