/// The key of an opening handshake over HTTP/1.1. It proves that the server has understood the request and that the
/// response is not a cached one. RFC 6455 sections 4.1 and 4.2.2.
package struct WebSocketKey: Sendable {
    package typealias Hash = ([UInt8]) -> [UInt8]

    package static let fieldName = "Sec-WebSocket-Key"
    /// The number of random bytes of a key.
    package static let randomByteCount = 16

    /// The value of Sec-WebSocket-Key.
    package let value: String

    /// - Parameter random: ``randomByteCount`` unpredictable bytes, which are not used for another connection.
    package init(random: [UInt8]) {
        assert(random.count == WebSocketKey.randomByteCount)
        value = Base64.encode(random)
    }

    /// Returns the value of Sec-WebSocket-Accept that the server must send.
    ///
    /// - Parameter sha1: returns the SHA-1 digest, 20 bytes.
    package func accept(sha1: Hash) -> String {
        Base64.encode(sha1(Array((value + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }

    /// Checks a response with the status 101.
    ///
    /// - Throws: `protocol` if the server has not accepted this handshake.
    package func check(_ head: ResponseHead, sha1: Hash) throws(NightjarError) {
        guard head.version != .http1_0 else { throw .failedHandshake("the server responded with HTTP/1.0") }
        let upgrade = head.headers.values("Upgrade")
        guard upgrade.count == 1, ASCII.equalIgnoringCase(upgrade[0].utf8, "websocket".utf8) else {
            throw .failedHandshake("the Upgrade field must be \"websocket\", got \(shown(upgrade))")
        }
        let connection = head.headers.values("Connection")
        guard connection.contains(where: hasUpgrade) else {
            throw .failedHandshake("the Connection field must contain \"Upgrade\", got \(shown(connection))")
        }
        let accept = head.headers.values("Sec-WebSocket-Accept")
        let expected = self.accept(sha1: sha1)
        guard accept.count == 1, accept[0].isExactly(expected) else {
            throw .failedHandshake("Sec-WebSocket-Accept must be \(quoted(expected)), got \(shown(accept))")
        }
    }

    private func hasUpgrade(_ value: String) -> Bool {
        value.utf8.split(separator: UInt8(ascii: ",")).contains {
            ASCII.equalIgnoringCase(ASCII.trimmed($0), "upgrade".utf8)
        }
    }

    private func shown(_ values: [String]) -> String {
        values.isEmpty ? "none" : values.map { quoted($0) }.joined(separator: ", ")
    }
}

extension NightjarError {
    static func failedHandshake(_ reason: String, _ kind: ErrorKind = .protocol) -> NightjarError {
        NightjarError(kind, "the WebSocket handshake failed: \(reason)", phase: .receive)
    }
}
