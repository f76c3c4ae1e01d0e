import CNIOBoringSSL
import NightjarTestSupport
import Testing

/// Checks the functions for client certificates and private keys that NightjarCrypto uses.
@Suite struct BoringSSLContractIdentityTests {
    /// A certificate, its key in two forms and both in an archive.
    private static func files() throws -> TemporaryDirectory {
        let folder = try TemporaryDirectory()
        let commands = [
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3 -subj /CN=client -keyout key.pem -out cert.pem",
            "pkcs8 -topk8 -in key.pem -out encrypted.pem -passout pass:secret",
            "pkcs12 -export -in cert.pem -inkey key.pem -out archive.p12 -passout pass:secret",
        ]
        for command in commands {
            let result = try run("openssl", command.split(separator: " ").map(String.init), directory: folder.path)
            guard result.status == 0 else { throw ToolFailure(description: "\(command): \(result.errors)") }
        }
        return folder
    }

    private struct Password {
        let bytes: [UInt8]?
        /// The size of the buffer for the password. Nil: BoringSSL has not read the password.
        var capacity: CInt?
    }

    private func readKey(_ bytes: [UInt8], password: String?) -> (key: OpaquePointer?, capacity: CInt?) {
        var password = Password(bytes: password.map { Array($0.utf8) })
        let key = bytes.withUnsafeBytes { bytes in
            let bio = BIO_new_mem_buf(bytes.baseAddress, bytes.count)
            defer { BIO_free(bio) }
            return withUnsafeMutablePointer(to: &password) { password in
                PEM_read_bio_PrivateKey(
                    bio, nil,
                    { buffer, capacity, _, password in
                        guard let buffer, let password = password?.assumingMemoryBound(to: Password.self) else {
                            return -1
                        }
                        password.pointee.capacity = capacity
                        guard let bytes = password.pointee.bytes else { return -1 }
                        UnsafeMutableRawBufferPointer(start: buffer, count: Int(capacity)).copyBytes(from: bytes)
                        return CInt(bytes.count)
                    },
                    password)
            }
        }
        return (key, password.capacity)
    }

    private func readCertificate(_ bytes: [UInt8]) -> OpaquePointer? {
        bytes.withUnsafeBytes { bytes in
            let bio = BIO_new_mem_buf(bytes.baseAddress, bytes.count)
            defer { BIO_free(bio) }
            return PEM_read_bio_X509(bio, nil, nil, nil)
        }
    }

    /// Returns the library and the reason of each error in the queue, and empties the queue.
    private func errors() -> [[CInt]] {
        var found: [[CInt]] = []
        while case let code = ERR_get_error(), code != 0 { found.append([ERR_GET_LIB(code), ERR_GET_REASON(code)]) }
        return found
    }

    @Test func keyIsReadAndUsed() throws {
        let files = try Self.files()
        ERR_clear_error()
        let (unencrypted, request) = try readKey(files.read("key.pem"), password: "unused")
        let plain = try #require(unencrypted)
        #expect(request == nil)
        let (encrypted, capacity) = try readKey(files.read("encrypted.pem"), password: "secret")
        let decrypted = try #require(encrypted)
        #expect(capacity == CInt(PEM_BUFSIZE))
        let certificate = try #require(readCertificate(files.read("cert.pem")))
        #expect(X509_check_private_key(certificate, plain) == 1)
        #expect(X509_check_private_key(certificate, decrypted) == 1)
        let context = SSL_CTX_new(TLS_method())
        let ssl = try #require(SSL_new(context))
        #expect(SSL_use_certificate(ssl, certificate) == 1)
        #expect(SSL_add1_chain_cert(ssl, certificate) == 1)
        #expect(SSL_use_PrivateKey(ssl, plain) == 1)
        SSL_free(ssl)
        SSL_CTX_free(context)
        X509_free(certificate)
        EVP_PKEY_free(plain)
        EVP_PKEY_free(decrypted)
    }

    @Test func errorsOfPasswordsAreDistinguished() throws {
        let files = try Self.files()
        ERR_clear_error()
        #expect(readKey(try files.read("encrypted.pem"), password: nil).key == nil)
        #expect(errors().contains([CInt(ERR_LIB_PEM), PEM_R_BAD_PASSWORD_READ]))
        #expect(readKey(try files.read("cert.pem"), password: nil).key == nil)
        #expect(errors().contains([CInt(ERR_LIB_PEM), PEM_R_NO_START_LINE]))
    }

    /// One of 256 wrong passwords decrypts a key to bytes with a valid padding, which are then invalid as a key.
    @Test func wrongPasswordsAreReportedByDecryptionOrDecoding() throws {
        let key = try Self.files().read("encrypted.pem")
        ERR_clear_error()
        let decryption = [
            [CInt(ERR_LIB_PEM), PEM_R_BAD_DECRYPT], [CInt(ERR_LIB_PKCS8), PKCS8_R_INCORRECT_PASSWORD],
            [CInt(ERR_LIB_CIPHER), CIPHER_R_BAD_DECRYPT], [CInt(ERR_LIB_EVP), EVP_R_DECODE_ERROR],
        ]
        for number in 0..<1000 {
            #expect(readKey(key, password: "wrong \(number)").key == nil)
            let found = errors()
            #expect(found.contains { decryption.contains($0) || $0[0] == CInt(ERR_LIB_ASN1) }, "\(number): \(found)")
        }
    }

    @Test(arguments: ["secret", "wrong"]) func archiveIsRead(password: String) throws {
        let archive = try Self.files().read("archive.p12")
        ERR_clear_error()
        let certificates = sk_X509_new_null()
        var key: OpaquePointer?
        let result = archive.withUnsafeBufferPointer { bytes in
            var reader = CBS()
            CBS_init(&reader, bytes.baseAddress, bytes.count)
            return PKCS12_get_key_and_certs(&key, certificates, &reader, password)
        }
        #expect(result == (password == "secret" ? 1 : 0))
        #expect(sk_X509_num(certificates) == (password == "secret" ? 1 : 0))
        #expect((key != nil) == (password == "secret"))
        if password == "wrong" {
            #expect(errors().contains([CInt(ERR_LIB_PKCS8), PKCS8_R_INCORRECT_PASSWORD]))
        }
        sk_X509_pop_free(certificates, X509_free)
        EVP_PKEY_free(key)
    }
}
