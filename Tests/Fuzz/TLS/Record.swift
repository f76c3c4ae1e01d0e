import CNIOBoringSSL
import Glibc
import NightjarCrypto

/// Writes the bytes of a server as seeds: for each version, with and without verification, ALPN and a requested client
/// certificate. The server sends tickets, data, key updates and close_notify.
func record(_ arguments: [String]) throws {
    require(arguments.count == 3, "usage: FuzzTLS --record FOLDER CERTIFICATE KEY")
    for number in 0..<16 as Range<UInt8> {
        for requestsCertificate in [false, true] {
            guard let scenario = Scenario(number) else { continue }
            let bytes = try flight(scenario, arguments[1], arguments[2], requestsCertificate)
            let file = fopen("\(arguments[0])/\(number)\(requestsCertificate ? "-client-certificate" : "")", "w")
            let seed = [number, 255] + bytes
            fwrite(seed, 1, seed.count, file)
            fclose(file)
        }
    }
}

/// Returns all bytes of a server in one connection.
private func flight(
    _ scenario: Scenario, _ certificate: String, _ key: String, _ requestsCertificate: Bool
) throws -> [UInt8] {
    RAND_reset_for_fuzzing()
    let client = try TLSConnection(scenario.context, scenario.options)
    guard let settings = SSL_CTX_new(TLS_method()), let server = SSL_new(settings), let input = BIO_new(BIO_s_mem()),
        let output = BIO_new(BIO_s_mem())
    else { return [] }
    defer {
        SSL_free(server)
        SSL_CTX_free(settings)
    }
    SSL_set_bio(server, input, output)
    SSL_set_accept_state(server)
    let isReady =
        SSL_use_certificate_file(server, certificate, SSL_FILETYPE_PEM) == 1
        && SSL_use_PrivateKey_file(server, key, SSL_FILETYPE_PEM) == 1
    require(isReady, "the certificate or its key cannot be read")
    if requestsCertificate { SSL_set_verify(server, SSL_VERIFY_PEER, nil) }
    SSL_CTX_set_alpn_select_cb(
        settings,
        { _, selected, count, offered, _, _ in
            selected?.pointee = offered.map { $0 + 1 }
            count?.pointee = 8
            return SSL_TLSEXT_ERR_OK
        }, nil)
    var sent: [UInt8] = []
    var isOpen = false
    var inputOfClient: [UInt8] = []
    for _ in 0..<4 {
        try inputOfClient.withUnsafeBytes { bytes in
            var rest = bytes
            if !isOpen { isOpen = try client.handshake(&rest) }
        }
        let hello = Array(client.pendingOutput)
        client.removeOutput()
        BIO_write(input, hello, CInt(hello.count))
        SSL_do_handshake(server)
        inputOfClient = take(output)
        sent += inputOfClient
    }
    require(isOpen, "the handshake failed")
    let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)
    SSL_write(server, response, CInt(response.count))
    SSL_key_update(server, SSL_KEY_UPDATE_REQUESTED)
    SSL_write(server, response, CInt(response.count))
    SSL_shutdown(server)
    ERR_clear_error()
    return sent + take(output)
}

private func take(_ output: OpaquePointer) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = BIO_read(output, &bytes, CInt(bytes.count))
    return Array(bytes.prefix(max(0, Int(count))))
}
