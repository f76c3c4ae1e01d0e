import Glibc
import NIOCore
import Nightjar
import NightjarDemo
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// 401 responses that the challenge callback decides.
@Suite struct ChallengeTests {
    typealias Step = ScriptedPeer.Step

    private static let refusal: [Step] = [
        .expectRequest,
        .respond("401 Unauthorized", headers: ["WWW-Authenticate: Basic realm=\"files\""], body: "no"),
    ]
    private static let success: [Step] = [.expectRequest, .respond(body: "ok")]

    private func field(_ user: String, _ password: String) -> String {
        BasicCredentials.field(user: user, password: password)
    }

    private func client(
        of peer: ScriptedPeer, _ record: ChallengeRecord, onLoop: Bool = true,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        try LoopbackTests.client(of: peer) {
            $0.onChallenge = record.handler(onLoop: onLoop)
            $0.retry.maximumAttempts = 3
            $0.retry.base = .zero
            configure(&$0)
        }
    }

    private func authorizations(_ peer: ScriptedPeer) -> [String?] { peer.requests.map { $0["Authorization"] } }

    @Test func wrongPasswordTwiceThenTheRightOne() throws {
        let peer = try ScriptedPeer([Self.refusal + Self.refusal + Self.refusal + Self.success + Self.success])
        let record = ChallengeRecord { _, number in
            .password(user: "ada", password: ["wrong", "false", "right"][number])
        }
        let api = try client(of: peer, record)
        let response = try api.sendBlocking(Request(.get, "/private/a"))
        #expect(response.text == "ok")
        #expect(record.kinds == Array(repeating: .http(scheme: "Basic", realm: "files"), count: 3))
        #expect(record.rejections == [0, 1, 2])
        let choices = response.decisions.filter { $0.name == "challenged" }
        #expect(choices.count == 3)
        let text = "the challenge http of 127.0.0.1:\(peer.port): password"
        #expect(choices.allSatisfy { $0.description.contains(text) })
        // The password is sent with the next request at once, and does not appear in any text.
        let next = try api.sendBlocking(Request(.get, "/private/b"))
        #expect(
            authorizations(peer) == [
                nil, field("ada", "wrong"), field("ada", "false"), field("ada", "right"), field("ada", "right"),
            ])
        #expect(record.count == 3)
        for text in [response.decisions.explanation, "\(next)", next.decisions.explanation, "\(api)"] {
            #expect(!text.contains("right") && !text.contains(field("ada", "right").dropFirst(6)))
        }
        #expect(peer.failures == [])
    }

    @Test func defaultDeliversTheResponse() throws {
        for releases in [false, true] {
            let peer = try ScriptedPeer([Self.refusal])
            let record = ChallengeRecord { _, _ in releases ? nil : .useDefault }
            let api = try client(of: peer, record)
            let results = ChallengedCalls()
            let queue = CompletionQueue()
            var request = Request(.get, "/")
            request.expectedStatuses = [StatusRange(401)]
            try api.start(request, on: queue, results.handlers)
            if releases {
                _ = try record.keptChallenge()
                record.releaseKept()
            }
            try results.await(1, on: queue)
            #expect(results.texts == ["no"])
            #expect(record.count == 1)
        }
    }

    @Test func cancellationFailsTheCallWithoutARetry() throws {
        let peer = try ScriptedPeer([Self.refusal])
        let record = ChallengeRecord { _, _ in .cancel("the user closed the dialog") }
        let error = try failure(try client(of: peer, record), Request(.get, "/"))
        #expect(error.kind == .cancelled)
        #expect(
            error.message == "the challenge callback rejected the request for Basic authentication of "
                + "127.0.0.1:\(peer.port): the user closed the dialog")
        #expect(!error.requestMayHaveBeenProcessed)
        #expect(peer.requests.count == 1)
        #expect(error.decisions.map(\.name) == ["challenged"])
    }

    @Test func atMostFivePasswordsAreRequested() throws {
        let peer = try ScriptedPeer([Array(repeating: Self.refusal, count: 6).flatMap { $0 }])
        let record = ChallengeRecord { _, _ in .password(user: "u", password: "wrong") }
        let error = try failure(try client(of: peer, record), Request(.get, "/"))
        #expect(error.kind == .unauthorized)
        #expect(record.rejections == [0, 1, 2, 3, 4])
        #expect(error.decisions.last?.description.contains("the server rejected 5 passwords") == true)
    }

    /// The callback of a blocking call runs on the calling thread, and another thread responds.
    @Test func responseMayComeLaterFromAnotherThread() async throws {
        let peer = try ScriptedPeer([Self.refusal + Self.success])
        let caller = Mutex<[UInt]>([])
        let record = ChallengeRecord { _, _ in
            caller.withLock { $0.append(UInt(pthread_self())) }
            return nil
        }
        let api = try client(of: peer, record, onLoop: false)
        async let text = onOwnThread {
            let own = UInt(pthread_self())
            let text = try api.sendBlocking(Request(.get, "/")).text
            #expect(caller.withLock { $0 } == [own])
            return text
        }
        async let responder: Void = onOwnThread {
            let challenge = try record.keptChallenge()
            #expect(throws: NightjarError.self) { try challenge.respond(.password(user: "a:b", password: "p")) }
            #expect(throws: NightjarError.self) {
                try challenge.respond(.certificate(.init(.pkcs12("/nonexistent"))))
            }
            try challenge.respond(.password(user: "u", password: "p"))
            let error = #expect(throws: NightjarError.self) { try challenge.respond(.useDefault) }
            #expect(error?.message == "the challenge already has a response")
        }
        try await responder
        #expect(try await text == "ok")
        #expect(authorizations(peer) == [nil, field("u", "p")])
    }

    @Test func lateResponseIsHarmless() throws {
        for closes in [false, true] {
            let peer = try ScriptedPeer([Self.refusal + Self.success])
            let record = ChallengeRecord { _, _ in nil }
            let api = try client(of: peer, record)
            let (queue, results) = (CompletionQueue(), ChallengedCalls())
            let task = try api.start(Request(.get, "/"), on: queue, results.handlers)
            let challenge = try record.keptChallenge()
            if closes { api.close() } else { task.cancel() }
            try results.await(1, on: queue)
            #expect(results.kinds == [.cancelled])
            try? challenge.respond(.password(user: "u", password: "p"))
            if !closes { #expect(try api.sendBlocking(Request(.get, "/")).text == "ok") }
            // The password belonged to no call, so it was not used.
            #expect(authorizations(peer) == (closes ? [nil] : [nil, nil]))
        }
    }

    @Test func totalTimeoutRunsWhileTheCallbackDecides() throws {
        let peer = try ScriptedPeer([Self.refusal])
        let record = ChallengeRecord { _, _ in nil }
        let api = try client(of: peer, record) { $0.timeouts.total = .milliseconds(200) }
        let error = try failure(api, Request(.get, "/"))
        #expect(error.kind == .timeout)
        #expect(error.phase == .total)
    }

    @Test func concurrentCallsShareOneRequest() throws {
        // The first four connections refuse and close, and later ones accept. So a password is not refused if a call
        // receives its refusal late.
        let refusal: [Step] = [
            .expectRequest,
            .respond("401 Unauthorized", headers: ["WWW-Authenticate: Basic realm=\"files\"", "Connection: close"]),
        ]
        let peer = try ScriptedPeer(Array(repeating: refusal, count: 4) + [Self.success], repeatsLast: true)
        let record = ChallengeRecord { _, _ in nil }
        let api = try client(of: peer, record, onLoop: false)
        let (queue, results) = (CompletionQueue(), ChallengedCalls())
        for index in 0..<4 { try api.start(Request(.get, "/\(index)"), on: queue, results.handlers) }
        try eventually("all calls have sent a request, and one asks for the password") {
            queue.poll(timeout: .milliseconds(10))
            return peer.requests.count == 4 && record.count == 1
        }
        try record.keptChallenge().respond(.password(user: "u", password: "p"))
        try results.await(4, on: queue)
        #expect(results.texts == Array(repeating: "ok", count: 4))
        #expect(record.count == 1)
        #expect(authorizations(peer).compactMap { $0 } == Array(repeating: field("u", "p"), count: 4))
    }

    /// A redirect must not lead the caller to send the password to another origin.
    @Test func otherOriginNeverReceivesThePassword() throws {
        let other = try ScriptedPeer([Self.refusal])
        let redirect: [Step] = [
            .expectRequest, .respond("302 Found", headers: ["Location: http://127.0.0.1:\(other.port)/x"]),
        ]
        let peer = try ScriptedPeer([Self.refusal + redirect])
        let record = ChallengeRecord { _, _ in .password(user: "u", password: "p") }
        let error = try failure(try client(of: peer, record), Request(.get, "/"))
        #expect(error.kind == .unauthorized)
        #expect(record.count == 1)
        #expect(authorizations(peer) == [nil, field("u", "p")])
        #expect(authorizations(other) == [nil])
    }

    @Test func logOutForgetsThePassword() throws {
        let peer = try ScriptedPeer([Self.refusal + Self.success + Self.refusal + Self.success])
        let record = ChallengeRecord { _, number in .password(user: "u", password: "p\(number)") }
        let api = try client(of: peer, record)
        #expect(try api.sendBlocking(Request(.get, "/")).text == "ok")
        try api.logOutBlocking()
        #expect(try api.sendBlocking(Request(.get, "/")).text == "ok")
        #expect(authorizations(peer) == [nil, field("u", "p0"), nil, field("u", "p1")])
    }

    @Test func callWithOwnCredentialsOrWithoutAuthenticationIsNotChanged() throws {
        let peer = try ScriptedPeer([Self.refusal + Self.refusal])
        let record = ChallengeRecord { _, _ in .password(user: "u", password: "p") }
        let api = try client(of: peer, record)
        var own = Request(.get, "/")
        try own.headers.set("Authorization", "Bearer mine")
        var anonymous = Request(.get, "/")
        anonymous.usesAuth = false
        for request in [own, anonymous] { #expect(try failure(api, request).kind == .unauthorized) }
        #expect(record.count == 0)
        #expect(authorizations(peer) == ["Bearer mine", nil])
    }

    @Test func passwordReplacesRejectedCredentialsOfTheClient() throws {
        let peer = try ScriptedPeer([Self.refusal + Self.success + Self.success])
        let record = ChallengeRecord { _, _ in .password(user: "u", password: "p") }
        let api = try client(of: peer, record) { $0.auth = .bearer("old") }
        #expect(try api.sendBlocking(Request(.get, "/")).text == "ok")
        #expect(try api.sendBlocking(Request(.get, "/")).text == "ok")
        #expect(authorizations(peer) == ["Bearer old", field("u", "p"), field("u", "p")])
    }

    @Test func passwordReplacesARejectedToken() throws {
        let peer = try ScriptedPeer([Self.refusal + Self.refusal + Self.success])
        let record = ChallengeRecord { _, _ in .password(user: "u", password: "p") }
        let api = try client(of: peer, record) {
            $0.auth = .login(TokenLogin(.provider(TokenProvider { $0.respond(.success(Token(access: "t"))) })))
        }
        #expect(try api.sendBlocking(Request(.get, "/")).text == "ok")
        #expect(authorizations(peer) == ["Bearer t", "Bearer t", field("u", "p")])
    }

    @Test func unsupportedSchemesCauseNoRequest() throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .respond("401 Unauthorized", headers: ["WWW-Authenticate: Negotiate"])]
        ])
        let record = ChallengeRecord { _, _ in .password(user: "u", password: "p") }
        let error = try failure(try client(of: peer, record), Request(.get, "/"))
        #expect(error.kind == .unauthorized)
        #expect(error.decisions.isEmpty)
        #expect(record.count == 0)
    }

    /// A body that cannot be sent again ends the call with the response.
    @Test func callWithAConsumedBodyIsNotRepeated() throws {
        let peer = try ScriptedPeer([Self.refusal])
        let record = ChallengeRecord { _, _ in .password(user: "u", password: "p") }
        let api = try client(of: peer, record)
        let (queue, results) = (CompletionQueue(), ChallengedCalls())
        var handlers = results.handlers
        let parts = Mutex([TaskHandlers.BodyPart.bytes(ByteBuffer(string: "part"))])
        handlers.provideBody = { _, _ in parts.withLock { $0.popLast() } ?? .end }
        var request = Request(.post, "/")
        request.body = .stream(length: nil)
        try api.start(request, on: queue, handlers)
        try results.await(1, on: queue)
        #expect(results.kinds == [.unauthorized])
        #expect(record.count == 0)
    }

    @Test func digestIsSentWithTheBody() throws {
        let server = DemoServer()
        let port = try server.start()
        defer { server.stop() }
        let record = ChallengeRecord { _, number in .password(user: "demo", password: number == 0 ? "no" : "secret") }
        let api = try LoopbackTests.client(port: port) { $0.onChallenge = record.handler() }
        let response = try api.sendBlocking(Request(.post, "/v1/digest", body: "content"))
        #expect(response.status == 200)
        #expect(record.kinds == Array(repeating: .http(scheme: "Digest", realm: "demo"), count: 2))
        #expect(record.rejections == [0, 1])
        let next = try api.sendBlocking(Request(.get, "/v1/digest"))
        #expect(next.attempts == 1, "the nonce is used again")
        #expect(try api.sendBlocking(Request(.post, "/v1/basic", body: "content")).status == 200)
        #expect(record.kinds.last == .http(scheme: "Basic", realm: "demo"))
    }

    @Test func cassetteContainsNoPassword() throws {
        let folder = try TemporaryDirectory()
        let peer = try ScriptedPeer([Self.refusal + Self.success])
        let record = ChallengeRecord { _, _ in .password(user: "ada", password: "a long password") }
        let api = try client(of: peer, record) {
            try? $0.merge(json: #"{"cassette": {"file": "\#(folder.file("cassette.json"))", "mode": "record"}}"#)
        }
        #expect(try api.sendBlocking(Request(.get, "/")).text == "ok")
        api.close()
        let text = String(decoding: try folder.read("cassette.json"), as: UTF8.self)
        #expect(text.contains("401"))
        #expect(!text.contains(field("ada", "a long password").dropFirst(6)))
    }
}
