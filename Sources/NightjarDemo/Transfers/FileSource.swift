import NIOCore

/// Sends a range of a file, with the faults of a body.
struct FileSource: BodySource {
    /// A fault at a position of the body, which is counted from the first byte of the response.
    enum Stop: Equatable {
        /// The connection is closed.
        case cut
        /// The connection is reset. The client can receive the preceding bytes first.
        case reset
        /// The connection is closed inside the line that precedes a chunk.
        case cutInChunkHead
        /// Nothing is sent for this time.
        case stall(TimeAmount)
        /// One byte is changed.
        case damage
    }

    var content: FileContent
    /// The bytes that are left.
    var range: Range<Int>
    /// The bytes of a coded representation or of a multipart body, which replace the content.
    var replacement: ByteBuffer?
    /// Bytes per second. Nil: unlimited.
    var rate: Int?
    var stop: Stop?
    /// The number of bytes before ``stop``.
    var stopPosition = 0
    /// The position in the content from which ``successor`` is sent instead.
    var changePosition: Int?
    var successor: FileContent?
    /// The log of the request.
    var entry: TransferEntry?
    private var sent = 0
    private var start: NIODeadline?
    private var isDrained = false

    /// The largest piece, in bytes. Smaller than ``DemoContent/period``.
    private static let piece = 32_768
    /// A reset discards bytes that the system has not sent, so the source waits before.
    private static let drainTime = TimeAmount.milliseconds(20)

    init(_ content: FileContent, _ range: Range<Int>) {
        (self.content, self.range) = (content, range)
    }

    var written: ((Int) -> Void)? {
        entry.map { entry in { entry.bodyBytes += $0 } }
    }

    /// The number of bytes from the first byte of the body.
    var length: Int { replacement?.readableBytes ?? range.count }

    mutating func next() -> BodyPart {
        if let stop, sent == stopPosition, let part = perform(stop) { return part }
        guard length > 0 else {
            entry?.isComplete = true
            return .end(trailers: nil)
        }
        var limit = min(length, FileSource.piece)
        if stop != nil, sent < stopPosition { limit = min(limit, stopPosition - sent) }
        if let rate {
            let pause = pause(rate)
            if pause > .zero { return .wait(pause) }
            limit = min(limit, max(1, rate / 50))
        }
        let bytes = take(limit)
        sent += bytes.readableBytes
        return .bytes(bytes)
    }

    private mutating func perform(_ stop: Stop) -> BodyPart? {
        switch stop {
        case .cut:
            return .cut
        case .reset:
            guard isDrained else {
                isDrained = true
                return .wait(FileSource.drainTime)
            }
            return .reset
        case .cutInChunkHead:
            (self.stop, stopPosition) = (.cut, sent)
            return .unframed(ByteBuffer(string: "1f"))
        case .stall(let time):
            self.stop = nil
            return .wait(time)
        case .damage:
            self.stop = nil
            guard length > 0 else { return nil }
            var bytes = take(1)
            sent += 1
            let byte = bytes.readInteger(as: UInt8.self) ?? 0
            return .bytes(ByteBuffer(integer: byte ^ 0xFF))
        }
    }

    /// Returns the time until more bytes may be sent.
    private mutating func pause(_ rate: Int) -> TimeAmount {
        let now = NIODeadline.now()
        let start = start ?? now
        self.start = start
        return start + TimeAmount(seconds: Double(sent) / Double(rate)) - now
    }

    private mutating func take(_ limit: Int) -> ByteBuffer {
        if replacement != nil { return replacement?.readSlice(length: limit) ?? ByteBuffer() }
        if let changePosition, let successor, range.lowerBound >= changePosition { content = successor }
        var limit = limit
        if let changePosition, range.lowerBound < changePosition {
            limit = min(limit, changePosition - range.lowerBound)
        }
        let bytes = content.slice(at: range.lowerBound, count: limit)
        range = (range.lowerBound + bytes.readableBytes)..<range.upperBound
        return bytes
    }
}

extension FileContent: RangedContent {
    var length: Int { size }

    func body(in range: Range<Int>) -> Response.Body {
        .source(FileSource(self, range), length: range.count)
    }
}
