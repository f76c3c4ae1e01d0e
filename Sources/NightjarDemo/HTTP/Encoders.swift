import CBrotli
import CZlib
import CZstd

/// Applies content codings with the common libraries.
///
/// Shares no code with the client, because an error in shared code would go unnoticed.
enum ContentEncoder: String, CaseIterable {
    case gzip
    case deflate
    /// Raw deflate data, which some servers send as `deflate` contrary to RFC 9110.
    case rawDeflate = "deflate-raw"
    case brotli = "br"
    case zstd
    case identity

    /// The name of the coding in a Content-Encoding field.
    var coding: String { self == .rawDeflate ? "deflate" : rawValue }

    /// Applies the coding. Returns nil if memory could not be allocated.
    func encode(_ bytes: [UInt8]) -> [UInt8]? {
        switch self {
        case .gzip: Deflater.encode(bytes, windowBits: MAX_WBITS + 16)
        case .deflate: Deflater.encode(bytes, windowBits: MAX_WBITS)
        case .rawDeflate: Deflater.encode(bytes, windowBits: -MAX_WBITS)
        case .brotli: ContentEncoder.brotli(bytes)
        case .zstd: ContentEncoder.zstd(bytes)
        case .identity: bytes
        }
    }

    private static func brotli(_ bytes: [UInt8]) -> [UInt8]? {
        let capacity = BrotliEncoderMaxCompressedSize(bytes.count)
        // Zero means that the size is unknown.
        guard capacity > 0 else { return nil }
        var isEncoded = false
        let output = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            var size = capacity
            let result = BrotliEncoderCompress(
                5, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, bytes.count, bytes, &size, output.baseAddress)
            isEncoded = result == BROTLI_TRUE
            count = isEncoded ? size : 0
        }
        return isEncoded ? output : nil
    }

    /// Compresses with a content checksum, as the command-line tool does.
    private static func zstd(_ bytes: [UInt8]) -> [UInt8]? {
        guard let context = ZSTD_createCCtx() else { return nil }
        defer { ZSTD_freeCCtx(context) }
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
        let capacity = ZSTD_compressBound(bytes.count)
        var isEncoded = false
        let output = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            let size = ZSTD_compress2(context, output.baseAddress, capacity, bytes, bytes.count)
            isEncoded = ZSTD_isError(size) == 0
            count = isEncoded ? size : 0
        }
        return isEncoded ? output : nil
    }
}

/// Compresses with zlib in one step.
enum Deflater {
    /// - Parameters:
    ///   - windowBits: the argument of zlib's `deflateInit2`, which selects gzip, zlib or raw deflate.
    ///   - flush: `Z_FINISH`, or `Z_FULL_FLUSH` for a piece that can be concatenated with others.
    static func encode(_ bytes: [UInt8], windowBits: Int32, flush: Int32 = Z_FINISH) -> [UInt8]? {
        guard let length = UInt32(exactly: bytes.count) else { return nil }
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard deflateInit2_(&stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
        else {
            return nil
        }
        defer { deflateEnd(&stream) }
        let capacity = Int(deflateBound(&stream, UInt(length))) + flushMark
        guard let room = UInt32(exactly: capacity) else { return nil }
        var input = bytes
        var isEncoded = false
        let output = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = length
                stream.next_out = output.baseAddress
                stream.avail_out = room
                let status = deflate(&stream, flush)
                isEncoded = status == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && stream.avail_in == 0
                count = isEncoded ? capacity - Int(stream.avail_out) : 0
            }
        }
        return isEncoded ? output : nil
    }

    /// The maximum size in bytes of the empty block that a flush appends. `deflateBound` does not include this block.
    private static let flushMark = 16
}

/// Decompresses with zlib in one step.
enum Inflater {
    /// - Parameter bytes: one gzip member.
    /// - Returns: nil if the member is invalid, truncated, followed by other data, or larger than `limit` bytes.
    static func decode(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
        guard let length = UInt32(exactly: bytes.count) else { return nil }
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard inflateInit2_(&stream, MAX_WBITS + 16, ZLIB_VERSION, size) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var input = bytes
        var output: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 64 * 1024)
        return input.withUnsafeMutableBufferPointer { input -> [UInt8]? in
            stream.next_in = input.baseAddress
            stream.avail_in = length
            while true {
                let (status, made) = room.withUnsafeMutableBufferPointer { room in
                    stream.next_out = room.baseAddress
                    stream.avail_out = UInt32(room.count)
                    let status = inflate(&stream, Z_NO_FLUSH)
                    return (status, room.count - Int(stream.avail_out))
                }
                guard made <= limit - output.count else { return nil }
                output += room[..<made]
                switch status {
                case Z_OK: continue
                case Z_STREAM_END: return stream.avail_in == 0 ? output : nil
                default: return nil
                }
            }
        }
    }
}
