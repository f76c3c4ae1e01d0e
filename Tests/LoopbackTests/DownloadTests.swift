import Glibc
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarStorage
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

    private func loopbackClient(of peer: ScriptedPeer) throws -> Client {
        try client(of: peer) {
            $0.timeouts = Timeouts(
                connect: longTimeout, idle: longTimeout, total: Timeouts.unlimited)
        }
    }

    private func loopbackPeer(_ conversations: [[ScriptedPeer.Step]]) throws -> ScriptedPeer {
        try ScriptedPeer(conversations, maximumWait: longTimeout)
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

    @Test func untypedEndpointIsDownloaded() async throws {
        let peer = try loopbackPeer([[.expectRequest, .send(Bytes(Array((whole + "0123456789").utf8)))]])
        defer { withExtendedLifetime(peer) {} }
        let file = try await loopbackClient(of: peer).download(.get("/x"), to: folder.file("x"))
        #expect(file.size == 10)
        #expect(try folder.read("x") == Array("0123456789".utf8))
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

    /// The text may come from elsewhere. A part that does not belong to it is not changed.
    @Test(arguments: ["missing", "other", "NUL", "no part"])
    func stateOfAnotherPartIsRejected(difference: String) async throws {
        let name = difference == "NUL" ? "precious" : "precious" + PartFile.suffix
        let path = try folder.write(name, "old")
        var record = DownloadRecord()
        (record.part, record.validator) = (path, StrongValidator(.entityTag, "\"a\""))
        if difference == "other" { try folder.write(name + PartFile.stateSuffix, Bytes(Array(record.text.utf8))) }
        switch difference {
        case "other": record.validator = StrongValidator(.entityTag, "\"b\"")
        case "NUL": record.part += "\0" + PartFile.suffix
        case "no part": record.part = folder.file("none" + PartFile.suffix)
        default: break
        }
        let peer = try loopbackPeer([])
        defer { withExtendedLifetime(peer) {} }
        var settings = quick
        settings.resumption = .state(record.text)
        let client = try loopbackClient(of: peer)
        let error = await #expect(throws: NightjarError.self) {
            try await client.download(Request(.get, "/x"), to: folder.file("x"), settings)
        }
        #expect(error?.kind == (difference == "NUL" ? .invalidArgument : .contentChanged))
        #expect(try folder.read(name) == Array("old".utf8))
        #expect(!exists("none" + PartFile.suffix))
    }

    private static let lostPart: [ScriptedPeer.Step] = [
        .expectRequest, .send(Bytes(Array((whole + "0123").utf8))), .reset,
    ]

    /// Leaves a part with four bytes of /x.
    private func leavePart(_ client: Client) async throws {
        var settings = quick
        settings.attempts = 1
        _ = try? await client.download(Request(.get, "/x"), to: folder.file("x"), settings)
        #expect(exists("x.nightjar-part"))
    }

    /// The part belongs to a GET request.
    @Test func otherMethodDiscardsThePart() async throws {
        let short = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 2\r\n\r\nok"
        let peer = try loopbackPeer([
            DownloadTests.lostPart, [.expectRequest, .send(Bytes(Array(short.utf8)))],
        ])
        defer { withExtendedLifetime(peer) {} }
        let client = try loopbackClient(of: peer)
        try await leavePart(client)
        let file = try await client.download(Request(.post, "/x"), to: folder.file("x"), quick)
        #expect(file.size == 2 && file.resumed == 0)
        #expect(try folder.read("x") == Array("ok".utf8))
    }

    @Test func earlyCancelDiscardsAnOlderPart() async throws {
        let peer = try loopbackPeer([DownloadTests.lostPart])
        defer { withExtendedLifetime(peer) {} }
        let client = try loopbackClient(of: peer)
        try await leavePart(client)
        let download = try client.startDownload(Request(.get, "/x"), to: folder.file("x"), quick)
        download.cancel(keepsPart: false)
        await #expect(throws: NightjarError.self) { try await download.file() }
        #expect(!exists("x.nightjar-part") && !exists("x.nightjar-part.state"))
    }

    /// Only responses with the content become the file.
    @Test(arguments: ["204 No Content", "205 Reset Content", "304 Not Modified", "404 Not Found"])
    func otherStatusIsNotTheFile(status: String) async throws {
        let response = "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n"
        let peer = try loopbackPeer([[.expectRequest, .send(Bytes(Array(response.utf8)))]])
        defer { withExtendedLifetime(peer) {} }
        var request = Request(.get, "/x")
        request.expectedStatuses = [.init(200, 499)]
        let client = try loopbackClient(of: peer)
        let error = await #expect(throws: NightjarError.self) {
            try await client.download(request, to: folder.file("x"), quick)
        }
        #expect(error?.status == Int(status.prefix(3)))
        #expect(error?.message.contains("Not Modified") == status.hasPrefix("304"))
        #expect(!exists("x") && !exists("x.nightjar-part"))
    }

    /// A handler may refer to the download.
    @Test func handlersAreReleasedAtTheEnd() async throws {
        final class Canary: Sendable {}
        let peer = try loopbackPeer([[.expectRequest, .send(Bytes(Array((whole + "0123456789").utf8)))]])
        defer { withExtendedLifetime(peer) {} }
        let client = try loopbackClient(of: peer)
        var canary: Canary? = Canary()
        nonisolated(unsafe) weak var reference = canary
        let download = try client.startDownload(Request(.get, "/x"), to: folder.file("x"), quick) { [canary] _ in
            withExtendedLifetime(canary) {}
        }
        canary = nil
        _ = try await download.file()
        try await eventually("the handler was released", within: longTimeout) { reference == nil }
        withExtendedLifetime(download) {}
    }

    @Test(arguments: [true, false]) func cancelKeepsThePartByRequest(keeps: Bool) async throws {
        let peer = try loopbackPeer([[.expectRequest, .send(Bytes(Array((whole + "0123").utf8))), .stall]])
        defer { withExtendedLifetime(peer) {} }
        let download = try loopbackClient(of: peer).startDownload(Request(.get, "/x"), to: folder.file("x"), quick)
        try await eventually("four bytes were written", within: longTimeout) {
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
        try await eventually("four bytes were written", within: longTimeout) {
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
        try await eventually("the part was released", within: longTimeout) { !self.isLocked("x") }
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
        try await eventually("four bytes were written", within: longTimeout) {
            download.progress.received == 4
        }
        download.pause()
        try await eventually("the download was paused", within: longTimeout) {
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
