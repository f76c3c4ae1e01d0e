import CNIOBoringSSL
import NightjarTestSupport

/// A TLS server in memory that can do what NIOSSL's server cannot: update keys, issue many sessions, choose any
/// protocol and request a client certificate.
final class BoringSSLServer {
    struct Failure: Error {
        let function: String
    }

    /// The settings and session keys that connections share.
    final class Context {
        let handle: OpaquePointer

        init(_ configure: (OpaquePointer) -> Void = { _ in }) throws {
            let certificates = try TestCertificates.shared()
            guard let handle = SSL_CTX_new(TLS_method()) else { throw Failure(function: "SSL_CTX_new") }
            self.handle = handle
            guard SSL_CTX_use_certificate_chain_file(handle, certificates.certificate(.trusted)) == 1,
                SSL_CTX_use_PrivateKey_file(handle, certificates.key, SSL_FILETYPE_PEM) == 1
            else { throw Failure(function: "SSL_CTX_use_PrivateKey_file") }
            configure(handle)
        }

        deinit { SSL_CTX_free(handle) }
    }

    let ssl: OpaquePointer
    private let context: Context
    private let input: OpaquePointer
    private let output: OpaquePointer

    init(_ context: Context) throws {
        guard let ssl = SSL_new(context.handle), let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem())
        else { throw Failure(function: "SSL_new") }
        self.ssl = ssl
        self.context = context
        self.input = input
        self.output = output
        SSL_set_bio(ssl, input, output)
        SSL_set_accept_state(ssl)
    }

    deinit { SSL_free(ssl) }

    /// Passes encrypted bytes of the client to the server, and returns the decrypted data and the encrypted bytes that
    /// the server sends. A failure of the server is ignored: the client receives its alert.
    func receive(_ bytes: [UInt8]) -> (data: [UInt8], sent: [UInt8]) {
        if !bytes.isEmpty { BIO_write(input, bytes, CInt(bytes.count)) }
        var data: [UInt8] = []
        while true {
            var part = [UInt8](repeating: 0, count: 4096)
            let count = SSL_read(ssl, &part, CInt(part.count))
            guard count > 0 else { break }
            data += part.prefix(Int(count))
        }
        ERR_clear_error()
        return (data, takeOutput())
    }

    func send(_ data: [UInt8]) -> [UInt8] {
        SSL_write(ssl, data, CInt(data.count))
        return takeOutput()
    }

    /// Replaces the key with which the server encrypts (RFC 8446 section 4.6.3). The next data sends the message.
    func updateKey(requestingUpdate: Bool) {
        SSL_key_update(ssl, requestingUpdate ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED)
    }

    private func takeOutput() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            var part = [UInt8](repeating: 0, count: 4096)
            let count = BIO_read(output, &part, CInt(part.count))
            guard count > 0 else { return bytes }
            bytes += part.prefix(Int(count))
        }
    }
}
