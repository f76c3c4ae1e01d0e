internal import CNIOBoringSSL
import NightjarSystem

/// The client side of one TLS connection, without I/O: the caller passes the received bytes and sends the encrypted
/// bytes. RFC 8446, RFC 5246.
///
///     handshaking ──handshake() returns true──▶ open ──close_notify received──▶ ended
///       │     ▲ └──────────────────────────────────┴──an error is thrown──▶ failed
///       ▼     │
///      suspended: the server has requested a certificate; resume(with:) continues
///
/// After each call, the caller sends ``pendingOutput``, also after an error: it may contain an alert for the peer. Not
/// thread-safe.
package final class TLSConnection {
    /// The result of ``decrypt(_:into:)``.
    package enum Decrypted: Equatable {
        /// The number of decrypted bytes, at least 1.
        case bytes(Int)
        /// More bytes of the peer are needed.
        case needsInput
        /// The peer has ended its direction with close_notify.
        case ended
    }

    /// The differences between the connections of one context.
    package struct Options {
        /// The name for Server Name Indication (RFC 6066 section 3). Nil: the extension is not sent.
        package var serverName: String?
        /// The permitted versions of TLS. Nil: those of the context's settings.
        package var versions: ClosedRange<TLSVersion>?
        /// The protocols for ALPN in the format of the extension (RFC 7301 section 3.1). Empty: those of the context's
        /// settings.
        package var applicationProtocols: [UInt8] = []
        /// The session to resume. Nil: a full handshake.
        package var session: TLSSession?
        /// Whether the hybrid key exchange X25519MLKEM768 is offered first. Its ClientHello does not fit into one
        /// packet, and some broken middleboxes reset such connections.
        package var offersPostQuantum = true
        /// The group of the key exchange that the server has chosen for an earlier connection (``groupNumber``). The
        /// ClientHello then has a key share for this group only, because a further one costs time. It still offers all
        /// groups: a server that chooses another one requests its share (RFC 8446 section 4.1.4). Nil: a share for the
        /// hybrid key exchange, and one for a classical group.
        package var expectedGroup: UInt16?
        /// Checks the verified certificate chain, the server's certificate first. Returns the reason to reject it, or
        /// nil. Called during a full handshake, unless verification is disabled.
        package var check: ([Certificate]) -> (any Error)? = { _ in nil }

        /// Returns the client certificate, or nil. Called when the server requests a certificate.
        package var identity: () throws -> ClientIdentity? = { nil }
        /// Whether the handshake is suspended when the server requests a certificate, until
        /// ``TLSConnection/resume(with:)`` is called.
        package var suspendsForCertificate = false

        /// Receives the lines of the key log (draft-ietf-tls-keylogfile), without a line end. Called during the
        /// handshake if ``TLSSettings/logsKeys`` is true.
        package var logKeys: ((UnsafeRawBufferPointer) -> Void)?

        package init() {}
    }

    private let ssl: OpaquePointer
    private let context: TLSContext
    private let buffers: UnsafeMutablePointer<TLSBuffers>
    /// Whether the hybrid key exchange X25519MLKEM768 is offered to the server if TLS 1.3 is permitted.
    package let offersPostQuantum: Bool
    private var identity: () throws -> ClientIdentity?
    private var suspendsForCertificate: Bool
    /// Whether the server has requested a certificate, and the handshake waits for ``resume(with:)``.
    package private(set) var isSuspended = false
    /// Whether the server has requested a client certificate, and the client had none.
    package private(set) var lacksCertificate = false
    private let checkChain: ([Certificate]) -> (any Error)?
    let logKeys: ((UnsafeRawBufferPointer) -> Void)?
    /// The sessions that ``takeSessions()`` has not returned.
    private var sessions: [TLSSession] = []
    /// Whether the peer has ended its direction with close_notify.
    private var hasEnded = false
    /// Whether the server has requested a client certificate in this handshake.
    private var certificateWasRequested = false
    /// The reason why a callback has ended the handshake. The handshake throws it.
    var failure: TLSFailure?
    /// The error of ``Options/check`` or ``Options/identity`` that has ended the handshake.
    package private(set) var rejection: (any Error)?

    package init(_ context: TLSContext, _ options: Options) throws(TLSFailure) {
        guard let ssl = SSL_new(context.handle) else { throw TLSFailure.latest() }
        self.ssl = ssl
        self.context = context
        checkChain = options.check
        identity = options.identity
        logKeys = options.logKeys
        suspendsForCertificate = options.suspendsForCertificate
        offersPostQuantum = options.offersPostQuantum
        buffers = .allocate(capacity: 1)
        buffers.initialize(to: TLSBuffers())
        // The deinitializer runs only if all properties are set, also when this initializer throws.
        guard let bio = TLSBuffers.bio(for: buffers) else { throw TLSFailure(.outOfMemory, "out of memory") }
        // BoringSSL takes one reference, because both directions use the same object.
        SSL_set_bio(ssl, bio, bio)
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        SSL_set_connect_state(ssl)
        if let name = options.serverName, SSL_set_tlsext_host_name(ssl, name) != 1 { throw TLSFailure.latest() }
        if let versions = options.versions {
            SSL_set_min_proto_version(ssl, versions.lowerBound.number)
            SSL_set_max_proto_version(ssl, versions.upperBound.number)
        }
        let protocols = options.applicationProtocols
        // Unlike other functions, this one returns 0 on success.
        if !protocols.isEmpty, SSL_set_alpn_protos(ssl, protocols, protocols.count) != 0 { throw TLSFailure.latest() }
        if let session = options.session { SSL_set_session(ssl, session.handle) }
        if !options.offersPostQuantum {
            let groups = [SSL_GROUP_X25519, SSL_GROUP_SECP256R1, SSL_GROUP_SECP384R1].map(UInt16.init)
            guard SSL_set1_group_ids(ssl, groups, groups.count) == 1 else { throw TLSFailure.latest() }
        }
        // A group that is not offered is ignored.
        if let group = options.expectedGroup, SSL_set1_client_key_shares(ssl, [group], 1) != 1 { ERR_clear_error() }
    }

    deinit {
        SSL_free(ssl)
        buffers.pointee.deallocate()
        buffers.deinitialize(count: 1)
        buffers.deallocate()
    }

    // MARK: Handshake

    /// Continues the handshake. The first call, without input, writes the ClientHello.
    ///
    /// - Parameter input: The received bytes. The method removes the bytes that it has used. Bytes may remain after the
    ///   handshake, and belong to ``decrypt(_:into:)``.
    /// - Returns: Whether the handshake is complete. If it is not, it needs more input, or it ``isSuspended``.
    package func handshake(_ input: inout UnsafeRawBufferPointer) throws(TLSFailure) -> Bool {
        let result = use(&input) { SSL_do_handshake(ssl) }
        if result == 1 { return true }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_X509_LOOKUP: return false
        // BoringSSL adds no error to its queue.
        case SSL_ERROR_ZERO_RETURN: throw TLSFailure(.handshake, "the server sent close_notify")
        default: throw takeFailure()
        }
    }

    /// Checks the verified chain for weak algorithms, and then with the caller's ``Options/check``.
    ///
    /// - Returns: The reason to reject the chain, or nil.
    func check(_ chain: [Certificate]) -> TLSFailure? {
        for (index, certificate) in chain.enumerated() {
            let isAnchor = index == chain.count - 1 && index > 0
            let weakness = certificate.weakness(allowing: context.settings.weakAlgorithms, isAnchor: isAnchor)
            guard let weakness else { continue }
            let clause = index == 0 ? weakness : TLSContext.inChain(certificate, weakness)
            return TLSFailure(.invalidCertificate(clause), "weak certificate")
        }
        guard let error = checkChain(chain) else { return nil }
        rejection = error
        return TLSFailure(.rejectedCertificate, "the certificate was rejected")
    }

    /// The result of the callback for a client certificate, as BoringSSL expects it.
    enum Provision: CInt {
        case failed = 0
        case done = 1
        /// The handshake calls the callback again when it continues.
        case suspended = -1
    }

    /// Provides the client certificate that the server has requested. Without a certificate, the handshake continues:
    /// the server may then reject the connection.
    func provideCertificate() -> Provision {
        certificateWasRequested = true
        guard !suspendsForCertificate else {
            isSuspended = true
            return .suspended
        }
        do {
            guard let identity = try identity() else {
                lacksCertificate = true
                return .done
            }
            for (index, certificate) in identity.chain.enumerated() {
                let isAdded =
                    index == 0
                    ? SSL_use_certificate(ssl, certificate.x509) : SSL_add1_chain_cert(ssl, certificate.x509)
                guard isAdded == 1 else { return .failed }
            }
            return SSL_use_PrivateKey(ssl, identity.key) == 1 ? .done : .failed
        } catch {
            rejection = error
            failure = TLSFailure(.unusableIdentity, "the client certificate cannot be used")
            return .failed
        }
    }

    /// Ends the suspension of the handshake. The next call of ``handshake(_:)`` continues it.
    ///
    /// - Parameter chosen: The client certificate. Nil: ``Options/identity`` decides.
    package func resume(with chosen: ClientIdentity?) {
        suspendsForCertificate = false
        isSuspended = false
        if let chosen { identity = { chosen } }
    }

    /// The names of the certificate authorities whose client certificates the server accepts, in the form of RFC 2253,
    /// at most 256. Empty if the server has not sent names. Valid while the handshake is suspended.
    package var acceptedAuthorities: [String] {
        guard let names = SSL_get_client_CA_list(ssl) else { return [] }
        return (0..<min(sk_X509_NAME_num(names), TLSConnection.maximumAuthorities)).compactMap { index in
            sk_X509_NAME_value(names, index).map { Certificate.text(of: $0) }
        }
    }

    // MARK: Data

    /// Decrypts received bytes.
    ///
    /// - Parameters:
    ///   - input: The received bytes. The method removes the bytes that it has used.
    ///   - output: The memory for the decrypted bytes, at least one byte.
    package func decrypt(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TLSFailure) -> Decrypted {
        guard !hasEnded else { return .ended }
        let count = CInt(clamping: output.count)
        let result = use(&input) { SSL_read(ssl, output.baseAddress, count) }
        if result > 0 { return .bytes(Int(result)) }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .needsInput
        case SSL_ERROR_ZERO_RETURN:
            hasEnded = true
            return .ended
        default: throw takeFailure()
        }
    }

    /// Encrypts bytes. The result is added to ``pendingOutput``.
    package func encrypt(_ bytes: UnsafeRawBufferPointer) throws(TLSFailure) {
        var rest = bytes
        while !rest.isEmpty {
            let written = SSL_write(ssl, rest.baseAddress, CInt(clamping: rest.count))
            guard written > 0 else { throw takeFailure() }
            rest = UnsafeRawBufferPointer(rebasing: rest[Int(written)...])
        }
    }

    /// Adds close_notify to ``pendingOutput``, if the handshake is complete.
    package func close() {
        SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// The encrypted bytes to send. Valid until the next call of another method.
    package var pendingOutput: UnsafeRawBufferPointer { buffers.pointee.pendingOutput }

    /// Removes the bytes of ``pendingOutput``, because the caller has sent or copied them.
    package func removeOutput() { buffers.pointee.removeOutput() }

    // MARK: Results

    /// Returns the sessions that the server has issued since the last call, at most 4. A server of TLS 1.3 issues them
    /// after the handshake, so they are received by ``decrypt(_:into:)``.
    package func takeSessions() -> [TLSSession] {
        guard !sessions.isEmpty else { return [] }
        defer { sessions = [] }
        return sessions
    }

    func received(_ session: TLSSession) {
        // A server may issue any number of sessions. Further ones are useless.
        if sessions.count < TLSConnection.maximumSessions { sessions.append(session) }
    }

    /// The protocol chosen with ALPN. Nil if the server has not chosen one.
    package var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: CUnsignedInt = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// The version, such as `TLSv1.3`.
    package var version: String { String(cString: SSL_get_version(ssl)) }
    /// The cipher suite by its IANA name, such as `TLS_AES_128_GCM_SHA256`. Empty if none has been chosen yet.
    package var cipher: String {
        guard let cipher = SSL_get_current_cipher(ssl), let name = SSL_CIPHER_standard_name(cipher) else { return "" }
        return String(cString: name)
    }
    /// The group of the key exchange, such as `X25519MLKEM768`. Empty if there is none, as with the server's RSA key.
    package var group: String { SSL_get_group_name(SSL_get_group_id(ssl)).map { String(cString: $0) } ?? "" }
    /// The number of the group (RFC 8446 section 4.2.7). 0 if there is none.
    package var groupNumber: UInt16 { SSL_get_group_id(ssl) }
    package var isResumed: Bool { SSL_session_reused(ssl) == 1 }

    /// The certificates that the server has sent, its own first. A resumed connection returns those of the original
    /// connection.
    package var servedChain: [Certificate] {
        guard let chain = SSL_get_peer_full_cert_chain(ssl) else { return [] }
        return (0..<sk_X509_num(chain)).compactMap { sk_X509_value(chain, $0).map { Certificate($0) } }
    }

    // MARK: Calls of BoringSSL

    private func use(_ input: inout UnsafeRawBufferPointer, _ call: () -> CInt) -> CInt {
        buffers.pointee.input = input
        let result = call()
        input = buffers.pointee.input
        buffers.pointee.input = UnsafeRawBufferPointer(start: nil, count: 0)
        return result
    }

    private func takeFailure() -> TLSFailure {
        let latest = TLSFailure.latest()
        if buffers.pointee.isOutOfMemory { return TLSFailure(.outOfMemory, "out of memory") }
        if let failure { return failure }
        // Servers report a missing certificate with different alerts: certificate_required only in TLS 1.3.
        if certificateWasRequested, case .alert(let code) = latest.reason,
            TLSConnection.certificateAlerts.contains(code)
        {
            return TLSFailure(
                lacksCertificate ? .clientCertificateRequired : .clientCertificateRejected, latest.detail)
        }
        return latest
    }

    /// Returns the object of a BoringSSL connection.
    static func of(_ ssl: OpaquePointer?) -> TLSConnection? {
        guard let ssl, let pointer = SSL_get_ex_data(ssl, 0) else { return nil }
        return Unmanaged<TLSConnection>.fromOpaque(pointer).takeUnretainedValue()
    }

    private static let maximumSessions = 4
    /// Servers usually send fewer than ten names.
    private static let maximumAuthorities = 256
    /// handshake_failure, no_certificate, bad_certificate, unsupported_certificate, certificate_unknown, access_denied
    /// and certificate_required (RFC 8446 section 6).
    private static let certificateAlerts: Set<UInt8> = [40, 41, 42, 43, 46, 49, 116]
}
