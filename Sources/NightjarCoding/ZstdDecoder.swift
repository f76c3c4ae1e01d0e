import CZstd
import NightjarHTTP

/// Decodes `zstd`, RFC 8878: a sequence of frames, including skippable frames.
final class ZstdDecoder: LayerDecoder {
    /// The base-2 logarithm of the maximum window size. RFC 9659 limits the window to 8 MiB.
    private static let maximumWindowLog: Int32 = 23

    private let stream: OpaquePointer
    private var isBetweenFrames = true

    init() throws(NightjarError) {
        guard let stream = ZSTD_createDStream() else { throw ContentCoding.zstd.outOfMemory }
        self.stream = stream
        ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, ZstdDecoder.maximumWindowLog)
    }

    deinit { ZSTD_freeDStream(stream) }

    var isWhole: Bool { isBetweenFrames }

    func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
    ) throws(NightjarError) -> LayerProgress {
        var offered = input.count
        if isBetweenFrames {
            guard let first = input.first else { return LayerProgress(taken: 0, made: 0) }
            // The library also reads older formats. They are not part of the content coding and ignore the window
            // limit.
            guard first == 0x28 || first & 0xF0 == 0x50 else {
                throw ContentCoding.zstd.damaged("a frame has an invalid header")
            }
            isBetweenFrames = false
            // The library decodes a complete frame at once, regardless of its window size. Only the first byte is
            // passed, so that the result does not depend on how the body was split.
            offered = 1
        }
        var source = ZSTD_inBuffer(src: input.baseAddress, size: offered, pos: 0)
        var destination = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let result = ZSTD_decompressStream(stream, &destination, &source)
        guard ZSTD_isError(result) == 0 else { throw failure(result) }
        isBetweenFrames = result == 0
        return LayerProgress(taken: source.pos, made: destination.pos)
    }

    private func failure(_ result: Int) -> NightjarError {
        let code = ZSTD_getErrorCode(result)
        switch code {
        case ZSTD_error_frameParameter_windowTooLarge:
            return .inBody(
                .tooLarge, "the body's zstd data requires a window of more than 8 MiB, which RFC 9659 does not allow",
                code: Int32(truncatingIfNeeded: code.rawValue))
        case ZSTD_error_memory_allocation:
            return ContentCoding.zstd.outOfMemory
        case ZSTD_error_dictionary_wrong:
            return ContentCoding.zstd.damaged(
                "it requires a dictionary", code: Int32(truncatingIfNeeded: code.rawValue))
        default:
            return ContentCoding.zstd.damaged(
                "the decoder reports \"\(String(cString: ZSTD_getErrorName(result)))\"",
                code: Int32(truncatingIfNeeded: code.rawValue))
        }
    }
}
