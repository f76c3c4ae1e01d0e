import NIOCore

/// The status line of a response. RFC 9112 section 4.
///
///     HTTP/1.1 SP 3DIGIT SP reason CRLF
///
/// The space before an empty reason may be missing. Some servers omit it, and the line remains unambiguous.
struct StatusLine: Sendable, Equatable {
    var minorVersion: Int
    var status: Int
    var reason: String

    private static let prefix: StaticString = "HTTP/1."
    /// The length of "HTTP/1.1 200" in bytes, without the line ending.
    private static let shortest = 12

    /// Returns an error if `bytes`, the part of the line received so far, cannot begin a status line. Returns nil
    /// otherwise. Called before the line is complete, because a peer that speaks another protocol may never send an LF.
    static func rejection(of bytes: UnsafeRawBufferPointer) -> NightjarError? {
        let known = UnsafeRawBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
        let count = min(bytes.count, known.count)
        var at = 0
        while at < count, bytes[at] == known[at] { at += 1 }
        if at == count { return nil }
        return .malformedResponse("the peer did not respond with HTTP/1: the response begins with \(quoted(bytes))")
    }

    /// Parses a status line.
    ///
    /// - Parameters:
    ///   - line: a line including its LF, for which ``rejection(of:)`` returned nil.
    ///   - acceptsBareLF: true if a line may end in LF without CR.
    init(parsing line: UnsafeRawBufferPointer, acceptsBareLF: Bool = false) throws(NightjarError) {
        let hasCR = line.count >= 2 && line[line.count - 2] == UInt8(ascii: "\r")
        guard hasCR || acceptsBareLF else {
            throw .malformedResponse("the status line \(quoted(line)) ends in LF without CR")
        }
        let end = line.count - (hasCR ? 2 : 1)
        guard end >= StatusLine.shortest, ASCII.isDigit(line[7]), line[8] == UInt8(ascii: " ") else {
            throw .malformedResponse("the status line \(quoted(line)) must have a version, a space and a status")
        }
        // A higher minor version is handled like 1. RFC 9110 section 2.5.
        minorVersion = line[7] == UInt8(ascii: "0") ? 0 : 1

        guard ASCII.isDigit(line[9]), ASCII.isDigit(line[10]), ASCII.isDigit(line[11]) else {
            throw .malformedResponse("the status in \(quoted(line)) is not three digits")
        }
        status = Int(line[9] & 0xF) * 100 + Int(line[10] & 0xF) * 10 + Int(line[11] & 0xF)
        guard status >= 100 else { throw .malformedResponse("the status \(status) is below 100") }

        let rest = UnsafeRawBufferPointer(rebasing: line[12..<end])
        guard let separator = rest.first else {
            reason = ""
            return
        }
        guard separator == UInt8(ascii: " ") else {
            throw .malformedResponse("the status in \(quoted(line)) is not followed by a space")
        }
        guard FieldSyntax.endOfValue(rest, from: 1) == rest.count else {
            throw .malformedResponse("the reason in \(quoted(line)) contains a control character")
        }
        let phrase = UnsafeRawBufferPointer(rebasing: rest[1...])
        reason = ASCII.isSame(phrase, "OK") ? "OK" : String(decoding: phrase, as: UTF8.self)
    }
}

extension NightjarError {
    /// Creates the error for a response that violates the HTTP protocol.
    static func malformedResponse(_ what: String) -> NightjarError {
        NightjarError(.protocol, what, phase: .receive)
    }

    /// Creates the error for a response that exceeds a size limit.
    static func oversizedResponse(_ what: String) -> NightjarError {
        NightjarError(.tooLarge, what, phase: .receive)
    }
}
