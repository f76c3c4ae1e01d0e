internal import CNIOBoringSSL

/// An X.509 certificate (RFC 5280). Immutable and thread-safe.
package final class Certificate: @unchecked Sendable {
    let x509: OpaquePointer

    /// Takes a reference to `x509` from the caller.
    init(adopting x509: OpaquePointer) { self.x509 = x509 }

    /// Retains `x509`.
    init(_ x509: OpaquePointer) {
        X509_up_ref(x509)
        self.x509 = x509
    }

    deinit { X509_free(x509) }

    /// The encoded certificate (DER).
    package var der: [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(x509, &bytes)
        guard count > 0, let bytes else { return [] }
        defer { OPENSSL_free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// The SHA-256 digest of the public key with its algorithm (SubjectPublicKeyInfo), as used for pins by RFC 7469
    /// section 2.4.
    package var publicKeyDigest: [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x509), &bytes)
        guard count > 0, let bytes else { return [] }
        defer { OPENSSL_free(bytes) }
        return Digest.sha256(Array(UnsafeBufferPointer(start: bytes, count: Int(count))))
    }

    package var subject: String { Certificate.text(of: X509_get_subject_name(x509)) }
    package var issuer: String { Certificate.text(of: X509_get_issuer_name(x509)) }

    /// The first and the last second in which the certificate is valid, in Unix time. Nil if a time is invalid, or if
    /// the first is later than the last.
    package var validity: ClosedRange<Int64>? {
        var start: Int64 = 0
        var end: Int64 = 0
        guard ASN1_TIME_to_posix(X509_get0_notBefore(x509), &start) == 1,
            ASN1_TIME_to_posix(X509_get0_notAfter(x509), &end) == 1, start <= end
        else { return nil }
        return start...end
    }

    /// The type and the size in bits of the public key, such as `RSA 2048` or `EC 256`.
    package var keyDescription: String {
        guard let key = X509_get0_pubkey(x509) else { return "an unsupported key" }
        let name =
            switch EVP_PKEY_id(key) {
            case EVP_PKEY_RSA: "RSA"
            case EVP_PKEY_EC: "EC"
            case EVP_PKEY_ED25519: "Ed25519"
            default: "key"
            }
        return "\(name) \(EVP_PKEY_bits(key))"
    }

    /// The DNS names of the subjectAltName extension, as written in the certificate.
    package var dnsNames: [[UInt8]] { alternativeNames.names }
    /// The IP addresses of the subjectAltName extension, 4 or 16 bytes each.
    package var addresses: [[UInt8]] { alternativeNames.addresses }

    private var alternativeNames: (names: [[UInt8]], addresses: [[UInt8]]) {
        var result: (names: [[UInt8]], addresses: [[UInt8]]) = ([], [])
        guard let extensionValue = X509_get_ext_d2i(x509, NID_subject_alt_name, nil, nil) else { return result }
        let list = OpaquePointer(extensionValue)
        defer { GENERAL_NAMES_free(list) }
        for index in 0..<sk_GENERAL_NAME_num(list) {
            guard let name = sk_GENERAL_NAME_value(list, index) else { continue }
            switch name.pointee.type {
            case GEN_DNS: result.names.append(Certificate.bytes(of: name.pointee.d.dNSName))
            case GEN_IPADD: result.addresses.append(Certificate.bytes(of: name.pointee.d.iPAddress))
            default: continue
            }
        }
        return result
    }

    /// Returns the reason why the certificate's key or signature is too weak, as a clause. Nil if both are accepted.
    ///
    /// - Parameter isAnchor: Whether the certificate is a trust anchor, whose own signature is not used.
    func weakness(allowing allowed: Set<WeakAlgorithm>, isAnchor: Bool) -> String? {
        if let key = X509_get0_pubkey(x509), EVP_PKEY_id(key) == EVP_PKEY_RSA {
            let bits = EVP_PKEY_bits(key)
            if bits < 1024 { return "its RSA key has only \(bits) bits" }
            if bits < 2048, !allowed.contains(.rsa1024) {
                return "its RSA key has only \(bits) bits; to accept such keys, set tls.allow_weak to rsa_1024"
            }
        }
        guard !isAnchor else { return nil }
        switch X509_get_signature_nid(x509) {
        case NID_sha1WithRSAEncryption, NID_sha1WithRSA, NID_ecdsa_with_SHA1, NID_dsaWithSHA1:
            return allowed.contains(.sha1)
                ? nil : "it has a SHA-1 signature; to accept such signatures, set tls.allow_weak to sha1"
        case NID_md5WithRSAEncryption, NID_md5WithRSA, NID_md2WithRSAEncryption, NID_md4WithRSAEncryption:
            return "it has an MD signature"
        default:
            return nil
        }
    }

    private static func bytes(of string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        guard let string, let start = ASN1_STRING_get0_data(string) else { return [] }
        return Array(UnsafeBufferPointer(start: start, count: max(0, Int(ASN1_STRING_length(string)))))
    }

    /// The flags of `X509_NAME_print_ex` for RFC 2253 in UTF-8. Swift does not import the macro that combines them.
    private static let rfc2253: UInt =
        ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT | ASN1_STRFLGS_DUMP_UNKNOWN
        | ASN1_STRFLGS_DUMP_DER | XN_FLAG_SEP_COMMA_PLUS | XN_FLAG_DN_REV | XN_FLAG_FN_SN | XN_FLAG_DUMP_UNKNOWN_FIELDS

    /// Returns a distinguished name in the form of RFC 2253.
    static func text(of name: OpaquePointer?) -> String {
        guard let name, let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        guard X509_NAME_print_ex(bio, name, 0, rfc2253) >= 0 else { return "" }
        var start: UnsafePointer<UInt8>?
        var count = 0
        guard BIO_mem_contents(bio, &start, &count) == 1, let start else { return "" }
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
