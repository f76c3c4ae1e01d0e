import Glibc
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// Uploads that continue after failures, with servers whose responses are scripted.
@Suite struct UploadTransferTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func settings(_ uploadProtocol: UploadProtocol) -> Upload.Settings {
        var settings = Upload.Settings()
        (settings.uploadProtocol, settings.retryDelay) = (uploadProtocol, .zero)
        return settings
    }

    private func loopbackClient(of peer: ScriptedPeer) throws -> Client {
        try client(of: peer) {
            $0.timeouts = Timeouts(
                connect: longTimeout, idle: longTimeout,
                total: Timeouts.unlimited)
            $0.transport.idleConnectionLifetime = longTimeout
        }
    }

    private func loopbackPeer(_ conversations: [[ScriptedPeer.Step]]) throws -> ScriptedPeer {
        try ScriptedPeer(conversations, maximumWait: longTimeout)
    }

    // MARK: Protocols

    @Test(arguments: [0, 10, 300_000]) func putSendsTheFile(size: Int) async throws {
        var random = SeededRandom(seed: UInt64(size))
        let bytes = random.bytes(size)
        let path = try folder.write("a.png", Bytes(bytes))
        let peer = try loopbackPeer([[.expectRequest, .respond("201 Created", headers: ["Location: /made"])]])
        var request = Request(.post, "/x")
        request.expectsContinue = false
        let result = try await loopbackClient(of: peer).upload(request, from: path, settings(.put))
        #expect(result.size == size && result.sent == size && result.attempts == 1 && result.resumed == 0)
        #expect(result.url == "http://127.0.0.1:\(peer.port)/made" && result.response?.status == 201)
        let received = try #require(peer.requests.first)
        #expect(received.method == "PUT" && received.target == "/x" && received.body == bytes)
        #expect(received["content-type"] == "image/png" && received["content-length"] == String(size))
    }

    /// A part that waits for the maximum rate belongs to the first request, and must not be sent with the second one.
    @Test func redirectSendsTheContentFromItsStart() async throws {
        var random = SeededRandom(seed: 1)
        let bytes = random.bytes(4 << 16)
        let path = try folder.write("x", Bytes(bytes))
        let peer = try loopbackPeer([
            [.expectHead, .expectBytes(1 << 16), .respond("307 Temporary Redirect", headers: ["Location: /other"])],
            [.expectRequest, .respond()],
        ])
        var settings = settings(.put)
        settings.maximumRate = 400_000
        var request = Request(.put, "/x")
        request.expectsContinue = false
        let result = try await loopbackClient(of: peer).upload(request, from: path, settings)
        #expect(result.size == bytes.count)
        #expect(peer.requests.last?.target == "/other" && peer.requests.last?.body == bytes)
    }

    @Test func lostConnectionContinuesWithTus() async throws {
        let path = try folder.write("x", "0123456789")
        let peer = try loopbackPeer([
            [.expectRequest, .uploadCreated, .expectHead, .expectBytes(4), .reset],
            [
                .expectRequest, .uploadHead(4), .expectRequest, .uploadOffset(10),
            ],
        ])
        let states = Mutex<[Upload.State]>([])
        let result = try await loopbackClient(of: peer).upload(
            Request(.post, "/files?k=1"), from: path, settings(.tus)
        ) { progress in
            states.withLock { $0.append(progress.state) }
        }
        #expect(result.size == 10 && result.attempts == 4 && result.response?.status == 204)
        #expect(result.url == "http://127.0.0.1:\(peer.port)/u")
        #expect(peer.requestLines == ["POST /files?k=1", "PATCH /u", "HEAD /u", "PATCH /u"])
        #expect(peer.requests.last?.bodyText == "456789")
        #expect(peer.requests.allSatisfy { $0["tus-resumable"] == "1.0.0" })
        #expect(states.withLock { $0.last } == .ended)
    }

    @Test func interimLocationContinuesWithTheDraft() async throws {
        let path = try folder.write("x", "0123456789")
        let peer = try loopbackPeer([
            [
                .expectHead, .send("HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /u\r\n\r\n"),
                .expectBytes(10), .reset,
            ],
            [
                .expectRequest, .respond("204 No Content", headers: ["Upload-Offset: 4", "Upload-Complete: ?0"]),
                .expectRequest, .respond(headers: ["Upload-Complete: ?1"], body: "done"),
            ],
        ])
        var request = Request(.post, "/x")
        request.expectsContinue = false
        let result = try await loopbackClient(of: peer).upload(request, from: path, settings(.resumable))
        #expect(result.response?.text == "done")
        #expect(peer.requestLines == ["POST /x", "HEAD /u", "PATCH /u"])
        #expect(peer.requests.last?.bodyText == "456789")
    }

    @Test func partsAreCombinedWithS3() async throws {
        let size = 1 << 20
        let path = try folder.write("x", Bytes([UInt8](repeating: 0, count: size) + Array("6789".utf8)))
        let peer = try loopbackPeer([
            [
                .expectRequest, .respond(body: "<R><UploadId>a/b</UploadId></R>"), .expectRequest,
                .respond(headers: ["ETag: \"1\""]), .expectRequest, .respond(headers: ["ETag: \"2\""]), .expectRequest,
                .respond(body: "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>"),
            ]
        ])
        var settings = settings(.s3)
        settings.chunkSize = size
        settings.digest = .algorithm(.md5)
        let result = try await loopbackClient(of: peer).upload(Request(.put, "/o"), from: path, settings)
        #expect(result.size == size + 4 && result.sent == size + 4 && result.attempts == 4)
        #expect(
            peer.requestLines == [
                "POST /o?uploads=", "PUT /o?partNumber=1&uploadId=a%2Fb", "PUT /o?partNumber=2&uploadId=a%2Fb",
                "POST /o?uploadId=a%2Fb",
            ])
        #expect(peer.requests[1].body.count == size && peer.requests[2].bodyText == "6789")
        // The digest of "6789".
        #expect(peer.requests[2]["content-md5"] == "RtBF/1GQ9uqTc52mwKoZvA==")
    }

    @Test func digestNamesTheBlobWithOCI() async throws {
        let path = try folder.write("x", "")
        let peer = try loopbackPeer([
            [
                .expectRequest, .respond("202 Accepted", headers: ["Location: /u?s=1"]), .expectRequest,
                .respond("201 Created", headers: ["Location: /blob"]),
            ]
        ])
        let result = try await loopbackClient(of: peer).upload(
            Request(.post, "/v2/a/blobs/uploads/"), from: path, settings(.oci))
        #expect(result.url?.hasSuffix("/blob") == true)
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        #expect(peer.requestLines == ["POST /v2/a/blobs/uploads/", "PUT /u?s=1&digest=sha256:\(empty)"])
    }

    // MARK: Streams

    @Test func streamIsSentAgainFromMemory() async throws {
        let peer = try loopbackPeer([
            [
                .expectRequest, .uploadCreated, .expectRequest, .uploadOffset(4), .expectHead,
                .reset,
            ],
            [
                .expectRequest, .respond("200 OK", headers: ["Upload-Offset: 5"]), .expectRequest,
                .uploadOffset(6),
            ],
        ])
        let client = try loopbackClient(of: peer)
        var settings = settings(.tus)
        settings.chunkSize = 4
        var handlers = UploadOperation.Handlers()
        let parts = Mutex(["ab", "c", "def"])
        handlers.read = { _, _ in
            parts.withLock { $0.isEmpty ? .end : .bytes(ByteBuffer(string: $0.removeFirst())) }
        }
        try await finish { finished in
            _ = try client.startUpload(Request(.post, "/x"), .stream, settings, on: nil, handlers, finished: finished)
        }
        #expect(peer.requestLines == ["POST /x", "PATCH /u", "PATCH /u", "HEAD /u", "PATCH /u"])
        #expect(peer.requests[1].bodyText == "abcd" && peer.requests.last?.bodyText == "f")
        #expect(peer.requests.last?["upload-length"] == "6")
    }

    /// Parts of any length are sent in the pieces that the upload requests.
    @Test(arguments: [UploadProtocol.tus, .put]) func sequenceIsUploaded(uploadProtocol: UploadProtocol) async throws {
        let isTus = uploadProtocol == .tus
        let steps: [ScriptedPeer.Step] =
            isTus
            ? [.expectRequest, .uploadCreated, .expectRequest, .uploadOffset(300_005)]
            : [.expectRequest, .respond("201 Created")]
        let peer = try loopbackPeer([steps])
        let parts = AsyncStream<ByteBuffer> { continuation in
            for part in ["", "abc", String(repeating: "d", count: 300_000), "", "ef"] {
                continuation.yield(ByteBuffer(string: part))
            }
            continuation.finish()
        }
        let result = try await loopbackClient(of: peer).upload(
            Request(.post, "/x"), from: parts, settings(uploadProtocol))
        #expect(result.size == 300_005)
        #expect(peer.requests.last?.bodyText == "abc" + String(repeating: "d", count: 300_000) + "ef")
    }

    private struct NoDisk: Error {}

    @Test func failedSequenceEndsTheUpload() async throws {
        let peer = try loopbackPeer([[.expectRequest, .uploadCreated, .expectClose]])
        let client = try loopbackClient(of: peer)
        let parts = AsyncThrowingStream<ByteBuffer, any Error> { $0.finish(throwing: NoDisk()) }
        let error = await #expect(throws: NightjarError.self) {
            try await client.upload(Request(.post, "/x"), from: parts, settings(.tus))
        }
        #expect(error?.kind == .invalidRequest && error?.message.contains("NoDisk") == true)
    }

    /// The end of the upload cancels the task that reads the sequence.
    @Test func sequenceIsCancelledWithTheUpload() async throws {
        let peer = try loopbackPeer([[.expectRequest, .uploadCreated, .expectClose]])
        let client = try loopbackClient(of: peer)
        let (parts, source) = AsyncStream.makeStream(of: ByteBuffer.self)
        let ended = Mutex(false)
        source.onTermination = { _ in ended.withLock { $0 = true } }
        let upload = try client.startUpload(Request(.post, "/x"), from: parts, settings(.tus))
        try await eventually("the upload was created", within: longTimeout) {
            upload.resumeState != nil || peer.requests.count == 1
        }
        upload.cancel()
        _ = try? await upload.result()
        try await eventually("the sequence ended", within: longTimeout) { ended.withLock { $0 } }
    }

    @Test func failedStreamEndsTheUpload() async throws {
        let peer = try loopbackPeer([[.expectRequest, .uploadCreated, .expectClose]])
        let client = try loopbackClient(of: peer)
        let settings = settings(.tus)
        var handlers = UploadOperation.Handlers()
        handlers.read = { _, _ in .failed("no disk") }
        let error = await #expect(throws: NightjarError.self) {
            try await finish { [handlers] finished in
                _ = try client.startUpload(
                    Request(.post, "/x"), .stream, settings, on: nil, handlers, finished: finished)
            }
        }
        #expect(error?.kind == .invalidRequest && error?.message.contains("no disk") == true)
    }

    private func finish(
        _ start: (@escaping @Sendable (UploadOperation, Result<Void, NightjarError>) -> Void) throws -> Void
    ) async throws {
        let outcome = Outcome()
        try start { _, result in outcome.value.withLock { $0 = result } }
        try await eventually("the upload ended", within: longTimeout) {
            outcome.value.withLock { $0 != nil }
        }
        try outcome.value.withLock { $0 }?.get()
    }

    // MARK: The caller

    @Test func stateContinuesInAnotherClient() async throws {
        let path = try folder.write("x", "0123456789")
        let peer = try loopbackPeer([
            [.expectRequest, .uploadCreated, .expectHead, .expectBytes(4), .reset],
            [.expectRequest, .uploadHead(4), .expectRequest, .uploadOffset(10)],
        ])
        var settings = settings(.tus)
        settings.attempts = 1
        let first = try loopbackClient(of: peer).startUpload(Request(.post, "/x"), from: path, settings)
        let error = await #expect(throws: NightjarError.self) { try await first.result() }
        #expect(error?.kind == .connectionLost)
        let state: String = try #require(first.resumeState)
        settings.resumeState = state
        let result = try await loopbackClient(of: peer).upload(Request(.post, "/x"), from: path, settings)
        #expect(result.resumed == 4 && result.sent == 6 && result.size == 10)
        // The file differs from that of the state.
        try folder.write("x", "0123456789a")
        let changed = await #expect(throws: NightjarError.self) {
            try await loopbackClient(of: peer).upload(Request(.post, "/x"), from: path, settings)
        }
        #expect(changed?.kind == .contentChanged)
    }

    @Test(arguments: [true, false]) func cancelKeepsTheUploadByRequest(keeps: Bool) async throws {
        let path = try folder.write("x", "0123456789")
        let peer = try loopbackPeer([
            [.expectRequest, .uploadCreated, .expectRequest, .expectClose],
            [.expectRequest, .respond("204 No Content")],
        ])
        let client = try loopbackClient(of: peer)
        let upload = try client.startUpload(Request(.post, "/x"), from: path, settings(.tus))
        try await eventually("the append arrived", within: longTimeout) {
            peer.requests.count == 2
        }
        upload.cancel(keepsUpload: keeps)
        let error = await #expect(throws: NightjarError.self) { try await upload.result() }
        #expect(error?.kind == .cancelled && upload.progress.state == .ended)
        #expect((upload.resumeState != nil) == keeps)
        #expect(peer.requestLines == (keeps ? ["POST /x", "PATCH /u"] : ["POST /x", "PATCH /u", "DELETE /u"]))
    }

    /// Cancelling the Swift task, closing the client and releasing the upload end the request.
    @Test(arguments: 0..<3) func uploadEndsWithItsOwner(owner: Int) async throws {
        let path = try folder.write("x", "0123456789")
        let peer = try loopbackPeer([[.expectRequest, .uploadCreated, .expectRequest, .expectClose]])
        let client = try loopbackClient(of: peer)
        var upload: Upload? = try client.startUpload(Request(.post, "/x"), from: path, settings(.tus))
        try await eventually("the append arrived", within: longTimeout) {
            peer.requests.count == 2
        }
        switch owner {
        case 0:
            let task = Task { [upload] in try await upload?.result() }
            task.cancel()
            await #expect(throws: NightjarError.self) { try await task.value }
        case 1:
            client.close()
            await #expect(throws: NightjarError.self) { try await upload?.result() }
        default: upload = nil
        }
        try await eventually("the connection is closed", within: longTimeout) {
            peer.endedCount == 1
        }
        client.close()
    }

    @Test func pausedUploadSendsNothing() async throws {
        let path = try folder.write("x", "0123456789")
        let peer = try loopbackPeer([
            [.expectRequest, .uploadCreated, .expectRequest, .expectClose],
            [.expectRequest, .uploadHead(4), .expectRequest, .uploadOffset(10)],
        ])
        let client = try loopbackClient(of: peer)
        let upload = try client.startUpload(Request(.post, "/x"), from: path, settings(.tus))
        try await eventually("the append arrived", within: longTimeout) {
            peer.requests.count == 2
        }
        upload.pause()
        try await eventually("the upload was paused", within: longTimeout) {
            upload.progress.state == .paused
        }
        try await eventually("the connection is closed", within: longTimeout) {
            peer.endedCount == 1
        }
        #expect(peer.requests.count == 2)
        upload.resume()
        #expect(try await upload.result().size == 10)
    }

    @Test func changedFileFailsTheUpload() async throws {
        let path = try folder.write("x", "0123456789")
        let changed = Latch()
        let peer = try loopbackPeer([
            [
                .expectRequest, .uploadCreated, .expectRequest, .waitFor(changed),
                .uploadOffset(10), .expectClose,
            ]
        ])
        let client = try loopbackClient(of: peer)
        let upload = try client.startUpload(Request(.post, "/x"), from: path, settings(.tus))
        try await eventually("the append arrived", within: longTimeout) {
            peer.requests.count == 2
        }
        try folder.write("x", "another content")
        changed.open()
        let error = await #expect(throws: NightjarError.self) { try await upload.result() }
        #expect(error?.kind == .contentChanged)
    }

    /// A server at another origin does not receive the fields of the caller.
    @Test func fieldsOfTheCallerAreSentToItsOriginOnly() async throws {
        let path = try folder.write("x", "0123456789")
        let other = try loopbackPeer([[.expectRequest, .uploadOffset(10)]])
        let peer = try loopbackPeer([
            [.expectRequest, .respond("201 Created", headers: ["Location: http://127.0.0.1:\(other.port)/u"])]
        ])
        var request = Request(.post, "/x?secret=1")
        try request.headers.set("Authorization", "Bearer t")
        try request.headers.set("X-Secret", "s")
        try await loopbackClient(of: peer).upload(request, from: path, settings(.tus))
        #expect(peer.requests.first?["x-secret"] == "s")
        let received = try #require(other.requests.first)
        #expect(received["x-secret"] == nil && received["authorization"] == nil && received.target == "/u")
    }

    @Test func invalidUploadsAreRejectedBeforeSending() async throws {
        let peer = try loopbackPeer([])
        let client = try loopbackClient(of: peer)
        for path in [folder.file("none"), folder.path, "/dev/zero", ""] {
            let error = await #expect(throws: NightjarError.self) {
                try await client.upload(Request(.post, "/x"), from: path)
            }
            #expect(error?.kind == .invalidRequest)
        }
        let path = try folder.write("x", "a")
        let body = #expect(throws: NightjarError.self) {
            try client.startUpload(Request(.post, "/x", body: "b"), from: path)
        }
        #expect(body?.kind == .invalidRequest)
        var settings = settings(.put)
        settings.chunkSize = 1
        let invalid = #expect(throws: NightjarError.self) {
            try client.startUpload(Request(.post, "/x"), from: path, settings)
        }
        #expect(invalid?.kind == .invalidArgument)
        var checked = self.settings(.put)
        checked.digest = .value(try Checksum("md5:00000000000000000000000000000000"))
        let mismatch = await #expect(throws: NightjarError.self) {
            try await client.upload(Request(.post, "/x"), from: path, checked)
        }
        #expect(mismatch?.kind == .checksumMismatch)
        #expect(peer.connectionCount == 0)
    }
}

private final class Outcome: Sendable {
    let value = Mutex<Result<Void, NightjarError>?>(nil)
}
