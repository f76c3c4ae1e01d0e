import CBrotli
import NightjarHTTP

/// Decodes `br`, RFC 7932. The window is at most 16 MiB and grows with the decoded data. The library also supports
/// larger windows, but they are not part of the content coding and stay disabled.
final class BrotliDecoder: LayerDecoder {
    private let state: OpaquePointer
    private var isEmpty = true
    private var hasEnded = false

    init() throws(NightjarError) {
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else { throw ContentCoding.brotli.outOfMemory }
        self.state = state
    }

    deinit { BrotliDecoderDestroyInstance(state) }

    var isWhole: Bool { isEmpty || hasEnded }

    func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
    ) throws(NightjarError) -> LayerProgress {
        if input.isEmpty, isWhole { return LayerProgress(taken: 0, made: 0) }
        guard !hasEnded else { throw ContentCoding.brotli.damaged("unexpected data after the end") }
        isEmpty = false

        var availableIn = input.count
        var nextIn = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var availableOut = output.count
        var nextOut = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = BrotliDecoderDecompressStream(
            state, &availableIn, &nextIn, &availableOut, &nextOut, nil)
        switch result {
        case BROTLI_DECODER_RESULT_ERROR:
            let code = BrotliDecoderGetErrorCode(state)
            if code.rawValue <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES.rawValue,
                code.rawValue >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES.rawValue
            {
                throw ContentCoding.brotli.outOfMemory
            }
            let name = BrotliDecoderErrorString(code).map { String(cString: $0) } ?? String(code.rawValue)
            throw ContentCoding.brotli.damaged("the decoder reports \(name)", code: code.rawValue)
        case BROTLI_DECODER_RESULT_SUCCESS:
            hasEnded = true
        default:
            break
        }
        return LayerProgress(taken: input.count - availableIn, made: output.count - availableOut)
    }
}
