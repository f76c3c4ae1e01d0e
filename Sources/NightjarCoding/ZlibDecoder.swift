import CZlib
import NightjarHTTP

/// Decodes the formats of zlib: gzip (RFC 1952), the zlib format (RFC 1950) and raw deflate (RFC 1951).
final class ZlibDecoder: LayerDecoder {
    enum Wrapping {
        case gzip, zlib, none

        /// The `windowBits` argument of zlib for this format, with the largest window of 32 KiB.
        var windowBits: Int32 {
            switch self {
            case .gzip: MAX_WBITS + 16
            case .zlib: MAX_WBITS
            case .none: -MAX_WBITS
            }
        }
    }

    /// The progress of decoding. After `ended`, another gzip member may follow (RFC 1952 section 2.2). In the other
    /// formats, no data may follow.
    private enum State {
        case empty, inside, ended
    }

    private let wrapping: Wrapping
    /// Allocated on the heap because zlib keeps its address.
    private let stream: UnsafeMutablePointer<z_stream>
    private var state = State.empty
    private var membersEnded = 0

    init(_ wrapping: Wrapping) throws(NightjarError) {
        self.wrapping = wrapping
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = inflateInit2_(stream, wrapping.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { throw coding.outOfMemory }
    }

    deinit {
        // `inflateEnd` has no effect if the initialization failed.
        inflateEnd(stream)
        stream.deallocate()
    }

    var isWhole: Bool { state != .inside }

    private var coding: ContentCoding { wrapping == .gzip ? .gzip : .deflate }

    func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
    ) throws(NightjarError) -> LayerProgress {
        if input.isEmpty, state != .inside { return LayerProgress(taken: 0, made: 0) }
        if state == .ended {
            guard wrapping == .gzip else { throw coding.damaged("unexpected data after the end") }
            inflateReset(stream)
        }
        state = .inside

        // zlib counts bytes in 32 bits, so longer buffers are processed in parts.
        let offered = min(input.count, Int(Int32.max))
        let room = min(output.count, Int(Int32.max))
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(offered)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(room)
        let status = inflate(stream, Z_NO_FLUSH)
        let progress = LayerProgress(
            taken: offered - Int(stream.pointee.avail_in), made: room - Int(stream.pointee.avail_out))

        switch status {
        case Z_OK, Z_BUF_ERROR:
            return progress
        case Z_STREAM_END:
            state = .ended
            membersEnded &+= 1
            return progress
        case Z_MEM_ERROR:
            throw coding.outOfMemory
        case Z_NEED_DICT:
            throw coding.damaged("it requires a preset dictionary, which HTTP does not provide", code: status)
        default:
            if membersEnded > 0 { throw coding.damaged("the data after a gzip member is not a valid gzip member") }
            throw coding.damaged(
                stream.pointee.msg.map { String(cString: $0) } ?? "zlib reports status \(status)", code: status)
        }
    }
}

/// Decodes `deflate`: the zlib format, as RFC 9110 section 8.4.1.2 requires, or raw deflate. Some servers send raw
/// deflate, and browsers accept it. The first two bytes determine the format.
final class DeflateDecoder: LayerDecoder {
    private var first: UInt8?
    private var decoder: ZlibDecoder?

    var isWhole: Bool { decoder?.isWhole ?? (first == nil) }

    func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
    ) throws(NightjarError) -> LayerProgress {
        if let decoder { return try decoder.step(input, output) }
        guard let next = input.first else { return LayerProgress(taken: 0, made: 0) }
        guard let first else {
            self.first = next
            return LayerProgress(taken: 1, made: 0)
        }
        let decoder = try ZlibDecoder(DeflateDecoder.isZlibHeader(first, next) ? .zlib : .none)
        self.decoder = decoder
        // One byte produces no output in either format, so the whole buffer is still available.
        _ = try withUnsafeBytes(of: first) { (byte) throws(NightjarError) in try decoder.step(byte, output) }
        return try decoder.step(input, output)
    }

    /// Returns true if two bytes are a zlib header (RFC 1950 section 2.2): the method is 8, the window is at most 32
    /// KiB, and the 16-bit big-endian number is a multiple of 31. Raw deflate matches only if it begins with a stored
    /// block with non-zero padding.
    private static func isZlibHeader(_ first: UInt8, _ second: UInt8) -> Bool {
        first & 0x0F == 8 && first >> 4 <= 7 && (UInt16(first) << 8 | UInt16(second)) % 31 == 0
    }
}
