import CPlatform
import NIOCore
import NightjarSystem

/// Reads a large body directly from the socket, because the channel reads at most 64 KiB at once.
///
/// The address of each byte is equal to its position in the body modulo ``block``, so that a file can be written from the
/// buffers without the page cache.
struct LargeBodyReader {
    private let socket: SocketHandle
    private let buffers: LargeBodyBuffers
    /// Whether the buffers are kept for this connection.
    private var keepsBuffers = false

    init(_ socket: SocketHandle, _ buffers: LargeBodyBuffers) { (self.socket, self.buffers) = (socket, buffers) }

    /// Reads the available bytes, at most ``size``. Returns nil if there are none, if there is no free buffer, or at the end
    /// of the stream, which the channel then reads again.
    ///
    /// - Parameter position: The position of the next byte in the body.
    /// - Throws: An error of the socket, which the channel does not receive any more.
    mutating func read(at position: Int) throws(IOError) -> ByteBuffer? {
        if !keepsBuffers {
            buffers.users += 1
            keepsBuffers = true
        }
        let excess = position % LargeBodyReader.block
        var code: CInt = 0
        let buffer = buffers.fill { memory in
            guard let base = memory.baseAddress else { return nil }
            let padding = (excess - Int(bitPattern: base)) & (LargeBodyReader.block - 1)
            // The next read then starts at a whole block.
            let length = LargeBodyReader.size - excess
            let result = socket.read(UnsafeMutableRawBufferPointer(rebasing: memory[padding..<padding + length]))
            if result < 0 { code = errno }
            return result > 0 ? padding..<padding + result : nil
        }
        if ![0, EAGAIN, EWOULDBLOCK, EINTR].contains(code) { throw IOError(errnoCode: code, reason: "recv") }
        return buffer
    }

    /// Lets the buffers be released. Called at the end of an exchange.
    mutating func end() {
        guard keepsBuffers else { return }
        keepsBuffers = false
        buffers.users -= 1
    }

    /// The number of bytes that one read can return.
    static let size = 128 << 10
    /// The unit of direct writes to files in bytes.
    static let block = Int(CPLATFORM_DIRECT_BLOCK)
}
