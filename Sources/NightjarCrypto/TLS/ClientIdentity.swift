internal import CNIOBoringSSL

/// A client certificate with its chain and its private key. Immutable and thread-safe.
package final class ClientIdentity: @unchecked Sendable {
    /// The client's certificate, then the other certificates, which may be in any order.
    let chain: [Certificate]
    let key: OpaquePointer

    /// Reads PEM texts (RFC 7468).
    ///
    /// - Parameters:
    ///   - certificates: The client's certificate, then the intermediate certificates.
    ///   - key: The private key. It may be part of the same text as the certificates.
    ///   - password: The password of an encrypted key.
    /// - Throws: `invalidSettings` if a text is invalid, the password is wrong, or the key does not match the
    ///   certificate.
    package convenience init(certificates: [UInt8], key: [UInt8], password: String?) throws(TLSFailure) {
        let chain = try Certificate.certificates(pem: certificates)
        try self.init(chain, ClientIdentity.readKey(key, password))
    }

    /// Reads a PKCS #12 archive (RFC 7292) with a certificate and its key.
    ///
    /// - Throws: `invalidSettings` if the archive is invalid or incomplete, or the password is wrong.
    package convenience init(pkcs12 archive: [UInt8], password: String?) throws(TLSFailure) {
        let certificates = sk_X509_new_null()
        defer { sk_X509_pop_free(certificates, X509_free) }
        var key: OpaquePointer?
        let isRead = archive.withUnsafeBufferPointer { bytes in
            var reader = CBS()
            CBS_init(&reader, bytes.baseAddress, bytes.count)
            return PKCS12_get_key_and_certs(&key, certificates, &reader, password ?? "") == 1
        }
        guard isRead else { throw ClientIdentity.failure("the PKCS #12 archive", hasPassword: password != nil) }
        guard let key else { throw TLSFailure(.invalidSettings, "the PKCS #12 archive contains no private key") }
        var chain = (0..<sk_X509_num(certificates)).compactMap { index in
            sk_X509_value(certificates, index).map { Certificate($0) }
        }
        // The certificates of an archive have no order.
        if let own = chain.firstIndex(where: { X509_check_private_key($0.x509, key) == 1 }) { chain.swapAt(0, own) }
        ERR_clear_error()
        try self.init(chain, key)
    }

    /// Takes `key` from the caller.
    private init(_ chain: [Certificate], _ key: OpaquePointer) throws(TLSFailure) {
        self.chain = chain
        self.key = key
        guard let own = chain.first else {
            throw TLSFailure(.invalidSettings, "there is a private key, but no certificate")
        }
        guard X509_check_private_key(own.x509, key) == 1 else {
            ERR_clear_error()
            throw TLSFailure(.invalidSettings, "the private key does not match the certificate \(own.subject)")
        }
    }

    deinit { EVP_PKEY_free(key) }

    private static func readKey(_ text: [UInt8], _ password: String?) throws(TLSFailure) -> OpaquePointer {
        var password = KeyPassword(bytes: password.map { Array($0.utf8) })
        let key = text.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, bytes.count) else { return nil }
            defer { BIO_free(bio) }
            return withUnsafeMutablePointer(to: &password) { password in
                PEM_read_bio_PrivateKey(
                    bio, nil,
                    { buffer, capacity, _, password in
                        guard let buffer, let password else { return -1 }
                        return password.assumingMemoryBound(to: KeyPassword.self).pointee
                            .write(to: UnsafeMutableRawBufferPointer(start: buffer, count: Int(capacity)))
                    },
                    password)
            }
        }
        guard let key else {
            throw failure("the private key", hasPassword: password.bytes != nil, isDecrypted: password.isRead)
        }
        return key
    }

    /// The password of a key, which BoringSSL reads only if the key is encrypted.
    private struct KeyPassword {
        let bytes: [UInt8]?
        private(set) var isRead = false

        init(bytes: [UInt8]?) { self.bytes = bytes }

        /// Writes the password into the buffer.
        ///
        /// - Returns: The length of the password, or -1 if there is none or it is longer than the buffer.
        mutating func write(to buffer: UnsafeMutableRawBufferPointer) -> CInt {
            guard let bytes, bytes.count <= buffer.count else { return -1 }
            buffer.copyBytes(from: bytes)
            isRead = true
            return CInt(bytes.count)
        }
    }

    /// Describes the errors in this thread's BoringSSL error queue, and empties the queue.
    ///
    /// - Parameter isDecrypted: BoringSSL read bytes that it had decrypted. A wrong password is then not always
    ///   reported as one: in 1 of 256 cases, the decrypted bytes end in a valid padding, and are invalid as a key.
    private static func failure(_ subject: String, hasPassword: Bool, isDecrypted: Bool = false) -> TLSFailure {
        let code = ERR_peek_last_error()
        var codes: [(CInt, CInt)] = []
        while case let code = ERR_get_error(), code != 0 { codes.append((ERR_GET_LIB(code), ERR_GET_REASON(code))) }
        func has(_ library: Int, _ reason: CInt) -> Bool { codes.contains { $0 == (CInt(library), reason) } }
        if has(Int(ERR_LIB_PEM), PEM_R_NO_START_LINE) {
            return TLSFailure(.invalidSettings, "\(subject) is missing: the text contains no key in PEM form")
        }
        if has(Int(ERR_LIB_PEM), PEM_R_BAD_PASSWORD_READ) {
            let problem = hasPassword ? "; its password is longer than \(PEM_BUFSIZE) bytes" : "; set a password"
            return TLSFailure(.invalidSettings, "\(subject) is encrypted\(problem)")
        }
        let isUndecoded = codes.contains { $0.0 == CInt(ERR_LIB_ASN1) } || has(Int(ERR_LIB_EVP), EVP_R_DECODE_ERROR)
        if has(Int(ERR_LIB_PEM), PEM_R_BAD_DECRYPT) || has(Int(ERR_LIB_PKCS8), PKCS8_R_INCORRECT_PASSWORD)
            || has(Int(ERR_LIB_CIPHER), CIPHER_R_BAD_DECRYPT) || isDecrypted && isUndecoded
        {
            let problem = hasPassword ? "its password is wrong" : "it is encrypted; set a password"
            return TLSFailure(.invalidSettings, "\(subject) cannot be decrypted: \(problem)")
        }
        let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "unknown error"
        return TLSFailure(.invalidSettings, "\(subject) is invalid (\(reason))")
    }
}
