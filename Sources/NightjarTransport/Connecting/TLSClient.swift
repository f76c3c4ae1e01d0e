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
        tls.certificateVerification = configuration.verifiesCertificates ? .fullVerification : .none
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

    /// A handler that checks the certificate against a name or an address (RFC 9110 section 4.3.4): that of the origin or,
    /// for the way to it, of the proxy.
    func handler(forHost host: String) throws -> NIOSSLClientHandler {
        let context = try self.context ?? NIOSSLContext(configuration: configuration)
        self.context = context
        // A server name is for names only (RFC 6066 section 3); an address is checked against the certificate's
        // addresses.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        // The dot that ends a full name is DNS's, and certificates are without it.
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : name)
    }
}
