import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Gathers one line at a time out of buffers that may end anywhere.
///
/// Each byte is looked at once, so a peer that sends a byte a packet costs no more than its packets. A line is judged
/// only when it is complete, so that where the packets were cut decides nothing.
struct LineBuffer: Sendable {
    /// The beginning of a line whose end has not come.
    private(set) var partial = ByteBuffer()

    /// The next line with its LF, or nil after moving what there is of it here.
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

    /// Bytes up to and with the first LF.
    static func lineLength(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let start = bytes.baseAddress, let end = memchr(start, 0x0A, bytes.count) else { return nil }
        return UnsafeRawPointer(end) - start + 1
    }
}
