import Glibc
import NightjarCrypto
import NightjarHTTP

/// The client certificates of one client, read from their files. Used on the loop.
final class ClientIdentities {
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
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            seconds = status.st_mtim.tv_sec
            nanoseconds = status.st_mtim.tv_nsec
        }
    }

    private struct Loaded {
        var identity: ClientIdentity
        var versions: [FileVersion?]
        /// Incremented when changed files have been read.
        var generation = 0
    }

    private let configuration: TransportConfiguration.TLS
    private var loaded: [Certificate: Loaded] = [:]

    /// - Throws: `tls` if a certificate or a key cannot be read.
    init(_ configuration: TransportConfiguration.TLS) throws(NightjarError) {
        self.configuration = configuration
        let certificates =
            [configuration.clientCertificate].compactMap { $0 } + configuration.clientCertificatesByHost.values
        for certificate in certificates {
            let versions = ClientIdentities.versions(of: certificate)
            loaded[certificate] = Loaded(identity: try ClientIdentities.read(certificate), versions: versions)
        }
    }

    /// Returns the certificate that a peer may receive. Reads its files again if they have changed.
    func identity(for peer: Peer) -> ClientIdentity? {
        guard let certificate = configuration.clientCertificate(for: peer) else { return nil }
        refresh(certificate)
        return loaded[certificate]?.identity
    }

    /// Returns a text that differs between the certificates that a peer receives, and is empty without one. A session
    /// must be resumed only with the certificate with which it was established.
    func key(for peer: Peer) -> String {
        guard !loaded.isEmpty, let certificate = configuration.clientCertificate(for: peer) else { return "" }
        refresh(certificate)
        return " \(certificate.format) \(loaded[certificate]?.generation ?? 0)"
    }

    /// Reads the files of a certificate if they have changed. If they are invalid, the earlier content remains in use: a
    /// program that renews the certificate may not have written all files yet.
    private func refresh(_ certificate: Certificate) {
        let versions = ClientIdentities.versions(of: certificate)
        guard var entry = loaded[certificate], entry.versions != versions,
            let identity = try? ClientIdentities.read(certificate)
        else { return }
        entry.identity = identity
        entry.versions = versions
        entry.generation += 1
        loaded[certificate] = entry
    }

    private static func versions(of certificate: Certificate) -> [FileVersion?] {
        switch certificate.format {
        case .pem(let certificates, let key): [FileVersion(certificates), FileVersion(key)]
        case .pkcs12(let file): [FileVersion(file)]
        }
    }

    /// - Throws: `tls` if the certificate or its key cannot be read.
    static func read(_ certificate: Certificate) throws(NightjarError) -> ClientIdentity {
        do throws(TLSFailure) {
            switch certificate.format {
            case .pem(let certificates, let key):
                return try ClientIdentity(
                    certificates: contents(of: certificates), key: contents(of: key), password: certificate.password)
            case .pkcs12(let file):
                return try ClientIdentity(pkcs12: contents(of: file), password: certificate.password)
            }
        } catch {
            let file =
                switch certificate.format {
                case .pem(let certificates, _): certificates
                case .pkcs12(let file): file
                }
            throw NightjarError(
                .tls, "reading the client certificate \(quoted(file)) failed: \(error.detail)", phase: .tls)
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
