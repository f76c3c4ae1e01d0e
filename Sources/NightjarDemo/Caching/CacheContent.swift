import NIOCore

/// A body of `/cache/{name}` with a given length.
///
/// The body consists of a description line, bytes of ``DemoContent``, and a last line with the checksum of all
/// preceding bytes. The description determines the offset of the bytes. A client can therefore detect bytes of another
/// version or variant, and missing or duplicate pieces.
struct CacheContent: RangedContent {
    let length: Int
    private let head: ByteBuffer
    /// The offset of the bytes in ``DemoContent``.
    private let start: Int

    /// The length of the last line in bytes: `crc32 `, eight hexadecimal digits and a newline.
    static let checksumLine = 15

    /// The allowed lengths in bytes, up to 64 MiB.
    static let lengths = 0...(64 << 20)

    /// - Parameters:
    ///   - title: a line that describes the body.
    ///   - length: the length of the body in bytes. If it is shorter than the last line, the body is the beginning of
    ///     that line.
    init(title: [UInt8], length: Int) {
        self.length = length
        head = ByteBuffer(bytes: title + [UInt8(ascii: "\n")])
        var place = CRC32()
        place.update(head)
        start = Int(place.value) % DemoContent.period
    }

    func body(in range: Range<Int>) -> Response.Body {
        .source(source(range), length: range.count)
    }

    func source(_ range: Range<Int>) -> Source { Source(content: self, range: range) }

    /// The length without the last line.
    private var covered: Int { max(0, length - CacheContent.checksumLine) }

    /// Returns 1 to `count` bytes from `offset`, which must be below `covered`.
    private func piece(at offset: Int, atMost count: Int) -> ByteBuffer {
        let count = min(count, covered - offset)
        let inHead = head.readableBytes - offset
        if inHead > 0 {
            return head.getSlice(at: head.readerIndex + offset, length: min(count, inHead)) ?? ByteBuffer()
        }
        return DemoContent.slice(at: start + offset, count: min(count, DemoContent.period))
    }

    /// Sends a range. The bytes before the range are generated but not sent, because the checksum covers them.
    struct Source: BodySource {
        private let content: CacheContent
        private let range: Range<Int>
        private var offset = 0
        private var checksum = CRC32()

        /// The maximum number of bytes that are skipped before control returns to the event loop.
        private static let stride = 1 << 20

        init(content: CacheContent, range: Range<Int>) {
            self.content = content
            self.range = range
        }

        mutating func next() -> BodyPart {
            var passed = 0
            while offset < min(range.upperBound, content.covered) {
                let part = content.piece(at: offset, atMost: range.upperBound - offset)
                checksum.update(part)
                let skipped = min(max(0, range.lowerBound - offset), part.readableBytes)
                offset += part.readableBytes
                if skipped < part.readableBytes {
                    return .bytes(
                        part.getSlice(at: part.readerIndex + skipped, length: part.readableBytes - skipped) ?? part)
                }
                passed += part.readableBytes
                if passed > Source.stride { return .wait(.microseconds(1)) }
            }
            guard offset < range.upperBound else { return .end(trailers: nil) }
            let line = Array("crc32 \(checksum.text)\n".utf8)
            let from = max(offset, range.lowerBound) - content.covered
            let to = range.upperBound - content.covered
            offset = range.upperBound
            return .bytes(ByteBuffer(bytes: line[from..<min(to, line.count)]))
        }
    }
}

extension DemoContent {
    /// Returns true if `body` is a complete body of `/cache/{name}?length=`: its last line is the checksum of
    /// everything before.
    package static func isIntact(_ body: [UInt8]) -> Bool {
        guard body.count >= CacheContent.checksumLine else { return false }
        let content = body.dropLast(CacheContent.checksumLine)
        var checksum = CRC32()
        checksum.update(ByteBuffer(bytes: content))
        return body.suffix(CacheContent.checksumLine).elementsEqual("crc32 \(checksum.text)\n".utf8)
    }
}

/// Sends another source's bytes up to an offset and then closes the connection.
struct CutSource: BodySource {
    private var source: any BodySource
    private var left: Int

    init(_ source: any BodySource, after count: Int) {
        self.source = source
        left = count
    }

    mutating func next() -> BodyPart {
        guard left > 0 else { return .cut }
        switch source.next() {
        case .bytes(let bytes):
            let count = min(left, bytes.readableBytes)
            left -= count
            return .bytes(bytes.getSlice(at: bytes.readerIndex, length: count) ?? bytes)
        case .end: return .cut
        case let part: return part
        }
    }
}

/// Sends bytes from memory in pieces of 16 KiB.
struct BufferSource: BodySource {
    private var bytes: ByteBuffer

    init(_ bytes: ByteBuffer) {
        self.bytes = bytes
    }

    mutating func next() -> BodyPart {
        let count = min(bytes.readableBytes, 16 * 1024)
        guard count > 0, let piece = bytes.readSlice(length: count) else { return .end(trailers: nil) }
        return .bytes(piece)
    }
}
