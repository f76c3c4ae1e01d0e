import CNIOBoringSSL
import Foundation
import NightjarTestSupport
import Testing

/// Checks the functions and constants of BoringSSL that NightjarCrypto uses. BoringSSL has no stable API, and an update
/// of swift-nio-ssl may change it.
@Suite struct BoringSSLContractTests {
    // MARK: Coverage

    /// Fails if NightjarCrypto uses a name of BoringSSL that no test of this folder's contract files uses.
    @Test func everyUsedNameIsTested() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let sources = tests.deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Sources/NightjarCrypto")
        let used = try names(in: FileManager.default.subpathsOfDirectory(atPath: sources.path), of: sources)
        let contract = try FileManager.default.contentsOfDirectory(atPath: tests.path)
            .filter { $0.hasPrefix("BoringSSLContract") }
        let tested = try names(in: contract, of: tests)
        #expect(used.count > 150, "the pattern finds the names")
        #expect(used.subtracting(tested).sorted() == [])
    }

    /// Returns the names of BoringSSL in Swift files, without those in comments.
    private func names(in files: [String], of folder: URL) throws -> Set<String> {
        let name = try Regex(
            "\\b((SSL|TLS|TLS1|X509|EVP|BIO|ERR|PEM|SHA256|HMAC|RAND|OPENSSL|ASN1|GENERAL|GEN|NID|i2d|d2i|sk|XN|CRYPTO)"
                + "_[A-Za-z0-9_]+|(SHA256|SHA512_256|MD5)(?=\\())")
        var names: Set<String> = []
        for file in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                for match in line.matches(of: name) { names.insert(String(line[match.range])) }
            }
        }
        return names
    }

    // MARK: Digests, encryption, random bytes

    private let abc = Array("abc".utf8)

    private func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    /// FIPS 180-4, RFC 1321, RFC 4231.
    @Test func digests() throws {
        var digest = [UInt8](repeating: 0, count: 64)
        _ = SHA256(abc, 3, &digest)
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(hex(digest.prefix(32)) == sha256)
        _ = SHA512_256(abc, 3, &digest)
        #expect(hex(digest.prefix(32)) == "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23")
        _ = MD5(abc, 3, &digest)
        #expect(hex(digest.prefix(16)) == "900150983cd24fb0d6963f7d28e17f72")

        var running = SHA256_CTX()
        #expect(SHA256_Init(&running) == 1)
        #expect(SHA256_Update(&running, abc, 3) == 1)
        #expect(SHA256_Final(&digest, &running) == 1)
        #expect(hex(digest.prefix(32)) == sha256)

        let sizes: [(OpaquePointer?, Int)] = [
            (EVP_md5(), 16), (EVP_sha1(), 20), (EVP_sha256(), 32), (EVP_sha384(), 48), (EVP_sha512(), 64),
        ]
        for (function, size) in sizes {
            let context: UnsafeMutablePointer<EVP_MD_CTX> = try #require(EVP_MD_CTX_new())
            defer { EVP_MD_CTX_free(context) }
            var count: UInt32 = 0
            #expect(EVP_DigestInit_ex(context, function, nil) == 1)
            #expect(EVP_DigestUpdate(context, abc, 3) == 1)
            #expect(EVP_DigestFinal_ex(context, &digest, &count) == 1)
            #expect(Int(count) == size)

            let code: UnsafeMutablePointer<HMAC_CTX> = try #require(HMAC_CTX_new())
            defer { HMAC_CTX_free(code) }
            #expect(HMAC_Init_ex(code, "Jefe", 4, function, nil) == 1)
            #expect(HMAC_Update(code, "what do ya want for nothing?", 28) == 1)
            #expect(HMAC_Final(code, &digest, &count) == 1)
            #expect(Int(count) == size)
            guard size == 32 else { continue }
            #expect(hex(digest.prefix(32)) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        }
    }

    @Test func encryption() throws {
        let key = [UInt8](repeating: 1, count: 32)
        let nonce = [UInt8](repeating: 2, count: 12)
        let cipher: UnsafeMutablePointer<EVP_AEAD_CTX> = try #require(
            EVP_AEAD_CTX_new(EVP_aead_aes_256_gcm(), key, key.count, 16))
        defer { EVP_AEAD_CTX_free(cipher) }
        var sealed = [UInt8](repeating: 0, count: 19)
        var count = 0
        #expect(EVP_AEAD_CTX_seal(cipher, &sealed, &count, 19, nonce, 12, abc, 3, nil, 0) == 1)
        #expect(count == 19)
        var opened = [UInt8](repeating: 0, count: 19)
        #expect(EVP_AEAD_CTX_open(cipher, &opened, &count, 19, nonce, 12, sealed, 19, nil, 0) == 1)
        #expect(Array(opened.prefix(count)) == abc)
        sealed[0] ^= 1
        #expect(EVP_AEAD_CTX_open(cipher, &opened, &count, 19, nonce, 12, sealed, 19, nil, 0) == 0)
        ERR_clear_error()
        var random = [UInt8](repeating: 0, count: 32)
        #expect(RAND_bytes(&random, 32) == 1)
        #expect(random != [UInt8](repeating: 0, count: 32))
    }

    // MARK: Errors and memory

    @Test func errorQueue() throws {
        let bio = try #require(BIO_new_mem_buf("no certificate", 14))
        defer { BIO_free(bio) }
        ERR_clear_error()
        #expect(PEM_read_bio_X509(bio, nil, nil, nil) == nil)
        let error = ERR_peek_last_error()
        #expect(ERR_GET_LIB(error) == CInt(ERR_LIB_PEM))
        #expect(ERR_GET_LIB(error) != CInt(ERR_LIB_SSL))
        #expect(ERR_GET_REASON(error) == PEM_R_NO_START_LINE)
        #expect(ERR_reason_error_string(error).map { String(cString: $0) } == "NO_START_LINE")
        #expect(ERR_get_error() == error, "the queue has one error")
        #expect(ERR_get_error() == 0)
    }

    @Test func memoryOfObjects() throws {
        let method = try #require(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "test"))
        #expect(
            BIO_meth_set_read(method) { bio, _, _ in
                BIO_clear_retry_flags(bio)
                BIO_set_retry_read(bio)
                return -1
            } == 1)
        #expect(
            BIO_meth_set_write(method) { bio, _, count in
                BIO_get_data(bio)?.assumingMemoryBound(to: CInt.self).pointee += count
                return count
            } == 1)
        #expect(BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 } == 1)
        let bio = try #require(BIO_new(method))
        let written = UnsafeMutablePointer<CInt>.allocate(capacity: 1)
        defer { written.deallocate() }
        written.pointee = 0
        BIO_set_data(bio, written)
        BIO_set_init(bio, 1)
        #expect(BIO_write(bio, "abc", 3) == 3)
        #expect(written.pointee == 3)
        #expect(BIO_flush(bio) == 1)
        var byte: UInt8 = 0
        #expect(BIO_read(bio, &byte, 1) == -1)
        #expect(BIO_should_retry(bio) != 0)
        #expect(BIO_free(bio) == 1)
    }

    // MARK: Certificates

    private func certificate(_ path: String) throws -> OpaquePointer {
        let text = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        let bio = try #require(BIO_new_mem_buf(text, text.count))
        defer { BIO_free(bio) }
        return try #require(PEM_read_bio_X509(bio, nil, nil, nil))
    }

    @Test func certificates() throws {
        let x509 = try certificate(TestCertificates.shared().certificate(.trusted))
        #expect(X509_up_ref(x509) == 1)
        X509_free(x509)
        defer { X509_free(x509) }
        var bytes: UnsafeMutablePointer<UInt8>?
        #expect(i2d_X509(x509, &bytes) > 200)
        #expect(bytes?.pointee == 0x30)
        OPENSSL_free(bytes)
        bytes = nil
        // SubjectPublicKeyInfo of a P-256 key (RFC 5480).
        #expect(i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x509), &bytes) == 91)
        OPENSSL_free(bytes)
        let key = try #require(X509_get0_pubkey(x509))
        #expect(EVP_PKEY_id(key) == EVP_PKEY_EC)
        #expect(EVP_PKEY_bits(key) == 256)
        #expect(X509_get_signature_nid(x509) == NID_ecdsa_with_SHA256)
        var time: Int64 = 0
        #expect(ASN1_TIME_to_posix(X509_get0_notBefore(x509), &time) == 1)
        #expect(time == 1_546_300_800)
        #expect(ASN1_TIME_to_posix(X509_get0_notAfter(x509), &time) == 1)
        #expect(time == 2_493_072_000)
        #expect(try text(of: X509_get_subject_name(x509)) == "CN=test")
        #expect(try text(of: X509_get_issuer_name(x509)) == "CN=Nightjar test authority")
    }

    private func text(of name: OpaquePointer?) throws -> String {
        let bio = try #require(BIO_new(BIO_s_mem()))
        defer { BIO_free(bio) }
        let flags: UInt =
            ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT | ASN1_STRFLGS_DUMP_UNKNOWN
            | ASN1_STRFLGS_DUMP_DER | XN_FLAG_SEP_COMMA_PLUS | XN_FLAG_DN_REV | XN_FLAG_FN_SN
            | XN_FLAG_DUMP_UNKNOWN_FIELDS
        #expect(X509_NAME_print_ex(bio, name, 0, flags) >= 0)
        var start: UnsafePointer<UInt8>?
        var count = 0
        #expect(BIO_mem_contents(bio, &start, &count) == 1)
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    @Test func alternativeNames() throws {
        let x509 = try certificate(TestCertificates.shared().certificate(.trusted))
        defer { X509_free(x509) }
        let names = OpaquePointer(try #require(X509_get_ext_d2i(x509, NID_subject_alt_name, nil, nil)))
        defer { GENERAL_NAMES_free(names) }
        #expect(sk_GENERAL_NAME_num(names) == 3)
        let dns = try #require(sk_GENERAL_NAME_value(names, 0)).pointee
        #expect(dns.type == GEN_DNS)
        let string: UnsafeMutablePointer<ASN1_STRING>? = dns.d.dNSName
        #expect(ASN1_STRING_length(string) == 9)
        #expect(ASN1_STRING_get0_data(string)?.pointee == UInt8(ascii: "l"))
        #expect(sk_GENERAL_NAME_value(names, 1)?.pointee.type == GEN_IPADD)
    }

    // MARK: Constants

    /// RFC 8446 sections 4.2.3 and 4.2.7, RFC 5246 section 6.2.1. BoringSSL sends these numbers.
    @Test func numbersOfTheProtocol() {
        #expect([TLS1_2_VERSION, TLS1_3_VERSION] == [0x0303, 0x0304])
        #expect([SSL_GROUP_X25519, SSL_GROUP_SECP256R1, SSL_GROUP_SECP384R1] == [29, 23, 24])
        #expect([SSL_SIGN_RSA_PKCS1_SHA1, SSL_SIGN_ECDSA_SHA1, SSL_SIGN_ED25519] == [0x0201, 0x0203, 0x0807])
        #expect(
            [SSL_SIGN_RSA_PKCS1_SHA256, SSL_SIGN_RSA_PKCS1_SHA384, SSL_SIGN_RSA_PKCS1_SHA512]
                == [0x0401, 0x0501, 0x0601])
        #expect(
            [SSL_SIGN_ECDSA_SECP256R1_SHA256, SSL_SIGN_ECDSA_SECP384R1_SHA384, SSL_SIGN_ECDSA_SECP521R1_SHA512]
                == [0x0403, 0x0503, 0x0603])
        #expect(
            [SSL_SIGN_RSA_PSS_RSAE_SHA256, SSL_SIGN_RSA_PSS_RSAE_SHA384, SSL_SIGN_RSA_PSS_RSAE_SHA512]
                == [0x0804, 0x0805, 0x0806])
    }

    /// The values are not important, but each must be different from the others of its group.
    @Test func constantsAreDistinct() {
        let signatures = [
            NID_dsaWithSHA1, NID_ecdsa_with_SHA1, NID_md2WithRSAEncryption, NID_md4WithRSAEncryption, NID_md5WithRSA,
            NID_md5WithRSAEncryption, NID_sha1WithRSA, NID_sha1WithRSAEncryption,
        ]
        #expect(Set(signatures).count == signatures.count)
        #expect(Set([EVP_PKEY_RSA, EVP_PKEY_EC, EVP_PKEY_ED25519]).count == 3)
        #expect(SSL_ERROR_WANT_READ != SSL_ERROR_ZERO_RETURN)
        #expect(ERR_R_MALLOC_FAILURE == 65)
        #expect(SSL_AD_REASON_OFFSET == 1000)
        #expect(Set([SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST]).count == 3)
    }

    @Test func verificationErrorsHaveTexts() {
        let codes = [
            X509_V_ERR_APPLICATION_VERIFICATION, X509_V_ERR_CERT_HAS_EXPIRED,
            X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_INVALID_CA, X509_V_ERR_INVALID_PURPOSE,
            X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
        ]
        let texts = codes.compactMap { X509_verify_cert_error_string(Int($0)).map { String(cString: $0) } }
        #expect(Set(texts).count == codes.count)
    }
}
