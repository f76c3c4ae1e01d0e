import CZlib
import NIOCore
import NightjarHTTP

/// Applies the gzip coding (RFC 1952) to a request body. The header contains neither a time nor a name.
package struct GzipEncoder: ~Copyable {
    /// zlib's default. Higher levels take about twice the time and reduce the size by about one percent.
    package static let defaultLevel = 6

    private let stream: Deflation
    private var isFinished = false

    /// - Parameter level: 1 (fast) to 9 (small). Values outside of this range are clamped.
    package init(level: Int = GzipEncoder.defaultLevel) throws(NightjarError) {
        stream = try Deflation(level: Int32(min(max(level, 1), 9)))
    }

    /// Encodes bytes. Passes the available output to `deliver` in parts of 1 to ``CodingStack/maximumPart`` bytes. The
    /// output begins with a header of 10 bytes. Short input is usually buffered until a flush or the end.
    package mutating func encode(
        _ bytes: ByteBuffer, into deliver: (ByteBuffer) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        try run(bytes, Z_NO_FLUSH, into: deliver)
    }

    /// Passes all buffered output to `deliver`, so that the peer can decode everything encoded so far.
    package mutating func flush(
        into deliver: (ByteBuffer) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        try run(ByteBuffer(), Z_SYNC_FLUSH, into: deliver)
    }

    /// Ends the gzip member. Call it once.
    package mutating func finish(
        into deliver: (ByteBuffer) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        try run(ByteBuffer(), Z_FINISH, into: deliver)
        isFinished = true
    }

    private func run(
        _ bytes: ByteBuffer, _ flush: Int32, into deliver: (ByteBuffer) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        guard !isFinished else {
            throw NightjarError(.invalidArgument, "encoding failed: the body has already ended")
        }
        var bytes = bytes
        repeat {
            // zlib counts bytes in 32 bits, so longer input is processed in parts.
            let piece = bytes.readSlice(length: min(bytes.readableBytes, Int(Int32.max))) ?? ByteBuffer()
            let mode = bytes.readableBytes == 0 ? flush : Z_NO_FLUSH
            try piece.withUnsafeReadableBytes { (piece) throws(NightjarError) in
                try stream.run(piece, mode, into: deliver)
            }
        } while bytes.readableBytes > 0
    }
}

/// Owns the state of zlib.
private final class Deflation {
    /// Allocated on the heap because zlib keeps its address.
    private let stream: UnsafeMutablePointer<z_stream>

    init(level: Int32) throws(NightjarError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = deflateInit2_(
            stream, level, Z_DEFLATED, MAX_WBITS + 16, Deflation.memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            throw NightjarError(.noMemory, "not enough memory to compress the body", code: status)
        }
    }

    deinit {
        // `deflateEnd` has no effect if the initialization failed.
        deflateEnd(stream)
        stream.deallocate()
    }

    func run(
        _ input: UnsafeRawBufferPointer, _ flush: Int32, into deliver: (ByteBuffer) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(clamping: input.count)
        var isRoomLeft = false
        while !isRoomLeft {
            var part = ByteBufferAllocator().buffer(capacity: Deflation.partSize)
            part.writeWithUnsafeMutableBytes(minimumWritableBytes: Deflation.partSize) { room in
                let size = min(room.count, CodingStack.maximumPart)
                stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(size)
                // The result is ignored: the only possible error is Z_BUF_ERROR, which means that there was nothing to
                // do.
                deflate(stream, flush)
                isRoomLeft = stream.pointee.avail_out > 0
                return size - Int(stream.pointee.avail_out)
            }
            if part.readableBytes > 0 { try deliver(part) }
        }
    }

    /// zlib's default: 256 KiB with the largest window.
    private static let memoryLevel: Int32 = 8

    /// The size of an output buffer in bytes. zlib usually produces a block of 16 to 32 KiB at once.
    private static let partSize = 16 * 1024
}
