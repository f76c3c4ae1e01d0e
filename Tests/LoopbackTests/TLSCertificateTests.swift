import Nightjar
import NightjarTestSupport
import NightjarTransport
import Testing

/// The client accepts valid certificates, and rejects each other one with its own message.
@Suite struct TLSCertificateTests {
    typealias WeakAlgorithm = TransportConfiguration.TLS.WeakAlgorithm

    /// A certificate of the server, and the host of the URL.
    struct Row: CustomStringConvertible, Sendable {
        let kind: TestCertificates.Kind
        let host: String
        /// The end of the message. Nil: the certificate is accepted.
        let problem: String?

        init(_ kind: TestCertificates.Kind, host: String = "localhost", _ problem: String?) {
            self.kind = kind
            self.host = host
            self.problem = problem
        }

        var description: String { "\(kind) for \(host)" }
    }

    private static let otherNames = "its names include"
    private static let unknownIssuer =
        "is not trusted: its issuer is unknown, or the server did not send an intermediate certificate; for a private "
        + "certificate authority, set tls.ca_file"
    private static let weakKey = "its RSA key has only 1024 bits; to accept such keys, set tls.allow_weak to rsa_1024"
    private static let weakSignature =
        "it has a SHA-1 signature; to accept such signatures, set tls.allow_weak to sha1"
    private static let inChain = "is not trusted: its chain contains the certificate CN="

    static let rows = [
        Row(.trusted, nil), Row(.trusted, host: "127.0.0.1", nil), Row(.trusted, host: "localhost.", nil),
        Row(.trusted, host: "127.0.0.2", "does not match the host: \(otherNames) \"localhost\""),
        Row(.wrongName, "does not match the host: \(otherNames) \"other.example\""),
        Row(.wrongName, host: "other.example", nil),
        Row(.expired, "is not trusted: it has expired"),
        Row(.notYetValid, "is not trusted: it is not valid yet; check the system clock"),
        Row(.selfSigned, "is not trusted: it is self-signed; to trust it, set tls.ca_file to it"),
        Row(.wildcard, host: "www.example.com", nil), Row(.wildcard, host: "WWW.EXAMPLE.COM", nil),
        Row(.wildcard, host: "example.com", "does not match the host: \(otherNames) \"*.example.com\""),
        Row(.wildcard, host: "a.b.example.com", "does not match the host: \(otherNames) \"*.example.com\""),
        Row(.wildcardTopLevel, host: "example.com", "does not match the host: \(otherNames) \"*.com\""),
        Row(.addressOnly, host: "127.0.0.1", nil),
        Row(.addressOnly, "does not match the host: it contains no host name"),
        Row(.clientOnly, "is not trusted: its extended key usage does not permit servers"),
        Row(.rsa2048, nil), Row(.rsa1024, "is not trusted: \(weakKey)"), Row(.sha1, "is not trusted: \(weakSignature)"),
        Row(.forged, "is not trusted: its signature, or one in its chain, is invalid"),
        Row(.intermediate, nil), Row(.missingIntermediate, unknownIssuer),
        Row(.expiredIntermediate, "\(inChain)old, which is rejected: it has expired"),
        Row(
            .constrained,
            "is not trusted: its issuer must not issue certificates for its names (name constraints)"),
        Row(.issuedByServer, "is not trusted: its issuer is not a certificate authority"),
        Row(.weakIntermediate, "\(inChain)weak, which is rejected: \(weakKey)"),
        Row(.sha1Intermediate, "\(inChain)digest, which is rejected: \(weakSignature)"),
        Row(.longChain, nil),
        Row(.tooLongChain, "is not trusted: its chain has more than 10 intermediate certificates"),
        // BoringSSL tries only the first certificate of an issuer.
        Row(.crossSigned, unknownIssuer), Row(.crossSignedRoot, nil),
    ]

    private func client(
        at path: String? = nil, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration.loopback
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        if let path { configuration.transport.unixSocket = try UnixSocket(path) }
        configure(&configuration)
        return try Client(configuration)
    }

    /// The Unix socket is the server of every host.
    @Test(arguments: rows) func certificate(row: Row) throws {
        let folder = try TemporaryDirectory()
        let peer = try ScriptedPeer(
            [[.expectRequest, .respond()]], at: folder.file("peer"), tls: PeerTLS(row.kind))
        let client = try client(at: folder.file("peer"))
        let request = Request(.get, "https://\(row.host)/")
        guard let problem = row.problem else {
            #expect(try client.sendBlocking(request).status == 200)
            return
        }
        let error = try failure(client, request)
        #expect(error.kind == .tls)
        #expect(error.phase == .tls)
        #expect(error.message.hasPrefix("the certificate of "))
        #expect(error.message.hasSuffix(problem), "\(error.message)")
        #expect(!error.requestMayHaveBeenProcessed)
        // The server receives an alert and no request.
        try eventually("the handshake has ended") { peer.handshake(0) != nil }
        #expect(peer.handshake(0)?.failure != nil)
        #expect(peer.requests.isEmpty)
    }

    // MARK: Weak algorithms

    /// A server that needs one weak algorithm.
    struct WeakServer: Sendable {
        let algorithm: WeakAlgorithm
        let tls: PeerTLS
    }

    static let weakServers = [
        WeakServer(algorithm: .rsa1024, tls: PeerTLS(.rsa1024)),
        WeakServer(algorithm: .rsa1024, tls: PeerTLS(.weakIntermediate)),
        WeakServer(algorithm: .sha1, tls: PeerTLS(.sha1)),
        WeakServer(algorithm: .sha1, tls: PeerTLS(.sha1Intermediate)),
        WeakServer(
            algorithm: .cbc,
            tls: PeerTLS(versions: PeerTLS.versions("1.2"), cipherSuites: "ECDHE-ECDSA-AES128-SHA")),
        WeakServer(
            algorithm: .rsaKeyExchange,
            tls: PeerTLS(.rsa2048, versions: PeerTLS.versions("1.2"), cipherSuites: "AES128-GCM-SHA256")),
    ]

    @Test(arguments: weakServers) func weakAlgorithmIsAcceptedOnlyIfItIsNamed(server: WeakServer) throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]], repeatsLast: true, tls: server.tls)
        let request = Request(.get, "https://localhost:\(peer.port)/")
        let allowing = try client { $0.transport.tls.weakAlgorithms = [server.algorithm] }
        #expect(try allowing.sendBlocking(request).status == 200)
        let others = Set(WeakAlgorithm.allCases).subtracting([server.algorithm])
        let error = try failure(client { $0.transport.tls.weakAlgorithms = others }, request)
        #expect(error.kind == .tls, "\(error.message)")
        #expect(peer.requests.count == 1)
    }

    @Test func allWeakAlgorithmsTogether() throws {
        let tls = PeerTLS(.rsa1024, versions: PeerTLS.versions("1.2"), cipherSuites: "AES128-SHA")
        let peer = try ScriptedPeer([[.expectRequest, .respond()]], repeatsLast: true, tls: tls)
        let request = Request(.get, "https://localhost:\(peer.port)/")
        let weak = Set(WeakAlgorithm.allCases)
        #expect(try client { $0.transport.tls.weakAlgorithms = weak }.sendBlocking(request).status == 200)
        for algorithm in [WeakAlgorithm.cbc, .rsaKeyExchange, .rsa1024] {
            let client = try client { $0.transport.tls.weakAlgorithms = weak.subtracting([algorithm]) }
            #expect(try failure(client, request).kind == .tls, "\(algorithm)")
        }
    }

    // MARK: The file of certificate authorities

    @Test func invalidAuthorityFileIsReportedWhenTheClientIsCreated() throws {
        let folder = try TemporaryDirectory()
        let good = try Bytes(contentsOf: TestCertificates.shared().authority)
        let begin: Bytes = "-----BEGIN CERTIFICATE-----\n"
        let end: Bytes = "-----END CERTIFICATE-----\n"
        let files: [(name: String, content: Bytes?, problem: String)] = [
            ("missing", nil, "No such file or directory"),
            ("", nil, "Is a directory"),
            ("empty", "", "the text contains no certificate in PEM form"),
            ("text", "no certificate\n", "the text contains no certificate in PEM form"),
            (
                "key", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n",
                "the text contains no certificate"
            ),
            ("bad Base64", begin + "!!!!\n" + end, "certificate 1 is invalid (BAD_BASE64_DECODE)"),
            ("no DER", begin + "AAAA\n" + end, "certificate 1 is invalid"),
            ("no end", begin + "AAAA\n", "certificate 1 is invalid (BAD_END_LINE)"),
            ("second", good + begin + "AAAA\n" + end, "certificate 2 is invalid"),
            ("second without end", good + begin + "AAAA\n", "certificate 2 is invalid (BAD_END_LINE)"),
        ]
        for file in files {
            if let content = file.content { try folder.write(file.name, content) }
            let path = file.name.isEmpty ? folder.path : folder.file(file.name)
            do throws(NightjarError) {
                _ = try Client(
                    {
                        var configuration = Configuration.loopback
                        configuration.transport.tls.certificateAuthorityFile = path
                        return configuration
                    }())
                Issue.record("\(file.name) is accepted")
            } catch {
                #expect(error.kind == .tls)
                let start = "reading the certificate authority file \"\(path)\" as PEM failed: \(file.problem)"
                #expect(error.message.hasPrefix(start), "\(error.message)")
            }
        }
    }

    @Test func authoritiesMayBeInMemory() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]], tls: PeerTLS())
        let text = try Bytes(contentsOf: TestCertificates.shared().authority).array
        let client = try client {
            $0.transport.tls.certificateAuthorityFile = nil
            $0.transport.tls.certificateAuthorities = text
        }
        #expect(try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).status == 200)
        let error = #expect(throws: NightjarError.self) {
            try self.client {
                $0.transport.tls.certificateAuthorityFile = nil
                $0.transport.tls.certificateAuthorities = Array("no certificate".utf8)
            }
        }
        #expect(error?.kind == .tls)
        #expect(
            error?.message
                == "reading the certificate authorities as PEM failed: the text contains no certificate in PEM form")
    }

    @Test func authorityFileMayContainOtherText() throws {
        let folder = try TemporaryDirectory()
        let authority = try Bytes(contentsOf: TestCertificates.shared().authority)
        let other = try Bytes(contentsOf: TestCertificates.shared().certificate(.selfSigned))
        let text: Bytes = "# The other certificate\n" + other + "\nThe authority:\n" + authority + authority + "end\n"
        let file = try folder.write("authorities.pem", text)
        for kind in [TestCertificates.Kind.trusted, .selfSigned] {
            let peer = try ScriptedPeer([[.expectRequest, .respond()]], tls: PeerTLS(kind))
            let client = try client { $0.transport.tls.certificateAuthorityFile = file }
            #expect(try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).status == 200)
        }
    }
}
