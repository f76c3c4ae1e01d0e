import NIOCore
import NightjarCrypto
import NightjarHTTP

/// The upgrade of a connection to WebSocket, from the request to the head of its response. RFC 6455 section 4.1.
struct ConnectionUpgrade {
    private let key = WebSocketKey(random: SecureRandom.bytes(WebSocketKey.randomByteCount))

    /// Adds a new key to the head of a request.
    ///
    /// - Returns: Nil if the request asks for no upgrade.
    init?(_ request: PreparedRequest, addingKeyTo head: inout ByteBuffer) {
        guard case .upgrade = request.body else { return nil }
        head.moveWriterIndex(to: head.writerIndex - 2)
        head.writeString("\(WebSocketKey.fieldName): \(key.value)\r\n\r\n")
    }

    /// Returns whether the server has accepted the upgrade.
    ///
    /// - Throws: `protocol` if the server switches protocols, but has not accepted this handshake.
    func isAccepted(by head: ResponseHead) throws(NightjarError) -> Bool {
        guard head.status == 101 else { return false }
        try key.check(head, sha1: Digest.sha1)
        return true
    }
}
