import NIOCore
import NIOSSL
import NightjarHTTP

/// TLS for the connections of one client. Clients with equal settings share the trust store.
final class TLSClient {
    private let context: SharedTLSContext

    init(_ configuration: TransportConfiguration) throws(NightjarError) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        // `handler(for:)` checks the host name.
        tls.certificateVerification = configuration.verifiesCertificates ? .noHostnameVerification : .none
        if let file = configuration.certificateAuthorityFile {
            do {
                // The file is read now, so that a wrong path is reported when the client is created, not at the first
                // request.
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
            } catch {
                throw NightjarError(
                    .tls, "reading the certificate authority file \(quoted(file)) as PEM failed: \(error)")
            }
        }
        context = .matching(tls)
    }

    /// Creates a TLS handler. Unless verification is disabled, the handler verifies that the certificate is for the
    /// peer, which is the origin or a proxy.
    func handler(for peer: Peer) throws -> NIOSSLClientHandler {
        let context = try self.context.loaded()
        // Server Name Indication contains only names, without a trailing dot (RFC 6066 section 3).
        let isAddress = NumericAddress.bytes(peer.host.utf8) != nil
        let name = peer.host.hasSuffix(".") ? String(peer.host.dropLast()) : peer.host
        let serverName = isAddress ? nil : name
        guard self.context.verifiesCertificates else {
            return try NIOSSLClientHandler(context: context, serverHostname: serverName)
        }
        return try NIOSSLClientHandler._makeSSLClientHandler(context: context, serverHostname: serverName) {
            certificate, channel in
            let identity = ServerIdentity(certificate)
            guard identity.isFor(peer.host) else {
                return channel.eventLoop.makeFailedFuture(
                    NightjarError(
                        .tls, "the certificate of \(peer.place) does not match the host: \(identity.description)",
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
