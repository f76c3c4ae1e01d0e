import NightjarSystem

/// Finds the parts of a request head that this library has written for HTTP/1.1 and that HTTP/2 sends as fields. RFC 9113
/// section 8.3.1.
///
/// The head is not copied: the parts are ranges of its bytes. A connection reuses one value for all its requests, which
/// then needs no allocation.
package struct HTTP2RequestHead {
    package struct Field: Equatable {
        package var name: Range<Int>
        package var value: Range<Int>
    }

    package private(set) var method = 0..<0
    /// The request target, for `:path`.
    package private(set) var path = 0..<0
    /// The value of the Host field, for `:authority`.
    package private(set) var authority = 0..<0
    /// The other fields, except for those that only HTTP/1.1 has.
    package private(set) var fields: [Field] = []

    package init() {}

    /// Reads a head, from the request line to the empty line.
    package mutating func read(_ head: UnsafeRawBufferPointer) {
        fields.removeAll(keepingCapacity: true)
        authority = 0..<0
        let line = HTTP2RequestHead.first(UInt8(ascii: "\r"), in: head, from: 0) ?? head.count
        let methodEnd = HTTP2RequestHead.first(UInt8(ascii: " "), in: head, from: 0) ?? line
        // The version follows the target: " HTTP/1.1".
        let targetEnd = max(line - 9, min(methodEnd + 1, line))
        method = 0..<methodEnd
        path = min(methodEnd + 1, targetEnd)..<targetEnd
        var start = line + 2
        while start < head.count, let colon = HTTP2RequestHead.first(UInt8(ascii: ":"), in: head, from: start),
            let end = HTTP2RequestHead.first(UInt8(ascii: "\r"), in: head, from: colon)
        {
            readField(head, start..<colon, HTTP2RequestHead.trimmed(head, colon + 1..<end))
            start = end + 2
        }
    }

    private mutating func readField(_ head: UnsafeRawBufferPointer, _ name: Range<Int>, _ value: Range<Int>) {
        let bytes = UnsafeRawBufferPointer(rebasing: head[name])
        if HTTP2RequestHead.isHost(bytes) {
            authority = value
        } else if !HTTP2RequestHead.isForHTTP1(bytes) {
            fields.append(Field(name: name, value: value))
        }
    }

    private static func isHost(_ name: UnsafeRawBufferPointer) -> Bool {
        name.count == 4 && ASCII.isCaseless(name, "host")
    }

    /// Whether a field controls the connection, so that HTTP/2 forbids it. RFC 9113 section 8.2.2.
    static func isForHTTP1(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 7: ASCII.isCaseless(name, "upgrade")
        case 10: ASCII.isCaseless(name, "connection") || ASCII.isCaseless(name, "keep-alive")
        case 16: ASCII.isCaseless(name, "proxy-connection")
        case 17: ASCII.isCaseless(name, "transfer-encoding")
        default: false
        }
    }

    private static func trimmed(_ head: UnsafeRawBufferPointer, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, isBlank(head[start]) { start += 1 }
        while end > start, isBlank(head[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func first(_ byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(byte), bytes.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }
}
