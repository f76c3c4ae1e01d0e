import NIOCore

/// Parses the field lines of a head or of trailers, up to and including the empty line. RFC 9112 section 5.
///
/// If the whole section is in one buffer, the parser makes one pass over the bytes and one copy. Otherwise, a
/// ``LineBuffer`` stores an incomplete line until the rest arrives.
struct FieldSection: Sendable {
    /// The fields parsed so far. Complete after ``read(_:)`` has returned true.
    private(set) var headers = Headers()
    /// The framing information in ``headers``.
    private(set) var framing = FramingFields()
    /// The total size of the complete lines in bytes, including the empty line.
    private(set) var size = 0

    /// The configured maximum size in bytes of the section and the lines before the section.
    private let limit: Int
    /// The maximum size of this section: ``limit`` minus the size of the lines before the section.
    private var maximumSize: Int
    private let maximumFields: Int
    private let acceptsBareLF: Bool
    /// True if a folded line has changed a value. ``framing`` is then derived again at the end of the section.
    private var hasFolds = false
    private var lines = LineBuffer()

    /// - Parameter limits: ``HTTP1ResponseDecoder/Limits/maximumHead`` limits the total size of all lines.
    init(_ limits: HTTP1ResponseDecoder.Limits) {
        limit = limits.maximumHead
        maximumSize = limits.maximumHead
        maximumFields = limits.maximumFields
        acceptsBareLF = limits.acceptsBareLF
    }

    /// Returns the parsed fields and removes them from this parser.
    mutating func take() -> (headers: Headers, framing: FramingFields) {
        defer {
            headers = Headers()
            framing = FramingFields()
        }
        return (headers, framing)
    }

    /// Begins another section.
    ///
    /// - Parameter used: the size of the lines before the section in bytes, which counts towards the limit.
    mutating func begin(after used: Int) {
        maximumSize = limit - used
        size = 0
    }

    /// Consumes the bytes of the section. Returns false if all of `buffer` was consumed and more data is needed.
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
        .oversizedResponse("the response header lines exceed the limit of \(limit) bytes")
    }

    /// Consumes complete lines, up to and including the empty line. Returns true if the empty line was consumed.
    private mutating func readLines(_ buffer: inout ByteBuffer) throws(NightjarError) -> Bool {
        while true {
            let scan = try readPlainLines(&buffer)
            guard scan.stopsAtFold else {
                if scan.isComplete, hasFolds { noteFramingAgain() }
                return scan.isComplete
            }
            readFold(&buffer)
        }
    }

    /// Consumes complete lines up to the empty line or a folded line.
    @inline(__always)
    private mutating func readPlainLines(_ buffer: inout ByteBuffer) throws(NightjarError) -> Scan {
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
        return scan
    }

    /// Appends the folded line at the front of `buffer` to the last value, separated by one space. A folded line begins
    /// with a space or tab (obs-fold, RFC 9112 section 5.2). ``evaluate(_:_:_:)`` has checked the line.
    private mutating func readFold(_ buffer: inout ByteBuffer) {
        hasFolds = true
        let length = buffer.withUnsafeReadableBytes { bytes in
            let length = LineBuffer.lineLength(bytes) ?? bytes.count
            var end = length - 1
            if end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
            headers.extendLastValue(by: UnsafeRawBufferPointer(rebasing: bytes[..<end]).trimmingBlanks())
            return length
        }
        buffer.moveReaderIndex(forwardBy: length)
        size += length
    }

    private mutating func noteFramingAgain() {
        hasFolds = false
        framing = FramingFields()
        for index in 0..<headers.count {
            headers.withBytes(at: index) { name, value in framing.note(name: name, value: value) }
        }
    }

    private struct Scan {
        /// The end of the last complete field line.
        var fieldsEnd = 0
        /// The end of the last complete line.
        var consumed = 0
        var isComplete = false
        /// True if the next line continues the value of the last field.
        var stopsAtFold = false
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
            let next: Int
            if stop + 1 < bytes.count, bytes[stop] == UInt8(ascii: "\r"), bytes[stop + 1] == UInt8(ascii: "\n") {
                next = stop + 2
            } else if acceptsBareLF, stop < bytes.count, bytes[stop] == UInt8(ascii: "\n") {
                next = stop + 1
            } else {
                return evaluate(bytes, start, &scan)
            }
            guard next <= room else {
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
            start = next
            scan.fieldsEnd = start
            scan.consumed = start
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// Handles a line that does not begin with a name and a colon, such as the empty line.
    private func endOfFields(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ scan: inout Scan) {
        let next: Int
        if start + 1 < bytes.count, bytes[start] == UInt8(ascii: "\r"), bytes[start + 1] == UInt8(ascii: "\n") {
            next = start + 2
        } else if acceptsBareLF, start < bytes.count, bytes[start] == UInt8(ascii: "\n") {
            next = start + 1
        } else {
            return evaluate(bytes, start, &scan)
        }
        guard next <= maximumSize - size else {
            scan.failure = oversized
            return
        }
        scan.consumed = next
        scan.isComplete = true
    }

    /// Handles a line that continues a value, is malformed or is incomplete. Does nothing if the line is incomplete.
    /// Sets `scan.failure` if the line is malformed or too long.
    private func evaluate(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ scan: inout Scan) {
        guard let length = LineBuffer.lineLength(UnsafeRawBufferPointer(rebasing: bytes[start...])) else { return }
        guard start + length <= maximumSize - size else {
            scan.failure = oversized
            return
        }
        let line = UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])
        if !headers.isEmpty, continuesValue(line) {
            scan.stopsAtFold = true
            return
        }
        scan.failure = .malformedResponse(FieldSection.fault(in: line))
    }

    /// Returns true if `line`, which ends in LF, is a valid continuation of the previous value.
    private func continuesValue(_ line: UnsafeRawBufferPointer) -> Bool {
        guard FieldSection.isBlank(line[0]) else { return false }
        let stop = FieldSyntax.endOfValue(line, from: 0)
        return stop == line.count - 2 && line[stop] == UInt8(ascii: "\r") || acceptsBareLF && stop == line.count - 1
    }

    /// Describes the syntax error of `line`, which ends in LF. The value of a named field is not quoted, because it may
    /// be secret.
    private static func fault(in line: UnsafeRawBufferPointer) -> String {
        if isBlank(line[0]) {
            let stop = FieldSyntax.endOfValue(line, from: 0)
            switch line[stop] {
            case UInt8(ascii: "\n") where stop == line.count - 1: return "a folded header line ends in LF without CR"
            case UInt8(ascii: "\r") where stop == line.count - 2:
                return "the first header line begins with white space, but there is no value to continue"
            default: return "a folded header line contains the control character 0x" + String(line[stop], radix: 16)
            }
        }
        if line[0] == UInt8(ascii: "\n") { return "the header lines end in LF without CR" }
        if line[0] == UInt8(ascii: ":") { return "a header line has no name: \(quoted(line))" }
        let nameEnd = FieldSyntax.endOfToken(line, from: 0)
        let name = quoted(UnsafeRawBufferPointer(rebasing: line[..<nameEnd]))
        switch line[nameEnd] {
        case UInt8(ascii: ":"): break
        case UInt8(ascii: " "), UInt8(ascii: "\t"):
            return "white space instead of a colon follows the header name \(name)"
        case UInt8(ascii: "\r"), UInt8(ascii: "\n"): return "the header line \(quoted(line)) has no colon"
        default:
            let invalidByte = quoted(UnsafeRawBufferPointer(rebasing: line[nameEnd...nameEnd]))
            return "\(invalidByte) after \(name) is not allowed in a header name"
        }
        var at = nameEnd + 1
        while at < line.count, isBlank(line[at]) { at += 1 }
        let stop = FieldSyntax.endOfValue(line, from: at)
        switch line[stop] {
        case UInt8(ascii: "\n"): return "the line of header \(name) ends in LF without CR"
        case UInt8(ascii: "\r"): return "the value of header \(name) contains a bare CR"
        default: return "the value of header \(name) contains the control character 0x" + String(line[stop], radix: 16)
        }
    }
}
