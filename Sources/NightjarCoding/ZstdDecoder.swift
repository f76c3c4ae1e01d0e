import CZstd
import NightjarHTTP

/// `zstd`, RFC 8878: frames, one after the other, skippable ones among them.
final class ZstdDecoder: LayerDecoder {
    /// RFC 9659: a sender keeps its window to 8 MiB, so a receiver need not hold more. As a power of two.
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
            // The library also reads the formats from before RFC 8878, which are no part of the coding and heed no window.
            guard first == 0x28 || first & 0xF0 == 0x50 else {
                throw ContentCoding.zstd.damaged("a frame does not begin as one")
            }
            isBetweenFrames = false
            // A frame that it gets as a whole it would decode at once, whatever window that asks for. What a body decodes
            // to must not depend on how it was cut on the way, so the first byte goes alone.
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
                .tooLarge, "the body's zstd data wants a window of more than 8 MiB, which RFC 9659 does not allow",
                code: Int32(truncatingIfNeeded: code.rawValue))
        case ZSTD_error_memory_allocation:
            return ContentCoding.zstd.outOfMemory
        case ZSTD_error_dictionary_wrong:
            return ContentCoding.zstd.damaged("it wants a dictionary", code: Int32(truncatingIfNeeded: code.rawValue))
        default:
            return ContentCoding.zstd.damaged(
                "its decoder says \"\(String(cString: ZSTD_getErrorName(result)))\"",
                code: Int32(truncatingIfNeeded: code.rawValue))
        }
    }
}
