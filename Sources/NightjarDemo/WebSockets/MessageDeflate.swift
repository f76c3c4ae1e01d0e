import CZlib
import NIOCore

/// Compresses the messages of one direction of a connection (RFC 7692 section 7.2.1).
final class MessageDeflater {
    /// The maximum number of bytes that one call of zlib produces.
    private static let step = 32 * 1024

    private let stream: UnsafeMutablePointer<z_stream>
    private let keepsContext: Bool

    /// - Parameters:
    ///   - windowBits: the base-2 logarithm of the window, from 8 to 15.
    ///   - keepsContext: true if a message may refer to previous messages.
    /// - Returns: nil if memory could not be allocated.
    init?(windowBits: Int, keepsContext: Bool) {
        self.keepsContext = keepsContext
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // zlib does not support a window of 256 bytes for raw deflate. With Z_RLE, all distances are 1, so that the
        // data is valid for that window.
        let strategy = windowBits < 9 ? Z_RLE : Z_DEFAULT_STRATEGY
        let size = Int32(MemoryLayout<z_stream>.size)
        let status = deflateInit2_(
            stream, 6, Z_DEFLATED, -Int32(max(windowBits, 9)), 8, strategy, ZLIB_VERSION, size)
        guard status == Z_OK else { return nil }
    }

    deinit {
        // Has no effect if the initialization failed.
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses a message. Returns nil if zlib reports an error.
    func deflate(_ message: ByteBuffer) -> ByteBuffer? {
        // A block without content. zlib does not repeat a flush without input (section 7.2.3.6).
        guard message.readableBytes > 0 else { return ByteBuffer(integer: UInt8(0)) }
        var output = ByteBuffer()
        output.reserveCapacity(message.readableBytes / 2 + 64)
        let isDeflated = message.withUnsafeReadableBytes { input in
            stream.provide(input)
            while true {
                let (status, isFull) = stream.produce(into: &output, atMost: MessageDeflater.step) {
                    CZlib.deflate($0, Z_SYNC_FLUSH)
                }
                guard status == Z_OK || status == Z_BUF_ERROR else { return false }
                if !isFull { return stream.pointee.avail_in == 0 }
            }
        }
        guard isDeflated else { return nil }
        if !keepsContext { deflateReset(stream) }
        output.moveWriterIndex(to: output.writerIndex - MessageInflater.tail.count)
        return output
    }
}

/// Decompresses the messages of one direction of a connection (RFC 7692 section 7.2.2).
final class MessageInflater {
    enum Result: Equatable {
        case message(ByteBuffer)
        case invalid
        case tooLarge
    }

    /// The end of each compressed message, which is not sent.
    static let tail: [UInt8] = [0, 0, 0xFF, 0xFF]

    private static let maximumWindow = 32 * 1024

    private let stream: UnsafeMutablePointer<z_stream>
    private let keepsContext: Bool
    /// The maximum number of bytes that one call of zlib produces. It is equal to the size of the window, because zlib
    /// accepts any distance within the output of the current call.
    private let step: Int

    /// - Parameters:
    ///   - windowBits: the base-2 logarithm of the window, from 8 to 15. A message with a distance above twice the
    ///     window is invalid. Shorter distances beyond the window are not always noticed.
    ///   - keepsContext: true if a message may refer to previous messages.
    /// - Returns: nil if memory could not be allocated.
    init?(windowBits: Int, keepsContext: Bool) {
        self.keepsContext = keepsContext
        step = 1 << windowBits
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let size = Int32(MemoryLayout<z_stream>.size)
        guard inflateInit2_(stream, -Int32(windowBits), ZLIB_VERSION, size) == Z_OK else { return nil }
    }

    deinit {
        // Has no effect if the initialization failed.
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses a message.
    ///
    /// - Parameter limit: the maximum size of the decompressed message in bytes.
    func inflate(_ message: ByteBuffer, limit: Int) -> Result {
        var output = ByteBuffer()
        for input in [message, ByteBuffer(bytes: MessageInflater.tail)] {
            let failure = input.withUnsafeReadableBytes { inflate($0, into: &output, limit: limit) }
            if let failure { return failure }
        }
        if !keepsContext { inflateReset(stream) }
        return .message(output)
    }

    /// - Returns: nil if all of `input` was decompressed.
    private func inflate(_ input: UnsafeRawBufferPointer, into output: inout ByteBuffer, limit: Int) -> Result? {
        stream.provide(input)
        while true {
            let (status, isFull) = stream.produce(into: &output, atMost: step) { CZlib.inflate($0, Z_SYNC_FLUSH) }
            guard output.readableBytes <= limit else { return .tooLarge }
            switch status {
            case Z_OK, Z_BUF_ERROR:
                if !isFull { return stream.pointee.avail_in == 0 ? nil : .invalid }
            case Z_STREAM_END:
                guard restart() else { return .invalid }
                if stream.pointee.avail_in == 0 { return nil }
            default:
                return .invalid
            }
        }
    }

    /// Continues after a block with the BFINAL bit, which a client may send (section 7.2.3.4). The window is kept.
    private func restart() -> Bool {
        var window = [UInt8](repeating: 0, count: MessageInflater.maximumWindow)
        var length: uInt = 0
        return inflateGetDictionary(stream, &window, &length) == Z_OK && inflateReset(stream) == Z_OK
            && inflateSetDictionary(stream, window, length) == Z_OK
    }
}

extension UnsafeMutablePointer<z_stream> {
    /// Sets the input. A message is smaller than 4 GiB.
    fileprivate func provide(_ input: UnsafeRawBufferPointer) {
        pointee.next_in = UnsafeMutablePointer<UInt8>(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        pointee.avail_in = UInt32(truncatingIfNeeded: input.count)
    }

    /// Calls `run` with room for `step` bytes of output.
    ///
    /// - Returns: zlib's status, and true if the room was filled, so that more output may follow.
    fileprivate func produce(
        into output: inout ByteBuffer, atMost step: Int, _ run: (UnsafeMutablePointer<z_stream>) -> Int32
    ) -> (status: Int32, isFull: Bool) {
        var result: (status: Int32, isFull: Bool) = (Z_OK, false)
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: step) { room in
            pointee.next_out = room.bindMemory(to: UInt8.self).baseAddress
            pointee.avail_out = UInt32(step)
            result.status = run(self)
            result.isFull = pointee.avail_out == 0
            return step - Int(pointee.avail_out)
        }
        return result
    }
}
