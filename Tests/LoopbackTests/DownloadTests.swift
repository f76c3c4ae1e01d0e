import Glibc
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

private let whole = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 10\r\n\r\n"
private let rest =
    "HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nContent-Range: bytes 4-9/10\r\nContent-Length: 6\r\n\r\n"

@Suite struct DownloadTests {
    private let folder: TemporaryDirectory
    private var quick: Download.Settings {
        var settings = Download.Settings()
        settings.retryDelay = .zero
        return settings
    }

    init() throws { folder = try TemporaryDirectory() }

    /// The other tests load the machine, so that short timeouts would expire.
    private static let testTimeout = Duration.seconds(60)

    private func loopbackClient(of peer: ScriptedPeer) throws -> Client {
        try client(of: peer) {
            $0.timeouts = Timeouts(connect: DownloadTests.testTimeout, idle: DownloadTests.testTimeout, total: nil)
        }
    }

    private func loopbackPeer(_ conversations: [[ScriptedPeer.Step]]) throws -> ScriptedPeer {
        try ScriptedPeer(conversations, maximumWait: DownloadTests.testTimeout)
    }

    private func exists(_ name: String) -> Bool { access(folder.file(name), F_OK) == 0 }

    @Test func lostConnectionContinues() async throws {
        let peer = try loopbackPeer([
            [.expectRequest, .send(Bytes(Array((whole + "0123").utf8))), .reset],
            [.expectRequest, .send(Bytes(Array((rest + "456789").utf8)))],
        ])
        defer { withExtendedLifetime(peer) {} }
        let client = try loopbackClient(of: peer)
        let heads = Mutex<[Int]>([])
        let states = Mutex<[Download.State]>([])
        let file = try await client.download(Request(.get, "/x"), to: folder.file("x"), quick) { progress in
            states.withLock { $0.append(progress.state) }
        } head: { response in
            heads.withLock { $0.append(response.status) }
            return .proceed
        }
        #expect(file.size == 10 && file.received == 10 && file.resumed == 0 && file.attempts == 2)
        #expect(try folder.read("x") == Array("0123456789".utf8))
        #expect(heads.withLock { $0 } == [200, 206])
        #expect(states.withLock { $0.last } == .ended)
        #expect(peer.requests.map { $0["range"] } == [nil, "bytes=4-9"])
        #expect(peer.requests.map { $0["if-range"] } == [nil, "\"a\""])
        #expect(peer.requests.map { $0["accept-encoding"] } == ["identity", "identity"])
    }

    @Test func stateContinuesInAnotherClient() async throws {
        let peer = try loopbackPeer([
            [.expectRequest, .send(Bytes(Array((whole + "0123").utf8))), .reset],
            [.expectRequest, .send(Bytes(Array((rest + "456789").utf8)))],
        ])
        defer { withExtendedLifetime(peer) {} }
        var settings = quick
        settings.attempts = 1
        let first = try loopbackClient(of: peer).startDownload(
            Request(.get, "/x?signature=1"), to: folder.file("x"), settings)
        let error = await #expect(throws: NightjarError.self) { try await first.file() }
        #expect(error?.kind == .connectionLost)
        #expect(!exists("x") && exists("x.nightjar-part"))
        settings.resumption = .state(try #require(first.resumeState))
        let file = try await loopbackClient(of: peer).download(
            Request(.get, "/x?signature=2"), to: folder.file("renamed"), settings)
        #expect(file.resumed == 4 && file.received == 6 && file.path.hasSuffix("/renamed"))
        #expect(try folder.read("renamed") == Array("0123456789".utf8))
        #expect(!exists("x.nightjar-part") && !exists("x.nightjar-part.state"))
    }

    /// The text may come from elsewhere.
    @Test func stateThatNamesAnotherFileIsRejected() async throws {
        let path = try folder.write("precious", "old")
        let peer = try loopbackPeer([])
        defer { withExtendedLifetime(peer) {} }
        var record = DownloadRecord()
        (record.part, record.validator) = (path, StrongValidator(.entityTag, "\"a\""))
        var settings = quick
        settings.resumption = .state(record.text)
        let client = try loopbackClient(of: peer)
        let error = await #expect(throws: NightjarError.self) {
            try await client.download(Request(.get, "/x"), to: folder.file("x"), settings)
        }
        #expect(error?.kind == .invalidArgument)
        #expect(try folder.read("precious") == Array("old".utf8))
    }

    @Test(arguments: [true, false]) func cancelKeepsThePartByRequest(keeps: Bool) async throws {
        let peer = try loopbackPeer([[.expectRequest, .send(Bytes(Array((whole + "0123").utf8))), .stall]])
        defer { withExtendedLifetime(peer) {} }
        let download = try loopbackClient(of: peer).startDownload(Request(.get, "/x"), to: folder.file("x"), quick)
        try await eventually("four bytes were written", within: DownloadTests.testTimeout) {
            download.progress.received == 4
        }
        #expect(download.resumeState != nil)
        download.cancel(keepsPart: keeps)
        let error = await #expect(throws: NightjarError.self) { try await download.file() }
        #expect(error?.kind == .cancelled)
        #expect(exists("x.nightjar-part") == keeps && exists("x.nightjar-part.state") == keeps)
        #expect((download.resumeState != nil) == keeps)
    }

    @Test func headHandlerCancels() async throws {
        let peer = try loopbackPeer([[.expectRequest, .send(Bytes(Array((whole + "0123").utf8))), .stall]])
        defer { withExtendedLifetime(peer) {} }
        let client = try loopbackClient(of: peer)
        let error = await #expect(throws: NightjarError.self) {
            try await client.download(
                Request(.get, "/x"), to: folder.file("x"), quick, head: { _ in .cancel(keepsPart: false) })
        }
        #expect(error?.kind == .cancelled && !exists("x.nightjar-part"))
    }

    /// Cancelling the Swift task, releasing the download and closing the client end the request.
    @Test(arguments: 0..<3) func downloadEndsWithItsOwner(owner: Int) async throws {
        let peer = try loopbackPeer([[.expectRequest, .send(Bytes(Array((whole + "0123").utf8))), .expectClose]])
        defer { withExtendedLifetime(peer) {} }
        let client = try loopbackClient(of: peer)
        var download: Download? = try client.startDownload(Request(.get, "/x"), to: folder.file("x"), quick)
        try await eventually("four bytes were written", within: DownloadTests.testTimeout) {
            download?.progress.received == 4
        }
        let task = Task { [download] in try await download?.file() }
        switch owner {
        case 0: task.cancel()
        case 1: client.close()
        default:
            task.cancel()
            download = nil
        }
        await #expect(throws: NightjarError.self) { try await task.value }
        try await eventually("the part was released", within: DownloadTests.testTimeout) { !self.isLocked("x") }
    }

    private func isLocked(_ name: String) -> Bool {
        let descriptor = open(folder.file(name + ".nightjar-part"), O_RDWR)
        defer { close(descriptor) }
        return descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    @Test func pausedDownloadSendsNothing() async throws {
        let peer = try loopbackPeer([
            [.expectRequest, .send(Bytes(Array((whole + "0123").utf8))), .expectClose],
            [.expectRequest, .send(Bytes(Array((rest + "456789").utf8)))],
        ])
        defer { withExtendedLifetime(peer) {} }
        let client = try loopbackClient(of: peer)
        let download = try client.startDownload(Request(.get, "/x"), to: folder.file("x"), quick)
        try await eventually("four bytes were written", within: DownloadTests.testTimeout) {
            download.progress.received == 4
        }
        download.pause()
        try await eventually("the download was paused", within: DownloadTests.testTimeout) {
            download.progress.state == .paused
        }
        #expect(peer.requests.count == 1)
        download.resume()
        #expect(try await download.file().size == 10)
    }

    @Test func digestOfTheCallerIsChecked() async throws {
        let peer = try loopbackPeer([[.expectRequest, .send(Bytes(Array((whole + "0123456789").utf8)))]])
        defer { withExtendedLifetime(peer) {} }
        var settings = quick
        settings.checksum = try Checksum("md5:00000000000000000000000000000000")
        let client = try loopbackClient(of: peer)
        let error = await #expect(throws: NightjarError.self) {
            try await client.download(Request(.get, "/x"), to: folder.file("x"), settings)
        }
        #expect(error?.kind == .checksumMismatch)
        #expect(!exists("x") && !exists("x.nightjar-part") && !exists("x.nightjar-part.state"))
    }
}
