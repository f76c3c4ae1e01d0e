internal import CNIOBoringSSL

/// The reason why a TLS context could not be created, or why a TLS connection failed.
package struct TLSFailure: Error {
    package enum Reason: Sendable {
        /// The certificate chain is not valid. The associated value is a clause such as `it has expired`.
        case invalidCertificate(String)
        /// The caller's check of the certificate chain failed. ``TLSConnection/rejection`` has the caller's error.
        case rejectedCertificate
        /// The client certificate cannot be used. ``TLSConnection/rejection`` has the caller's error.
        case unusableIdentity
        /// The peer does not use TLS on this port.
        case notTLS
        /// The peer has ended the connection with a fatal alert (RFC 8446 section 6.2).
        case alert(UInt8)
        /// The peer has ended the connection with an alert such as certificate_required after it requested a client
        /// certificate. The client had none.
        case clientCertificateRequired
        /// The peer has ended the connection with an alert such as bad_certificate after it requested a client
        /// certificate. The client had one.
        case clientCertificateRejected
        /// A setting is invalid, such as a text of certificates.
        case invalidSettings
        /// Any other failure, for example because the peer has violated the protocol or supports none of the permitted
        /// algorithms.
        case handshake
        case outOfMemory
    }

    package let reason: Reason
    /// A short description of the reason, or BoringSSL's name for it, such as `NO_SHARED_CIPHER`.
    package let detail: String

    package init(_ reason: Reason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }

    /// Takes the oldest error of this thread's BoringSSL error queue, and empties the queue.
    static func latest() -> TLSFailure {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return TLSFailure(.handshake, "no reason is known") }
        let reason = ERR_GET_REASON(code)
        let detail = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
        if reason == ERR_R_MALLOC_FAILURE { return TLSFailure(.outOfMemory, detail) }
        guard ERR_GET_LIB(code) == CInt(ERR_LIB_SSL) else { return TLSFailure(.handshake, detail) }
        switch reason {
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST:
            return TLSFailure(.notTLS, detail)
        case SSL_AD_REASON_OFFSET..<SSL_AD_REASON_OFFSET + 256:
            return TLSFailure(.alert(UInt8(truncatingIfNeeded: reason - SSL_AD_REASON_OFFSET)), detail)
        default:
            return TLSFailure(.handshake, detail)
        }
    }
}
