import NIOCore

/// Writes the frames of a client, or of a server. RFC 6455 sections 5.2 and 5.3.
package enum WebSocketFrameEncoder {
    /// The maximum size of a header with its mask key, in bytes.
    package static let maximumHeader = 14

    /// Appends one frame to `output`.
    ///
    /// - Parameter mask: the mask key. Must be unpredictable and new for each frame (section 10.3). Nil for a frame of a
    ///   server.
    /// - Throws: `no_memory`. Nothing is written then.
    package static func write(
        _ opcode: WebSocketFrame.Opcode, isFinal: Bool = true, isCompressed: Bool = false,
        _ payload: ByteBuffer, mask: UInt32?, into output: inout ByteBuffer
    ) throws(NightjarError) {
        let first =
            opcode.rawValue | (isFinal ? WebSocketFrame.finalBit : 0)
            | (isCompressed ? WebSocketFrame.compressedBit : 0)
        let count = payload.readableBytes
        try output.reserve(count + maximumHeader, for: "a WebSocket frame")
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: count + maximumHeader) { room in
            let header = writeHeader(first, count: count, mask: mask, to: room)
            payload.withUnsafeReadableBytes {
                copy($0, masked: mask ?? 0, to: UnsafeMutableRawBufferPointer(rebasing: room[header...]))
            }
            return header + count
        }
    }

    /// - Returns: the size of the header.
    @inline(__always)
    private static func writeHeader(
        _ first: UInt8, count: Int, mask: UInt32?, to room: UnsafeMutableRawBufferPointer
    ) -> Int {
        room[0] = first
        let maskBit = mask == nil ? 0 : WebSocketFrame.maskBit
        var end = 2
        switch count {
        case ...125: room[1] = UInt8(truncatingIfNeeded: count) | maskBit
        case ...0xFFFF:
            room[1] = 126 | maskBit
            room.storeBytes(of: UInt16(truncatingIfNeeded: count).bigEndian, toByteOffset: 2, as: UInt16.self)
            end = 4
        default:
            room[1] = 127 | maskBit
            room.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self)
            end = 10
        }
        guard let mask else { return end }
        room.storeBytes(of: mask.bigEndian, toByteOffset: end, as: UInt32.self)
        return end + 4
    }

    /// Copies bytes and masks the copy, eight bytes at a time. The first byte is masked with the highest byte of `mask`.
    ///
    /// - Parameter target: has room for the bytes of `source`.
    package static func copy(
        _ source: UnsafeRawBufferPointer, masked mask: UInt32, to target: UnsafeMutableRawBufferPointer
    ) {
        let key = UInt64(mask.bigEndian)
        let word = key | key << 32
        var at = 0
        while source.count - at >= 8 {
            let masked = source.loadUnaligned(fromByteOffset: at, as: UInt64.self) ^ word
            target.storeBytes(of: masked, toByteOffset: at, as: UInt64.self)
            at += 8
        }
        while at < source.count {
            target[at] = source[at] ^ UInt8(truncatingIfNeeded: mask >> UInt32(24 - at % 4 * 8))
            at += 1
        }
    }
}
