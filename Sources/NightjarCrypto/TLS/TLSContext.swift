internal import CNIOBoringSSL
import NightjarSystem

/// The trust store and the algorithms for TLS connections with equal settings. Immutable and thread-safe.
///
/// Loading the system's certificate authorities takes some milliseconds and about 1 MB.
package final class TLSContext: @unchecked Sendable {
    package let settings: TLSSettings
    let handle: OpaquePointer

    /// - Throws: `invalidSettings` if an ALPN protocol is invalid or the certificate authorities cannot be read;
    ///   `outOfMemory`.
    package init(_ settings: TLSSettings) throws(TLSFailure) {
        guard let handle = SSL_CTX_new(TLS_method()) else { throw TLSFailure.latest() }
        self.settings = settings
        self.handle = handle
        // The deinitializer runs only if all properties are set, also when this initializer throws.
        try configure()
    }

    deinit { SSL_CTX_free(handle) }

    private func configure() throws(TLSFailure) {
        let settings = settings
        SSL_CTX_set_min_proto_version(handle, settings.versions.lowerBound.number)
        SSL_CTX_set_max_proto_version(handle, settings.versions.upperBound.number)
        guard SSL_CTX_set_strict_cipher_list(handle, TLSContext.ciphers(allowing: settings.weakAlgorithms)) == 1
        else { throw TLSFailure.latest() }
        let signatures = TLSContext.signatures(allowing: settings.weakAlgorithms)
        guard SSL_CTX_set_verify_algorithm_prefs(handle, signatures, signatures.count) == 1 else {
            throw TLSFailure.latest()
        }
        // Servers must not depend on the order of extensions (RFC 8446 section 9.3), and must ignore unknown values.
        SSL_CTX_set_permute_extensions(handle, 1)
        SSL_CTX_set_grease_enabled(handle, 1)
        try offerProtocols(settings.applicationProtocols)
        // Resumable sessions are delivered to the connection, see `TLSConnection.takeSessions()`.
        SSL_CTX_set_session_cache_mode(handle, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL)
        SSL_CTX_sess_set_new_cb(handle) { ssl, session in
            guard let session, let connection = TLSConnection.of(ssl) else { return 0 }
            connection.received(TLSSession(adopting: session))
            return 1
        }
        SSL_CTX_set_cert_cb(
            handle,
            { ssl, _ in
                guard let connection = TLSConnection.of(ssl) else { return 0 }
                return connection.provideCertificate().rawValue
            }, nil)
        if settings.logsKeys {
            SSL_CTX_set_keylog_callback(handle) { ssl, line in
                guard let line, let connection = TLSConnection.of(ssl) else { return }
                connection.logKeys?(UnsafeRawBufferPointer(start: line, count: strlen(line)))
            }
        }
        guard settings.verifiesCertificates else { return }
        guard let store = SSL_CTX_get_cert_store(handle) else { throw TLSFailure.latest() }
        try TrustStore.add(settings.authorities, to: store)
        SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_verify_depth(handle, TLSContext.maximumIntermediates)
        SSL_CTX_set_cert_verify_callback(
            handle,
            { context, _ in
                guard let context else { return 0 }
                return TLSContext.verify(context) ? 1 : 0
            }, nil)
    }

    private func offerProtocols(_ names: [String]) throws(TLSFailure) {
        guard !names.isEmpty else { return }
        var list: [UInt8] = []
        for name in names {
            guard let length = UInt8(exactly: name.utf8.count), length > 0 else {
                throw TLSFailure(.invalidSettings, "the ALPN protocol \(name) must have 1 to 255 bytes")
            }
            list.append(length)
            list += name.utf8
        }
        // Unlike other functions, this one returns 0 on success.
        guard SSL_CTX_set_alpn_protos(handle, list, list.count) == 0 else { throw TLSFailure.latest() }
    }

    /// Verifies the server's certificate chain: signatures, trust, time, purpose, name constraints, depth, and then the
    /// checks of the connection's caller.
    private static func verify(_ context: OpaquePointer) -> Bool {
        guard let ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()),
            let connection = TLSConnection.of(OpaquePointer(ssl))
        else { return false }
        guard X509_verify_cert(context) == 1, let chain = X509_STORE_CTX_get0_chain(context) else {
            let code = X509_STORE_CTX_get_error(context)
            connection.failure = TLSFailure(.invalidCertificate(problem(code, context)), "certificate error \(code)")
            return false
        }
        let certificates = (0..<sk_X509_num(chain)).compactMap { sk_X509_value(chain, $0).map { Certificate($0) } }
        if let failure = connection.check(certificates) {
            connection.failure = failure
            X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION)
            return false
        }
        return true
    }

    /// Returns a clause about the server's certificate for an error of `X509_verify_cert`.
    private static func problem(_ code: CInt, _ context: OpaquePointer) -> String {
        let problem = problem(code)
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_INVALID_PURPOSE:
            // These errors are about a single certificate, which may be another one than the server's.
            guard X509_STORE_CTX_get_error_depth(context) > 0, let x509 = X509_STORE_CTX_get_current_cert(context)
            else { return problem }
            return inChain(Certificate(x509), problem)
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
            // BoringSSL also reports these errors if it stops at the maximum depth.
            guard let chain = X509_STORE_CTX_get0_chain(context), sk_X509_num(chain) >= maximumIntermediates + 2
            else { return problem }
            return "its chain has more than \(maximumIntermediates) intermediate certificates"
        default: return problem
        }
    }

    /// Returns a clause about the server's certificate for a problem with another certificate of its chain.
    static func inChain(_ certificate: Certificate, _ problem: String) -> String {
        "its chain contains the certificate \(certificate.subject), which is rejected: \(problem)"
    }

    private static func problem(_ code: CInt) -> String {
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED: "it has expired"
        case X509_V_ERR_CERT_NOT_YET_VALID: "it is not valid yet; check the system clock"
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: "it is self-signed; to trust it, set tls.ca_file to it"
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: "its root certificate is not trusted; \(advice)"
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            "its issuer is unknown, or the server did not send an intermediate certificate; \(advice)"
        case X509_V_ERR_INVALID_PURPOSE: "its extended key usage does not permit servers"
        case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION:
            "its issuer must not issue certificates for its names (name constraints)"
        case X509_V_ERR_INVALID_CA: "its issuer is not a certificate authority"
        case X509_V_ERR_CERT_SIGNATURE_FAILURE: "its signature, or one in its chain, is invalid"
        default: X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)"
        }
    }

    private static let advice = "for a private certificate authority, set tls.ca_file"

    /// The maximum number of certificates between the server's and the trusted one. Public chains usually have one or
    /// two.
    private static let maximumIntermediates: CInt = 10

    /// The cipher suites of TLS 1.2. Those of TLS 1.3 are all strong and are not configurable.
    private static func ciphers(allowing weak: Set<WeakAlgorithm>) -> String {
        var list = "ECDHE+AESGCM:ECDHE+CHACHA20"
        // BoringSSL has no keyword for the suites with SHA-256, only their names.
        if weak.contains(.cbc) { list += ":ECDHE+AES+SHA1:ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256" }
        if weak.contains(.rsaKeyExchange) { list += ":RSA+AESGCM" }
        if weak.isSuperset(of: [.cbc, .rsaKeyExchange]) { list += ":RSA+AES+SHA1" }
        return list
    }

    private static func signatures(allowing weak: Set<WeakAlgorithm>) -> [UInt16] {
        let strong = [
            SSL_SIGN_ECDSA_SECP256R1_SHA256, SSL_SIGN_RSA_PSS_RSAE_SHA256, SSL_SIGN_RSA_PKCS1_SHA256,
            SSL_SIGN_ECDSA_SECP384R1_SHA384, SSL_SIGN_RSA_PSS_RSAE_SHA384, SSL_SIGN_RSA_PKCS1_SHA384,
            SSL_SIGN_ECDSA_SECP521R1_SHA512, SSL_SIGN_RSA_PSS_RSAE_SHA512, SSL_SIGN_RSA_PKCS1_SHA512,
            SSL_SIGN_ED25519,
        ]
        return (strong + (weak.contains(.sha1) ? [SSL_SIGN_RSA_PKCS1_SHA1, SSL_SIGN_ECDSA_SHA1] : [])).map(UInt16.init)
    }
}

extension TLSVersion {
    /// The number of the version in BoringSSL.
    var number: UInt16 {
        switch self {
        case .v1_2: UInt16(TLS1_2_VERSION)
        case .v1_3: UInt16(TLS1_3_VERSION)
        }
    }
}
