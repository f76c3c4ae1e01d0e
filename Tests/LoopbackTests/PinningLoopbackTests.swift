import Glibc
import Nightjar
import NightjarCrypto
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

/// Pins of connections to peers whose chain consists of a server certificate and its authority.
@Suite struct PinningLoopbackTests {
    private typealias Pins = TransportConfiguration.TLS.Pinning.Pins
    private typealias Pin = TransportConfiguration.TLS.Pinning.Pin
    private typealias Report = TransportConfiguration.TLS.Pinning.Report

    /// The reports and the warnings of a client.
    private final class Record: Sendable {
        let reports = Mutex<[Report]>([])
        let lines = Mutex<[LogSink.Line]>([])
    }

    /// Pins of keys that no server has.
    private static let backups = ([1, 2] as [UInt8]).compactMap { Pin(digest: [UInt8](repeating: $0, count: 32)) }

    private func pin(ofFile path: String) throws -> Pin {
        let certificate = try #require(try Certificate.certificates(pem: Certificate.contents(ofFile: path)).first)
        return try #require(Pin(digest: certificate.publicKeyDigest))
    }

    private func server() throws -> Pin { try pin(ofFile: TestCertificates.shared().certificate(.trusted)) }
    private func authority() throws -> Pin { try pin(ofFile: TestCertificates.shared().authority) }

    private func client(
        _ pins: [Pin], for pattern: String = "localhost", until date: Timestamp? = nil, to record: Record = Record(),
        _ configure: (inout Configuration) throws -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration.loopback
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        configuration.transport.tls.pins = [try HostPattern(pattern): try Pins(pins, reportOnlyAfter: date)]
        configuration.transport.tls.onPinMismatch = { report in record.reports.withLock { $0.append(report) } }
        configuration.log = LogSink(level: .warning) { line in record.lines.withLock { $0.append(line) } }
        configuration.timeouts = Timeouts(connect: .seconds(10), idle: .seconds(10), total: .seconds(20))
        try configure(&configuration)
        return try Client(configuration)
    }

    /// - Parameter script: Nil: responds to three requests on each connection.
    private func peer(_ script: [ScriptedPeer.Step]? = nil) throws -> ScriptedPeer {
        let exchanges = (0..<3).flatMap { _ in [ScriptedPeer.Step.expectRequest, .respond(body: "secret")] }
        return try ScriptedPeer([script ?? exchanges], repeatsLast: true, tls: PeerTLS())
    }

    private func url(_ peer: ScriptedPeer) -> String { "https://localhost:\(peer.port)/" }

    // MARK: Decisions

    @Test func chainWithAPinnedKeyIsAccepted() throws {
        let peer = try peer()
        for key in [try server(), try authority()] {
            let record = Record()
            let client = try client([key] + PinningLoopbackTests.backups, to: record)
            #expect(try client.sendBlocking(Request(.get, url(peer))).text == "secret")
            client.close()
            #expect(record.reports.withLock { $0.isEmpty })
            #expect(record.lines.withLock { $0.isEmpty })
        }
    }

    @Test func chainWithoutAPinnedKeyIsRejected() throws {
        let peer = try peer([.expectClose])
        let record = Record()
        let client = try client(PinningLoopbackTests.backups, to: record) {
            $0.retry.maximumAttempts = 3
            $0.retry.base = .milliseconds(1)
        }
        let error = try failure(client, Request(.get, url(peer)))
        client.close()
        #expect(error.kind == .pinMismatch)
        #expect(error.phase == .tls)
        #expect(!error.isRetryable)
        #expect(!error.requestMayHaveBeenProcessed)
        let served = [try server(), try authority()]
        for pin in PinningLoopbackTests.backups + served { #expect(error.message.contains(pin.description)) }
        #expect(peer.requests.isEmpty)
        #expect(peer.connectionCount == 1, "it was not retried")
        #expect(
            record.reports.withLock { $0.map { [$0.host, "\($0.expected)", "\($0.served)", "\($0.isEnforced)"] } }
                == [["localhost", "\(PinningLoopbackTests.backups)", "\(served)", "true"]])
        // The second line is about the failed call.
        #expect(record.lines.withLock { $0.map(\.level) } == [.error, .warning])
    }

    /// A callback that retries every failure does not receive this one.
    @Test func retryCallbackIsNotCalled() throws {
        let peer = try peer([.expectClose])
        let client = try client(PinningLoopbackTests.backups) {
            $0.retry.maximumAttempts = 3
            $0.retry.base = .milliseconds(1)
        }
        let count = Mutex(0)
        var handlers = TaskHandlers { _, _ in }
        handlers.retry = { _, _ in
            count.withLock { $0 += 1 }
            return .again(after: .zero)
        }
        let error = #expect(throws: NightjarError.self) {
            try client.sendBlocking(Request(.get, url(peer)), handlers: handlers)
        }
        client.close()
        #expect(error?.kind == .pinMismatch)
        #expect(error?.attempts == 1)
        #expect(count.withLock { $0 } == 0)
        #expect(peer.connectionCount == 1 && peer.requests.isEmpty)
    }

    @Test func reportedMismatchIsUsed() throws {
        let peer = try peer()
        let record = Record()
        let client = try client(PinningLoopbackTests.backups, to: record)
        try client.setPinning(.report)
        #expect(try client.sendBlocking(Request(.get, url(peer))).text == "secret")
        client.close()
        #expect(record.reports.withLock { $0.map(\.isEnforced) } == [false])
        #expect(record.lines.withLock { $0.map(\.level) } == [.warning, .warning])
    }

    @Test func pinsAreNotComparedInModeOff() throws {
        let peer = try peer()
        let record = Record()
        let client = try client(PinningLoopbackTests.backups, to: record)
        try client.setPinning(.off)
        #expect(try client.sendBlocking(Request(.get, url(peer))).text == "secret")
        client.close()
        #expect(record.reports.withLock { $0.isEmpty })
    }

    @Test func mismatchAfterTheDateIsReported() throws {
        let peer = try peer()
        let record = Record()
        let client = try client(PinningLoopbackTests.backups, until: try Pins.date("2020-01-01"), to: record)
        #expect(try client.sendBlocking(Request(.get, url(peer))).text == "secret")
        #expect(record.reports.withLock { $0.map(\.isEnforced) } == [false])
        let early = try self.client(PinningLoopbackTests.backups, until: try Pins.date("9999-12-31"))
        #expect(try failure(early, Request(.get, url(peer))).kind == .pinMismatch)
    }

    @Test func otherHostsAreNotPinned() throws {
        let peer = try peer()
        let client = try client(PinningLoopbackTests.backups)
        #expect(try client.sendBlocking(Request(.get, "https://127.0.0.1:\(peer.port)/")).text == "secret")
    }

    /// The certificate is verified first, so an attacker cannot learn from the error which pins the client has.
    @Test func certificateIsVerifiedBeforeThePins() throws {
        let peer = try ScriptedPeer([[.expectClose]], repeatsLast: true, tls: PeerTLS(.expired))
        let record = Record()
        let error = try failure(client(PinningLoopbackTests.backups, to: record), Request(.get, url(peer)))
        #expect(error.kind == .tls)
        #expect(record.reports.withLock { $0.isEmpty })
    }

    @Test func missingBackupIsLoggedOnce() throws {
        let peer = try peer([.expectRequest, .respond(headers: ["Connection: close"])])
        let record = Record()
        let client = try client([try server(), try authority()], to: record)
        for _ in 0..<3 { _ = try client.sendBlocking(Request(.get, url(peer))) }
        client.close()
        #expect(peer.connectionCount == 3)
        let lines = record.lines.withLock { $0.map(\.message) }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("add the pin of a backup key") == true)
    }

    @Test func pinsOfAWildcardApplyToProxiedOrigins() throws {
        let server = try ResumingServer(for: "api.pinned.example")
        let proxy = try ScriptedPeer(
            [[.expectHead, .send("HTTP/1.1 200 OK\r\n\r\n"), .relay(to: server.port)]], repeatsLast: true)
        let key = try pin(ofFile: server.certificate)
        for (first, isAccepted) in [(key, true), (PinningLoopbackTests.backups[1], false)] {
            let client = try client([first, PinningLoopbackTests.backups[0]], for: "*.pinned.example") {
                $0.allowHTTP1()
                $0.transport.tls.certificateAuthorityFile = server.certificate
                $0.transport.proxy = try ProxySettings(.address(.init("http://127.0.0.1:\(proxy.port)")))
            }
            let request = Request(.get, "https://api.pinned.example/page")
            if isAccepted {
                #expect(try client.sendBlocking(request).text == "ok")
            } else {
                #expect(try failure(client, request).kind == .pinMismatch)
            }
        }
    }

    @Test func pinsApplyToTheProxyItself() throws {
        let proxy = try peer([.expectClose])
        let client = try client(PinningLoopbackTests.backups) {
            $0.transport.proxy = try ProxySettings(.address(.init("https://localhost:\(proxy.port)")))
        }
        #expect(try failure(client, Request(.get, "http://origin.test/")).kind == .pinMismatch)
        #expect(proxy.requests.isEmpty)
    }

    // MARK: Changes of the mode

    @Test func idleConnectionIsNotUsedAfterAStricterMode() throws {
        let peer = try peer()
        let client = try client(PinningLoopbackTests.backups)
        try client.setPinning(.off)
        for _ in 0..<2 { _ = try client.sendBlocking(Request(.get, url(peer))) }
        #expect(peer.connectionCount == 1)
        try client.setPinning(.enforce)
        #expect(try failure(client, Request(.get, url(peer))).kind == .pinMismatch)
        try client.setPinning(.report)
        #expect(try client.sendBlocking(Request(.get, url(peer))).text == "secret")
        #expect(peer.requests.count == 3)
    }

    @Test func busyConnectionIsNotUsedAfterAStricterMode() throws {
        let (latch, hasRequest) = (Latch(), Latch())
        let peer = try peer([
            .expectRequest, .open(hasRequest), .waitFor(latch), .respond(body: "secret"), .expectRequest, .respond(),
        ])
        let client = try client(PinningLoopbackTests.backups)
        try client.setPinning(.off)
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        let queue = CompletionQueue()
        try client.start(
            Request(.get, url(peer)), on: queue, TaskHandlers { _, ended in result.withLock { $0 = ended } })
        try hasRequest.wait()
        try client.setPinning(.enforce)
        latch.open()
        while result.withLock({ $0 == nil }) { queue.poll(timeout: .seconds(10)) }
        #expect(try result.withLock { try $0?.get().text } == "secret")
        #expect(try failure(client, Request(.get, url(peer))).kind == .pinMismatch)
        #expect(peer.requests.count == 1)
    }

    @Test func connectionBeingOpenedIsReplacedAfterAStricterMode() throws {
        let hasHello = Latch()
        let peer = try ScriptedPeer([[.expectBytes(1), .open(hasHello), .stall], [.expectBytes(1), .close]])
        let client = try client(PinningLoopbackTests.backups)
        try client.setPinning(.off)
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        let queue = CompletionQueue()
        try client.start(
            Request(.get, url(peer)), on: queue, TaskHandlers { _, ended in result.withLock { $0 = ended } })
        try hasHello.wait()
        try client.setPinning(.enforce)
        while result.withLock({ $0 == nil }) { queue.poll(timeout: .seconds(10)) }
        guard case .failure(let error) = result.withLock({ $0 }) else {
            Issue.record("the call succeeded")
            return
        }
        #expect(error.kind == .tls)
        #expect(peer.connectionCount == 2)
    }

    @Test func connectionsToOtherHostsAreKeptAfterAStricterMode() throws {
        let peer = try peer()
        let client = try client(PinningLoopbackTests.backups, for: "pinned.example")
        try client.setPinning(.off)
        _ = try client.sendBlocking(Request(.get, url(peer)))
        try client.setPinning(.enforce)
        _ = try client.sendBlocking(Request(.get, url(peer)))
        #expect(peer.connectionCount == 1)
    }

    /// A resumed session has no certificates, so it could bypass the comparison.
    @Test func sessionOfAnotherModeIsNotResumed() throws {
        let server = try ResumingServer()
        let client = try client([try self.server()] + PinningLoopbackTests.backups) { $0.allowHTTP1() }
        func isResumed() throws -> Bool? { try client.sendBlocking(Request(.get, server.url)).tls?.isResumed }
        #expect(try [isResumed(), isResumed()] == [false, true])
        for mode in [.report, .off] as [TransportConfiguration.TLS.Pinning.Mode] {
            try client.setPinning(mode)
            #expect(try [isResumed(), isResumed()] == [false, true], "\(mode)")
        }
    }

    @Test func sessionOfAMismatchIsNotResumedAfterAStricterMode() throws {
        let server = try ResumingServer()
        let client = try client(PinningLoopbackTests.backups) { $0.allowHTTP1() }
        for mode in [.off, .report] as [TransportConfiguration.TLS.Pinning.Mode] {
            try client.setPinning(mode)
            _ = try client.sendBlocking(Request(.get, server.url))
            try client.setPinning(.enforce)
            #expect(try failure(client, Request(.get, server.url)).kind == .pinMismatch)
        }
    }

    // MARK: Configuration

    @Test func pinsRequireVerification() throws {
        let error = #expect(throws: NightjarError.self) {
            try client(PinningLoopbackTests.backups) { $0.transport.tls.verifiesCertificates = false }
        }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.hasPrefix("tls.pins requires verified certificates") == true)
    }

    @Test func closedClientKeepsItsMode() throws {
        let client = try client(PinningLoopbackTests.backups)
        client.close()
        let error = #expect(throws: NightjarError.self) { try client.setPinning(.off) }
        #expect(error?.kind == .closed)
    }

    @Test func queueBoundsItsReports() throws {
        let peer = try peer([.expectClose])
        let queue = CompletionQueue()
        let count = Mutex(0)
        let client = try client(PinningLoopbackTests.backups) { configuration in
            configuration.reportPinMismatches(on: queue) { _ in count.withLock { $0 += 1 } }
        }
        for _ in 0..<70 { _ = try failure(client, Request(.get, url(peer))) }
        queue.poll(timeout: .zero)
        #expect(count.withLock { $0 } == 64)
        _ = try failure(client, Request(.get, url(peer)))
        queue.poll(timeout: .seconds(10))
        #expect(count.withLock { $0 } == 65)
    }
}

/// `openssl s_server`, which resumes the sessions of earlier connections. Each connection carries one exchange.
private final class ResumingServer {
    let port: Int
    /// The path of the server's certificate (PEM).
    let certificate: String
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameter name: The name in a self-signed certificate. Nil: the certificate of the test authority.
    init(for name: String? = nil) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        try directory.write("page", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        var key = try TestCertificates.shared().key
        var certificate = try TestCertificates.shared().certificate(.trusted)
        if let name {
            (key, certificate) = (directory.file("key.pem"), directory.file("certificate.pem"))
            let result = try run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj",
                    "/CN=test", "-addext", "subjectAltName=DNS:\(name)", "-keyout", key, "-out", certificate,
                ])
            try #require(result.status == 0, "\(result.errors)")
        }
        self.certificate = certificate
        let arguments = ["s_server", "-accept", "127.0.0.1:0", "-HTTP", "-cert", certificate, "-key", key]
        process = try ChildProcess(
            "/usr/bin/openssl", arguments, output: directory.file("output"), errors: directory.file("errors"),
            directory: directory.path)
        var port: Int?
        try eventually("the server listens") {
            let text = String(decoding: try directory.read("output"), as: UTF8.self)
            let line = text.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") }
            port = line?.split(separator: ":").last.flatMap { Int($0) }
            return port != nil
        }
        self.port = try #require(port)
    }

    var url: String { "https://localhost:\(port)/page" }

    deinit {
        process.send(SIGKILL)
        process.wait()
    }
}
