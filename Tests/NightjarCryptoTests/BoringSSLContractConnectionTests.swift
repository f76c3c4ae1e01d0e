import CNIOBoringSSL
import NightjarTestSupport
import Testing

/// Checks the functions for TLS connections that NightjarCrypto uses, in conversations with a server in memory.
@Suite(.serialized) struct BoringSSLContractConnectionTests {
    /// The events of one client, which callbacks of C record.
    private struct Events {
        var sessions: [OpaquePointer] = []
        var requestsOfCertificates = 0
        var keyLog: [String] = []
        var chainLength = 0
        var error: CInt = 0
        var depth: CInt = 0
        var hasCurrentCertificate = false
        var rejects = false
        var suspends = false
    }

    nonisolated(unsafe) private static var events = Events()

    private func context(_ configure: (OpaquePointer) throws -> Void = { _ in }) throws -> OpaquePointer {
        let context = try #require(SSL_CTX_new(TLS_method()))
        #expect(SSL_CTX_set_min_proto_version(context, UInt16(TLS1_2_VERSION)) == 1)
        #expect(SSL_CTX_set_max_proto_version(context, UInt16(TLS1_3_VERSION)) == 1)
        #expect(SSL_CTX_set_strict_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1)
        #expect(SSL_CTX_set_strict_cipher_list(context, "UNKNOWN") == 0)
        #expect(SSL_CTX_set_verify_algorithm_prefs(context, [UInt16(SSL_SIGN_ECDSA_SECP256R1_SHA256)], 1) == 1)
        SSL_CTX_set_permute_extensions(context, 1)
        SSL_CTX_set_grease_enabled(context, 1)
        #expect(SSL_CTX_set_alpn_protos(context, [1, 97], 2) == 0, "0 is success")
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL)
        SSL_CTX_sess_set_new_cb(context) { _, session in
            if let session { BoringSSLContractConnectionTests.events.sessions.append(session) }
            return 1
        }
        SSL_CTX_set_cert_cb(
            context,
            { _, _ in
                BoringSSLContractConnectionTests.events.requestsOfCertificates += 1
                return BoringSSLContractConnectionTests.events.suspends ? -1 : 1
            }, nil)
        SSL_CTX_set_keylog_callback(context) { ssl, line in
            guard let ssl, let line, SSL_get_ex_data(ssl, 0) != nil else { return }
            BoringSSLContractConnectionTests.events.keyLog.append(String(cString: line))
        }
        let store = try #require(SSL_CTX_get_cert_store(context))
        #expect(X509_STORE_load_locations(store, try TestCertificates.shared().authority, nil) == 1)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_verify_depth(context, 10)
        SSL_CTX_set_cert_verify_callback(
            context,
            { context, _ in BoringSSLContractConnectionTests.verify(context) }, nil)
        ERR_clear_error()
        try configure(context)
        return context
    }

    private static func verify(_ context: OpaquePointer?) -> CInt {
        guard let context, let ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()),
            SSL_get_ex_data(OpaquePointer(ssl), 0) != nil
        else { return 0 }
        let result = X509_verify_cert(context)
        events.error = X509_STORE_CTX_get_error(context)
        events.depth = X509_STORE_CTX_get_error_depth(context)
        events.hasCurrentCertificate = X509_STORE_CTX_get_current_cert(context) != nil
        if let chain = X509_STORE_CTX_get0_chain(context) {
            events.chainLength = (0..<sk_X509_num(chain)).count { sk_X509_value(chain, $0) != nil }
        }
        guard events.rejects else { return result }
        X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION)
        return 0
    }

    /// One connection of a client with memory objects of BoringSSL.
    private final class Client {
        let ssl: OpaquePointer
        private let input: OpaquePointer
        private let output: OpaquePointer

        init(_ context: OpaquePointer) throws {
            ssl = try #require(SSL_new(context))
            input = try #require(BIO_new(BIO_s_mem()))
            output = try #require(BIO_new(BIO_s_mem()))
            SSL_set_bio(ssl, input, output)
            SSL_set_ex_data(ssl, 0, UnsafeMutableRawPointer(ssl))
            SSL_set_connect_state(ssl)
            #expect(SSL_set_tlsext_host_name(ssl, "localhost") == 1)
            #expect(SSL_set_alpn_protos(ssl, [1, 97], 2) == 0, "0 is success")
        }

        deinit { SSL_free(ssl) }

        /// Performs the handshake. Returns the error of `SSL_get_error`, or 0.
        func connect(_ server: BoringSSLServer) -> CInt {
            while true {
                let result = SSL_do_handshake(ssl)
                if result == 1 { return 0 }
                let error = SSL_get_error(ssl, result)
                guard error == SSL_ERROR_WANT_READ else { return error }
                let sent = server.receive(takeOutput()).sent
                BIO_write(input, sent, CInt(sent.count))
            }
        }

        func takeOutput() -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            let count = BIO_read(output, &bytes, CInt(bytes.count))
            return Array(bytes.prefix(max(0, Int(count))))
        }

        func read(_ bytes: [UInt8]) -> (data: [UInt8], error: CInt) {
            BIO_write(input, bytes, CInt(bytes.count))
            var data = [UInt8](repeating: 0, count: 64)
            let count = SSL_read(ssl, &data, 64)
            return (Array(data.prefix(max(0, Int(count)))), count > 0 ? 0 : SSL_get_error(ssl, count))
        }
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func connectionAndResumption(version: CInt) throws {
        Self.events = Events()
        let context = try context()
        defer { SSL_CTX_free(context) }
        let settings = try BoringSSLServer.Context { context in
            SSL_CTX_set_alpn_select_cb(
                context,
                { _, selected, count, offered, _, _ in
                    selected?.pointee = offered.map { $0 + 1 }
                    count?.pointee = 1
                    return SSL_TLSEXT_ERR_OK
                }, nil)
        }
        let client = try Client(context)
        SSL_set_min_proto_version(client.ssl, UInt16(version))
        SSL_set_max_proto_version(client.ssl, UInt16(version))
        #expect(SSL_set1_group_ids(client.ssl, [UInt16(SSL_GROUP_SECP256R1)], 1) == 1)
        #expect(SSL_set1_client_key_shares(client.ssl, [UInt16(SSL_GROUP_X25519)], 1) == 0)
        ERR_clear_error()
        #expect(SSL_set1_client_key_shares(client.ssl, [UInt16(SSL_GROUP_SECP256R1)], 1) == 1)
        let server = try BoringSSLServer(settings)
        #expect(client.connect(server) == 0)
        #expect(Self.events.chainLength == 2)
        #expect(Self.events.requestsOfCertificates == 0)
        let label = version == TLS1_2_VERSION ? "CLIENT_RANDOM " : "CLIENT_TRAFFIC_SECRET_0 "
        #expect(Self.events.keyLog.contains { $0.hasPrefix(label) && !$0.hasSuffix("\n") })
        #expect(String(cString: SSL_get_version(client.ssl)) == (version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3"))
        #expect(
            SSL_CIPHER_standard_name(SSL_get_current_cipher(client.ssl)).map { String(cString: $0) }?.hasPrefix("TLS_")
                == true)
        #expect(SSL_get_group_name(SSL_get_group_id(client.ssl)).map { String(cString: $0) } == "P-256")
        #expect(sk_X509_num(SSL_get_peer_full_cert_chain(client.ssl)) == 1)
        var name: UnsafePointer<UInt8>?
        var count: CUnsignedInt = 0
        SSL_get0_alpn_selected(client.ssl, &name, &count)
        #expect(count == 1 && name?.pointee == 97)
        #expect(SSL_write(client.ssl, "abc", 3) == 3)
        #expect(server.receive(client.takeOutput()).data == Array("abc".utf8))
        #expect(client.read(server.send([1, 2])).data == [1, 2])
        #expect(client.read([]).error == SSL_ERROR_WANT_READ)
        #expect(SSL_session_reused(client.ssl) == 0)

        let session = try #require(Self.events.sessions.last)
        #expect(SSL_SESSION_should_be_single_use(session) == (version == TLS1_3_VERSION ? 1 : 0))
        let second = try Client(context)
        SSL_set_max_proto_version(second.ssl, UInt16(version))
        #expect(SSL_set_session(second.ssl, session) == 1)
        let secondServer = try BoringSSLServer(settings)
        #expect(second.connect(secondServer) == 0)
        #expect(SSL_session_reused(second.ssl) == 1)
        SSL_shutdown(second.ssl)
        _ = secondServer.receive(second.takeOutput())
        SSL_shutdown(secondServer.ssl)
        #expect(second.read(secondServer.receive([]).sent).error == SSL_ERROR_ZERO_RETURN)
        for session in Self.events.sessions { SSL_SESSION_free(session) }
    }

    @Test func requestOfAClientCertificate() throws {
        Self.events = Events()
        let context = try context()
        defer { SSL_CTX_free(context) }
        let client = try Client(context)
        let settings = try BoringSSLServer.Context { SSL_CTX_set_verify($0, SSL_VERIFY_PEER, nil) }
        #expect(client.connect(try BoringSSLServer(settings)) == 0)
        #expect(Self.events.requestsOfCertificates == 1)
        for session in Self.events.sessions { SSL_SESSION_free(session) }
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION]) func suspensionByTheCallback(version: CInt) throws {
        Self.events = Events(suspends: true)
        let context = try context()
        defer { SSL_CTX_free(context) }
        let client = try Client(context)
        SSL_set_max_proto_version(client.ssl, UInt16(version))
        let settings = try BoringSSLServer.Context { context in
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
            guard let authority = try? TestCertificates.shared().authority else { return }
            SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(authority))
        }
        let server = try BoringSSLServer(settings)
        #expect(client.connect(server) == SSL_ERROR_WANT_X509_LOOKUP)
        // The server's certificate has been verified, and the client's part of the handshake has not been sent.
        #expect(Self.events.chainLength == 2)
        let names = try #require(SSL_get_client_CA_list(client.ssl))
        #expect(sk_X509_NAME_num(names) == 1)
        #expect(sk_X509_NAME_value(names, 0) != nil)
        #expect(client.connect(server) == SSL_ERROR_WANT_X509_LOOKUP, "the callback is called again")
        Self.events.suspends = false
        #expect(client.connect(server) == 0)
        #expect(Self.events.requestsOfCertificates == 3)
        for session in Self.events.sessions { SSL_SESSION_free(session) }
    }

    @Test func rejectionByTheCallback() throws {
        Self.events = Events(rejects: true)
        let context = try context()
        defer { SSL_CTX_free(context) }
        #expect(try Client(context).connect(try BoringSSLServer(.init())) == SSL_ERROR_SSL)
        #expect(Self.events.error == X509_V_OK)
        ERR_clear_error()
    }

    @Test func verificationReportsTheCertificate() throws {
        Self.events = Events()
        let context = try context { context in
            // An empty store, except for a certificate that is added twice.
            let store = try #require(X509_STORE_new())
            let bio = try #require(BIO_new_file(try TestCertificates.shared().certificate(.selfSigned), "r"))
            defer { BIO_free(bio) }
            let x509 = try #require(PEM_read_bio_X509(bio, nil, nil, nil))
            defer { X509_free(x509) }
            #expect(X509_STORE_add_cert(store, x509) == 1)
            #expect(X509_STORE_add_cert(store, x509) == 1)
            SSL_CTX_set_cert_store(context, store)
        }
        defer { SSL_CTX_free(context) }
        #expect(try Client(context).connect(try BoringSSLServer(.init())) == SSL_ERROR_SSL)
        #expect(Self.events.error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
        #expect(Self.events.depth == 0)
        #expect(Self.events.hasCurrentCertificate)
        ERR_clear_error()
    }
}
