import NightjarHTTP

/// Takes off one coding. It never holds more than its window: what it makes goes at once into the room it is given.
///
/// A class, because its state lies in C memory that is freed with it, once.
protocol LayerDecoder: AnyObject {
    /// Takes some of `input` and fills some of `output`, which is not empty. Taking and making nothing means that it
    /// needs more input.
    ///
    /// - Throws: ``ErrorKind/decoding`` for what is no such data, ``ErrorKind/tooLarge`` for what wants too much memory.
    ///   It is not called again after that.
    func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
    ) throws(NightjarError) -> LayerProgress

    /// Whether the data may end here: nothing came, or all of it was there.
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
        .inBody(.decoding, "the body ends in the middle of its \(name) data; it was cut off on the way")
    }

    var outOfMemory: NightjarError {
        .inBody(.decoding, "there is no memory to decode \(name) data")
    }
}

extension NightjarError {
    /// What is wrong with the body of an answer: the server has acted on the request when this comes to light.
    static func inBody(_ kind: ErrorKind, _ message: String, code: Int32 = 0) -> NightjarError {
        NightjarError(kind, message, phase: .receive, code: code, requestMayHaveBeenProcessed: true)
    }
}
