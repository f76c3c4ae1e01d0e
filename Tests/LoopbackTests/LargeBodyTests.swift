import Glibc
import NIOCore
import Nightjar
import NightjarTestSupport
import Synchronization
import Testing

/// Bodies that are read directly from the socket.
@Suite struct LargeBodyTests {
    /// Collects the parts of a body, whose memory therefore cannot be used again.
    private final class Parts: Sendable {
        private let parts = Mutex<[ByteBuffer]>([])

        func receive(_ client: Client) throws -> Response {
            let queue = CompletionQueue()
            let result = Mutex<Result<Response, NightjarError>?>(nil)
            var handlers = TaskHandlers { _, outcome in result.withLock { $0 = outcome } }
            handlers.body = { _, part in self.parts.withLock { $0.append(part) } }
            try withExtendedLifetime(client.start(Request(.get, "/"), on: queue, handlers)) {
                while result.withLock({ $0 == nil }) { queue.poll(timeout: .seconds(10)) }
            }
            return try #require(result.withLock { $0 }).get()
        }

        var all: [ByteBuffer] { parts.withLock { $0 } }
        var content: [UInt8] { all.flatMap { Array($0.readableBytesView) } }
    }

    private func content(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return random.bytes(count)
    }

    private func head(_ count: Int) -> Bytes {
        Bytes(Array("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n".utf8))
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func bodiesArriveWholeAndConnectionsAreKept(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let body = content(3_000_000, seed: seed)
        var steps: [ScriptedPeer.Step] = [.expectRequest, .send(head(body.count))]
        var rest = body[...]
        while !rest.isEmpty {
            let part = rest.prefix(.random(in: 1...700_000, using: &random))
            rest = rest.dropFirst(part.count)
            steps += [.send(Bytes(Array(part))), .wait(.milliseconds(.random(in: 0...2, using: &random)))]
        }
        let peer = try ScriptedPeer([steps + [.expectRequest, .respond(body: "next")]])
        let client = try client(of: peer)
        let parts = Parts()
        _ = try parts.receive(client)
        #expect(parts.content == body)
        let next = try client.sendBlocking(Request(.get, "/"))
        #expect(next.text == "next" && next.timing.reusedConnection)
    }

    /// The memory of parts that the receiver has not released must not be used again, and the rest must still arrive.
    @Test func keptPartsRemainUnchanged() throws {
        let body = content(6_000_000)
        let peer = try ScriptedPeer([[.expectRequest, .send(head(body.count) + Bytes(body))]])
        let parts = Parts()
        _ = try parts.receive(try client(of: peer))
        #expect(parts.content == body)
    }

    /// A download writes whole blocks from the memory in which they were received.
    @Test(.http1Only("frames of HTTP/2 have a header (RFC 9113 section 4.1)")) func addressesAgreeWithPositions() throws
    {
        let body = content(4_000_000)
        let peer = try ScriptedPeer([[.expectRequest, .send(head(body.count) + Bytes(body))]])
        let parts = Parts()
        _ = try parts.receive(try client(of: peer))
        var position = 0
        var large = 0
        for part in parts.all {
            // The channel itself reads at most 64 KiB.
            if part.readableBytes > 64 << 10 {
                large += 1
                let address = part.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) }
                #expect((address - position) % 4096 == 0)
            }
            position += part.readableBytes
        }
        #expect(large > 0)
    }

    @Test func resetInALargeBodyIsALostConnection() throws {
        for count in [300_000, 900_000, 2_000_000] {
            let sent = Bytes(content(count))
            let peer = try ScriptedPeer([[.expectRequest, .send(head(3_000_000) + sent), .reset]])
            let client = try client(of: peer)
            let error = try failure(client, Request(.get, "/"))
            #expect(error.kind == .connectionLost && error.phase == .receive, "\(count): \(error)")
            if !TestHTTP.isHTTP2 { #expect(error.code == ECONNRESET, "\(count): \(error)") }
            client.close()
        }
    }

    @Test func truncatedLargeBodyIsALostConnection() throws {
        for count in [300_000, 900_000, 2_000_000] {
            let sent = Bytes(content(count))
            let peer = try ScriptedPeer([[.expectRequest, .send(head(3_000_000) + sent), .close]])
            let error = try failure(try client(of: peer), Request(.get, "/"))
            #expect(error.kind == .connectionLost, "\(count): \(error)")
            if !TestHTTP.isHTTP2 {
                #expect(error.message.contains("\(3_000_000 - count) bytes before the end"), "\(error)")
            }
        }
    }

    @Test func bytesAfterALargeBodyCloseTheConnection() throws {
        let body = content(1_000_000)
        let peer = try ScriptedPeer([
            [.expectRequest, .send(head(body.count) + Bytes(body) + "surplus"), .expectClose],
            [.expectRequest, .respond(body: "next")],
        ])
        let client = try client(of: peer)
        let parts = Parts()
        _ = try parts.receive(client)
        #expect(parts.content == body)
        #expect(try client.sendBlocking(Request(.get, "/")).text == "next")
        if !TestHTTP.isHTTP2 { #expect(peer.connectionCount == 2) }
    }
}
