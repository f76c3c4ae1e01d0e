import NIOCore
import NIOSSL
import Nightjar
import NightjarTestSupport
import NightjarTransport
import Testing

@Suite struct ClientCertificateTests {
    typealias ClientCertificate = TransportConfiguration.TLS.ClientCertificate

    /// A client certificate in several forms, and a second one.
    final class Files {
        let folder: TemporaryDirectory

        init() throws {
            folder = try TemporaryDirectory()
            try create("client", "/CN=client")
            try create("other", "/CN=other")
            try openssl(["pkcs8", "-topk8", "-in", "client.key", "-out", "encrypted.key", "-passout", "pass:secret"])
            try openssl([
                "pkcs12", "-export", "-in", "client.pem", "-inkey", "client.key", "-out", "client.p12", "-passout",
                "pass:secret",
            ])
        }

        private func create(_ name: String, _ subject: String) throws {
            try openssl([
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                "-subj",
                subject, "-keyout", "\(name).key", "-out", "\(name).pem", "-addext", "extendedKeyUsage=clientAuth",
            ])
        }

        private func openssl(_ arguments: [String]) throws {
            let result = try run("openssl", arguments, directory: folder.path)
            guard result.status == 0 else { throw ToolFailure(description: "\(arguments): \(result.errors)") }
        }

        func path(_ name: String) -> String { folder.file(name) }
        var pem: ClientCertificate {
            ClientCertificate(.pem(certificates: path("client.pem"), key: path("client.key")))
        }
    }

    private func server(_ files: Files, _ versions: ClosedRange<TLSVersion> = .tlsv12...(.tlsv13)) throws
        -> ScriptedPeer
    {
        try ScriptedPeer(
            [[.expectRequest, .respond(body: "secret"), .close]], repeatsLast: true,
            tls: PeerTLS(versions: versions, clientAuthorities: files.path("client.pem")))
    }

    private func client(_ base: ScriptedPeer?, _ configure: (inout TransportConfiguration.TLS) -> Void) throws -> Client
    {
        var configuration = Configuration.loopback
        configuration.baseURL = base.map { "https://localhost:\($0.port)/" }
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        configuration.timeouts = Timeouts(connect: .seconds(10), idle: .seconds(10), total: .seconds(20))
        configure(&configuration.transport.tls)
        return try Client(configuration)
    }

    private func creationFailure(_ certificate: ClientCertificate) throws -> String {
        do {
            _ = try client(ScriptedPeer([[.stall]])) { $0.clientCertificate = certificate }
            return "no error"
        } catch let error as NightjarError {
            #expect(error.kind == .tls)
            return error.message
        }
    }

    @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
    func certificateIsSentToTheBaseOrigin(version: TLSVersion) throws {
        let files = try Files()
        let server = try server(files, version...version)
        let forms = [
            files.pem,
            ClientCertificate(
                .pem(certificates: files.path("client.pem"), key: files.path("encrypted.key")), password: "secret"),
            ClientCertificate(.pkcs12(files.path("client.p12")), password: "secret"),
        ]
        for form in forms {
            let client = try client(server) { $0.clientCertificate = form }
            #expect(try client.sendBlocking(Request(.get, "/")).text == "secret")
        }
    }

    @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
    func missingCertificateIsReported(version: TLSVersion) throws {
        let files = try Files()
        let server = try server(files, version...version)
        let error = try failure(client(server) { _ in }, Request(.get, "/"))
        #expect(error.kind == .tls)
        #expect(
            error.message.hasPrefix(
                "localhost:\(server.port) requires a client certificate; set tls.client_certificate"))
        #expect(server.requests.isEmpty)
    }

    @Test func otherOriginsReceiveTheCertificateOnlyByTheirPattern() throws {
        let files = try Files()
        let (server, other) = (try server(files), try server(files))
        let url = "https://localhost:\(other.port)/"
        let error = try failure(client(server) { $0.clientCertificate = files.pem }, Request(.get, url))
        #expect(error.message.contains("requires a client certificate"))
        #expect(other.requests.isEmpty)
        let pattern = try TransportConfiguration.TLS.HostPattern("localhost")
        let allowed = try client(nil) { $0.clientCertificatesByHost[pattern] = files.pem }
        #expect(try allowed.sendBlocking(Request(.get, url)).text == "secret")
    }

    /// A program that renews a certificate replaces the files while the client runs.
    @Test func changedFilesAreUsedIfTheyAreValid() throws {
        let files = try Files()
        let server = try server(files)
        let (certificate, key) = (files.path("renewed.pem"), files.path("renewed.key"))
        func install(_ name: String) throws {
            try files.folder.write("renewed.pem", Bytes(files.folder.read("\(name).pem")))
            try files.folder.write("renewed.key", Bytes(files.folder.read("\(name).key")))
        }
        try install("other")
        let client = try client(server) {
            $0.clientCertificate = ClientCertificate(.pem(certificates: certificate, key: key))
        }
        #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/")) }
        try install("client")
        #expect(try client.sendBlocking(Request(.get, "/")).text == "secret")
        try files.folder.write("renewed.key", "half of a key")
        #expect(try client.sendBlocking(Request(.get, "/")).text == "secret")
    }

    @Test func invalidFilesAreReportedWhenTheClientIsCreated() throws {
        let files = try Files()
        let (certificate, key) = (files.path("client.pem"), files.path("client.key"))
        func message(_ format: ClientCertificate.Format, _ password: String? = nil) throws -> String {
            try creationFailure(ClientCertificate(format, password: password))
        }
        let mismatch = try message(.pem(certificates: certificate, key: files.path("other.key")))
        #expect(mismatch.contains("does not match the certificate CN=client"), "\(mismatch)")
        let encrypted = try message(.pem(certificates: certificate, key: files.path("encrypted.key")))
        #expect(encrypted.contains("is encrypted; set a password"), "\(encrypted)")
        let wrong = try message(.pem(certificates: certificate, key: files.path("encrypted.key")), "wrong")
        #expect(wrong.contains("its password is wrong"), "\(wrong)")
        let archive = try message(.pkcs12(files.path("client.p12")), "wrong")
        #expect(archive.contains("its password is wrong"), "\(archive)")
        let missing = try message(.pem(certificates: certificate, key: files.path("missing.key")))
        #expect(missing.contains("No such file"), "\(missing)")
        let noKey = try message(.pem(certificates: certificate, key: certificate))
        #expect(noKey.contains("contains no key in PEM form"), "\(noKey)")
        let noCertificate = try message(.pem(certificates: key, key: key))
        #expect(noCertificate.contains("contains no certificate in PEM form"), "\(noCertificate)")
        let garbage = try message(.pkcs12(certificate))
        #expect(garbage.contains("the PKCS #12 archive is invalid"), "\(garbage)")
    }

    @Test func certificateRequiresABaseURL() throws {
        let files = try Files()
        let error = #expect(throws: NightjarError.self) { try client(nil) { $0.clientCertificate = files.pem } }
        #expect(error?.kind == .invalidArgument)
    }
}
