import CNIOBoringSSL
import NightjarCrypto
import NightjarTestSupport
import Testing

/// Conversations of the TLS client with servers that use rare features, or violate the protocol.
@Suite struct TLSUnusualServerTests {
    /// One connection between the client and a server of BoringSSL.
    private final class Conversation {
        let client: TLSConnection
        let server: BoringSSLServer
        private(set) var isOpen = false
        private(set) var isEnded = false
        private(set) var received: [UInt8] = []

        init(
            _ context: BoringSSLServer.Context, expectedGroup: CInt? = nil,
            _ configure: (inout TLSSettings) -> Void = { _ in }
        ) throws {
            var options = TLSConnection.Options()
            options.serverName = "localhost"
            options.expectedGroup = expectedGroup.map(UInt16.init)
            client = try TLSConnection(TLSContext(TLSConnectionTests.settings(configure)), options)
            server = try BoringSSLServer(context)
            try feed([])
        }

        /// Performs the handshake, and passes the sessions that the server issues.
        func open() throws {
            while !isOpen { try exchange() }
            try exchange()
        }

        func exchange() throws { try feed(server.receive(takeOutput()).sent) }

        func takeOutput() -> [UInt8] {
            defer { client.removeOutput() }
            return Array(client.pendingOutput)
        }

        /// Passes bytes of the server to the client.
        func feed(_ bytes: [UInt8]) throws {
            try bytes.withUnsafeBytes { bytes in
                var input = bytes
                if !isOpen { isOpen = try client.handshake(&input) }
                guard isOpen else { return }
                var part = [UInt8](repeating: 0, count: 4096)
                while true {
                    let result = try part.withUnsafeMutableBytes { try client.decrypt(&input, into: $0) }
                    switch result {
                    case .bytes(let count): received += part[..<count]
                    case .needsInput: return
                    case .ended:
                        isEnded = true
                        return
                    }
                }
            }
        }
    }

    private func failure(_ body: () throws -> Void) throws -> TLSFailure {
        do {
            try body()
        } catch let error as TLSFailure {
            return error
        }
        return try #require(nil, "the connection did not fail")
    }

    // MARK: Handshake

    /// The server requests another key share (RFC 8446 section 4.1.4).
    @Test(arguments: [SSL_GROUP_X25519_MLKEM768, SSL_GROUP_SECP384R1])
    func serverMayChooseAnotherGroupThanTheExpectedOne(group: CInt) throws {
        let context = try BoringSSLServer.Context { context in
            SSL_CTX_set1_group_ids(context, [UInt16(group)], 1)
        }
        let conversation = try Conversation(context, expectedGroup: SSL_GROUP_X25519)
        #expect(conversation.client.pendingOutput.count < 700)
        try conversation.open()
        #expect(conversation.client.groupNumber == UInt16(group))
    }

    @Test(arguments: TLSVersion.allCases) func protocolThatWasNotOfferedIsRejected(version: TLSVersion) throws {
        let context = try BoringSSLServer.Context { context in
            SSL_CTX_set_alpn_select_cb(
                context,
                { _, selected, count, offered, _, _ in
                    // The last byte of the list.
                    selected?.pointee = offered.map { $0 + 8 }
                    count?.pointee = 1
                    return SSL_TLSEXT_ERR_OK
                }, nil)
        }
        let failure = try failure {
            try Conversation(context) {
                $0.versions = .v1_2...version
                $0.applicationProtocols = ["http/1.1"]
            }.open()
        }
        #expect(failure.detail == "INVALID_ALPN_PROTOCOL")
    }

    @Test(arguments: TLSVersion.allCases) func requiredClientCertificateIsReported(version: TLSVersion) throws {
        let context = try BoringSSLServer.Context {
            SSL_CTX_set_verify($0, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
        let failure = try failure { try Conversation(context) { $0.versions = .v1_2...version }.open() }
        guard case .clientCertificateRequired = failure.reason else {
            Issue.record("\(failure)")
            return
        }
    }

    @Test(arguments: TLSVersion.allCases) func optionalClientCertificateIsNotNeeded(version: TLSVersion) throws {
        let context = try BoringSSLServer.Context { SSL_CTX_set_verify($0, SSL_VERIFY_PEER, nil) }
        let conversation = try Conversation(context) { $0.versions = .v1_2...version }
        try conversation.open()
        try conversation.feed(conversation.server.send([1]))
        #expect(conversation.received == [1])
    }

    /// HelloRetryRequest (RFC 8446 section 4.1.4).
    @Test func serverMayRequestAnotherKeyShare() throws {
        let context = try BoringSSLServer.Context {
            SSL_CTX_set1_group_ids($0, [UInt16(SSL_GROUP_SECP384R1)], 1)
        }
        let conversation = try Conversation(context)
        try conversation.open()
        #expect(conversation.client.group == "P-384")
    }

    @Test func closeNotifyInTheHandshakeFails() throws {
        let conversation = try Conversation(.init())
        let failure = try failure { try conversation.feed([0x15, 3, 3, 0, 2, 1, 0]) }
        #expect(failure.detail != "no reason is known")
    }

    // MARK: Sessions and keys

    @Test func fewSessionsOfManyAreKept() throws {
        let context = try BoringSSLServer.Context { SSL_CTX_set_num_tickets($0, 16) }
        let conversation = try Conversation(context)
        try conversation.open()
        try conversation.feed(conversation.server.send([1]))
        let sessions = conversation.client.takeSessions()
        #expect((1...4).contains(sessions.count), "\(sessions.count)")
        #expect(conversation.client.takeSessions().isEmpty)
    }

    @Test func manyKeyUpdatesWithDataAreAccepted() throws {
        let conversation = try Conversation(.init())
        try conversation.open()
        for round in 0..<500 {
            conversation.server.updateKey(requestingUpdate: true)
            try conversation.feed(conversation.server.send([UInt8(truncatingIfNeeded: round)]))
        }
        #expect(conversation.received.count == 500)
        // The client responds to all requests that it has received with one update.
        #expect(conversation.client.pendingOutput.count < 200, "\(conversation.client.pendingOutput.count)")
        try Array("request".utf8).withUnsafeBytes { try conversation.client.encrypt($0) }
        #expect(conversation.server.receive(conversation.takeOutput()).data == Array("request".utf8))
    }

    @Test func manyKeyUpdatesWithoutDataFail() throws {
        let conversation = try Conversation(.init())
        try conversation.open()
        let failure = try failure {
            for _ in 0..<100 {
                conversation.server.updateKey(requestingUpdate: false)
                // An empty write sends the pending message.
                try conversation.feed(conversation.server.send([]))
            }
        }
        #expect(failure.detail == "TOO_MANY_KEY_UPDATES")
    }

    // MARK: The end

    @Test func bytesAfterCloseNotifyAreIgnored() throws {
        let conversation = try Conversation(.init())
        try conversation.open()
        let data = conversation.server.send(Array("data".utf8))
        SSL_shutdown(conversation.server.ssl)
        let notice = conversation.server.receive([]).sent
        try conversation.feed(data + notice + data + [1, 2, 3])
        #expect(conversation.received == Array("data".utf8))
        #expect(conversation.isEnded)
        try conversation.feed(data)
        #expect(conversation.received == Array("data".utf8))
        // The client's own direction is still open (RFC 8446 section 6.1).
        try Array("last".utf8).withUnsafeBytes { try conversation.client.encrypt($0) }
        #expect(conversation.server.receive(conversation.takeOutput()).data == Array("last".utf8))
    }

    @Test func useAfterAFailureFailsAgain() throws {
        let conversation = try Conversation(.init())
        try conversation.open()
        for _ in 0..<3 {
            _ = try failure { try conversation.feed([0x17, 3, 3, 0x7f, 0x7f]) }
        }
        _ = conversation.takeOutput()
        conversation.client.close()
        _ = try? [1].withUnsafeBytes { try conversation.client.encrypt($0) }
    }

    @Test func encryptionBeforeTheHandshakeFails() throws {
        let conversation = try Conversation(.init())
        let hello = conversation.takeOutput().count
        #expect(hello > 0)
        _ = try? [1].withUnsafeBytes { try conversation.client.encrypt($0) }
        conversation.client.close()
        #expect(conversation.client.pendingOutput.count < 100, "no data is sent")
    }

    @Test func resultsCanBeReadBeforeTheHandshake() throws {
        let client = try Conversation(.init()).client
        #expect(client.cipher == "")
        #expect(client.group == "")
        #expect(client.applicationProtocol == nil)
        #expect(!client.isResumed)
        #expect(client.servedChain.isEmpty)
        #expect(!client.version.isEmpty)
    }

    /// Connections that end at any point release their memory. Run with a leak checker.
    @Test func connectionsAreReleasedAtAnyPoint() throws {
        for steps in 0..<6 {
            let conversation = try Conversation(.init())
            for _ in 0..<steps { try conversation.exchange() }
        }
    }
}
