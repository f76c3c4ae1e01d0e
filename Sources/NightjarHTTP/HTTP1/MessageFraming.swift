/// Where the content of a response ends. RFC 9112 section 6.3.
enum MessageFraming: Equatable, Sendable {
    /// There is no content, whatever the fields say.
    case empty
    case length(Int)
    case chunked
    /// The content ends with the connection.
    case untilClose
}

/// What a section's fields say about framing and about the connection. Only notes; ``framing(of:to:)`` judges.
struct FramingFields: Sendable, Equatable {
    private enum Length: Sendable, Equatable {
        case absent
        case bytes(Int)
        case invalid(String)
        /// Given more than once, with different values.
        case contradictory
    }

    private enum Coding: Sendable, Equatable {
        case absent
        case chunked
        case other(String)
        case repeated
    }

    private var length = Length.absent
    private var coding = Coding.absent
    /// `Connection: close` is among the fields. RFC 9112 section 9.3.
    private(set) var asksToClose = false
    /// `Connection: keep-alive`, which HTTP/1.0 needs to stay open.
    private(set) var asksToKeepAlive = false

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
            if ASCII.isCaseless(option, "close") { asksToClose = true }
            if ASCII.isCaseless(option, "keep-alive") { asksToKeepAlive = true }
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

    /// A list of lengths or a second field. Lengths that are all the same are one length (RFC 9110 section 8.6); two
    /// different ones could be read in two ways, so they are invalid.
    private mutating func noteUnusualLength(_ value: UnsafeRawBufferPointer) {
        var rest = value
        while true {
            let comma = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.count
            let item = UnsafeRawBufferPointer(rebasing: rest[..<comma]).trimmingBlanks()
            switch (length, FramingFields.decimal(item)) {
            case (.invalid, _), (.contradictory, _): return
            case (_, nil): length = .invalid(quoted(value))
            case (.absent, let number?): length = .bytes(number)
            case (.bytes(let known), let number?): if known != number { length = .contradictory }
            }
            guard comma < rest.count else { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[(comma + 1)...])
        }
    }

    /// Nil unless `text` is digits alone, of a number within 63 bits.
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

    /// Decides by the rules of RFC 9112 section 6.3, and refuses what two recipients could read in two ways.
    func framing(
        ofStatus status: Int, minorVersion: Int, to method: Method
    ) throws(NightjarError) -> MessageFraming {
        // Behind it is the tunnel, whatever the fields say. RFC 9110 section 9.3.6.
        if method == .connect, 200..<300 ~= status { return .empty }
        switch length {
        case .absent, .bytes: break
        case .invalid(let value): throw .malformedResponse("Content-Length \(value) is not a number of bytes")
        case .contradictory:
            throw .malformedResponse("Content-Length is given more than once, with different values")
        }
        switch coding {
        case .absent, .chunked: break
        case .other(let value):
            throw .malformedResponse("Transfer-Encoding \(value) was not asked for; only chunked is understood")
        case .repeated: throw .malformedResponse("Transfer-Encoding is given more than once")
        }
        if coding == .chunked {
            guard length == .absent else {
                throw .malformedResponse("the response has both Content-Length and Transfer-Encoding")
            }
            guard minorVersion >= 1 else {
                throw .malformedResponse("the response is HTTP/1.0 and has Transfer-Encoding, which came with HTTP/1.1")
            }
        }

        if status < 200 || status == 204 || status == 304 || method == .head { return .empty }
        if coding == .chunked { return .chunked }
        if case .bytes(let count) = length { return .length(count) }
        return .untilClose
    }

    /// Whether the connection can carry another request after a response framed so. RFC 9112 section 9.3.
    func keepsConnection(_ framing: MessageFraming, status: Int, minorVersion: Int) -> Bool {
        if framing == .untilClose || asksToClose { return false }
        // A 204 has no content. One that announces some comes from a server that may well send it.
        if status == 204, coding != .absent || length != .absent && length != .bytes(0) { return false }
        return minorVersion >= 1 || asksToKeepAlive
    }
}

extension UnsafeRawBufferPointer {
    /// Without spaces and tabs at either end: OWS, RFC 9110 section 5.6.3.
    func trimmingBlanks() -> UnsafeRawBufferPointer {
        var part = self[...]
        while let first = part.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") { part.removeFirst() }
        while let last = part.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { part.removeLast() }
        return UnsafeRawBufferPointer(rebasing: part)
    }
}
