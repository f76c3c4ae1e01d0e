import Nightjar
import NightjarTestSupport
import Synchronization
import Testing

@Suite struct StepTests {
    /// Collects the steps of clients.
    final class Record: Sendable {
        private let collected = Mutex<[CallObserver.Step]>([])

        /// An observer that runs on the loop.
        var observer: CallObserver {
            .steps { [self] step in collected.withLock { $0.append(step) } }
        }

        var steps: [CallObserver.Step] { collected.withLock { $0 } }

        /// The steps as words, without durations and addresses.
        var words: [String] { steps.map { Record.word($0.kind) } }

        static func word(_ kind: CallObserver.Step.Kind) -> String {
            switch kind {
            case .started(let method, _): "started \(method)"
            case .resolved(let host, _): "resolved \(host)"
            case .connected: "connected"
            case .secured: "secured"
            case .sent(_, _, let isReused): isReused ? "sent again" : "sent"
            case .firstByte(let status): "first byte \(status)"
            case .redirected(let status, _): "redirected \(status)"
            case .retried(let kind, _): "retried \(kind.name)"
            case .cacheHit(let source, _): "hit \(source.name)"
            case .ended(let status, let source): "ended \(status) \(source.name)"
            case .failed(let kind, let status): "failed \(kind.name) \(status ?? 0)"
            }
        }
    }

    @Test func connectionIsReportedStepByStep() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "hello")])]])
        let record = Record()
        let client = try client(of: peer) { $0.observers = [record.observer] }
        for _ in 0..<2 { _ = try client.sendBlocking(Request(.get, "http://localhost:\(peer.port)/?token=hunter2")) }
        client.close()
        #expect(
            record.words == [
                "started GET", "resolved localhost", "connected", "sent", "first byte 200", "ended 200 network",
                "started GET", "sent again", "first byte 200", "ended 200 network",
            ])
        let steps = record.steps
        #expect(Set(steps.prefix(6).map(\.callID)).count == 1)
        #expect(Set(steps.map(\.callID)).count == 2)
        #expect(steps.prefix(6).map(\.attempt) == [0, 1, 1, 1, 1, 1])
        #expect(steps.prefix(6).map(\.time) == steps.prefix(6).map(\.time).sorted())
        #expect(steps.map(\.isLast).filter { $0 }.count == 2)
        #expect(!"\(steps)".contains("hunter2"))
        guard case .sent(let address, let version, _) = steps[3].kind else { return #expect(Bool(false)) }
        #expect(address?.hasSuffix(":\(peer.port)") == true)
        #expect(version == (TestHTTP.isHTTP2 ? .http2 : .http1_1))
    }

    @Test func handshakeIsReported() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]], tls: PeerTLS(.trusted))
        let record = Record()
        let client = try client(of: peer) {
            $0.transport.tls.certificateAuthorityFile = try? TestCertificates.shared().authority
            $0.observers = [record.observer]
        }
        _ = try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/"))
        client.close()
        #expect(record.words.prefix(5) == ["started GET", "resolved localhost", "connected", "secured", "sent"])
    }

    @Test func redirectAndRetryAreReported() throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, .respond("302 Found", headers: ["Location: /there?token=hunter2"]), .expectRequest,
                .respond("503 Service Unavailable"),
                .expectRequest, .respond(),
            ]
        ])
        let record = Record()
        let client = try client(of: peer) {
            $0.observers = [record.observer]
            $0.retry.maximumAttempts = 2
            $0.retry.base = .zero
        }
        _ = try client.sendBlocking(Request(.get, "/here"))
        client.close()
        #expect(
            record.words == [
                "started GET", "connected", "sent", "first byte 302", "redirected 302", "sent again", "first byte 503",
                "retried server", "sent again", "first byte 200", "ended 200 network",
            ])
        #expect(record.steps.map(\.attempt) == [0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3])
        #expect(!"\(record.steps)".contains("hunter2"))
    }

    @Test func failureIsTheLastStep() throws {
        let record = Record()
        let closed = try ScriptedPeer([])
        let client = try client(of: closed) {
            $0.observers = [record.observer]
            $0.timeouts.total = .milliseconds(100)
        }
        #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/")) }
        client.close()
        #expect(record.words.first == "started GET")
        #expect(record.words.last?.hasPrefix("failed ") == true)
        #expect(record.steps.filter(\.isLast).count == 1)
    }

    @Test func cacheHitsAreReported() throws {
        let peer = try ScriptedPeer([
            [
                .untilClosed([.expectRequest, .respond(headers: ["Cache-Control: max-age=100"], body: "hello")])
            ]
        ])
        let record = Record()
        let client = try client(of: peer) {
            $0.observers = [record.observer]
            $0.cacheSettings = CacheStorage.Settings()
        }
        for _ in 0..<2 { _ = try client.sendBlocking(Request(.get, "/")) }
        client.close()
        #expect(record.words.suffix(3) == ["started GET", "hit cache", "ended 200 cache"])
    }

    @Test func stepsAreDeliveredOnTheQueueBeforeTheCompletion() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let queue = CompletionQueue()
        let words = Mutex<[String]>([])
        let client = try client(of: peer) {
            $0.observers = [.steps(on: queue) { step in words.withLock { $0.append(Record.word(step.kind)) } }]
        }
        try client.start(Request(.get, "/"), on: queue, TaskHandlers { _, _ in words.withLock { $0.append("done") } })
        while !words.withLock({ $0.contains("done") }) { queue.poll(timeout: .seconds(10)) }
        client.close()
        #expect(
            words.withLock { $0 } == [
                "started GET", "connected", "sent", "first byte 200", "ended 200 network", "done",
            ])
    }
}
