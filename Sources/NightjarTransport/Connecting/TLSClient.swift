import NIOCore
import NIOSSL
import NightjarHTTP

/// TLS for the connections of one client. The trust store is read when the first secure connection is made.
final class TLSClient {
    private let configuration: TLSConfiguration
    private var context: NIOSSLContext?

    init(_ configuration: TransportConfiguration) throws(NightjarError) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        // The name is looked at by us: see ServerIdentity.
        tls.certificateVerification = configuration.verifiesCertificates ? .noHostnameVerification : .none
        if let file = configuration.certificateAuthorityFile {
            do {
                // Read now, so that a wrong path is an error of the configuration and not of the first call.
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
            } catch {
                throw NightjarError(
                    .tls, "the file of certificate authorities \(quoted(file)) cannot be read as PEM: \(error)")
            }
        }
        self.configuration = tls
    }

    /// A handler that checks the certificate against the peer's name or address: the origin's or, for the way to it, the
    /// proxy's.
    func handler(for peer: Counterpart) throws -> NIOSSLClientHandler {
        let context = try self.context ?? NIOSSLContext(configuration: configuration)
        self.context = context
        // A server name is for names only (RFC 6066 section 3), and is without the dot that ends a full name.
        let isAddress = NumericAddress.bytes(peer.host.utf8) != nil
        let name = peer.host.hasSuffix(".") ? String(peer.host.dropLast()) : peer.host
        let serverName = isAddress ? nil : name
        guard configuration.certificateVerification != .none else {
            return try NIOSSLClientHandler(context: context, serverHostname: serverName)
        }
        return try NIOSSLClientHandler._makeSSLClientHandler(context: context, serverHostname: serverName) {
            certificate, channel in
            let identity = ServerIdentity(certificate)
            guard identity.isFor(peer.host) else {
                return channel.eventLoop.makeFailedFuture(
                    NightjarError(
                        .tls, "the certificate of \(peer.place) is for another name: \(identity.description)",
                        phase: .tls))
            }
            return channel.eventLoop.makeSucceededVoidFuture()
        }
    }
}

extension ServerIdentity {
    fileprivate init(_ certificate: NIOSSLCertificate) {
        for name in certificate._subjectAlternativeNames() {
            switch name.nameType {
            case .dnsName: names.append(Array(name.contents))
            case .ipAddress: addresses.append(Array(name.contents))
            default: continue
            }
        }
    }
}
