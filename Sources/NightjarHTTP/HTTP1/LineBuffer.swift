import NIOCore
import NightjarSystem

/// Assembles lines from buffers that may end anywhere.
///
/// Each byte is searched for LF once, so the cost does not depend on how the peer splits the data.
struct LineBuffer: Sendable {
    /// The beginning of an incomplete line.
    private(set) var partial = ByteBuffer()

    /// Returns the next line including its LF. If the line is incomplete, stores its beginning and returns nil.
    mutating func next(_ buffer: inout ByteBuffer) -> ByteBuffer? {
        guard let length = buffer.withUnsafeReadableBytes(LineBuffer.lineLength) else {
            if buffer.readableBytes > 0 { partial.writeBuffer(&buffer) }
            return nil
        }
        guard partial.readableBytes > 0 else { return buffer.readSlice(length: length) }
        buffer.readWithUnsafeReadableBytes { bytes in
            partial.writeBytes(bytes.prefix(length))
            return length
        }
        defer { partial = ByteBuffer() }
        return partial
    }

    /// Returns the number of bytes up to and including the first LF, or nil if there is no LF.
    static func lineLength(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let start = bytes.baseAddress, let end = memchr(start, 0x0A, bytes.count) else { return nil }
        return UnsafeRawPointer(end) - start + 1
    }
}
