import NightjarHTTP

/// Removes one coding. A decoder writes its output directly to the given buffer.
///
/// Conforming types are classes, because they own C memory that must be freed exactly once.
protocol LayerDecoder: AnyObject {
    /// Consumes some of `input` and writes to `output`, which is not empty. If `input` is not empty, the decoder must
    /// consume or write bytes: ``CodingStack`` treats no progress as invalid data. If `input` is empty and no bytes are
    /// written, the decoder needs more input.
    ///
    /// - Throws: ``ErrorKind/decoding`` for invalid data, ``ErrorKind/tooLarge`` if the data requires more memory than
    ///   is allowed, ``ErrorKind/noMemory``. The method is not called again after an error.
    func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
    ) throws(NightjarError) -> LayerProgress

    /// True if the data may end after the consumed input: no data was received, or the data is complete.
    var isWhole: Bool { get }
}

struct LayerProgress {
    let taken: Int
    let made: Int
}

extension ContentCoding {
    func decoder() throws(NightjarError) -> any LayerDecoder {
        switch self {
        case .gzip: try ZlibDecoder(.gzip)
        case .deflate: DeflateDecoder()
        case .brotli: try BrotliDecoder()
        case .zstd: try ZstdDecoder()
        }
    }

    func damaged(_ reason: String, code: Int32 = 0) -> NightjarError {
        .inBody(.decoding, "the body is not valid \(name) data: \(reason)", code: code)
    }

    var truncated: NightjarError {
        .inBody(.decoding, "the body is truncated: it ends in the middle of its \(name) data")
    }

    var outOfMemory: NightjarError {
        .inBody(.noMemory, "not enough memory to decode \(name) data")
    }
}

extension NightjarError {
    /// Returns an error in a response body. The server may have processed the request.
    static func inBody(_ kind: ErrorKind, _ message: String, code: Int32 = 0) -> NightjarError {
        NightjarError(kind, message, phase: .receive, code: code, requestMayHaveBeenProcessed: true)
    }
}
