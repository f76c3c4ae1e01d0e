import NIOCore

/// Decodes the chunked transfer coding. RFC 9112 section 7.1.
///
///     size ──n──▶ data(n) ──▶ dataEnd ──CRLF──▶ size
///       └───0──▶ trailers ──empty line──▶ done
struct ChunkedBody: Sendable {
    enum Event {
        case data(ByteBuffer)
        case end(trailers: Headers)
    }

    private enum State {
        case size
        case data(remaining: Int)
        /// The CRLF after a chunk's data, of which `seen` bytes have arrived.
        case dataEnd(seen: Int)
        case trailers
        case done
    }

    private var state = State.size
    private var lines = LineBuffer()
    private var trailers: FieldSection
    private let maximumLine: Int
    private let acceptsBareLF: Bool

    /// - Parameter limits: ``HTTP1ResponseDecoder/Limits/maximumHead`` limits the size of the trailers.
    init(_ limits: HTTP1ResponseDecoder.Limits) {
        maximumLine = limits.maximumChunkLine
        acceptsBareLF = limits.acceptsBareLF
        trailers = FieldSection(limits)
    }

    /// Returns the next event. Returns nil if all of `buffer` was consumed and more data is needed, or if the body has
    /// ended.
    mutating func next(_ buffer: inout ByteBuffer) throws(NightjarError) -> Event? {
        while true {
            switch state {
            case .size:
                guard let line = lines.next(&buffer) else {
                    try checkLine(lines.partial.readableBytes)
                    return nil
                }
                try checkLine(line.readableBytes)
                let size: Int = try ChunkSizeLine.parse(line, acceptsBareLF: acceptsBareLF)
                state = size == 0 ? .trailers : .data(remaining: size)
            case .data(let remaining):
                let count = min(remaining, buffer.readableBytes)
                guard count > 0, let data = buffer.readSlice(length: count) else { return nil }
                state = count == remaining ? .dataEnd(seen: 0) : .data(remaining: remaining - count)
                return .data(data)
            case .dataEnd(let seen):
                guard let byte: UInt8 = buffer.readInteger() else { return nil }
                if acceptsBareLF, seen == 0, byte == UInt8(ascii: "\n") {
                    state = .size
                    continue
                }
                guard byte == (seen == 0 ? UInt8(ascii: "\r") : UInt8(ascii: "\n")) else {
                    throw .malformedResponse(
                        "a chunk does not end at its declared size: there is no CRLF after its last byte")
                }
                state = seen == 0 ? .dataEnd(seen: 1) : .size
            case .trailers:
                guard try trailers.read(&buffer) else { return nil }
                state = .done
                return .end(trailers: trailers.headers.withoutForbiddenTrailers)
            case .done:
                return nil
            }
        }
    }

    private func checkLine(_ count: Int) throws(NightjarError) {
        guard count <= maximumLine else {
            throw .oversizedResponse("a chunk-size line is longer than the limit of \(maximumLine) bytes")
        }
    }
}

/// Parses `chunk-size [ chunk-ext ] CRLF`. Rejects extensions that contain control characters, and ignores all others.
enum ChunkSizeLine {
    /// Returns the chunk size.
    ///
    /// - Parameter line: a line including its LF.
    static func parse(_ line: ByteBuffer, acceptsBareLF: Bool = false) throws(NightjarError) -> Int {
        switch line.withUnsafeReadableBytes({ parse($0, acceptsBareLF: acceptsBareLF) }) {
        case .success(let size): return size
        case .failure(let error): throw error
        }
    }

    private static func parse(
        _ line: UnsafeRawBufferPointer, acceptsBareLF: Bool
    ) -> Result<Int, NightjarError> {
        var size = 0
        var at = 0
        while let digit = ASCII.hexValue(line[at]) {
            guard size <= Int.max >> 4 else {
                return .failure(.malformedResponse("the chunk size \(quoted(line)) exceeds 2^63 - 1 bytes"))
            }
            size = size << 4 | Int(digit)
            at += 1
        }
        let digits = at
        while line[at] == UInt8(ascii: " ") || line[at] == UInt8(ascii: "\t") { at += 1 }
        let isExtended = line[at] == UInt8(ascii: ";")
        let stop = FieldSyntax.endOfValue(line, from: at)
        // Spaces and tabs are allowed before an extension (BWS), but not before the end of the line.
        guard digits > 0, isExtended || at == digits, isExtended || stop == at,
            line.count - stop == 2 && line[stop] == UInt8(ascii: "\r") || acceptsBareLF && line.count - stop == 1
        else {
            return .failure(
                .malformedResponse(
                    "the chunk size line \(quoted(line)) is not a hexadecimal number, an optional extension and CRLF"))
        }
        return .success(size)
    }
}

extension Headers {
    /// A copy without the fields of ``forbiddenTrailers``, which frame or route the message, describe its body or
    /// belong to the connection. RFC 9110 section 6.5.1.
    fileprivate var withoutForbiddenTrailers: Headers {
        if isEmpty { return self }
        var kept = self
        for name in Headers.forbiddenTrailers { kept.remove(name) }
        return kept
    }

    private static let forbiddenTrailers = [
        "Content-Length", "Transfer-Encoding", "Host", "Trailer", "TE", "Connection", "Keep-Alive", "Upgrade",
        "Content-Encoding", "Content-Type", "Content-Range",
    ]
}
