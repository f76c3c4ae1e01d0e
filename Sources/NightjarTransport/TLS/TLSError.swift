import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// Describes why TLS failed.
enum TLSError {
    /// The error of a connection that the peer has closed without close_notify.
    static let truncated = NightjarError(
        .connectionLost,
        "the server closed the connection without a TLS close_notify; the response may be truncated", phase: .receive)

    /// Returns the error of a server that has requested a client certificate and ended the connection without one.
    static func missingCertificate(_ peer: Peer) -> NightjarError {
        NightjarError(
            .tls,
            "\(peer.place) requires a client certificate; set tls.client_certificate, or tls.hosts for a host other than "
                + "that of the base URL", phase: .tls)
    }

    /// - Parameters:
    ///   - isOpen: Whether the handshake was complete.
    ///   - rejection: The error of the client's own checks and callbacks, which has ended the handshake.
    static func describe(
        _ failure: TLSFailure, _ peer: Peer, isOpen: Bool, rejection: (any Error)? = nil
    ) -> NightjarError {
        if let error = rejection as? NightjarError { return error }
        if case .outOfMemory = failure.reason {
            return NightjarError(.noMemory, "TLS with \(peer.place) failed: out of memory", phase: .tls)
        }
        let text = text(failure, peer, isOpen)
        guard isOpen, !failure.isAboutTheClientsCertificate else { return NightjarError(.tls, text, phase: .tls) }
        // The kind `tls` would mean that nothing was sent.
        return NightjarError(.connectionLost, "the connection was lost: \(text)", phase: .receive)
    }

    /// Returns the error of a handshake that failed with a system error.
    static func describe(_ error: IOError, _ peer: Peer) -> NightjarError {
        NightjarError(
            .connect, "the TLS handshake with \(peer.place) failed: \(String(cString: strerror(error.errnoCode)))",
            phase: .tls, code: error.errnoCode)
    }

    private static func text(_ failure: TLSFailure, _ peer: Peer, _ isOpen: Bool) -> String {
        let place = peer.place
        let failed = isOpen ? "TLS with \(place) failed" : "the TLS handshake with \(place) failed"
        switch failure.reason {
        case .invalidCertificate(let problem):
            return "the certificate of \(place) is not trusted: \(problem)"
        case .notTLS where !isOpen:
            return "\(place) does not support TLS on this port; use http:// in its URL if that is intended"
        case .clientCertificateRequired, .alert(.certificateRequired):
            return missingCertificate(peer).message
        case .clientCertificateRejected:
            return "\(place) rejected the client certificate (\(failure.detail)); check that the server "
                + "trusts its issuer, and that it has not expired"
        case .alert(.protocolVersion):
            return "\(failed): the server supports none of the permitted TLS versions"
        case .alert(let code):
            return "\(failed): the server sent the alert \(name(of: code)); check which TLS versions and algorithms "
                + "it supports"
        case .rejectedCertificate, .unusableIdentity, .notTLS, .handshake, .invalidSettings, .outOfMemory:
            return "\(failed): \(failure.detail)"
        }
    }

    /// Returns the name of an alert. RFC 8446 section 6.
    private static func name(of alert: UInt8) -> String {
        switch alert {
        case 10: "unexpected_message"
        case 20: "bad_record_mac"
        case 22: "record_overflow"
        case 40: "handshake_failure"
        case 42: "bad_certificate"
        case 43: "unsupported_certificate"
        case 44: "certificate_revoked"
        case 45: "certificate_expired"
        case 46: "certificate_unknown"
        case 47: "illegal_parameter"
        case 48: "unknown_ca"
        case 49: "access_denied"
        case 50: "decode_error"
        case 51: "decrypt_error"
        case 70: "protocol_version"
        case 71: "insufficient_security"
        case 80: "internal_error"
        case 86: "inappropriate_fallback"
        case 109: "missing_extension"
        case 112: "unrecognized_name"
        case 116: "certificate_required"
        case 120: "no_application_protocol"
        default: "\(alert)"
        }
    }
}

extension TLSFailure {
    /// Whether the server has rejected the connection because of the client's certificate. A server of TLS 1.3 does so
    /// after the client's handshake is complete.
    fileprivate var isAboutTheClientsCertificate: Bool {
        switch reason {
        case .clientCertificateRequired, .clientCertificateRejected, .alert(.certificateRequired): true
        default: false
        }
    }

    /// Whether the server has ended the connection with a fatal alert.
    var isAlert: Bool {
        switch reason {
        case .alert, .clientCertificateRequired, .clientCertificateRejected: true
        default: false
        }
    }
}

extension UInt8 {
    fileprivate static let protocolVersion: UInt8 = 70
    fileprivate static let certificateRequired: UInt8 = 116
}
