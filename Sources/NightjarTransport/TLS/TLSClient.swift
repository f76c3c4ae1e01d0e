import NIOCore
import NightjarCrypto
import NightjarHTTP

/// TLS for the connections of one client. Clients with equal settings share the trust store, but not the sessions.
/// Used on the loop.
final class TLSClient {
    private let configuration: TransportConfiguration.TLS
    private let context: SharedTLSContext
    let identities: ClientIdentities
    private var sessions = TLSSessionCache()
    private var groups = ChosenGroups()
    /// The peers to which a handshake with the hybrid key exchange was reset and one without it succeeded.
    private var classicalPeers: Set<String> = []
    /// The client certificates of the caller's decisions, by peer, with a number that is unique for each certificate.
    private var chosenCertificates: [String: (identity: ClientIdentity, number: Int)] = [:]
    private var lastChosen = 0
    let pins: PinCheck
    /// Nil: keys are not logged.
    let keyLog: KeyLog?

    init(_ configuration: TransportConfiguration.TLS, on loop: any EventLoop) throws(NightjarError) {
        guard configuration.pins.isEmpty || configuration.verifiesCertificates else {
            throw NightjarError(
                .invalidArgument,
                "tls.pins requires verified certificates, but tls.verify is false; set tls.ca_file for a private "
                    + "certificate authority, or remove the pins")
        }
        self.configuration = configuration
        identities = try ClientIdentities(configuration, on: loop)
        pins = PinCheck(configuration)
        var settings = TLSSettings()
        settings.versions = configuration.versions
        settings.weakAlgorithms = configuration.weakAlgorithms
        settings.verifiesCertificates = configuration.verifiesCertificates
        settings.authorities = try TLSClient.authorities(configuration)
        settings.logsKeys = configuration.keyLogFile != nil
        // The file is created last, when all other settings are valid.
        keyLog = try configuration.keyLogFile.map { file throws(NightjarError) in try KeyLog(file) }
        context = .matching(settings)
    }

    /// Reads the certificate authorities, so that an error is reported when the client is created, not at the first
    /// request.
    private static func authorities(
        _ configuration: TransportConfiguration.TLS
    ) throws(NightjarError) -> TLSSettings.Authorities {
        let file = configuration.certificateAuthorityFile
        guard let text = configuration.certificateAuthorities else {
            guard let file else { return .system }
            do throws(TLSFailure) {
                let text = try Certificate.contents(ofFile: file)
                _ = try Certificate.certificates(pem: text)
                return .pem(text)
            } catch {
                throw NightjarError(
                    .tls, "reading the certificate authority file \(quoted(file)) as PEM failed: \(error.detail)")
            }
        }
        guard file == nil else {
            throw NightjarError(
                .invalidArgument, "tls.ca and tls.ca_file cannot be used together; set only one of them")
        }
        do throws(TLSFailure) {
            _ = try Certificate.certificates(pem: text)
            return .pem(text)
        } catch {
            throw NightjarError(.tls, "reading the certificate authorities as PEM failed: \(error.detail)")
        }
    }

    func shutDown() { identities.shutDown() }

    /// Creates a TLS handler. Unless verification is disabled, the handler verifies that the certificate is for the
    /// peer, which is the origin or a proxy.
    ///
    /// - Parameters:
    ///   - socket: The system socket, if the handler is directly above it.
    ///   - isClassical: Whether the hybrid key exchange is not offered.
    ///   - protocols: The versions of HTTP to offer with ALPN.
    ///   - request: Requests the caller's decisions; nil: the handshake waits for none. Must not call its argument before
    ///     it has returned.
    ///   - completion: Called once with the result of the handshake, unless this side closes the channel before.
    func handler(
        for peer: Peer, socket: SocketHandle?, isClassical: Bool, protocols: HTTPVersions,
        request: HandshakeChallenges.Request?,
        completion: @escaping (TLSHandler, Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> TLSHandler {
        var peer = peer
        peer.pinning = pins.mode(for: peer.host)
        var options = TLSConnection.Options()
        // Server Name Indication contains only names, without a trailing dot (RFC 6066 section 3).
        if NumericAddress.bytes(peer.host.utf8) == nil {
            options.serverName = peer.host.hasSuffix(".") ? String(peer.host.dropLast()) : peer.host
        }
        options.offersPostQuantum = !isClassical
        options.versions = configuration.versions(for: peer.host)
        options.applicationProtocols = protocols.applicationProtocols
        let key = key(of: peer)
        options.session = sessions.session(for: key)
        // The certificate belongs to the key of the session. A check may change the certificate during the handshake.
        let chosen = chosenCertificates[TLSClient.chosenKey(of: peer)]?.identity
        options.identity = { [identity = identities.identity(for: peer) ?? chosen] in identity }
        if let keyLog { options.logKeys = { line in keyLog.write(line) } }
        options.expectedGroup = groups.group(for: key, at: .now())
        let challenges = request.map { request in
            HandshakeChallenges(
                decidesTrust: configuration.verifiesCertificates,
                decidesCertificate: chosen == nil && configuration.clientCertificate(for: peer) == nil, request: request
            )
        }
        options.suspendsForCertificate = challenges.map { $0.decidesTrust || $0.decidesCertificate } ?? false
        options.check = { [pins, peer] chain in
            if let error = TLSClient.check(chain, peer) { return error }
            return peer.pinning.flatMap { pins.check(chain, of: peer.host, mode: $0) }
        }
        do throws(TLSFailure) {
            let connection = try TLSConnection(context.loaded(), options)
            return TLSHandler(
                connection, with: peer, of: self, sessionKey: key, socket: socket, challenges: challenges
            ) { [weak self] handler, result in
                self?.handshakeEnded(handler, result, key)
                if case .failure = result { self?.forgetChosenCertificate(of: peer) }
                completion(handler, result)
            }
        } catch {
            throw TLSError.describe(error, peer, isOpen: false)
        }
    }

    private func handshakeEnded(_ handler: TLSHandler, _ result: Result<Void, NightjarError>, _ key: String) {
        switch result {
        case .success: groups.insert(handler.group, for: key, at: .now())
        case .failure:
            // The offered session or key share may be the reason. A session of TLS 1.2 would otherwise be offered again.
            sessions.removeSessions(for: key)
            groups.remove(for: key)
        }
    }

    /// Returns whether connections to a peer must not offer the hybrid key exchange.
    func isClassical(_ peer: Peer) -> Bool {
        !classicalPeers.isEmpty && classicalPeers.contains(peer.place)
    }

    /// Records that a handshake succeeded without the hybrid key exchange, after one with it was reset.
    func rememberClassical(_ peer: Peer) {
        if classicalPeers.count >= TLSClient.maximumClassicalPeers { classicalPeers = [] }
        classicalPeers.insert(peer.place)
    }

    private static let maximumClassicalPeers = 256

    func store(_ new: [TLSSession], for key: String) {
        guard !new.isEmpty else { return }
        sessions.insert(new, for: key)
    }

    /// Returns the key of a peer's sessions. A Unix socket or a proxy may lead to servers of several names. A resumed
    /// connection has no certificates to compare with the pins, so a session is used only with the pinning mode and the
    /// client certificate with which it was established.
    private func key(of peer: Peer) -> String {
        var key = "\(peer.place) \(peer.host)\(identities.key(for: peer))"
        if let chosen = chosenCertificates[TLSClient.chosenKey(of: peer)] { key += " chosen \(chosen.number)" }
        return peer.pinning.map { "\(key) \($0.rawValue)" } ?? key
    }

    // MARK: Client certificates of the caller's decisions

    private static func chosenKey(of peer: Peer) -> String { "\(peer.place) \(peer.host)" }

    /// Records the client certificate that the caller has chosen for a peer. Later connections to the peer use it until
    /// a handshake with it fails.
    ///
    /// - Returns: The key of the sessions that are established with the certificate.
    func choose(_ identity: ClientIdentity, for peer: Peer) -> String {
        if chosenCertificates.count >= TLSClient.maximumChosen { chosenCertificates = [:] }
        lastChosen += 1
        chosenCertificates[TLSClient.chosenKey(of: peer)] = (identity, lastChosen)
        return key(of: peer)
    }

    func forgetChosenCertificate(of peer: Peer) {
        guard !chosenCertificates.isEmpty else { return }
        chosenCertificates[TLSClient.chosenKey(of: peer)] = nil
    }

    func forgetChosenCertificates() { chosenCertificates = [:] }

    /// Whether a connection to a peer may use a certificate that the caller has chosen.
    func hasChosenCertificate(for peer: Peer) -> Bool {
        !chosenCertificates.isEmpty && chosenCertificates[TLSClient.chosenKey(of: peer)] != nil
    }

    private static let maximumChosen = 256

    /// Returns the reason to reject a verified certificate chain, or nil.
    private static func check(_ chain: [Certificate], _ peer: Peer) -> NightjarError? {
        guard let certificate = chain.first else { return nil }
        let identity = ServerIdentity(names: certificate.dnsNames, addresses: certificate.addresses)
        guard !identity.isFor(peer.host) else { return nil }
        return NightjarError(
            .tls, "the certificate of \(peer.place) does not match the host: \(identity.description)", phase: .tls)
    }
}
