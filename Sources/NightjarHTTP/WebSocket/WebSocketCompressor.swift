import NIOCore

/// Compresses and decompresses the messages of one connection. RFC 7692 section 7.2.
///
/// NightjarCoding implements it. A class, because it owns C memory that must be freed exactly once.
package protocol WebSocketCompressor: AnyObject {
    /// Decompresses part of a message.
    ///
    /// - Parameters:
    ///   - input: the compressed bytes of which the consumed part is removed.
    ///   - endsMessage: true if `input` ends the message.
    ///   - maximum: the maximum number of bytes to append to `output`. Must be positive.
    /// - Returns: true if all output of `input` was appended. If false, call the method again.
    /// - Throws: `decoding` for invalid data, `no_memory`. The method must not be called again after an error.
    func inflate(
        _ input: inout ByteBuffer, endsMessage: Bool, into output: inout ByteBuffer, maximum: Int
    ) throws(NightjarError) -> Bool

    /// Compresses part of a message. The peer can decompress all of the part when it has received the output.
    ///
    /// - Throws: `no_memory`.
    func deflate(
        _ input: ByteBuffer, endsMessage: Bool, into output: inout ByteBuffer
    ) throws(NightjarError)
}
