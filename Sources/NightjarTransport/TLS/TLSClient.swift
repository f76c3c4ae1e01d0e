import NIOCore
import NightjarCrypto
import NightjarHTTP

/// TLS for the connections of one client. Clients with equal settings share the trust store, but not the sessions.
/// Used on the loop.
final class TLSClient {
    private let configuration: TransportConfiguration.TLS
    private let context: SharedTLSContext
    private var sessions = TLSSessionCache()

    init(_ configuration: TransportConfiguration.TLS) throws(NightjarError) {
        self.configuration = configuration
        var settings = TLSSettings()
        settings.versions = configuration.versions
        settings.weakAlgorithms = configuration.weakAlgorithms
        settings.applicationProtocols = ["http/1.1"]
        settings.verifiesCertificates = configuration.verifiesCertificates
        if let file = configuration.certificateAuthorityFile {
            do throws(TLSFailure) {
                // The file is read now, so that a wrong path is reported when the client is created, not at the first
                // request.
                let text = try Certificate.contents(ofFile: file)
                _ = try Certificate.certificates(pem: text)
                settings.authorities = .pem(text)
            } catch {
                throw NightjarError(
                    .tls, "reading the certificate authority file \(quoted(file)) as PEM failed: \(error.detail)")
            }
        }
        context = .matching(settings)
    }

    /// Creates a TLS handler. Unless verification is disabled, the handler verifies that the certificate is for the
    /// peer, which is the origin or a proxy.
    ///
    /// - Parameters:
    ///   - socket: The system socket, if the handler is directly above it.
    ///   - completion: Called once with the result of the handshake.
    func handler(
        for peer: Peer, socket: SocketHandle?, completion: @escaping (Result<TLSHandler, NightjarError>) -> Void
    ) throws(NightjarError) -> TLSHandler {
        var options = TLSConnection.Options()
        // Server Name Indication contains only names, without a trailing dot (RFC 6066 section 3).
        if NumericAddress.bytes(peer.host.utf8) == nil {
            options.serverName = peer.host.hasSuffix(".") ? String(peer.host.dropLast()) : peer.host
        }
        options.versions = configuration.versions(for: peer.host)
        options.session = sessions.session(for: TLSClient.key(of: peer))
        options.check = { chain in TLSClient.check(chain, peer) }
        do throws(TLSFailure) {
            let connection = try TLSConnection(context.loaded(), options)
            return TLSHandler(connection, with: peer, of: self, socket: socket) { [weak self] result in
                // The offered session may be the reason. A session of TLS 1.2 would otherwise be offered again.
                if case .failure = result { self?.sessions.removeSessions(for: TLSClient.key(of: peer)) }
                completion(result)
            }
        } catch {
            throw TLSError.describe(error, peer, isOpen: false)
        }
    }

    func store(_ new: [TLSSession], for peer: Peer) {
        guard !new.isEmpty else { return }
        sessions.insert(new, for: TLSClient.key(of: peer))
    }

    /// A Unix socket or a proxy may lead to servers of several names.
    private static func key(of peer: Peer) -> String { "\(peer.place) \(peer.host)" }

    /// Returns the reason to reject a verified certificate chain, or nil.
    private static func check(_ chain: [Certificate], _ peer: Peer) -> NightjarError? {
        guard let certificate = chain.first else { return nil }
        let identity = ServerIdentity(names: certificate.dnsNames, addresses: certificate.addresses)
        guard !identity.isFor(peer.host) else { return nil }
        return NightjarError(
            .tls, "the certificate of \(peer.place) does not match the host: \(identity.description)", phase: .tls)
    }
}
