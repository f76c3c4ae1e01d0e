import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Testing

/// Streamed responses that become downloads. The servers' responses are scripted.
@Suite struct StreamedDownloadTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"a\"\r\n\r\n"

    private func peer(_ conversations: [[ScriptedPeer.Step]]) throws -> ScriptedPeer {
        try ScriptedPeer(conversations, maximumWait: longTimeout)
    }

    private func newClient(_ peer: ScriptedPeer) throws -> Client {
        try client(of: peer) {
            $0.timeouts = Timeouts(
                connect: longTimeout, idle: longTimeout,
                total: Timeouts.unlimited)
        }
    }

    @Test func lostConnectionIsContinued() async throws {
        let peer = try peer([
            [.expectRequest, .send(Bytes((StreamedDownloadTests.head + "0123").utf8)), .close],
            [
                .expectRequest,
                .respond(
                    "206 Partial Content", headers: ["ETag: \"a\"", "Content-Range: bytes 4-9/10"], body: "456789"),
            ],
        ])
        var settings = Download.Settings()
        settings.retryDelay = .zero
        let client = try newClient(peer)
        let file = try await client.stream(Request(.get, "/x")).download(to: folder.path + "/x", settings)
        #expect(file.size == 10 && file.attempts == 2 && file.received == 10)
        #expect(peer.requests.last?.headers.contains { $0.name == "Range" && $0.value.hasPrefix("bytes=4-") } == true)
        #expect(try folder.read("x") == Array("0123456789".utf8))
    }

    @Test func bodyCannotBeReadAfterwards() async throws {
        let peer = try peer([[.expectRequest, .send(Bytes((StreamedDownloadTests.head + "0123456789").utf8))]])
        let client = try newClient(peer)
        let response = try await client.stream(Request(.get, "/x"))
        let download = try await response.startDownload(to: folder.path + "/x")
        response.cancel()
        var parts = response.body.makeAsyncIterator()
        await #expect(throws: NightjarError.self) { try await parts.next() }
        #expect(try await download.file().size == 10)
        let error = await #expect(throws: NightjarError.self) { try await response.download(to: "x") }
        #expect(error?.kind == .invalidArgument)
    }

    @Test func readBodyIsNotDownloaded() async throws {
        let peer = try peer([
            [.expectRequest, .send(Bytes((StreamedDownloadTests.head + "0123").utf8)), .stall]
        ])
        let client = try newClient(peer)
        let response = try await client.stream(Request(.get, "/x"))
        let parts = response.body.makeAsyncIterator()
        #expect(try await parts.next()?.readableBytes == 4)
        let error = await #expect(throws: NightjarError.self) {
            try await response.download(to: folder.path + "/x")
        }
        #expect(error?.kind == .invalidArgument && error?.message.contains("4 bytes") == true)
        response.cancel()
    }

    /// A reader does not wait for the end of the response.
    @Test func readerEndsAtOnce() async throws {
        let peer = try peer([[.expectRequest, .send(Bytes((StreamedDownloadTests.head + "0123").utf8)), .stall]])
        let client = try newClient(peer)
        let response = try await client.stream(Request(.get, "/x"))
        let download = try await response.startDownload(to: folder.path + "/x")
        let parts = response.body.makeAsyncIterator()
        let error = await #expect(throws: NightjarError.self) { try await parts.next() }
        #expect(error?.kind == .cancelled)
        download.cancel()
        await #expect(throws: NightjarError.self) { try await download.file() }
    }

    /// A POST is sent once, also if the download is paused.
    @Test(arguments: [false, true]) func postIsNotRepeated(isPaused: Bool) async throws {
        let peer = try peer([
            [.expectRequest, .send(Bytes((StreamedDownloadTests.head + "0123").utf8)), isPaused ? .stall : .close]
        ])
        let client = try newClient(peer)
        let response = try await client.stream(Request(.post, "/x"))
        let download = try await response.startDownload(to: folder.path + "/x")
        if isPaused {
            download.pause()
            download.resume()
        }
        let error = await #expect(throws: NightjarError.self) { try await download.file() }
        let expected = isPaused ? ErrorKind.contentChanged : .connectionLost
        #expect(error?.kind == expected, "\(String(describing: error)), phase \(String(describing: error?.phase))")
        #expect(peer.requests.count == 1)
    }

    @Test func pausedDownloadStartsAgain() async throws {
        let peer = try peer([
            [.expectRequest, .send(Bytes((StreamedDownloadTests.head + "0123").utf8)), .stall],
            [.expectRequest, .send(Bytes((StreamedDownloadTests.head + "0123456789").utf8))],
        ])
        let client = try newClient(peer)
        let response = try await client.stream(Request(.get, "/x"))
        let download = try await response.startDownload(to: folder.path + "/x")
        download.pause()
        download.resume()
        #expect(try await download.file().size == 10)
    }

    @Test func closedClientEndsTheCall() async throws {
        let peer = try peer([[.expectRequest, .send(Bytes((StreamedDownloadTests.head + "0123").utf8)), .stall]])
        let client = try newClient(peer)
        let response = try await client.stream(Request(.get, "/x"))
        client.close()
        let error = await #expect(throws: NightjarError.self) {
            try await response.download(to: folder.path + "/x")
        }
        #expect(error.map { [.closed, .cancelled].contains($0.kind) } == true)
        var count = 0
        await #expect(throws: NightjarError.self) {
            for try await part in response.body { count += part.readableBytes }
        }
        #expect(count <= 4)
    }
}
