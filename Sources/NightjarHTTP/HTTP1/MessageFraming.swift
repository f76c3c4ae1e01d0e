/// The way in which the client finds the end of a response body. RFC 9112 section 6.3.
enum MessageFraming: Equatable, Sendable {
    /// The response has no body, regardless of its fields.
    case empty
    case length(Int)
    case chunked
    /// The body extends to the end of the connection.
    case untilClose
}

/// The framing and connection fields of a section. ``framing(ofStatus:minorVersion:to:)`` evaluates the fields.
struct FramingFields: Sendable, Equatable {
    private enum Length: Sendable, Equatable {
        case absent
        case bytes(Int)
        case invalid(String)
        /// Content-Length occurs more than once with different values.
        case conflicting
    }

    private enum Coding: Sendable, Equatable {
        case absent
        case chunked
        case other(String)
        case repeated
    }

    private var length = Length.absent
    private var coding = Coding.absent
    /// True if the fields contain `Connection: close`. RFC 9112 section 9.3.
    private(set) var requestsClose = false
    /// True if the fields contain `Connection: keep-alive`, which HTTP/1.0 requires for reuse.
    private(set) var requestsKeepAlive = false

    @inline(__always)
    mutating func note(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        switch name.count {
        case 10 where ASCII.lowercase(name[0]) == UInt8(ascii: "c") && ASCII.isCaseless(name, "connection"):
            noteConnection(value)
        case 14 where ASCII.lowercase(name[0]) == UInt8(ascii: "c") && ASCII.isCaseless(name, "content-length"):
            noteContentLength(value)
        case 17 where ASCII.lowercase(name[0]) == UInt8(ascii: "t") && ASCII.isCaseless(name, "transfer-encoding"):
            noteTransferEncoding(value)
        default: break
        }
    }

    private mutating func noteConnection(_ value: UnsafeRawBufferPointer) {
        var rest = value
        while true {
            let comma = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.count
            let option = UnsafeRawBufferPointer(rebasing: rest[..<comma]).trimmingBlanks()
            if ASCII.isCaseless(option, "close") { requestsClose = true }
            if ASCII.isCaseless(option, "keep-alive") { requestsKeepAlive = true }
            guard comma < rest.count else { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[(comma + 1)...])
        }
    }

    private mutating func noteContentLength(_ value: UnsafeRawBufferPointer) {
        if length == .absent, let number = FramingFields.decimal(value) {
            length = .bytes(number)
        } else {
            noteUnusualLength(value)
        }
    }

    /// Handles an invalid length, a list of lengths or a second field. Equal lengths count as one length (RFC 9110
    /// section 8.6). Different lengths are invalid.
    private mutating func noteUnusualLength(_ value: UnsafeRawBufferPointer) {
        var rest = value
        while true {
            let comma = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.count
            let item = UnsafeRawBufferPointer(rebasing: rest[..<comma]).trimmingBlanks()
            switch (length, FramingFields.decimal(item)) {
            case (.invalid, _), (.conflicting, _): return
            case (_, nil): length = .invalid(quoted(value))
            case (.absent, let number?): length = .bytes(number)
            case (.bytes(let known), let number?): if known != number { length = .conflicting }
            }
            guard comma < rest.count else { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[(comma + 1)...])
        }
    }

    /// Parses a decimal number. Returns nil if `text` is empty, contains other characters or exceeds 63 bits.
    @inline(__always)
    private static func decimal(_ text: UnsafeRawBufferPointer) -> Int? {
        var number = 0
        for byte in text {
            let (product, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int(byte & 0xF))
            guard ASCII.isDigit(byte), !overflow, !carry else { return nil }
            number = sum
        }
        return text.isEmpty ? nil : number
    }

    private mutating func noteTransferEncoding(_ value: UnsafeRawBufferPointer) {
        switch coding {
        case .absent: coding = ASCII.isCaseless(value, "chunked") ? .chunked : .other(quoted(value))
        case .chunked, .other, .repeated: coding = .repeated
        }
    }

    /// Determines the framing by the rules of RFC 9112 section 6.3, and rejects ambiguous combinations.
    func framing(
        ofStatus status: Int, minorVersion: Int, to method: Method
    ) throws(NightjarError) -> MessageFraming {
        // After a 2xx response to CONNECT, the tunnel begins regardless of the fields. RFC 9110 section 9.3.6.
        if method == .connect, 200..<300 ~= status { return .empty }
        switch length {
        case .absent, .bytes: break
        case .invalid(let value): throw .malformedResponse("Content-Length \(value) is not a number of bytes")
        case .conflicting:
            throw .malformedResponse("Content-Length occurs more than once with different values")
        }
        switch coding {
        case .absent, .chunked: break
        case .other(let value):
            throw .malformedResponse("Transfer-Encoding \(value) was not requested; only chunked is supported")
        case .repeated: throw .malformedResponse("Transfer-Encoding occurs more than once")
        }
        if coding == .chunked {
            guard length == .absent else {
                throw .malformedResponse("the response has both Content-Length and Transfer-Encoding")
            }
            guard minorVersion >= 1 else {
                throw .malformedResponse("the response is HTTP/1.0 but has Transfer-Encoding, which requires HTTP/1.1")
            }
        }

        if status < 200 || status == 204 || status == 304 || method == .head { return .empty }
        if coding == .chunked { return .chunked }
        if case .bytes(let count) = length { return .length(count) }
        return .untilClose
    }

    /// Returns true if the connection can be reused after a response with this framing. RFC 9112 section 9.3.
    func keepsConnection(_ framing: MessageFraming, status: Int, minorVersion: Int) -> Bool {
        if framing == .untilClose || requestsClose { return false }
        // A 204 response has no body, but a server that declares a body may send it.
        if status == 204, coding != .absent || length != .absent && length != .bytes(0) { return false }
        return minorVersion >= 1 || requestsKeepAlive
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the bytes without spaces and tabs at both ends (OWS, RFC 9110 section 5.6.3).
    func trimmingBlanks() -> UnsafeRawBufferPointer {
        var part = self[...]
        while let first = part.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") { part.removeFirst() }
        while let last = part.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { part.removeLast() }
        return UnsafeRawBufferPointer(rebasing: part)
    }
}
