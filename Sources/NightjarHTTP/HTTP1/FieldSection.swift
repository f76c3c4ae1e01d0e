import NIOCore

/// Reads the field lines of a head or of trailers up to the empty line behind them. RFC 9112 section 5.
///
/// The fast path is a section that lies whole in one buffer: one pass over the bytes, then one copy. A line that is cut
/// waits in ``LineBuffer`` and goes the same way when its end has come.
struct FieldSection: Sendable {
    /// What has been read; complete when ``read(_:)`` has returned true.
    private(set) var headers = Headers()
    /// What those fields say about the message's framing.
    private(set) var framing = FramingFields()
    /// Bytes of complete lines, the empty one included.
    private(set) var size = 0

    private var maximumSize: Int
    private let maximumFields: Int
    private var lines = LineBuffer()

    /// - Parameter maximumSize: bytes that all lines may have together.
    init(maximumSize: Int, maximumFields: Int) {
        self.maximumSize = maximumSize
        self.maximumFields = maximumFields
    }

    /// Hands out what was read, and forgets it.
    mutating func take() -> (headers: Headers, framing: FramingFields) {
        defer {
            headers = Headers()
            framing = FramingFields()
        }
        return (headers, framing)
    }

    /// Begins another section, whose lines may have `maximumSize` bytes.
    mutating func begin(maximumSize: Int) {
        self.maximumSize = maximumSize
        size = 0
    }

    /// Consumes what belongs to the section. False: all of `buffer` was consumed, and more is needed.
    mutating func read(_ buffer: inout ByteBuffer) throws(NightjarError) -> Bool {
        if lines.partial.readableBytes > 0 {
            guard var line = lines.next(&buffer) else {
                try checkSize(adding: lines.partial.readableBytes)
                return false
            }
            if try readLines(&line) { return true }
        }
        if try readLines(&buffer) { return true }
        try checkSize(adding: buffer.readableBytes)
        _ = lines.next(&buffer)
        return false
    }

    private func checkSize(adding count: Int) throws(NightjarError) {
        guard count <= maximumSize - size else { throw oversized }
    }

    private var oversized: NightjarError {
        .oversizedResponse("the response's header lines are larger than the limit of \(maximumSize) bytes")
    }

    /// Consumes every complete line; true when the last was the empty one.
    private mutating func readLines(_ buffer: inout ByteBuffer) throws(NightjarError) -> Bool {
        let firstField = headers.count
        let scan = buffer.withUnsafeReadableBytes { bytes in
            var scan = Scan()
            scanLines(bytes, &scan)
            if scan.failure == nil, headers.count > firstField {
                headers.adopt(lines: UnsafeRawBufferPointer(rebasing: bytes[..<scan.fieldsEnd]), from: firstField)
            }
            return scan
        }
        if let failure = scan.failure { throw failure }
        buffer.moveReaderIndex(forwardBy: scan.consumed)
        size += scan.consumed
        return scan.isComplete
    }

    private struct Scan {
        /// Where the last complete field line ends.
        var fieldsEnd = 0
        /// Where the last complete line ends.
        var consumed = 0
        var isComplete = false
        var failure: NightjarError?
    }

    private mutating func scanLines(_ bytes: UnsafeRawBufferPointer, _ scan: inout Scan) {
        let origin = headers.end
        let room = maximumSize - size
        if headers.isEmpty { headers.reserve(fields: 16) }
        var start = 0
        while start < bytes.count {
            let nameEnd = FieldSyntax.endOfToken(bytes, from: start)
            guard nameEnd < bytes.count else { return }
            guard bytes[nameEnd] == UInt8(ascii: ":"), nameEnd > start else {
                return endOfFields(bytes, start, &scan)
            }
            var valueStart = nameEnd + 1
            while valueStart < bytes.count, FieldSection.isBlank(bytes[valueStart]) { valueStart += 1 }
            let stop = FieldSyntax.endOfValue(bytes, from: valueStart)
            guard stop + 1 < bytes.count, bytes[stop] == UInt8(ascii: "\r"), bytes[stop + 1] == UInt8(ascii: "\n")
            else { return judge(bytes, start, &scan) }
            guard stop + 2 <= room else {
                scan.failure = oversized
                return
            }
            guard headers.count < maximumFields else {
                scan.failure = .oversizedResponse("the response has more than \(maximumFields) header fields")
                return
            }
            var valueEnd = stop
            while valueEnd > valueStart, FieldSection.isBlank(bytes[valueEnd - 1]) { valueEnd -= 1 }
            headers.appendRange(
                name: origin + start, nameLength: nameEnd - start, value: origin + valueStart,
                valueLength: valueEnd - valueStart)
            framing.note(
                name: UnsafeRawBufferPointer(rebasing: bytes[start..<nameEnd]),
                value: UnsafeRawBufferPointer(rebasing: bytes[valueStart..<valueEnd]))
            start = stop + 2
            scan.fieldsEnd = start
            scan.consumed = start
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// The line at `start` does not begin with a name and a colon: it is the empty line, or wrong.
    private func endOfFields(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ scan: inout Scan) {
        guard start + 1 < bytes.count, bytes[start] == UInt8(ascii: "\r"), bytes[start + 1] == UInt8(ascii: "\n")
        else { return judge(bytes, start, &scan) }
        guard start + 2 <= maximumSize - size else {
            scan.failure = oversized
            return
        }
        scan.consumed = start + 2
        scan.isComplete = true
    }

    /// The line at `start` is wrong, or only incomplete. Says why, if its end is there.
    private func judge(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ scan: inout Scan) {
        guard let length = LineBuffer.lineLength(UnsafeRawBufferPointer(rebasing: bytes[start...])) else { return }
        guard start + length <= maximumSize - size else {
            scan.failure = oversized
            return
        }
        let line = UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])
        scan.failure = .malformedResponse(FieldSection.fault(in: line))
    }

    /// What is wrong with `line`, which ends in LF. Values may be secret, so only names are quoted.
    private static func fault(in line: UnsafeRawBufferPointer) -> String {
        if isBlank(line[0]) { return "a header line begins with a space: folded lines (obs-fold) are refused" }
        if line[0] == UInt8(ascii: "\n") { return "the header lines end in LF without CR" }
        if line[0] == UInt8(ascii: ":") { return "a header line has no name: \(quoted(line))" }
        let nameEnd = FieldSyntax.endOfToken(line, from: 0)
        let name = quoted(UnsafeRawBufferPointer(rebasing: line[..<nameEnd]))
        switch line[nameEnd] {
        case UInt8(ascii: ":"): break
        case UInt8(ascii: " "), UInt8(ascii: "\t"):
            return "there is a space behind the header name \(name), where its colon must follow"
        case UInt8(ascii: "\r"), UInt8(ascii: "\n"): return "the header line \(quoted(line)) has no colon"
        default:
            let offender = quoted(UnsafeRawBufferPointer(rebasing: line[nameEnd...nameEnd]))
            return "\(offender) stands behind \(name) in a header name, where it is not allowed"
        }
        var at = nameEnd + 1
        while at < line.count, isBlank(line[at]) { at += 1 }
        let stop = FieldSyntax.endOfValue(line, from: at)
        switch line[stop] {
        case UInt8(ascii: "\n"): return "the line of header \(name) ends in LF without CR"
        case UInt8(ascii: "\r"): return "the value of header \(name) holds a bare CR"
        default: return "the value of header \(name) holds the control character 0x" + String(line[stop], radix: 16)
        }
    }
}
