import Glibc
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// Request bodies that are read from files while they are sent.
@Suite struct UploadTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Returns random bytes, so the tests detect parts in the wrong order.
    private func content(_ count: Int) -> [UInt8] {
        var random = SeededRandom(seed: UInt64(count))
        return random.bytes(count)
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws -> String { try folder.write(name, Bytes(bytes)) }

    /// Returns a PUT request without Expect, because most peers in these tests do not send a 100 response.
    private func put(_ body: RequestBody, to target: String = "/") -> Request {
        var request = Request(.put, target)
        request.body = body
        request.expectsContinue = false
        return request
    }

    @Test(arguments: [0, 1, 131_072, 131_073, 3_000_000])
    func completeFileIsSent(size: Int) throws {
        let bytes = content(size)
        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let client = try client(of: peer)
        #expect(try client.sendBlocking(put(.file(path: write("photo.png", bytes)))).status == 200)
        let received = try #require(peer.requests.first)
        #expect(received.body == bytes)
        #expect(received["content-length"] == String(size))
        #expect(received["content-type"] == "image/png")
        #expect(peer.failures == [])
    }

    @Test func partOfAFileIsSent() throws {
        let bytes = content(300_000)
        let peer = try ScriptedPeer([[.expectRequest, .respond(), .expectRequest, .respond()]])
        let client = try client(of: peer)
        let path = try write("data", bytes)
        _ = try client.sendBlocking(put(.file(path: path, offset: 1000, length: 200_000)))
        _ = try client.sendBlocking(put(.file(path: path, offset: 299_999)))
        #expect(peer.requests.map(\.body) == [Array(bytes[1000..<201_000]), [bytes[299_999]]])
        #expect(peer.requests[0]["content-type"] == "application/octet-stream")
        let error = try failure(client, put(.file(path: path, offset: 200_000, length: 100_001)))
        #expect(error.kind == .invalidRequest)
        #expect(
            error.message == "the file \"\(path)\" has 300000 bytes, so the range from 200000 to 300001 is out of "
                + "bounds")
    }

    @Test func contentTypeOfTheCallerIsPreserved() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(), .expectRequest, .respond()]])
        let client = try client(of: peer) { try? $0.headers.set("Content-Type", "text/x-default") }
        var request = put(.file(path: try write("a.png", [1])))
        _ = try client.sendBlocking(request)
        try request.headers.set("Content-Type", "image/x-mine")
        _ = try client.sendBlocking(request)
        #expect(peer.requests.map { $0["content-type"] } == ["text/x-default", "image/x-mine"])
    }

    /// Starts a call, runs `event`, and returns the result of the call.
    private func outcome(
        of request: Request, _ client: Client, during event: () throws -> Void
    ) throws -> Result<Response, NightjarError> {
        let queue = CompletionQueue()
        let outcome = Mutex<Result<Response, NightjarError>?>(nil)
        try client.start(request, on: queue, TaskHandlers { _, result in outcome.withLock { $0 = result } })
        try event()
        while true {
            if let result = outcome.withLock({ $0 }) { return result }
            guard queue.poll(timeout: .seconds(5)) > 0 else { throw ToolFailure(description: "the call did not end") }
        }
    }

    // MARK: Other kinds of files

    @Test func unreadableFileIsReportedBeforeSending() throws {
        let peer = try ScriptedPeer([])
        let client = try client(of: peer)
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        for (path, reason) in [
            (
                folder.file("none"),
                "the file \"\(folder.file("none"))\" to send cannot be opened: No such file or directory"
            ),
            (folder.path, "\"\(folder.path)\" cannot be sent: it is a directory; send its files one by one"),
            (pipe, "\"\(pipe)\" cannot be sent: it is a pipe, which has no length; send its content as a stream"),
            (
                "/dev/zero",
                "\"/dev/zero\" cannot be sent: it is a device, which has no length; send its content as a stream"
            ),
            ("", "the path \"\" of a file to send is empty or contains a NUL"),
            (
                "/proc/version",
                "\"/proc/version\" cannot be sent: the file system does not report its length; send it as a stream"
            ),
        ] {
            let error = try failure(client, put(.file(path: path)))
            #expect(error.kind == .invalidRequest)
            #expect(error.message == reason)
            let form = try MultipartForm([.init("f", .file(path: path, length: nil))])
            #expect(try failure(client, put(.multipart(form))).message == reason)
        }
        #expect(peer.connectionCount == 0)
    }

    // MARK: Files that change

    /// Sends a sparse file of 64 MiB, changes it after the first 100,000 bytes have arrived, and returns the error.
    private func failureOfAChange(
        of body: (String) throws -> RequestBody, _ change: (String) -> Void
    ) throws -> (NightjarError, ScriptedPeer, path: String) {
        let changed = Latch()
        let arrived = Latch()
        let peer = try ScriptedPeer([
            [.expectHead, .expectBytes(100_000), .open(arrived), .waitFor(changed), .expectClose]
        ])
        let client = try client(of: peer)
        let path = try write("large", [])
        #expect(truncate(path, 64 << 20) == 0)
        let outcome = try outcome(of: put(body(path)), client) {
            try arrived.wait()
            change(path)
            changed.open()
        }
        guard case .failure(let error) = outcome else {
            throw ToolFailure(description: "the call received a response")
        }
        try eventually("the connection is closed") { peer.endedCount == 1 }
        return (error, peer, path)
    }

    @Test(arguments: [false, true])
    func shrunkFileFailsTheUpload(asForm: Bool) throws {
        let (error, peer, path) = try failureOfAChange(
            of: { path in
                asForm
                    ? .multipart(try MultipartForm([.init("f", .file(path: path, length: nil)), .init("end", "text")]))
                    : .file(path: path)
            }, { _ = truncate($0, 1000) })
        #expect(error.kind == .invalidRequest)
        #expect(error.phase == .send)
        #expect(error.requestMayHaveBeenProcessed)
        #expect(error.message.hasPrefix("the file \"\(path)\" has only "))
        #expect(
            error.message.hasSuffix(
                " of 67108864 bytes; it is shorter than declared, or was truncated while it was sent"))
        #expect(peer.received(0).count < 64 << 20)
        #expect(!String(decoding: peer.received(0).suffix(200), as: UTF8.self).contains("--"))
        #expect(peer.failures == [])
    }

    @Test func removedFileFailsTheCall() throws {
        let path = try write("gone", content(10))
        let vanished = Latch()
        let peer = try ScriptedPeer([
            [.expectHead, .waitFor(vanished), .send("HTTP/1.1 100 Continue\r\n\r\n"), .expectClose]
        ])
        let client = try client(of: peer)
        var request = put(.file(path: path))
        request.expectsContinue = true
        let outcome = try outcome(of: request, client) {
            // The file is deleted after its size was read and before its content is sent.
            #expect(unlink(path) == 0)
            vanished.open()
        }
        guard case .failure(let error) = outcome else { throw ToolFailure(description: "the call received a response") }
        #expect(error.kind == .invalidRequest)
        #expect(error.message == "the file \"\(path)\" to send cannot be opened: No such file or directory")
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.requests.first?.body == [])
        #expect(peer.received(0).count == peer.requests.first?.raw.count)
    }

    @Test func grownFileIsSentWithItsAnnouncedLength() throws {
        let path = try write("growing", content(1000))
        let grown = Latch()
        let peer = try ScriptedPeer([
            [
                .expectHead, .waitFor(grown), .send("HTTP/1.1 100 Continue\r\n\r\n"), .expectBytes(1000), .respond(),
                .expectRequest, .respond(),
            ]
        ])
        let client = try client(of: peer)
        var request = put(.file(path: path))
        request.expectsContinue = true
        _ = try outcome(of: request, client) {
            try eventually("the head arrived") { peer.requests.count == 1 }
            try folder.write("growing", Bytes(content(1000) + content(5000)))
            grown.open()
        }.get()
        // The next request uses the same connection, so exactly the announced length was sent.
        _ = try client.sendBlocking(put(.bytes(ByteBuffer(string: "next"))))
        #expect(peer.connectionCount == 1)
        #expect(peer.requests.last?.bodyText == "next")
    }

    @Test func closingWhileReadingFilesIsSafe() throws {
        let path = try write("large", content(1_000_000))
        let peer = try ScriptedPeer([[.expectHead, .expectClose]], repeatsLast: true)
        for round in 0..<20 {
            let client = try client(of: peer)
            let finished = Mutex(0)
            var request = put(.file(path: path))
            request.compresses = round % 2 == 1
            for _ in 0..<8 {
                try client.start(request, on: nil, TaskHandlers { _, _ in finished.withLock { $0 += 1 } })
            }
            usleep(UInt32(round) * 300)
            client.close()
            #expect(finished.withLock { $0 } == 8)
        }
    }

    // MARK: Replays

    @Test(arguments: [307, 308])
    func redirectSendsTheFileAgain(status: Int) throws {
        let bytes = content(500_000)
        let peer = try ScriptedPeer([
            [
                .expectRequest, .respond("\(status) There", headers: ["Location: /there"]), .expectRequest,
                .respond(body: "done"),
            ]
        ])
        let client = try client(of: peer)
        let form = try MultipartForm([
            .init("f", .file(path: write("a.png", bytes), length: nil)), .init("title", "Hello"),
        ])
        #expect(try client.sendBlocking(put(.multipart(form))).text == "done")
        let (first, second) = (peer.requests[0], peer.requests[1])
        #expect(second.target == "/there")
        #expect(first.body == second.body)
        #expect(first["content-length"] == String(second.body.count))
        #expect(second["content-type"] == form.contentType)
    }

    @Test func replacedConnectionSendsTheFileAgain() throws {
        let bytes = content(5_000_000)
        let peer = try ScriptedPeer([
            [.expectRequest, .respond(), .expectHead, .expectBytes(100_000), .reset],
            [.expectRequest, .respond(body: "whole")],
        ])
        let client = try client(of: peer)
        _ = try client.sendBlocking(Request(.get, "/"))
        #expect(try client.sendBlocking(put(.file(path: write("a", bytes)))).text == "whole")
        #expect(peer.requests(1).first?.body == bytes)
    }

    // MARK: The wire

    /// The bodies of Nightjar and of curl are equal except for the boundary.
    @Test func formEqualsThatOfCurl() throws {
        let photo = try write("ph\"oto ü.png", content(200_000))
        let empty = try write("empty.txt", [])
        let peer = try ScriptedPeer([[.expectRequest, .respond()], [.expectRequest, .respond()]])
        let client = try client(of: peer)
        let photoPart = MultipartForm.Part("pic\"t", .file(path: photo, length: nil))
        var emptyPart = MultipartForm.Part("empty", .file(path: empty, length: nil))
        emptyPart.contentType = "application/x-nothing"
        emptyPart.filename = "größe.bin"
        let form = try MultipartForm([
            .init("título", "Hé & 100%"), .init("lines", "a\r\nb\nc"), photoPart, emptyPart,
        ])
        var request = put(.multipart(form))
        request.method = .post
        _ = try client.sendBlocking(request)
        client.close()
        let result = try run(
            "curl",
            [
                "-sS", "--noproxy", "*", "-H", "Expect:", "--form-string", "título=Hé & 100%", "--form-string",
                "lines=a\r\nb\nc", "-F", "pic\"t=@\"\(photo.replacing("\"", with: "\\\""))\"", "-F",
                "empty=@\(empty);type=application/x-nothing;filename=größe.bin", "http://127.0.0.1:\(peer.port)/",
            ])
        #expect(result.status == 0, "\(result.errors)")
        let (ours, curls) = (peer.requests[0], try #require(peer.requests.last))
        #expect(peer.requests.count == 2)
        let boundary = try #require(curls["content-type"]?.split(separator: "=").last)
        #expect(curls["content-type"] == "multipart/form-data; boundary=\(boundary)")
        let translated = replacing(curls.body, Array(boundary.utf8), with: Array(form.boundary.utf8))
        #expect(ours.body == translated)
        #expect(ours["content-length"] == String(ours.body.count))
    }

    private func replacing(_ bytes: [UInt8], _ mark: [UInt8], with other: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes[...]
        while let found = rest.firstRange(of: mark) {
            result += rest[..<found.lowerBound] + other
            rest = rest[found.upperBound...]
        }
        return result + rest
    }

    @Test func multipartTypeOfTheCallerReceivesTheBoundary() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let client = try client(of: peer) { try? $0.headers.set("Content-Type", "application/json") }
        let form = try MultipartForm([.init("a", "b")])
        var request = put(.multipart(form))
        try request.headers.set("Content-Type", "multipart/related")
        _ = try client.sendBlocking(request)
        #expect(peer.requests.first?["content-type"] == "multipart/related; boundary=\(form.boundary)")
        for wrong in ["application/json", "multipart/form-data; boundary=mine"] {
            try request.headers.set("Content-Type", wrong)
            #expect(try failure(client, request).message.contains("remove the header \"Content-Type: \(wrong)\""))
        }
    }
}
