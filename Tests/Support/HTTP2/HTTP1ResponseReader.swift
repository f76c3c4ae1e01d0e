/// Reads the HTTP/1.1 responses that a script sends, for a stream of HTTP/2. RFC 9112.
struct HTTP1ResponseReader {
    enum Event {
        /// A complete field section. `ends`: the response has no body and no trailers.
        case head(HTTP1Fields, ends: Bool)
        /// The first lines of a long head, without its end.
        case partOfHead(HTTP1Fields, isFirst: Bool)
        /// The lines after ``partOfHead``, up to the end of the head.
        case restOfHead(HTTP1Fields)
        case data([UInt8])
        case trailers(HTTP1Fields)
        case end
        /// Bytes that are not HTTP/1.1.
        case garbage([UInt8])
        /// Bytes after the end of the response.
        case surplus([UInt8])
    }

    private enum State {
        case head
        case longHead
        case counted(Int)
        case chunkSize
        case chunk(Int)
        case chunkEnd
        case trailers
        case untilClose
        case ended
        case broken
    }

    private let isHead: Bool
    private var state = State.head
    private var pending: [UInt8] = []
    private var framing = Framing.untilClose
    /// Whether the server closes the connection after the response.
    private(set) var closes = false

    private enum Framing {
        case none
        case counted(Int)
        case chunked
        case untilClose
    }

    init(isHead: Bool) { self.isHead = isHead }

    /// Whether the end of the connection is the regular end of the response.
    var endsWithConnection: Bool { if case .untilClose = state { true } else { false } }

    mutating func read(_ bytes: [UInt8]) -> [Event] {
        pending += bytes
        var events: [Event] = []
        while !pending.isEmpty || isAtEnd, let event = next() { events.append(event) }
        return events
    }

    private var isAtEnd: Bool { if case .counted(0) = state { true } else { false } }

    private mutating func next() -> Event? {
        switch state {
        case .head: return readHead()
        case .longHead: return readLongHead()
        case .counted(let count):
            if count == 0 {
                state = .ended
                return .end
            }
            let part = take(min(count, pending.count))
            state = .counted(count - part.count)
            return .data(part)
        case .chunkSize: return readChunkSize()
        case .chunk(let count):
            let part = take(min(count, pending.count))
            state = count > part.count ? .chunk(count - part.count) : .chunkEnd
            return .data(part)
        case .chunkEnd:
            guard pending.count >= 2 else { return nil }
            guard pending.starts(with: HTTP1Fields.lineEnd) else { return broken() }
            _ = take(2)
            state = .chunkSize
            return pending.isEmpty ? nil : next()
        case .trailers: return readTrailers()
        case .untilClose: return .data(take(pending.count))
        case .ended: return .surplus(take(pending.count))
        case .broken: return .garbage(take(pending.count))
        }
    }

    // MARK: Heads

    private mutating func readHead() -> Event? {
        guard HTTP1Fields.mayBeResponse(pending) else { return broken() }
        guard let end = pending.firstEnd(of: HTTP1Fields.lineEnd + HTTP1Fields.lineEnd, from: 0) else {
            return pending.count > HTTP1ResponseReader.longHead ? readPart(isFirst: true) : nil
        }
        guard let fields = HTTP1Fields(head: take(end)) else { return broken() }
        if fields.status / 100 == 1 { return .head(fields, ends: false) }
        begin(fields)
        switch framing {
        case .none, .counted(0):
            state = .ended
            return .head(fields, ends: true)
        default:
            beginBody()
            return .head(fields, ends: false)
        }
    }

    /// Reads the complete lines of a head that is so long that it may never end.
    private mutating func readPart(isFirst: Bool) -> Event? {
        guard let last = pending.lastIndex(of: UInt8(ascii: "\n")) else { return nil }
        let lines = take(last + 1)
        guard let fields = isFirst ? HTTP1Fields(head: lines) : HTTP1Fields(lines: lines) else { return broken() }
        if isFirst { begin(fields) }
        state = .longHead
        return .partOfHead(fields, isFirst: isFirst)
    }

    private mutating func readLongHead() -> Event? {
        let isEmptyLine = pending.starts(with: HTTP1Fields.lineEnd)
        let end = isEmptyLine ? 2 : pending.firstEnd(of: HTTP1Fields.lineEnd + HTTP1Fields.lineEnd, from: 0)
        guard let end else { return pending.count > HTTP1ResponseReader.longHead ? readPart(isFirst: false) : nil }
        guard let fields = HTTP1Fields(lines: take(end)) else { return broken() }
        begin(fields)
        beginBody()
        return .restOfHead(fields)
    }

    private mutating func begin(_ fields: HTTP1Fields) {
        closes = closes || fields.closesConnection
        if isHead || [204, 304].contains(fields.status) {
            framing = .none
        } else if fields.isChunked {
            framing = .chunked
        } else if let length = fields.contentLength {
            framing = .counted(length)
        }
    }

    private mutating func beginBody() {
        switch framing {
        case .none: state = .counted(0)
        case .counted(let count): state = .counted(count)
        case .chunked: state = .chunkSize
        case .untilClose: state = .untilClose
        }
    }

    // MARK: Chunks. RFC 9112 section 7.1

    private mutating func readChunkSize() -> Event? {
        guard let end = pending.firstEnd(of: HTTP1Fields.lineEnd, from: 0) else { return nil }
        let digits = take(end).prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "\r") }
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0 else { return broken() }
        state = size == 0 ? .trailers : .chunk(size)
        return pending.isEmpty ? nil : next()
    }

    private mutating func readTrailers() -> Event? {
        let isEmptyLine = pending.starts(with: HTTP1Fields.lineEnd)
        let end = isEmptyLine ? 2 : pending.firstEnd(of: HTTP1Fields.lineEnd + HTTP1Fields.lineEnd, from: 0)
        guard let end else { return nil }
        guard let fields = HTTP1Fields(lines: take(end)) else { return broken() }
        state = .ended
        return fields.all.isEmpty ? .end : .trailers(fields)
    }

    private mutating func broken() -> Event {
        state = .broken
        return .garbage(take(pending.count))
    }

    private mutating func take(_ count: Int) -> [UInt8] {
        defer { pending.removeFirst(count) }
        return Array(pending.prefix(count))
    }

    /// A head of more bytes is passed on before its end.
    private static let longHead = 64 * 1024
}

/// The status and the fields of an HTTP/1.1 response that a script sends.
struct HTTP1Fields {
    static let lineEnd = Array("\r\n".utf8)

    private(set) var status = 0
    private(set) var all: [HTTP2FieldBlock.Field] = []

    /// Returns nil if the status line is invalid.
    init?(head: [UInt8]) {
        guard let end = head.firstEnd(of: HTTP1Fields.lineEnd, from: 0), head.count > 12 else { return nil }
        guard let status = Int(String(decoding: head[9..<12], as: UTF8.self)) else { return nil }
        self.init(status: status, lines: Array(head[end...]))
    }

    /// Returns nil if a line has no colon.
    init?(lines: [UInt8]) { self.init(status: 0, lines: lines) }

    private init?(status: Int, lines: [UInt8]) {
        self.status = status
        var start = 0
        while let end = lines.firstEnd(of: HTTP1Fields.lineEnd, from: start) {
            let line = lines[start..<end - 2]
            start = end
            guard !line.isEmpty else { continue }
            guard !line.contains(UInt8(ascii: "\n")), let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                return nil
            }
            let name = line[..<colon].map { (65...90).contains($0) ? $0 + 32 : $0 }
            let value = line[(colon + 1)...].drop { $0 == 32 || $0 == 9 }
            all.append((name, Array(value.reversed().drop { $0 == 32 || $0 == 9 }.reversed())))
        }
    }

    /// Whether `bytes` may be the beginning of a response.
    static func mayBeResponse(_ bytes: [UInt8]) -> Bool {
        let start = Array("HTTP/1.".utf8)
        guard bytes.starts(with: start.prefix(bytes.count)) else { return false }
        return bytes.count < 13 || bytes[9..<12].allSatisfy { (48...57).contains($0) }
    }

    private func values(_ name: String) -> [String] {
        all.filter { $0.name.elementsEqual(name.utf8) }.map { String(decoding: $0.value, as: UTF8.self).lowercased() }
    }

    var isChunked: Bool { values("transfer-encoding").last?.hasSuffix("chunked") ?? false }
    var contentLength: Int? { values("content-length").first.flatMap { Int($0) } }
    var closesConnection: Bool { values("connection").contains { $0.hasPrefix("close") } }

    /// The fields of HTTP/2, without those of a connection. RFC 9113 section 8.2.2.
    var translated: [HTTP2FieldBlock.Field] {
        let named: [String] = values("connection").flatMap { value in
            value.split(separator: ",").map { name in String(name.filter { $0 != " " }) }
        }
        let excluded = named + ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]
        let fields = all.filter { field in !excluded.contains { field.name.elementsEqual($0.utf8) } }
        return status == 0 ? fields : [(Array(":status".utf8), Array(String(status).utf8))] + fields
    }
}

extension [UInt8] {
    /// The index after the first occurrence of `mark` at or after `start`.
    func firstEnd(of mark: [UInt8], from start: Int) -> Int? {
        guard count - start >= mark.count else { return nil }
        return (start...(count - mark.count)).first { self[$0..<$0 + mark.count].elementsEqual(mark) }
            .map { $0 + mark.count }
    }
}
