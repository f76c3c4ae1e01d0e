import CBrotli
import CZlib
import CZstd
import NIOCore
import NightjarCoding
import NightjarHTTP
import NightjarTestSupport
import Testing

/// The forms of encoded input, created with the encoders of the libraries.
enum Form: CaseIterable, CustomTestStringConvertible {
    case gzip, zlib, rawDeflate, brotli, zstd

    var coding: ContentCoding {
        switch self {
        case .gzip: .gzip
        case .zlib, .rawDeflate: .deflate
        case .brotli: .brotli
        case .zstd: .zstd
        }
    }

    var testDescription: String { self == .rawDeflate ? "raw deflate" : self == .zlib ? "zlib" : coding.name }

    func encode(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .gzip: deflated(bytes, windowBits: 31)
        case .zlib: deflated(bytes, windowBits: 15)
        case .rawDeflate: deflated(bytes, windowBits: -15)
        case .brotli: brotliEncoded(bytes)
        case .zstd: zstdEncoded(bytes)
        }
    }
}

func deflated(_ bytes: [UInt8], windowBits: Int32) -> [UInt8] {
    var stream = z_stream()
    deflateInit2_(
        &stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 64)
    var input = bytes
    let count = input.withUnsafeMutableBufferPointer { input in
        output.withUnsafeMutableBufferPointer { output in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            stream.next_out = output.baseAddress
            stream.avail_out = UInt32(output.count)
            precondition(deflate(&stream, Z_FINISH) == Z_STREAM_END)
            return output.count - Int(stream.avail_out)
        }
    }
    return Array(output[..<count])
}

func brotliEncoded(_ bytes: [UInt8]) -> [UInt8] {
    var count = BrotliEncoderMaxCompressedSize(bytes.count) + 64
    var output = [UInt8](repeating: 0, count: count)
    precondition(
        BrotliEncoderCompress(5, 22, BROTLI_MODE_GENERIC, bytes.count, bytes, &count, &output) == BROTLI_TRUE)
    return Array(output[..<count])
}

/// Encodes with a checksum, like the command-line tool.
func zstdEncoded(_ bytes: [UInt8], windowLog: Int32? = nil) -> [UInt8] {
    let context = ZSTD_createCCtx()
    defer { ZSTD_freeCCtx(context) }
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
    if let windowLog { ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, windowLog) }
    var output = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count))
    let count = ZSTD_compress2(context, &output, output.count, bytes, bytes.count)
    precondition(ZSTD_isError(count) == 0)
    return Array(output[..<count])
}

/// Returns repeated words, as in a typical body, and some bytes that do not compress.
func sample(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    var bytes: [UInt8] = []
    while bytes.count < count {
        switch random.next() % 4 {
        case 0: bytes += random.bytes(5)
        case 1 where bytes.count > 40: bytes += bytes[(bytes.count - 40)..<(bytes.count - 10)]
        default: bytes += "{\"title\": \"Swallows\", \"tags\": [\"birds\"]}, ".utf8
        }
    }
    return Array(bytes[..<count])
}

/// Decodes `pieces` to the end.
func decode(
    _ pieces: some Sequence<[UInt8]>, _ codings: [ContentCoding],
    limits: DecodingLimits = DecodingLimits(maximumBytes: 1 << 30)
) throws(NightjarError) -> [UInt8] {
    var stack = try CodingStack(codings: codings, limits: limits)
    var output: [UInt8] = []
    for piece in pieces {
        try stack.decode(ByteBuffer(bytes: piece)) { part in output += part.readableBytesView }
    }
    try stack.finish()
    return output
}

/// Returns the error for this input, or nil if it is accepted.
func failure(
    _ pieces: [[UInt8]], _ codings: [ContentCoding],
    limits: DecodingLimits = DecodingLimits(maximumBytes: 1 << 30)
) -> NightjarError? {
    do throws(NightjarError) {
        _ = try decode(pieces, codings, limits: limits)
        return nil
    } catch {
        return error
    }
}

/// An encoder that flushes its output at each step, like a server that sends events.
final class FlushingEncoder {
    private let form: Form
    private let zlib = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let brotli = BrotliEncoderCreateInstance(nil, nil, nil)
    private let zstd = ZSTD_createCCtx()

    init(_ form: Form) {
        self.form = form
        zlib.initialize(to: z_stream())
        let windowBits: Int32 = form == .gzip ? 31 : form == .zlib ? 15 : -15
        deflateInit2_(
            zlib, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    }

    deinit {
        deflateEnd(zlib)
        zlib.deallocate()
        BrotliEncoderDestroyInstance(brotli)
        ZSTD_freeCCtx(zstd)
    }

    func flush(_ bytes: [UInt8]) -> [UInt8] {
        var input = bytes
        var output = [UInt8](repeating: 0, count: bytes.count * 2 + 4096)
        let count = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                switch form.coding {
                case .gzip, .deflate:
                    zlib.pointee.next_in = input.baseAddress
                    zlib.pointee.avail_in = UInt32(input.count)
                    zlib.pointee.next_out = output.baseAddress
                    zlib.pointee.avail_out = UInt32(output.count)
                    deflate(zlib, Z_SYNC_FLUSH)
                    return output.count - Int(zlib.pointee.avail_out)
                case .brotli:
                    var availableIn = input.count
                    var nextIn = UnsafePointer(input.baseAddress)
                    var availableOut = output.count
                    var nextOut = output.baseAddress
                    BrotliEncoderCompressStream(
                        brotli, BROTLI_OPERATION_FLUSH, &availableIn, &nextIn, &availableOut, &nextOut, nil)
                    return output.count - availableOut
                case .zstd:
                    var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
                    var destination = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
                    ZSTD_compressStream2(zstd, &destination, &source, ZSTD_e_flush)
                    return destination.pos
                }
            }
        }
        return Array(output[..<count])
    }
}
