import NIOCore

/// Parses the bytes of one HTTP/1 connection into responses. RFC 9112.
///
/// The decoder rejects ambiguous input, because a cache or proxy on the path may interpret it differently. It accepts
/// unambiguous deviations, such as folded lines, repeated equal lengths, and forbidden fields in trailers, which it
/// drops.
/// The result does not depend on how the data is split into reads.
///
///     idle ──expectResponse──▶ statusLine ──▶ fields ──▶ body ──end──▶ idle
///                                   ▲             │
///                                   └──── 1xx ────┘            any ──error──▶ failed (permanent)
public struct HTTP1ResponseDecoder: Sendable {
    /// Limits on the memory that a peer can make the client use, in bytes unless stated otherwise.
    public struct Limits: Sendable {
        /// The maximum size of the status line and header lines of one response, including its interim responses. The
        /// same limit applies separately to the trailers.
        public var maximumHead = 256 * 1024
        /// The maximum number of fields in a head or in trailers.
        public var maximumFields = 1000
        /// The maximum length of a chunk-size line with its extensions, which are ignored.
        public var maximumChunkLine = 1024
        /// True if a line may end in LF without CR, as some embedded devices send it (RFC 9112 section 2.2). False by
        /// default, because a proxy may interpret such a line differently.
        public var acceptsBareLF = false

        public init() {}
    }

    public enum Event: Sendable {
        /// A 1xx response other than 101. The final response has not arrived yet.
        case informational(ResponseHead)
        case head(ResponseHead)
        /// Part of the body. A slice of the input buffer, not a copy.
        case body(ByteBuffer)
        case end(trailers: Headers)
    }

    private enum State {
        case idle
        case statusLine
        case fields(StatusLine)
        case fixed(length: Int, received: Int)
        case chunked
        case untilClose
        /// The body is complete or empty; ``Event/end(trailers:)`` has not been returned yet.
        case complete
    }

    private let limits: Limits
    private var state = State.idle
    private var failure: NightjarError?
    private var method = Method.get
    private var allowsUpgrade = false
    private var lines = LineBuffer()
    private var section: FieldSection
    private var chunks: ChunkedBody
    /// The size of the response's heads so far, in bytes, including interim responses.
    private var headSize = 0

    /// True if the connection can be reused. Valid after ``Event/end(trailers:)``. RFC 9112 section 9.3.
    public private(set) var connectionIsReusable = true

    public init(limits: Limits = Limits()) {
        self.limits = limits
        section = FieldSection(limits)
        chunks = ChunkedBody(limits)
    }

    /// True if no response is expected or in progress and the decoder has not failed. Any byte that arrives in this
    /// state is an error.
    public var isIdle: Bool {
        if case .idle = state { failure == nil } else { false }
    }

    /// The length of the body that is being received, and the number of bytes so far. Nil if no body is being received,
    /// or if its length is unknown.
    public var fixedBody: (length: Int, received: Int)? {
        if case .fixed(let length, let received) = state { (length, received) } else { nil }
    }

    /// Sets the method of the request to which the next response belongs. Must be called once before each response.
    ///
    /// - Parameter allowsUpgrade: true if the request asks for an upgrade. The response 101 (Switching Protocols) is
    ///   then final, and all bytes after its head are its body.
    public mutating func expectResponse(to method: Method, allowsUpgrade: Bool = false) {
        guard case .idle = state else {
            assertionFailure("the previous response has not ended")
            failure = failure ?? .malformedResponse("a request was sent before the previous response had ended")
            return
        }
        self.method = method
        self.allowsUpgrade = allowsUpgrade
        headSize = 0
        connectionIsReusable = false
        state = .statusLine
    }

    /// Returns the next event and consumes its bytes from `buffer`. Returns nil if all of `buffer` was consumed and
    /// more data is needed.
    ///
    /// - Throws: `protocol` or `too_large`. Later calls throw the same error.
    public mutating func next(_ buffer: inout ByteBuffer) throws(NightjarError) -> Event? {
        if let failure { throw failure }
        do throws(NightjarError) {
            return try advance(&buffer)
        } catch {
            throw fail(error)
        }
    }

    /// Reports that the peer closed its side of the connection, which ends a response without other framing.
    ///
    /// - Returns: the end of the response, or nil if no response was in progress.
    /// - Throws: `connection_lost` if a response is missing or truncated. After a failure, the error of that failure.
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
            missing = headSize == 0 ? "before it responded" : "after an interim response, before the final one"
        case .statusLine, .fields:
            missing = "in the middle of the response head"
        case .fixed(let length, let received):
            missing = "\(length - received) bytes before the end of the response body"
        case .chunked:
            missing = "before the end of the chunked response body"
        }
        throw fail(NightjarError(.connectionLost, "the server closed the connection \(missing)", phase: .receive))
    }

    private mutating func fail(_ error: NightjarError) -> NightjarError {
        failure = error
        connectionIsReusable = false
        // Release the memory of partial input.
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
                    throw .malformedResponse("the server sent bytes that belong to no response: \(bytes)")
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
            case .fixed(let length, let received):
                let count = min(length - received, buffer.readableBytes)
                guard count > 0, let content = buffer.readSlice(length: count) else { return nil }
                state = received + count == length ? .complete : .fixed(length: length, received: received + count)
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
        // Examine only the bytes within the limit. Otherwise the error would depend on how the data was split.
        let rejection = bytes.withUnsafeReadableBytes { bytes in
            StatusLine.rejection(of: UnsafeRawBufferPointer(rebasing: bytes.prefix(room)))
        }
        if let rejection { throw rejection }
        guard bytes.readableBytes <= room else {
            throw .oversizedResponse("the response head exceeds the limit of \(limits.maximumHead) bytes")
        }
        guard let line else { return nil }
        headSize += line.readableBytes
        return try line.withUnsafeReadableBytes { bytes in
            Result { () throws(NightjarError) in
                try StatusLine(parsing: bytes, acceptsBareLF: limits.acceptsBareLF)
            }
        }.get()
    }

    /// Returns the event of a complete head, and determines the framing of the body.
    private mutating func headEvent(_ line: StatusLine) throws(NightjarError) -> Event {
        let isUpgrade = line.status == 101
        guard !isUpgrade || allowsUpgrade else {
            throw .malformedResponse("the server switched protocols (101), which was not requested")
        }
        let (headers, fields) = section.take()
        let framing = try fields.framing(ofStatus: line.status, minorVersion: line.minorVersion, to: method)
        let contentLength: Int?
        if case .length(let count) = framing { contentLength = count } else { contentLength = nil }
        let head = ResponseHead(
            status: line.status, reason: line.reason, version: line.minorVersion == 0 ? .http1_0 : .http1_1,
            headers: headers,
            contentLength: contentLength)
        connectionIsReusable = fields.keepsConnection(framing, status: line.status, minorVersion: line.minorVersion)
        guard !isUpgrade else {
            connectionIsReusable = false
            state = .untilClose
            return .head(head)
        }
        guard line.status >= 200 else {
            state = .statusLine
            return .informational(head)
        }
        switch framing {
        case .empty, .length(0): state = .complete
        case .length(let count): state = .fixed(length: count, received: 0)
        case .untilClose: state = .untilClose
        case .chunked:
            chunks = ChunkedBody(limits)
            state = .chunked
        }
        return .head(head)
    }
}
