import NIOCore
import NightjarCoding
import NightjarHTTP

/// The content of one attempt that does not lie ready: read from files, compressed on its way, or both.
///
/// Its methods block and belong to one thread at a time: the loop asks for a part on a worker's thread and asks again
/// when it has it. So one part lies here; what the connection holds, its watermark bounds (half a mebibyte).
final class Upload: @unchecked Sendable {
    /// Nil: the caller gives the content.
    private var pieces: BodyPieces?
    private var file: ContentFile?
    private var encoder: Encoder?
    /// Nothing follows what was given.
    private(set) var hasEnded = false

    /// Nil for content that goes to the connection as it is.
    init?(_ request: PreparedRequest) {
        pieces = request.body.pieces
        if request.isCompressed { encoder = Encoder() }
        if pieces == nil, encoder == nil { return nil }
    }

    /// Whether the content is in files, rather than for the caller to give.
    var readsFiles: Bool { pieces != nil }

    /// The next part of the files; nil: there are no more.
    func next(maximum: Int) throws(NightjarError) -> ByteBuffer? {
        // A coding may hold back what it is given, and nothing is not a part.
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

    /// A part from the caller, compressed: often nothing yet.
    func encode(_ part: ByteBuffer) throws(NightjarError) -> ByteBuffer { try encoder?.encode(part) ?? part }

    /// What is left when the caller has no more.
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

    /// Gathers what the coding gives for one part.
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

        /// Not before it is needed: the state of zlib is 256 KiB, and the call may wait for a connection.
        private func begin() throws(NightjarError) {
            if gzip == nil { gzip = try GzipEncoder() }
        }
    }
}
