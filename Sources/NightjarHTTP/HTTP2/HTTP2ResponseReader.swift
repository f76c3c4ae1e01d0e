/// Checks and assembles the response on one stream. RFC 9113 section 8.
///
///     head ──section: 1xx──▶ head
///      └─section: final──▶ body ──section: trailers, or end──▶ ended
///
/// The session has decoded the frames and the fields. The reader throws `protocol` for a malformed response and
/// `too_large` for one that exceeds the limits. The stream is then reset.
package struct HTTP2ResponseReader: Sendable {
    package enum Event: Sendable {
        case informational(ResponseHead)
        case head(ResponseHead)
        case end(trailers: Headers)
    }

    private enum State { case head, body, ended }

    private let method: Method
    private let opensTunnel: Bool
    private let limits: HTTP1ResponseDecoder.Limits
    private var state = State.head
    /// The length that the response declares, and the number of bytes that have not arrived. Nil: any length.
    private var remaining: Int?

    /// The size of the sections, as lines of HTTP/1.1.
    private var size = 0

    /// - Parameter opensTunnel: Whether the request is an extended CONNECT. A 2xx response is then reported as 101
    ///   (Switching Protocols), as over HTTP/1.1, and the body has any length. RFC 8441 section 5, RFC 9110 section 9.3.6.
    package init(method: Method, opensTunnel: Bool = false, limits: HTTP1ResponseDecoder.Limits) {
        self.method = method
        self.opensTunnel = opensTunnel
        self.limits = limits
    }

    /// Whether the head of the final response has arrived.
    package var hasHead: Bool { state != .head }

    // MARK: Field sections

    /// Reads a section.
    package mutating func read(_ section: HTTP2FieldSection, endsStream: Bool) throws(NightjarError) -> Event {
        if state == .body { size = 0 }
        size += section.size
        guard size <= limits.maximumHead else {
            throw .oversizedResponse("the response header fields exceed the limit of \(limits.maximumHead) bytes")
        }
        let status = try readStatus(section)
        let first = status == nil ? 0 : 1
        guard section.fields.count - first <= limits.maximumFields else {
            throw .oversizedResponse("the response has more than \(limits.maximumFields) header fields")
        }
        var framing = FramingFields()
        for field in section.fields[first...] {
            let (name, value) = (section.name(field), section.value(field))
            if let fault = HTTP2ResponseReader.fault(name, value) { throw .malformedResponse(fault) }
            framing.note(name: name, value: value)
        }
        let headers = Headers(section, from: first)
        switch state {
        case .head:
            guard let status else { throw .malformedResponse("the response has no status") }
            return try head(status, headers, framing, endsStream)
        case .body:
            guard endsStream else {
                throw .malformedResponse("the server sent a second head before the end of the response")
            }
            try checkLength()
            state = .ended
            return .end(trailers: headers)
        case .ended: throw .malformedResponse("the server sent header fields after the end of the response")
        }
    }

    /// Reads the pseudo-header field, which must be the first field of a head. Nil: the section has none.
    private func readStatus(_ section: HTTP2FieldSection) throws(NightjarError) -> Int? {
        guard let field = section.fields.first, section.text.first == UInt8(ascii: ":") else { return nil }
        let (name, value) = (section.name(field), section.value(field))
        guard state == .head, ASCII.isSame(name, ":status") else {
            throw .malformedResponse(HTTP2ResponseReader.pseudoFieldFault(name))
        }
        guard value.count == 3, value.allSatisfy(ASCII.isDigit), value[0] != UInt8(ascii: "0") else {
            throw .malformedResponse("the status \(quoted(value)) is not a number from 100 to 999")
        }
        return value.reduce(0) { $0 * 10 + Int($1 & 0xF) }
    }

    private static func pseudoFieldFault(_ name: UnsafeRawBufferPointer) -> String {
        ASCII.isSame(name, ":status")
            ? "the pseudo-header field \":status\" is repeated or misplaced"
            : "the pseudo-header field \(quoted(name)) is not allowed in a response"
    }

    /// Describes the syntax error of a field, or returns nil. The value is not quoted, because it may be secret. RFC 9113
    /// section 8.2.1.
    private static func fault(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> String? {
        guard !name.isEmpty, FieldSyntax.endOfToken(name, from: 0) == name.count else {
            guard name.first == UInt8(ascii: ":") else { return "the header name \(quoted(name)) is invalid" }
            return pseudoFieldFault(name)
        }
        for byte in name where byte &- UInt8(ascii: "A") < 26 {
            return "the header name \(quoted(name)) contains an upper-case letter, which HTTP/2 forbids"
        }
        guard FieldSyntax.endOfValue(value, from: 0) == value.count else {
            return "the value of header \(quoted(name)) contains a control character"
        }
        if let first = value.first, let last = value.last, isBlank(first) || isBlank(last) {
            return "the value of header \(quoted(name)) begins or ends with white space, which HTTP/2 forbids"
        }
        guard !HTTP2RequestHead.isForHTTP1(name) else {
            return "the header \(quoted(name)) is not allowed in HTTP/2"
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private mutating func head(
        _ status: Int, _ headers: Headers, _ fields: FramingFields, _ endsStream: Bool
    ) throws(NightjarError) -> Event {
        var head = ResponseHead(status: status, version: .http2)
        head.headers = headers
        if opensTunnel, 200..<300 ~= status {
            head.status = 101
            state = .body
            return .head(head)
        }
        let framing = try fields.framing(ofStatus: status, minorVersion: 1, to: method)
        guard status >= 200 else {
            guard status != 101 else {
                throw .malformedResponse("the server switched protocols (101), which HTTP/2 does not allow")
            }
            guard !endsStream else { throw .malformedResponse("the stream ended after the status \(status)") }
            return .informational(head)
        }
        switch framing {
        case .empty: remaining = 0
        case .length(let count):
            head.contentLength = count
            remaining = count
        case .chunked, .untilClose: remaining = nil
        }
        state = .body
        return .head(head)
    }

    // MARK: The body

    /// Checks that the response may have another part of `count` bytes.
    package mutating func received(_ count: Int) throws(NightjarError) {
        guard state == .body else {
            throw .malformedResponse("the server sent a body before the head of the response")
        }
        guard let remaining else { return }
        guard count <= remaining else {
            throw .malformedResponse("the response body is longer than its Content-Length, or it must be empty")
        }
        self.remaining = remaining - count
    }

    /// Ends the response, after a head or a part of the body with which the stream ends.
    package mutating func end() throws(NightjarError) {
        guard state == .body else { throw .malformedResponse("the stream ended before the head of the response") }
        try checkLength()
        state = .ended
    }

    private func checkLength() throws(NightjarError) {
        guard let remaining, remaining > 0 else { return }
        throw .malformedResponse("the response body ended \(remaining) bytes before its Content-Length")
    }
}
