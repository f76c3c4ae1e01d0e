import Glibc
import NIOSSL
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

import class Foundation.Thread

/// Challenges of TLS handshakes: client certificates, and verified chains that the caller can reject.
@Suite struct HandshakeChallengeTests {
    private typealias Files = ClientCertificateTests.Files
    private static let versions: [TLSVersion] = [.tlsv12, .tlsv13]

    /// A server that closes each connection after one response.
    private func server(
        _ files: Files? = nil, _ version: TLSVersion = .tlsv13, _ kind: TestCertificates.Kind = .trusted
    ) throws -> ScriptedPeer {
        try ScriptedPeer(
            [[.expectRequest, .respond(headers: ["Connection: close"], body: "secret")]], repeatsLast: true,
            tls: PeerTLS(kind, versions: version...version, clientAuthorities: files?.path("client.pem")))
    }

    private func client(
        _ record: ChallengeRecord, onLoop: Bool = true, _ configure: (inout Configuration) throws -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration.loopback
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        configuration.timeouts = Timeouts(connect: .seconds(30), idle: .seconds(30), total: .seconds(60))
        configuration.onChallenge = record.handler(onLoop: onLoop)
        configuration.retry.maximumAttempts = 3
        configuration.retry.base = .zero
        try configure(&configuration)
        return try Client(configuration)
    }

    private func get(_ peer: ScriptedPeer) -> Request { Request(.get, "https://localhost:\(peer.port)/") }

    /// Accepts chains, and responds to requests for a certificate.
    private func certificates(
        _ respond: @escaping @Sendable (Int) -> Authentication.Challenge.Response?
    ) -> ChallengeRecord {
        ChallengeRecord { challenge, number in
            if case .serverTrust = challenge.kind { return .useDefault }
            return respond(number)
        }
    }

    // MARK: Threads

    /// The token request is a call without a queue. A callback of a C program must not run on the loop thread.
    @Test func challengeOfATokenRequestRunsOnTheQueueOfTheCall() throws {
        let tokens = try ScriptedPeer(
            [[.expectRequest, .respond(headers: ["Connection: close"], body: #"{"access_token":"new"}"#)]],
            repeatsLast: true, tls: PeerTLS())
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "ok")])]])
        let here = UInt(pthread_self())
        let threads = Mutex<[UInt]>([])
        let api = try client(ChallengeRecord { _, _ in .useDefault }) {
            $0.baseURL = "http://127.0.0.1:\(peer.port)"
            let auth = #"{"type":"oauth2","token_url":"https://localhost:\#(tokens.port)/token","refresh_token":"old"}"#
            try $0.merge(json: #"{"auth":\#(auth)}"#)
            $0.onChallenge = Authentication.ChallengeHandler.onQueues { challenge in
                threads.withLock { $0.append(UInt(pthread_self())) }
                try? challenge.respond(.useDefault)
            }
        }
        #expect(try api.sendBlocking(Request(.get, "/")).text == "ok")
        #expect(threads.withLock { $0 } == [here])
    }

    /// A chain that the program may reject is not accepted without its decision.
    @Test func chainIsRejectedIfNoQueueCanRunTheCallback() throws {
        let peer = try server()
        let count = Mutex(0)
        let api = try client(ChallengeRecord { _, _ in .useDefault }) {
            $0.onChallenge = Authentication.ChallengeHandler.onQueues { _ in count.withLock { $0 += 1 } }
        }
        let error = Mutex<NightjarError?>(nil)
        let handlers = TaskHandlers { _, result in
            if case .failure(let failure) = result { error.withLock { $0 = failure } }
        }
        try api.start(get(peer), on: nil, handlers)
        try eventually("the call failed") { error.withLock { $0 != nil } }
        #expect(error.withLock { $0?.kind } == .invalidRequest && peer.requests.isEmpty)
        // A later call does not receive the decided challenge.
        let queue = CompletionQueue()
        let task = try api.start(Request(.get, "http://127.0.0.1:1/"), on: queue, TaskHandlers { _, _ in })
        try task.waitBlocking(timeout: .seconds(30))
        #expect(count.withLock { $0 } == 0)
    }

    // MARK: Client certificates

    @Test(arguments: versions) func chosenCertificateIsSent(version: TLSVersion) throws {
        let files = try Files()
        let peer = try server(files, version)
        let pem = files.pem
        let record = certificates { _ in .certificate(pem) }
        let api = try client(record)
        let response = try api.sendBlocking(get(peer))
        #expect(response.text == "secret")
        #expect(record.names == ["server_trust", "client_certificate"])
        #expect(response.decisions.map(\.name) == ["challenged", "challenged"])
        #expect(
            response.decisions.last?.description.hasSuffix(
                "the challenge client_certificate of localhost:\(peer.port): certificate") == true)
        // Later connections use the certificate without a further decision.
        for _ in 0..<2 { #expect(try api.sendBlocking(get(peer)).text == "secret") }
        #expect(record.names.filter { $0 == "client_certificate" }.count == 1)
        #expect(peer.connectionCount == 3)
    }

    @Test(arguments: versions) func defaultSendsNoCertificate(version: TLSVersion) throws {
        let files = try Files()
        let peer = try server(files, version)
        let record = certificates { _ in .useDefault }
        let error = try failure(try client(record), get(peer))
        #expect(error.kind == .tls)
        #expect(error.message.contains("requires a client certificate"))
        #expect(peer.requests.isEmpty)
    }

    @Test func configuredCertificateIsUsedWithoutADecision() throws {
        let files = try Files()
        let peer = try server(files)
        let record = certificates { _ in .useDefault }
        let pattern = try HostPattern("localhost")
        let api = try client(record) { $0.transport.tls.clientCertificatesByHost[pattern] = files.pem }
        #expect(try api.sendBlocking(get(peer)).text == "secret")
        #expect(record.names == ["server_trust"])
    }

    @Test func unreadableCertificateFailsTheCall() throws {
        let files = try Files()
        let peer = try server(files)
        let path = files.path("missing.p12")
        let record = certificates { _ in .certificate(.init(.pkcs12(path))) }
        let error = try failure(try client(record) { $0.retry.maximumAttempts = 1 }, get(peer))
        #expect(error.kind == .tls)
        #expect(error.message.hasPrefix("reading the client certificate"))
    }

    /// The server rejects the first certificate. The next call asks again.
    @Test(arguments: versions) func rejectedCertificateIsForgotten(version: TLSVersion) throws {
        let files = try Files()
        let peer = try server(files, version)
        let pem = files.pem
        let other = ClientCertificateTests.ClientCertificate(
            .pem(certificates: files.path("other.pem"), key: files.path("other.key")))
        let record = certificates { number in .certificate(number < 2 ? other : pem) }
        let api = try client(record) { $0.retry.maximumAttempts = 1 }
        #expect(throws: NightjarError.self) { try api.sendBlocking(get(peer)) }
        #expect(try api.sendBlocking(get(peer)).text == "secret")
        #expect(record.names.filter { $0 == "client_certificate" }.count == 2)
    }

    @Test func cancellationOfACertificateRequestFailsTheCall() throws {
        let files = try Files()
        let peer = try server(files)
        let record = certificates { _ in .cancel(nil) }
        let error = try failure(try client(record), get(peer))
        #expect(error.kind == .cancelled)
        #expect(error.phase == .tls)
        #expect(
            error.message
                == "the challenge callback rejected the request for a client certificate of localhost:\(peer.port)")
        #expect(peer.connectionCount == 1)
        #expect(peer.requests.isEmpty)
    }

    @Test func logOutForgetsTheCertificateAndItsConnections() throws {
        let files = try Files()
        let exchanges = (0..<3).flatMap { _ in [ScriptedPeer.Step.expectRequest, .respond(body: "secret")] }
        let peer = try ScriptedPeer(
            [exchanges], repeatsLast: true, tls: PeerTLS(clientAuthorities: files.path("client.pem")))
        let pem = files.pem
        let record = certificates { _ in .certificate(pem) }
        let api = try client(record)
        for _ in 0..<2 { #expect(try api.sendBlocking(get(peer)).text == "secret") }
        #expect(peer.connectionCount == 1)
        try api.logOutBlocking()
        let response = try api.sendBlocking(get(peer))
        #expect(response.text == "secret")
        #expect(response.tls?.isResumed == false)
        #expect(peer.connectionCount == 2)
        #expect(record.names.filter { $0 == "client_certificate" }.count == 2)
    }

    @Test func redirectToAnotherOriginRequestsNoCertificate() throws {
        let files = try Files()
        let other = try server(files)
        let peer = try ScriptedPeer([
            [.expectRequest, .respond("302 Found", headers: ["Location: https://localhost:\(other.port)/"])]
        ])
        let pem = files.pem
        let record = certificates { _ in .certificate(pem) }
        let error = try failure(
            try client(record) { $0.retry.maximumAttempts = 1 }, Request(.get, "http://127.0.0.1:\(peer.port)/"))
        #expect(error.kind == .tls)
        #expect(record.names == ["server_trust"])
        #expect(other.requests.isEmpty)
    }

    // MARK: Trust

    @Test(arguments: versions) func rejectedChainFailsBeforeTheRequest(version: TLSVersion) throws {
        let files = try Files()
        // With and without a request for a certificate, which changes the time of the decision.
        for peer in [try server(nil, version), try server(files, version)] {
            let record = ChallengeRecord { _, number in
                number == 0 ? .cancel("the server is not the one of the last visit") : .useDefault
            }
            let api = try client(record)
            let error = try failure(api, get(peer))
            #expect(error.kind == .cancelled)
            #expect(error.phase == .tls)
            #expect(
                error.message == "the challenge callback rejected the certificate of localhost:\(peer.port): "
                    + "the server is not the one of the last visit")
            #expect(!error.requestMayHaveBeenProcessed)
            #expect(peer.connectionCount == 1)
            #expect(peer.requests.isEmpty)
            #expect(record.names == ["server_trust"])
        }
    }

    /// The session of a rejected connection is not resumed, and a resumed connection is not asked about.
    @Test(arguments: versions) func onlyFullHandshakesAreDecided(version: TLSVersion) throws {
        let peer = try server(nil, version)
        let record = ChallengeRecord { _, number in number == 0 ? .cancel(nil) : .useDefault }
        let api = try client(record)
        #expect(throws: NightjarError.self) { try api.sendBlocking(get(peer)) }
        let second = try api.sendBlocking(get(peer))
        #expect(second.tls?.isResumed == false)
        let third = try api.sendBlocking(get(peer))
        #expect(third.tls?.isResumed == true)
        #expect(record.count == 2)
        #expect(record.kinds.first == second.tls.map { .serverTrust(chain: $0.chain) })
    }

    @Test(arguments: [TestCertificates.Kind.selfSigned, .wrongName, .expired])
    func invalidChainIsNeverDecided(kind: TestCertificates.Kind) throws {
        let peer = try server(nil, .tlsv13, kind)
        let record = ChallengeRecord { _, _ in .useDefault }
        let error = try failure(try client(record) { $0.retry.maximumAttempts = 1 }, get(peer))
        #expect(error.kind == .tls)
        #expect(record.count == 0)
        #expect(peer.requests.isEmpty)
    }

    @Test func chainWithoutAPinnedKeyIsNotDecided() throws {
        let peer = try server()
        let record = ChallengeRecord { _, _ in .useDefault }
        let pins = ([1, 2] as [UInt8]).compactMap {
            TransportConfiguration.TLS.Pinning.Pin(digest: [UInt8](repeating: $0, count: 32))
        }
        let pattern = try HostPattern("localhost")
        let api = try client(record) {
            $0.transport.tls.pins = [pattern: try TransportConfiguration.TLS.Pinning.Pins(pins)]
        }
        #expect(try failure(api, get(peer)).kind == .pinMismatch)
        #expect(record.count == 0)
    }

    @Test func unverifiedChainIsNotDecided() throws {
        let peer = try server(nil, .tlsv13, .selfSigned)
        let record = ChallengeRecord { _, _ in .cancel(nil) }
        let api = try client(record) {
            $0.transport.tls.verifiesCertificates = false
            $0.transport.tls.certificateAuthorityFile = nil
        }
        #expect(try api.sendBlocking(get(peer)).text == "secret")
        #expect(record.count == 0)
    }

    // MARK: Waiting

    @Test(arguments: versions) func responseMayComeLaterFromAnotherThread(version: TLSVersion) throws {
        let files = try Files()
        let peer = try server(files, version)
        let pem = files.pem
        let record = ChallengeRecord { _, _ in nil }
        let api = try client(record, onLoop: false)
        let (queue, results) = (CompletionQueue(), ChallengedCalls())
        try api.start(get(peer), on: queue, results.handlers)
        // A thread, not a Swift task: blocking tests can starve the threads of Swift tasks.
        Thread.detachNewThread {
            try? record.keptChallenge(0).respond(.useDefault)
            try? record.keptChallenge(1).respond(.certificate(pem))
        }
        try eventually("the call has ended", within: .seconds(30)) {
            queue.poll(timeout: .milliseconds(10))
            return results.count == 1
        }
        #expect(results.texts == ["secret"])
        #expect(peer.requests.count == 1)
        // The files are read when the challenge has its response.
        withExtendedLifetime(files) {}
    }

    @Test func connectTimeoutRunsWhileTheCallbackDecides() throws {
        let peer = try server()
        let record = ChallengeRecord { _, _ in nil }
        let api = try client(record) {
            $0.timeouts.connect = .milliseconds(300)
            $0.retry.maximumAttempts = 1
        }
        let error = try failure(api, get(peer))
        #expect(error.kind == .timeout)
        #expect(error.message.contains("the challenge callback did not respond"), "\(error.message)")
        try? record.keptChallenge().respond(.useDefault)
        #expect(peer.requests.isEmpty)
    }

    @Test func callsThatWaitForOneConnectionShareTheDecision() throws {
        let peer = try ScriptedPeer(
            [[.untilClosed([.expectRequest, .respond(body: "secret")])]], repeatsLast: true, tls: PeerTLS())
        let record = ChallengeRecord { _, _ in nil }
        let api = try client(record, onLoop: false) { $0.transport.connectionsPerHost = 1 }
        let queues = [CompletionQueue(), CompletionQueue(), CompletionQueue()]
        let results = ChallengedCalls()
        for queue in queues.dropLast() { try api.start(get(peer), on: queue, results.handlers) }
        // Only the second queue is polled.
        try eventually("the challenge arrives") {
            queues[1].poll(timeout: .milliseconds(10))
            return record.count == 1
        }
        try api.start(get(peer), on: queues[2], results.handlers)
        for queue in queues { queue.poll(timeout: .milliseconds(50)) }
        #expect(record.count == 1)
        try record.keptChallenge().respond(.useDefault)
        try eventually("all calls have ended", within: .seconds(10)) {
            for queue in queues { queue.poll(timeout: .milliseconds(10)) }
            return results.count == 3
        }
        #expect(results.texts == ["secret", "secret", "secret"])
        #expect(peer.socketCount == 1)
    }

    /// A call that begins to wait later, before or after the challenge was posted, can decide if the queue of the first
    /// call is not polled. With coalescing, both calls share an exchange.
    @Test(arguments: [false, true], [false, true])
    func laterCallDecidesIfTheFirstQueueIsNotPolled(shares: Bool, isPosted: Bool) throws {
        let peer = try ScriptedPeer(
            [[.untilClosed([.expectRequest, .respond(body: "secret")])]], repeatsLast: true, tls: PeerTLS())
        let record = ChallengeRecord { _, _ in .useDefault }
        let api = try client(record, onLoop: false) {
            $0.transport.connectionsPerHost = 1
            $0.coalesces = shares
        }
        let (silent, polled) = (CompletionQueue(), CompletionQueue())
        let (first, second) = (ChallengedCalls(), ChallengedCalls())
        let descriptor = silent.descriptor
        let task = try api.start(get(peer), on: silent, first.handlers)
        if isPosted {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            #expect(poll(&waiting, 1, 20_000) == 1)
        }
        try api.start(get(peer), on: polled, second.handlers)
        try second.await(1, on: polled)
        #expect(second.texts == ["secret"])
        #expect(record.count == 1)
        // Over HTTP/2, the server reads each request in a thread of its own.
        try eventually("the server has read the request of the first call") { peer.requests.count == (shares ? 1 : 2) }
        task.cancel()
        try first.await(1, on: silent)
    }

    @Test(arguments: [false, true]) func waitingCallCanBeEnded(closes: Bool) throws {
        let peer = try server()
        let record = ChallengeRecord { _, _ in nil }
        let api = try client(record)
        let (queue, results) = (CompletionQueue(), ChallengedCalls())
        let task = try api.start(get(peer), on: queue, results.handlers)
        let challenge = try record.keptChallenge()
        if closes { api.close() } else { task.cancel() }
        try results.await(1, on: queue)
        #expect(results.kinds == [.cancelled])
        try eventually("the connection is closed") { peer.endedCount == 1 }
        try? challenge.respond(.useDefault)
        #expect(peer.requests.isEmpty)
    }

    /// Each fault ends the handshake while or before the callback decides.
    @Test func serverThatClosesWhileTheCallbackDecides() throws {
        let files = try Files()
        for kind in [PeerTLS.Fault.Kind.close, .reset] {
            let peer = try ScriptedPeer(
                [[.close]], repeatsLast: true,
                tls: PeerTLS(
                    versions: .tlsv12...(.tlsv12), fault: .init(kind, after: 800),
                    clientAuthorities: files.path("client.pem")))
            let record = ChallengeRecord { _, _ in nil }
            let api = try client(record) { $0.retry.maximumAttempts = 1 }
            let error = try failure(api, get(peer))
            #expect(error.phase == .tls || error.phase == .connect, "\(error)")
        }
    }

    @Test func clientWithoutACallbackIsNotChallenged() throws {
        let peer = try server()
        var configuration = Configuration.loopback
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        let response = try Client(configuration).sendBlocking(get(peer))
        #expect(response.text == "secret")
        #expect(response.decisions.isEmpty)
    }
}
