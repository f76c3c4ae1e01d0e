import CZlib
import NIOCore
import NightjarHTTP

/// Compresses and decompresses WebSocket messages with raw deflate. RFC 7692 section 7.2.
///
/// The memory of zlib is allocated when the first compressed message is received or sent: for decompression 39 KiB, for
/// compression eight times the window.
package final class MessageDeflate: WebSocketCompressor {
    /// zlib's default.
    package static let defaultLevel = 6

    private let agreement: WebSocketDeflate.Agreement
    private let level: Int
    private var inflater: MessageInflater?
    private var deflater: MessageDeflater?

    /// - Parameter level: 1 (fast) to 9 (small). Values outside of this range are clamped.
    package init(_ agreement: WebSocketDeflate.Agreement, level: Int = MessageDeflate.defaultLevel) {
        self.agreement = agreement
        self.level = min(max(level, 1), 9)
    }

    package func inflate(
        _ input: inout ByteBuffer, endsMessage: Bool, into output: inout ByteBuffer, maximum: Int
    ) throws(NightjarError) -> Bool {
        guard let inflater else {
            let inflater = try MessageInflater(resetsContext: agreement.serverResetsContext)
            self.inflater = inflater
            return try inflater.run(&input, endsMessage: endsMessage, into: &output, maximum: maximum)
        }
        return try inflater.run(&input, endsMessage: endsMessage, into: &output, maximum: maximum)
    }

    package func deflate(
        _ input: ByteBuffer, endsMessage: Bool, into output: inout ByteBuffer
    ) throws(NightjarError) {
        guard let deflater else {
            let deflater = try MessageDeflater(
                windowBits: agreement.clientWindowBits, resetsContext: agreement.clientResetsContext, level: level)
            self.deflater = deflater
            return try deflater.run(input, endsMessage: endsMessage, into: &output)
        }
        try deflater.run(input, endsMessage: endsMessage, into: &output)
    }

    /// The end of an empty stored block, which the sender removes from the end of each message and the receiver
    /// appends. RFC 7692 section 7.2.1.
    fileprivate static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

    fileprivate static let outOfMemory = NightjarError(
        .noMemory, "not enough memory to compress WebSocket messages; disable compression, or use a smaller window")
}

private final class MessageInflater {
    /// Allocated on the heap because zlib keeps its address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let resetsContext: Bool
    /// The number of bytes of ``MessageDeflate/tail`` that were appended to the current message.
    private var tailUsed = 0
    /// True if zlib has filled its output buffer. It may then have more output without further input.
    private var mayHoldMore = false
    /// True after a block that is marked as the last one. The data may continue after it. Section 7.2.3.4.
    private var isEnded = false

    /// The minimum size of the output buffer of one step, in bytes.
    private static let smallestRoom = 512

    /// The window always has the largest size. With a smaller one, zlib accepts a distance beyond the window if the output
    /// of the same call reaches back that far, so the result would depend on how the data arrives.
    init(resetsContext: Bool) throws(NightjarError) {
        self.resetsContext = resetsContext
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { throw MessageDeflate.outOfMemory }
    }

    deinit {
        // `inflateEnd` has no effect if the initialization failed.
        inflateEnd(stream)
        stream.deallocate()
    }

    func run(
        _ input: inout ByteBuffer, endsMessage: Bool, into output: inout ByteBuffer, maximum: Int
    ) throws(NightjarError) -> Bool {
        var room = maximum
        while true {
            if input.readableBytes == 0, !mayHoldMore {
                guard endsMessage else { return true }
                if isEnded || tailUsed == MessageDeflate.tail.count {
                    try finishMessage()
                    return true
                }
            }
            guard room > 0 else { return false }
            room -= try step(&input, endsMessage: endsMessage, into: &output, maximum: room)
        }
    }

    /// - Returns: the number of bytes that were appended to `output`.
    private func step(
        _ input: inout ByteBuffer, endsMessage: Bool, into output: inout ByteBuffer, maximum: Int
    ) throws(NightjarError) -> Int {
        if isEnded, input.readableBytes > 0 {
            // The window is kept: later blocks may refer to earlier data.
            inflateResetKeep(stream)
            isEnded = false
        }
        let size = min(max(input.readableBytes * 4, MessageInflater.smallestRoom), maximum)
        try output.reserve(size, for: "a WebSocket message")
        var status = Z_OK
        let made = output.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { room in
            stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(size)
            status = endsMessage && input.readableBytes == 0 ? inflateTail() : inflate(&input)
            return size - Int(stream.pointee.avail_out)
        }
        mayHoldMore = made == size
        switch status {
        case Z_OK: break
        case Z_BUF_ERROR where input.readableBytes == 0: break
        case Z_STREAM_END:
            isEnded = true
            mayHoldMore = false
        case Z_MEM_ERROR: throw MessageDeflate.outOfMemory
        default:
            throw damaged(stream.pointee.msg.map { String(cString: $0) } ?? "zlib reports status \(status)", status)
        }
        return made
    }

    private func inflate(_ input: inout ByteBuffer) -> Int32 {
        var status = Z_OK
        input.readWithUnsafeReadableBytes { bytes in
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(bytes.count)
            status = CZlib.inflate(stream, Z_NO_FLUSH)
            return bytes.count - Int(stream.pointee.avail_in)
        }
        return status
    }

    private func inflateTail() -> Int32 {
        MessageDeflate.tail.withUnsafeBufferPointer { tail in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: tail.baseAddress)?.advanced(by: tailUsed)
            stream.pointee.avail_in = UInt32(tail.count - tailUsed)
            let status = CZlib.inflate(stream, Z_NO_FLUSH)
            tailUsed = tail.count - Int(stream.pointee.avail_in)
            return status
        }
    }

    private func finishMessage() throws(NightjarError) {
        // zlib sets this bit if it expects the header of a block.
        guard isEnded || stream.pointee.data_type & 128 != 0 else {
            throw damaged("it ends in the middle of a block", Z_DATA_ERROR)
        }
        if resetsContext {
            inflateReset(stream)
        } else if isEnded {
            inflateResetKeep(stream)
        }
        isEnded = false
        tailUsed = 0
    }

    private func damaged(_ reason: String, _ code: Int32) -> NightjarError {
        .inBody(.decoding, "a compressed message is not valid deflate data: \(reason)", code: code)
    }
}

private final class MessageDeflater {
    /// Allocated on the heap because zlib keeps its address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let resetsContext: Bool

    /// zlib does not support windows of 256 bytes for raw deflate. With a window of 512 bytes, its distances are at
    /// most 250 bytes (the window minus MIN_LOOKAHEAD), so the peer needs only 256 bytes.
    private static let smallestWindowBits = 9

    init(windowBits: Int, resetsContext: Bool, level: Int) throws(NightjarError) {
        self.resetsContext = resetsContext
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let bits = max(windowBits, MessageDeflater.smallestWindowBits)
        // 8, zlib's default, for the largest window, and the same proportion for smaller windows.
        let memoryLevel = bits - 7
        let status = deflateInit2_(
            stream, Int32(level), Z_DEFLATED, -Int32(bits), Int32(memoryLevel), Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { throw MessageDeflate.outOfMemory }
    }

    deinit {
        // `deflateEnd` has no effect if the initialization failed.
        deflateEnd(stream)
        stream.deallocate()
    }

    func run(
        _ input: ByteBuffer, endsMessage: Bool, into output: inout ByteBuffer
    ) throws(NightjarError) {
        let before = output.readableBytes
        try input.withUnsafeReadableBytes { (bytes) throws(NightjarError) in
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(bytes.count)
            try flush(into: &output)
        }
        guard endsMessage else { return }
        if output.readableBytes == before {
            // Everything was flushed with an earlier piece: the message ends with the header of an empty stored block.
            output.writeInteger(0 as UInt8)
        } else {
            output.moveWriterIndex(to: output.writerIndex - MessageDeflate.tail.count)
        }
        if resetsContext { deflateReset(stream) }
    }

    private func flush(into output: inout ByteBuffer) throws(NightjarError) {
        var isRoomLeft = false
        while !isRoomLeft {
            // zlib needs more than 6 bytes, so that it does not repeat the end of the flush.
            let wanted = min(Int(stream.pointee.avail_in) / 2 + 64, 32 * 1024)
            try output.reserve(wanted, for: "a compressed WebSocket message")
            output.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { room in
                stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(clamping: room.count)
                let size = Int(stream.pointee.avail_out)
                // The result is ignored: the only possible error is Z_BUF_ERROR, which means that there was nothing to
                // do.
                CZlib.deflate(stream, Z_SYNC_FLUSH)
                isRoomLeft = stream.pointee.avail_out > 0
                return size - Int(stream.pointee.avail_out)
            }
        }
    }
}
