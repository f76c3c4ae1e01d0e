import NIOCore
import NightjarCoding
import NightjarHTTP

/// The body of one attempt, if the body is read from files, compressed while it is sent, or both.
///
/// Methods block and are called by one thread at a time. ``BodyFeed`` requests a part on a worker thread, and requests
/// the next part when the part has arrived. It holds at most one part. A watermark (512 KiB) bounds the
/// connection's buffer.
final class AttemptBody: @unchecked Sendable {
    /// Nil if the caller provides the content.
    private var pieces: BodyPieces?
    private var file: ContentFile?
    private var encoder: Encoder?
    /// Whether the content is complete.
    private(set) var hasEnded = false

    /// Nil if the body is not read from files and not compressed.
    init?(_ request: PreparedRequest) {
        pieces = request.body.pieces
        if request.isCompressed { encoder = Encoder() }
        if pieces == nil, encoder == nil { return nil }
    }

    /// Whether the content is read from files. Otherwise the caller provides it.
    var readsFiles: Bool { pieces != nil }

    /// Returns the next part of the files, or nil at the end.
    func next(maximum: Int) throws(NightjarError) -> ByteBuffer? {
        // The encoder may buffer its input. Empty parts are skipped.
        while !hasEnded {
            guard let part = try nextPiece(maximum: maximum) else {
                hasEnded = true
                let rest = try encoder?.finish()
                return rest
            }
            let coded = try encoder?.encode(part) ?? part
            if coded.readableBytes > 0 { return coded }
        }
        return nil
    }

    /// Compresses a part from the caller, if the body is compressed. The result is often empty, because the encoder
    /// buffers its input.
    func encode(_ part: ByteBuffer) throws(NightjarError) -> ByteBuffer { try encoder?.encode(part) ?? part }

    /// Returns the encoder's remaining output after the caller's last part.
    func finish() throws(NightjarError) -> ByteBuffer? {
        hasEnded = true
        return try encoder?.finish()
    }

    private func nextPiece(maximum: Int) throws(NightjarError) -> ByteBuffer? {
        while true {
            switch try pieces?.next(maximum: maximum) {
            case nil, .end: return nil
            case .bytes(let bytes): return bytes
            case .file(let path, let range):
                let bytes = try open(path).read(range)
                if bytes.readableBytes < range.count {
                    try pieces?.fileEnded(at: range.lowerBound + bytes.readableBytes)
                }
                if bytes.readableBytes > 0 { return bytes }
            }
        }
    }

    private func open(_ path: String) throws(NightjarError) -> ContentFile {
        if let file, file.path.isExactly(path) { return file }
        file = nil
        let opened = try ContentFile(path)
        file = opened
        return opened
    }

    /// Collects the encoder's output for one part.
    private final class Encoder {
        private var gzip: GzipEncoder?

        func encode(_ part: ByteBuffer) throws(NightjarError) -> ByteBuffer {
            var coded = ByteBuffer()
            try begin()
            try gzip?.encode(part) { coded.writeImmutableBuffer($0) }
            return coded
        }

        func finish() throws(NightjarError) -> ByteBuffer {
            var coded = ByteBuffer()
            try begin()
            try gzip?.finish { coded.writeImmutableBuffer($0) }
            gzip = nil
            return coded
        }

        /// Creates the encoder on first use, because zlib's state takes 256 KiB and the call may wait for a connection.
        private func begin() throws(NightjarError) {
            if gzip == nil { gzip = try GzipEncoder() }
        }
    }
}
