import NIOCore

/// Turns the bytes that a server sends on one HTTP/1 connection into responses. RFC 9112.
///
/// Strict: what two recipients could read in two ways is refused, for the second one may be a cache or a proxy between
/// us and the server. Deviations that have one meaning are accepted: folded lines, repeated equal lengths, and fields in
/// the trailers that do not belong there, which are dropped. A line is judged when it is complete, so how the bytes were cut into reads decides nothing.
///
///     idle ──expectResponse──▶ statusLine ──▶ fields ──▶ body ──end──▶ idle
///                                   ▲             │
///                                   └──── 1xx ────┘            any ──error──▶ failed, for good
public struct HTTP1ResponseDecoder: Sendable {
    /// What a peer can make us keep, in bytes unless it says otherwise.
    public struct Limits: Sendable {
        /// The status line and header lines of one response, those of its interim responses included; and its trailers.
        /// A peer can make this cost us memory at little cost to itself, so there is a limit.
        public var maximumHead = 256 * 1024
        /// Fields of one head and of the trailers, counted.
        public var maximumFields = 1000
        /// A chunk-size line with its extensions. Those are ignored, and no one sends them.
        public var maximumChunkLine = 1024
        /// Whether LF without CR ends a line, as some embedded devices send it (RFC 9112 section 2.2). False by default:
        /// two recipients that disagree about where a line ends can be made to disagree about where a response ends.
        public var acceptsBareLF = false

        public init() {}
    }

    public enum Event: Sendable {
        /// A 1xx other than 101; the response is still to come.
        case informational(ResponseHead)
        case head(ResponseHead)
        /// Content: a part of the buffer that was passed in, not a copy.
        case body(ByteBuffer)
        case end(trailers: Headers)
    }

    private enum State {
        case idle
        case statusLine
        case fields(StatusLine)
        case fixed(remaining: Int)
        case chunked
        case untilClose
        /// The content is complete, or there is none; ``Event/end(trailers:)`` is still to be given.
        case complete
    }

    private let limits: Limits
    private var state = State.idle
    private var failure: NightjarError?
    private var method = Method.get
    private var lines = LineBuffer()
    private var section: FieldSection
    private var chunks: ChunkedBody
    /// Bytes of this response's heads so far.
    private var headSize = 0

    /// After ``Event/end(trailers:)``: whether the connection can carry another request. RFC 9112 section 9.3.
    public private(set) var connectionIsReusable = true

    public init(limits: Limits = Limits()) {
        self.limits = limits
        section = FieldSection(limits)
        chunks = ChunkedBody(limits)
    }

    /// No response is awaited or in progress: a byte that comes now is an error.
    public var isIdle: Bool {
        if case .idle = state { failure == nil } else { false }
    }

    /// The next response answers a request of this method. Called once before each response.
    public mutating func expectResponse(to method: Method) {
        guard case .idle = state else {
            assertionFailure("the response before has not ended")
            failure = failure ?? .malformedResponse("a request was sent before the last response had ended")
            return
        }
        self.method = method
        headSize = 0
        connectionIsReusable = false
        state = .statusLine
    }

    /// The next event out of `buffer`, which it consumes from. Nil: all of it was consumed, and more is needed.
    ///
    /// - Throws: `protocol` or `too_large`; from then on the same again.
    public mutating func next(_ buffer: inout ByteBuffer) throws(NightjarError) -> Event? {
        if let failure { throw failure }
        do throws(NightjarError) {
            return try advance(&buffer)
        } catch {
            throw fail(error)
        }
    }

    /// The peer closed its side: the end of a response that is ended so.
    ///
    /// - Returns: the end of a response, or nil when none was due.
    /// - Throws: `connection_lost` when a response is missing or cut off.
    public mutating func endOfStream() throws(NightjarError) -> Event? {
        if let failure { throw failure }
        connectionIsReusable = false
        let missing: String
        switch state {
        case .idle:
            return nil
        case .untilClose, .complete:
            state = .idle
            return .end(trailers: Headers())
        case .statusLine where lines.partial.readableBytes == 0:
            missing = headSize == 0 ? "before it answered" : "behind an interim response, before the final one"
        case .statusLine, .fields:
            missing = "in the middle of the response's head"
        case .fixed(let remaining):
            missing = "\(remaining) bytes before the end of the response's content"
        case .chunked:
            missing = "before the last chunk of the response's content"
        }
        throw fail(NightjarError(.connectionLost, "the server closed the connection \(missing)", phase: .receive))
    }

    private mutating func fail(_ error: NightjarError) -> NightjarError {
        failure = error
        connectionIsReusable = false
        // Whatever was gathered serves nobody any more.
        lines = LineBuffer()
        section = FieldSection(limits)
        chunks = ChunkedBody(limits)
        return error
    }

    private mutating func advance(_ buffer: inout ByteBuffer) throws(NightjarError) -> Event? {
        while true {
            switch state {
            case .idle:
                guard buffer.readableBytes == 0 else {
                    let bytes = buffer.withUnsafeReadableBytes { quoted($0) }
                    throw .malformedResponse("the server sent bytes that answer no request: \(bytes)")
                }
                return nil
            case .statusLine:
                guard let line = try nextStatusLine(&buffer) else { return nil }
                section.begin(after: headSize)
                state = .fields(line)
            case .fields(let line):
                guard try section.read(&buffer) else { return nil }
                headSize += section.size
                return try headEvent(line)
            case .fixed(let remaining):
                let count = min(remaining, buffer.readableBytes)
                guard count > 0, let content = buffer.readSlice(length: count) else { return nil }
                state = count == remaining ? .complete : .fixed(remaining: remaining - count)
                return .body(content)
            case .chunked:
                switch try chunks.next(&buffer) {
                case .data(let content): return .body(content)
                case .end(let trailers):
                    state = .idle
                    return .end(trailers: trailers)
                case nil: return nil
                }
            case .untilClose:
                guard buffer.readableBytes > 0 else { return nil }
                return buffer.readSlice(length: buffer.readableBytes).map(Event.body)
            case .complete:
                state = .idle
                return .end(trailers: Headers())
            }
        }
    }

    private mutating func nextStatusLine(_ buffer: inout ByteBuffer) throws(NightjarError) -> StatusLine? {
        let line = lines.next(&buffer)
        let bytes = line ?? lines.partial
        let room = max(limits.maximumHead - headSize, 0)
        // Only what is within the limit is looked at, or the cut would decide which of the two errors it is.
        let rejection = bytes.withUnsafeReadableBytes { bytes in
            StatusLine.rejection(of: UnsafeRawBufferPointer(rebasing: bytes.prefix(room)))
        }
        if let rejection { throw rejection }
        guard bytes.readableBytes <= room else {
            throw .oversizedResponse("the response's head is larger than the limit of \(limits.maximumHead) bytes")
        }
        guard let line else { return nil }
        headSize += line.readableBytes
        return try line.withUnsafeReadableBytes { bytes in
            Result { () throws(NightjarError) in
                try StatusLine(parsing: bytes, acceptsBareLF: limits.acceptsBareLF)
            }
        }.get()
    }

    /// The head is complete: decides what follows it.
    private mutating func headEvent(_ line: StatusLine) throws(NightjarError) -> Event {
        guard line.status != 101 else {
            throw .malformedResponse("the server switched protocols (101), which nobody asked for")
        }
        let (headers, fields) = section.take()
        let framing = try fields.framing(ofStatus: line.status, minorVersion: line.minorVersion, to: method)
        let contentLength: Int?
        if case .length(let count) = framing { contentLength = count } else { contentLength = nil }
        let head = ResponseHead(
            status: line.status, reason: line.reason, minorVersion: line.minorVersion, headers: headers,
            contentLength: contentLength)
        connectionIsReusable = fields.keepsConnection(framing, status: line.status, minorVersion: line.minorVersion)
        guard line.status >= 200 else {
            state = .statusLine
            return .informational(head)
        }
        switch framing {
        case .empty, .length(0): state = .complete
        case .length(let count): state = .fixed(remaining: count)
        case .untilClose: state = .untilClose
        case .chunked:
            chunks = ChunkedBody(limits)
            state = .chunked
        }
        return .head(head)
    }
}
