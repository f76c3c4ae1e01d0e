import Glibc
import NIOCore
import NIOSSL
import Nightjar
import NightjarTestSupport
import NightjarTransport
import Synchronization
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

        func openssl(_ arguments: [String]) throws {
            let result = try run("openssl", arguments, directory: folder.path)
            guard result.status == 0 else { throw ToolFailure(description: "\(arguments): \(result.errors)") }
        }

        func path(_ name: String) -> String { folder.file(name) }
        func contents(_ name: String) throws -> [UInt8] { try folder.read(name) }
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
            ClientCertificate(
                .pemContents(certificates: try files.contents("client.pem"), key: try files.contents("client.key"))),
            ClientCertificate(
                .pemContents(certificates: try files.contents("client.pem"), key: try files.contents("encrypted.key")),
                password: "secret"),
            ClientCertificate(.pkcs12Contents(try files.contents("client.p12")), password: "secret"),
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

    /// The check of the files blocks on a FIFO without a writer. Other connections of the client are not affected.
    @Test func filesAreReadOnAWorkerThread() throws {
        let files = try Files()
        let (server, other) = (try server(files), try ScriptedPeer([[.expectRequest, .respond()]], tls: PeerTLS()))
        let copy = try files.folder.write("copy.pem", Bytes(files.contents("client.pem")))
        let client = try client(server) {
            $0.clientCertificate = ClientCertificate(.pem(certificates: copy, key: files.path("client.key")))
        }
        try files.folder.remove("copy.pem")
        #expect(mkfifo(copy, 0o600) == 0)
        let waiting = try client.start(Request(.get, "/"), on: nil, TaskHandlers { _, _ in })
        #expect(try client.sendBlocking(Request(.get, "https://127.0.0.1:\(other.port)/")).status == 200)
        #expect(!waiting.isFinished)
        // The reader receives the end of the file, which is no certificate, so the earlier one is used.
        let writer = open(copy, O_WRONLY | O_CLOEXEC)
        close(writer)
        try eventually("the first call ended") { server.requests.count == 1 }
        #expect(server.connectionCount == 1)
    }

    @Test func connectionMayCloseWhileFilesAreRead() throws {
        let files = try Files()
        let server = try ScriptedPeer([[.close]])
        let copy = try files.folder.write("copy.pem", Bytes(files.contents("client.pem")))
        let client = try client(server) {
            $0.clientCertificate = ClientCertificate(.pem(certificates: copy, key: files.path("client.key")))
        }
        try files.folder.remove("copy.pem")
        #expect(mkfifo(copy, 0o600) == 0)
        let result = Mutex<NightjarError?>(nil)
        let task = try client.start(
            Request(.get, "/"), on: nil,
            TaskHandlers { _, outcome in
                if case .failure(let error) = outcome { result.withLock { $0 = error } }
            })
        try eventually("the server has closed the connection") { server.connectionCount == 1 }
        // The client's loop needs some time to notice the end. The result is the same if it has not.
        usleep(50_000)
        close(open(copy, O_WRONLY | O_CLOEXEC))
        try eventually("the call ended") { task.isFinished }
        let error = result.withLock { $0 }
        #expect(error?.kind == .tls || error?.kind == .connect, "\(error?.message ?? "")")
        #expect(error?.phase == .tls)
    }

    @Test func closingTheClientEndsTheWaitForFiles() throws {
        let files = try Files()
        let server = try server(files)
        let copy = try files.folder.write("copy.pem", Bytes(files.contents("client.pem")))
        let client = try client(server) {
            $0.clientCertificate = ClientCertificate(.pem(certificates: copy, key: files.path("client.key")))
        }
        try files.folder.remove("copy.pem")
        #expect(mkfifo(copy, 0o600) == 0)
        let tasks = try (0..<2).map { _ in try client.start(Request(.get, "/"), on: nil, TaskHandlers { _, _ in }) }
        try eventually("the connections are open") { server.connectionCount == 1 }
        client.close()
        for task in tasks { #expect(task.isFinished) }
        // Ends the worker, which may not have opened the file yet.
        let end = open(copy, O_RDWR | O_CLOEXEC)
        try files.folder.remove("copy.pem")
        close(end)
    }

    @Test func invalidContentsAreReportedWithoutSecrets() throws {
        let files = try Files()
        func message(_ format: ClientCertificate.Format, _ password: String? = nil) throws -> String {
            try creationFailure(ClientCertificate(format, password: password))
        }
        let (certificate, key) = (try files.contents("client.pem"), try files.contents("encrypted.key"))
        let mismatch = try message(.pemContents(certificates: certificate, key: files.contents("other.key")))
        #expect(
            mismatch
                == "reading the client certificate failed: the private key does not match the certificate CN=client")
        let wrong = try message(.pemContents(certificates: certificate, key: key), "hunter2")
        #expect(wrong.hasSuffix("its password is wrong"), "\(wrong)")
        let archive = try message(.pkcs12Contents(files.contents("client.p12")), "hunter2")
        #expect(archive.hasSuffix("its password is wrong"), "\(archive)")
        let garbage = try message(.pkcs12Contents(Array("hunter2".utf8)))
        #expect(garbage.contains("the PKCS #12 archive is invalid"), "\(garbage)")
        let empty = try message(.pemContents(certificates: [], key: []))
        #expect(empty.contains("contains no certificate in PEM form"), "\(empty)")
        for text in [mismatch, wrong, archive, garbage, empty] { #expect(!text.contains("hunter2")) }
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

    /// One of 256 wrong passwords decrypts a key to bytes with a valid padding.
    @Test func eachWrongPasswordIsReportedAsOne() throws {
        let files = try Files()
        try files.openssl([
            "pkcs8", "-topk8", "-in", "client.key", "-out", "quick.key", "-passout", "pass:secret", "-iter", "1",
        ])
        let (certificate, key) = (try files.contents("client.pem"), try files.contents("quick.key"))
        func message(_ password: String) throws -> String {
            try creationFailure(
                ClientCertificate(.pemContents(certificates: certificate, key: key), password: password))
        }
        let messages = try Set((0..<3000).map { try message("wrong \($0)") })
        #expect(
            messages == [
                "reading the client certificate failed: the private key cannot be decrypted: its password is wrong"
            ])
        let long = try message(String(repeating: "a", count: 1025))
        #expect(long.hasSuffix("the private key is encrypted; its password is longer than 1024 bytes"), "\(long)")
    }

    @Test func certificateRequiresABaseURL() throws {
        let files = try Files()
        let error = #expect(throws: NightjarError.self) { try client(nil) { $0.clientCertificate = files.pem } }
        #expect(error?.kind == .invalidArgument)
    }
}
