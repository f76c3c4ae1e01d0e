import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Testing

/// Transfers with an id, which the journal keeps. The servers' responses are scripted.
@Suite struct TransferJournalTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func settings(_ uploadProtocol: UploadProtocol) -> Upload.Settings {
        var settings = Upload.Settings()
        (settings.uploadProtocol, settings.retryDelay, settings.id) = (uploadProtocol, .zero, "report")
        return settings
    }

    private func loopbackPeer(_ conversations: [[ScriptedPeer.Step]]) throws -> ScriptedPeer {
        try ScriptedPeer(conversations, maximumWait: longTimeout)
    }

    private func journaledClient(of peer: ScriptedPeer, _ journal: String) throws -> Client {
        try client(of: peer) {
            $0.journalPath = journal
            $0.timeouts = Timeouts(
                connect: longTimeout, idle: longTimeout,
                total: Timeouts.unlimited)
        }
    }

    /// Each client stands for a process: it has its own journal object.
    @Test func anotherClientContinuesAndReturnsTheResult() async throws {
        let path = try folder.write("a.txt", Bytes("0123456789".utf8))
        let journal = folder.path + "/state/journal.db"
        let peer = try loopbackPeer([
            [.expectRequest, .uploadCreated, .expectRequest, .close],
            [.expectRequest, .uploadHead(4), .expectRequest, .uploadOffset(10)],
        ])
        var settings = settings(.tus)
        settings.attempts = 1
        let error = await #expect(throws: NightjarError.self) {
            try await journaledClient(of: peer, journal).upload(Request(.post, "/x"), from: path, settings)
        }
        #expect(error?.kind == .connectionLost)
        for _ in 0..<2 {
            let result = try await journaledClient(of: peer, journal).upload(
                Request(.post, "/x"), from: path, settings)
            #expect(result.size == 10 && result.resumed == 4 && result.url?.hasSuffix("/u") == true)
        }
        #expect(peer.requestLines == ["POST /x", "PATCH /u", "HEAD /u", "PATCH /u"])
    }

    @Test func transferInProgressIsNotStartedAgain() async throws {
        let path = try folder.write("a.txt", Bytes("0123456789".utf8))
        let journal = folder.path + "/journal.db"
        let peer = try loopbackPeer([[.expectRequest, .stall]])
        let settings = settings(.put)
        let first = try journaledClient(of: peer, journal)
        let upload = try first.startUpload(Request(.put, "/x"), from: path, settings)
        while peer.requests.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        for client in [first, try journaledClient(of: peer, journal)] {
            let error = await #expect(throws: NightjarError.self) {
                try await client.upload(Request(.put, "/x"), from: path, settings)
            }
            #expect(error?.kind == .storage && error?.message.contains("in progress") == true)
            #expect(throws: NightjarError.self) { try client.removeTransfer("report") }
        }
        upload.cancel(keepsUpload: false)
        _ = try? await upload.result()
        try first.removeTransfer("report")
        #expect(peer.requestLines == ["PUT /x"])
    }

    @Test func ephemeralClientHasNoJournal() async throws {
        let path = try folder.write("a.txt", Bytes("0123456789".utf8))
        var configuration = Configuration()
        configuration.isEphemeral = true
        let client = try Client(configuration)
        let settings = settings(.put)
        let error = await #expect(throws: NightjarError.self) {
            try await client.upload(Request(.put, "http://127.0.0.1:1/x"), from: path, settings)
        }
        #expect(error?.kind == .invalidArgument)
        configuration.journalPath = folder.path + "/journal.db"
        #expect(throws: NightjarError.self) { try Client(configuration) }
    }

    /// The response to a POST was lost. Without a key, it must not be sent again, and with one, only with the same key.
    @Test(arguments: [false, true]) func lostPostIsNotRepeatedWithoutItsKey(hasKey: Bool) async throws {
        let path = try folder.write("a.txt", Bytes("0123456789".utf8))
        let journal = folder.path + "/journal.db"
        let peer = try loopbackPeer([[.expectRequest, .close], [.expectRequest, .respond("201 Created")]])
        var settings = settings(.post)
        settings.attempts = 1
        var request = Request(.post, "/x")
        request.expectsContinue = false
        if hasKey { request.idempotencyKey = .generated }
        let first = try journaledClient(of: peer, journal)
        let lost = await #expect(throws: NightjarError.self) {
            try await first.upload(request, from: path, settings)
        }
        #expect(lost?.kind == .connectionLost && lost?.requestMayHaveBeenProcessed == true)
        let second = try journaledClient(of: peer, journal)
        if hasKey {
            #expect(try await second.upload(request, from: path, settings).size == 10)
        } else {
            let error = await #expect(throws: NightjarError.self) {
                try await second.upload(request, from: path, settings)
            }
            #expect(error?.kind == .contentChanged && error?.requestMayHaveBeenProcessed == true)
        }
        let keys = peer.requests.map { request in
            request.headers.first { $0.name.lowercased() == "idempotency-key" }?.value
        }
        #expect(keys.count == (hasKey ? 2 : 1))
        #expect(keys.allSatisfy { ($0 != nil) == hasKey && $0 == keys[0] })
    }
}
