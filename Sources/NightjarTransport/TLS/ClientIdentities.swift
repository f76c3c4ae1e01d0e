import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// The client certificates of one client.
///
/// Used on the loop. `Sendable` only because the results of worker threads retain the object.
final class ClientIdentities: @unchecked Sendable {
    typealias Certificate = TransportConfiguration.TLS.ClientCertificate

    /// The state of a file, by which a change is recognized.
    private struct FileVersion: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int

        /// Nil if the file does not exist.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            seconds = status.st_mtim.tv_sec
            nanoseconds = status.st_mtim.tv_nsec
        }
    }

    /// The content of a certificate's files.
    private struct Content {
        var identity: ClientIdentity
        var versions: [FileVersion?]
    }

    private struct Loaded {
        /// Differs between the certificates of the client.
        let number: Int
        var content: Content
        /// Incremented when changed files have been read.
        var generation = 0
    }

    private let configuration: TransportConfiguration.TLS
    private var loaded: [Certificate: Loaded] = [:]
    /// The thread that checks and reads files. Started with the first check.
    private let threads: WorkerThreads
    /// The connection attempts that wait for the end of a check, by certificate.
    private var waiting: [Certificate: [() -> Void]] = [:]

    /// Reads the certificates. Blocks.
    ///
    /// - Throws: `tls` if a certificate or a key is invalid or cannot be read.
    init(_ configuration: TransportConfiguration.TLS, on loop: any EventLoop) throws(NightjarError) {
        self.configuration = configuration
        threads = WorkerThreads(1, for: loop)
        let certificates =
            [configuration.clientCertificate].compactMap { $0 } + configuration.clientCertificatesByHost.values
        for certificate in certificates where loaded[certificate] == nil {
            loaded[certificate] = Loaded(number: loaded.count, content: try ClientIdentities.content(of: certificate))
        }
    }

    func shutDown() {
        threads.shutDown()
        waiting = [:]
    }

    /// Returns the certificate that a peer may receive, as last read.
    func identity(for peer: Peer) -> ClientIdentity? {
        configuration.clientCertificate(for: peer).flatMap { loaded[$0]?.content.identity }
    }

    /// Returns a text that differs between the certificates that a peer receives, and is empty without one. A session
    /// must be resumed only with the certificate with which it was established.
    func key(for peer: Peer) -> String {
        guard !loaded.isEmpty, let certificate = configuration.clientCertificate(for: peer),
            let entry = loaded[certificate]
        else { return "" }
        return " \(entry.number).\(entry.generation)"
    }

    // MARK: Changed files

    /// Returns whether the certificate that a peer may receive is in files.
    func areInFiles(for peer: Peer) -> Bool {
        guard !loaded.isEmpty, let certificate = configuration.clientCertificate(for: peer) else { return false }
        return !certificate.format.files.isEmpty
    }

    /// Reads the files of a peer's certificate again if they have changed, on a worker thread, and then calls `then` on
    /// the loop. Concurrent checks of one certificate share one check.
    ///
    /// If the new content is invalid, the earlier content remains in use: a program that renews the certificate may not
    /// have written all files yet. The earlier content also remains in use if no thread can be started.
    ///
    /// - Parameter then: Not called if the client is closed before.
    func check(for peer: Peer, then: @escaping () -> Void) {
        guard let certificate = configuration.clientCertificate(for: peer), let entry = loaded[certificate] else {
            return then()
        }
        guard waiting[certificate] == nil else {
            waiting[certificate]?.append(then)
            return
        }
        waiting[certificate] = [then]
        threads.run("reading a client certificate") { [versions = entry.content.versions] () throws(NightjarError) in
            ClientIdentities.changed(certificate, since: versions)
        } then: { [self] result in
            if case .success(let content?) = result { replace(certificate, content) }
            for then in waiting.removeValue(forKey: certificate) ?? [] { then() }
        }
    }

    private func replace(_ certificate: Certificate, _ content: Content) {
        loaded[certificate]?.content = content
        loaded[certificate]?.generation += 1
    }

    /// Returns the content of a certificate's files. Nil if the files have not changed, or if they are invalid.
    private static func changed(_ certificate: Certificate, since versions: [FileVersion?]) -> Content? {
        guard ClientIdentities.versions(of: certificate) != versions else { return nil }
        return try? content(of: certificate)
    }

    private static func versions(of certificate: Certificate) -> [FileVersion?] {
        certificate.format.files.map(FileVersion.init)
    }

    // MARK: Reading

    private static func content(of certificate: Certificate) throws(NightjarError) -> Content {
        // A change while the files are read is found by the next check.
        let versions = versions(of: certificate)
        return Content(identity: try read(certificate), versions: versions)
    }

    /// Reads a certificate. Blocks.
    ///
    /// - Throws: `tls` if the certificate or its key is invalid or cannot be read.
    static func read(_ certificate: Certificate) throws(NightjarError) -> ClientIdentity {
        do throws(TLSFailure) {
            return try identity(certificate)
        } catch {
            let file = certificate.format.files.first.map { " \(quoted($0))" } ?? ""
            throw NightjarError(.tls, "reading the client certificate\(file) failed: \(error.detail)", phase: .tls)
        }
    }

    private static func identity(_ certificate: Certificate) throws(TLSFailure) -> ClientIdentity {
        let password = certificate.password
        switch certificate.format {
        case .pem(let certificates, let key):
            return try ClientIdentity(
                certificates: contents(of: certificates), key: contents(of: key), password: password)
        case .pkcs12(let file): return try ClientIdentity(pkcs12: contents(of: file), password: password)
        case .pemContents(let certificates, let key):
            return try ClientIdentity(certificates: certificates, key: key, password: password)
        case .pkcs12Contents(let archive): return try ClientIdentity(pkcs12: archive, password: password)
        }
    }

    private static func contents(of file: String) throws(TLSFailure) -> [UInt8] {
        do throws(TLSFailure) {
            return try NightjarCrypto.Certificate.contents(ofFile: file)
        } catch {
            throw TLSFailure(error.reason, "\(quoted(file)): \(error.detail)")
        }
    }
}
