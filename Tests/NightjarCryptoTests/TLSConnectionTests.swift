import NightjarCrypto
import NightjarTestSupport
import Testing

/// Conversations of the TLS client with a server in memory.
@Suite struct TLSConnectionTests {
    /// One connection between the client and a server. Bytes are exchanged only by ``exchange(parts:)``.
    final class Conversation {
        let client: TLSConnection
        let server: MemoryTLSServer
        var isOpen = false
        var received: [UInt8] = []
        var isEnded = false

        init(
            _ server: MemoryTLSServer.Context, _ settings: TLSSettings? = nil,
            _ configure: (inout TLSConnection.Options) -> Void = { _ in }
        ) throws {
            var options = TLSConnection.Options()
            options.serverName = "localhost"
            configure(&options)
            client = try TLSConnection(TLSContext(settings ?? TLSConnectionTests.settings()), options)
            self.server = try MemoryTLSServer(server)
            try feed([])
        }

        func takeOutput() -> [UInt8] {
            defer { client.removeOutput() }
            return Array(client.pendingOutput)
        }

        /// Passes bytes of the server to the client.
        func feed(_ bytes: [UInt8]) throws(TLSFailure) {
            var failure: TLSFailure?
            bytes.withUnsafeBytes { bytes in
                var input = bytes
                do throws(TLSFailure) { try feed(&input) } catch { failure = error }
            }
            if let failure { throw failure }
        }

        private func feed(_ input: inout UnsafeRawBufferPointer) throws(TLSFailure) {
            if !isOpen { isOpen = try client.handshake(&input) }
            guard isOpen else { return }
            while !isEnded {
                var part = [UInt8](repeating: 0, count: 4096)
                var result = TLSConnection.Decrypted.needsInput
                var failure: TLSFailure?
                part.withUnsafeMutableBytes { output in
                    do throws(TLSFailure) { result = try client.decrypt(&input, into: output) } catch {
                        failure = error
                    }
                }
                if let failure { throw failure }
                switch result {
                case .bytes(let count): received += part[..<count]
                case .needsInput: return
                case .ended: isEnded = true
                }
            }
        }

        /// Exchanges bytes until neither side has more. The client receives parts of at most `partSize` bytes.
        func exchange(partSize: Int = .max) throws {
            while true {
                let output = takeOutput()
                let reply = try server.receive(output)
                if output.isEmpty, reply.isEmpty { return }
                var rest = reply[...]
                while !rest.isEmpty {
                    let part = rest.prefix(partSize)
                    rest = rest.dropFirst(partSize)
                    try feed(Array(part))
                }
            }
        }

        func send(_ text: String) throws {
            try Array(text.utf8).withUnsafeBytes { try client.encrypt($0) }
        }
    }

    static func settings(_ configure: (inout TLSSettings) -> Void = { _ in }) throws -> TLSSettings {
        var settings = TLSSettings()
        settings.authorities = .pem(try Certificate.contents(ofFile: TestCertificates.shared().authority))
        configure(&settings)
        return settings
    }

    static func failure(_ body: () throws -> Void) throws -> TLSFailure {
        do {
            try body()
        } catch let error as TLSFailure {
            return error
        }
        return try #require(nil, "the connection did not fail")
    }

    @Test(arguments: TLSVersion.allCases)
    func dataIsExchangedInBothDirections(version: TLSVersion) throws {
        let settings = try Self.settings { $0.versions = .v1_2...version }
        let conversation = try Conversation(.init(), settings)
        try conversation.exchange()
        #expect(conversation.isOpen)
        #expect(conversation.client.version == "TLSv\(version.rawValue)")
        try conversation.send("request")
        try conversation.exchange()
        #expect(try conversation.server.readData() == Array("request".utf8))
        try conversation.feed(conversation.server.send(Array("response".utf8)))
        #expect(conversation.received == Array("response".utf8))
        try conversation.feed(conversation.server.close())
        #expect(conversation.isEnded)
    }

    @Test(arguments: TLSVersion.allCases)
    func keysAreLoggedOnRequest(version: TLSVersion) throws {
        for isRequested in [true, false] {
            let settings = try Self.settings {
                $0.versions = version...version
                $0.logsKeys = isRequested
            }
            var lines: [[Substring]] = []
            let conversation = try Conversation(.init(), settings) { options in
                options.logKeys = { lines.append(String(decoding: $0, as: UTF8.self).split(separator: " ")) }
            }
            // The random follows the headers of the record and the message, and the version (RFC 8446 section 4.1.2).
            let random = Array(conversation.client.pendingOutput)[11..<43].map {
                ($0 < 16 ? "0" : "") + String($0, radix: 16)
            }.joined()
            try conversation.exchange()
            #expect(conversation.isOpen)
            let labels =
                version == .v1_2
                ? ["CLIENT_RANDOM"]
                : [
                    "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0",
                    "SERVER_TRAFFIC_SECRET_0", "EXPORTER_SECRET",
                ]
            #expect(lines.map { String($0[0]) }.sorted() == (isRequested ? labels.sorted() : []))
            #expect(lines.allSatisfy { $0.count == 3 && $0[1] == random && $0[2].allSatisfy(\.isHexDigit) })
        }
    }

    /// The handshake waits for the caller's choice of a client certificate.
    @Test(arguments: TLSVersion.allCases, [1, 1000])
    func requestForACertificateSuspendsTheHandshake(version: TLSVersion, partSize: Int) throws {
        let certificates = try TestCertificates.shared()
        let identity = try ClientIdentity(
            certificates: Certificate.contents(ofFile: certificates.certificate(.clientOnly)),
            key: Certificate.contents(ofFile: certificates.key), password: nil)
        for chosen in [identity, nil] {
            let server = try MemoryTLSServer.Context(PeerTLS(clientAuthorities: certificates.authority))
            let conversation = try Conversation(
                server, Self.settings { $0.versions = version...version }
            ) { $0.suspendsForCertificate = true }
            try conversation.exchange(partSize: partSize)
            #expect(!conversation.isOpen)
            #expect(conversation.client.isSuspended)
            #expect(conversation.client.servedChain.map(\.subject) == ["CN=test"])
            // Further calls do not continue a suspended handshake.
            try conversation.feed([])
            #expect(conversation.client.isSuspended)
            conversation.client.resume(with: chosen)
            #expect(!conversation.client.isSuspended)
            // The server may reject a connection without a certificate.
            let continued = Result {
                try conversation.feed([])
                try conversation.exchange(partSize: partSize)
            }
            if chosen != nil { #expect(throws: Never.self) { try continued.get() } }
            if chosen != nil { #expect(conversation.isOpen) }
            #expect(conversation.client.lacksCertificate == (chosen == nil))
        }
    }

    @Test(arguments: [1, 2, 3, 5, 7, 64])
    func bytesMayArriveInPartsOfAnySize(partSize: Int) throws {
        let conversation = try Conversation(.init())
        try conversation.exchange(partSize: partSize)
        let body = [UInt8]((0..<40_000).map { UInt8(truncatingIfNeeded: $0) })
        for part in try conversation.server.send(body).chunks(of: partSize) { try conversation.feed(part) }
        #expect(conversation.received == body)
    }

    @Test(arguments: TLSVersion.allCases)
    func truncatedHandshakeWaitsForMore(version: TLSVersion) throws {
        let settings = try Self.settings { $0.versions = .v1_2...version }
        let wholeFlight = try {
            let conversation = try Conversation(.init(), settings)
            return try conversation.server.receive(conversation.takeOutput())
        }()
        let server = try MemoryTLSServer.Context()
        for length in stride(from: 0, to: wholeFlight.count - 200, by: 7) {
            let conversation = try Conversation(server, settings)
            let flight = try conversation.server.receive(conversation.takeOutput())
            try conversation.feed(Array(flight.prefix(length)))
            #expect(!conversation.isOpen)
        }
    }

    /// Each modified byte is detected, at the latest when the handshake ends.
    @Test(arguments: TLSVersion.allCases)
    func modifiedHandshakeFails(version: TLSVersion) throws {
        let settings = try Self.settings { $0.versions = .v1_2...version }
        let server = try MemoryTLSServer.Context()
        for position in stride(from: 0, to: 700, by: 13) {
            let conversation = try Conversation(server, settings)
            var flight = try conversation.server.receive(conversation.takeOutput())
            guard position < flight.count else { break }
            flight[position] ^= 0x41
            do {
                try conversation.feed(flight)
                try conversation.exchange()
                // A longer record length makes the client wait for bytes that never arrive.
                #expect(!conversation.isOpen, "position \(position)")
            } catch {}
        }
    }

    @Test func modifiedDataFails() throws {
        let server = try MemoryTLSServer.Context()
        for position in 0..<40 {
            let conversation = try Conversation(server)
            try conversation.exchange()
            var record = try conversation.server.send(Array("response".utf8))
            guard position < record.count else { break }
            record[position] ^= 1
            let before = conversation.received
            do { try conversation.feed(record) } catch {}
            #expect(conversation.received == before)
        }
    }

    @Test func largeDataIsEncrypted() throws {
        let conversation = try Conversation(.init())
        try conversation.exchange()
        let body = [UInt8](repeating: 7, count: 300_000)
        try body.withUnsafeBytes { try conversation.client.encrypt($0) }
        try conversation.exchange()
        #expect(try conversation.server.readData() == body)
    }

    @Test func plaintextServerIsRecognized() throws {
        let conversation = try Conversation(.init())
        let failure = try Self.failure { try conversation.feed(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)) }
        guard case .notTLS = failure.reason else {
            Issue.record("\(failure)")
            return
        }
    }

    @Test func protocolIsNegotiated() throws {
        let settings = try Self.settings { $0.applicationProtocols = ["h2", "http/1.1"] }
        let conversation = try Conversation(.init(PeerTLS(applicationProtocols: ["http/1.1"])), settings)
        try conversation.exchange()
        #expect(conversation.client.applicationProtocol == "http/1.1")
    }

    @Test func serverWithoutACommonVersionIsReported() throws {
        let settings = try Self.settings { $0.versions = .v1_2 ... .v1_2 }
        let conversation = try Conversation(.init(PeerTLS(versions: .tlsv13...(.tlsv13))), settings)
        let failure = try Self.failure { try conversation.exchangeIgnoringTheServersError() }
        guard case .alert(70) = failure.reason else {
            Issue.record("\(failure)")
            return
        }
    }

    // MARK: Certificates

    @Test func unknownAuthorityIsRejected() throws {
        let settings = try Self.settings { $0.authorities = .system }
        let conversation = try Conversation(.init(), settings)
        let failure = try Self.failure { try conversation.exchangeIgnoringTheServersError() }
        guard case .invalidCertificate(let problem) = failure.reason else {
            Issue.record("\(failure)")
            return
        }
        #expect(problem.contains("issuer is unknown"))
        #expect(!conversation.takeOutput().isEmpty, "the server receives an alert")
    }

    @Test func callerChecksTheVerifiedChain() throws {
        struct Rejection: Error {}
        var names: [[[UInt8]]] = []
        let conversation = try Conversation(.init()) { options in
            options.check = { chain in
                names = chain.map(\.dnsNames)
                return Rejection()
            }
        }
        let failure = try Self.failure { try conversation.exchangeIgnoringTheServersError() }
        guard case .rejectedCertificate = failure.reason else {
            Issue.record("\(failure)")
            return
        }
        #expect(conversation.client.rejection is Rejection)
        // The chain ends with the authority, which the server has not sent.
        #expect(names == [[Array("localhost".utf8)], []])
    }

    @Test func everySetOfWeakAlgorithmsIsValid() throws {
        for number in 0..<1 << WeakAlgorithm.allCases.count {
            let weak = WeakAlgorithm.allCases.enumerated().filter { number >> $0.offset & 1 == 1 }.map(\.element)
            #expect(throws: Never.self, "\(weak)") {
                try TLSContext(Self.settings { $0.weakAlgorithms = Set(weak) })
            }
        }
    }

    // MARK: Sessions

    @Test(arguments: TLSVersion.allCases)
    func sessionIsResumedWithoutCertificates(version: TLSVersion) throws {
        let settings = try Self.settings { $0.versions = .v1_2...version }
        let server = try MemoryTLSServer.Context()
        let first = try Conversation(server, settings)
        try first.exchange()
        try first.feed(first.server.send([1]))
        #expect(!first.client.isResumed)
        let session = try #require(first.client.takeSessions().first)
        #expect(session.isSingleUse == (version == .v1_3))
        var checks = 0
        let second = try Conversation(server, settings) { options in
            options.session = session
            options.check = { _ in
                checks += 1
                return nil
            }
        }
        try second.exchange()
        #expect(second.isOpen)
        #expect(second.client.isResumed)
        #expect(checks == 0)
        #expect(second.client.servedChain.map(\.subject) == first.client.servedChain.map(\.subject))
    }

    @Test func serverThatForgotTheSessionPerformsAFullHandshake() throws {
        let first = try Conversation(.init())
        try first.exchange()
        try first.feed(first.server.send([1]))
        let session = try #require(first.client.takeSessions().first)
        let second = try Conversation(.init()) { $0.session = session }
        try second.exchange()
        #expect(second.isOpen)
        #expect(!second.client.isResumed)
    }

    // MARK: Key exchange

    @Test func hybridKeyExchangeIsOfferedUnlessDisabled() throws {
        let hybrid = try Conversation(.init())
        let classical = try Conversation(.init()) { $0.offersPostQuantum = false }
        // The hybrid key share has 1,216 bytes.
        #expect(hybrid.takeOutput().count > 1400)
        #expect(classical.takeOutput().count < 700)
    }

    @Test func onlyTheExpectedGroupHasAKeyShare() throws {
        var tls = PeerTLS()
        tls.isClassical = true
        let server = try MemoryTLSServer.Context(tls)
        let first = try Conversation(server)
        try first.exchange()
        #expect(first.client.group == "X25519")
        let second = try Conversation(server) { $0.expectedGroup = first.client.groupNumber }
        #expect(second.client.pendingOutput.count < 700)
        try second.exchange()
        #expect(second.isOpen && second.client.group == "X25519")
    }

    @Test(arguments: [UInt16(0), 29, 4588, 65535])
    func expectedGroupThatIsNotOfferedIsIgnored(group: UInt16) throws {
        let conversation = try Conversation(.init()) {
            $0.offersPostQuantum = false
            $0.expectedGroup = group
        }
        try conversation.exchange()
        #expect(conversation.isOpen && conversation.client.group == "X25519")
    }
}

extension TLSConnectionTests.Conversation {
    /// Exchanges bytes until the client fails. The server's own error is not of interest.
    fileprivate func exchangeIgnoringTheServersError() throws {
        for _ in 0..<10 {
            let reply = (try? server.receive(takeOutput())) ?? []
            let alert = (try? server.receive([])) ?? []
            try feed(reply + alert)
        }
    }
}

extension Array {
    fileprivate func chunks(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
