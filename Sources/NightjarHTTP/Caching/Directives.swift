/// Parses the directives of one Cache-Control line. RFC 9111 section 5.2.
///
/// After invalid syntax, parsing continues at the next comma, so that later restrictive directives take effect.
struct Directives {
    struct Directive {
        let name: UnsafeRawBufferPointer
        /// The value without its quotes but with its escapes. Nil if no `=` follows the name.
        let value: UnsafeRawBufferPointer?
        /// False if the syntax is invalid. The permissions of such a directive must be ignored.
        let isWellFormed: Bool

        @inline(__always)
        func named(_ text: StaticString) -> Bool { ASCII.isCaseless(name, text) }
    }

    private let bytes: UnsafeRawBufferPointer
    private var at = 0
    /// True if a quoted string is not closed. The rest of the line is then ambiguous.
    private(set) var isBroken = false

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func next() -> Directive? {
        while at < bytes.count, isSeparator(bytes[at]) { at += 1 }
        guard at < bytes.count else { return nil }
        let start = at
        at = FieldSyntax.endOfToken(bytes, from: at)
        let name = slice(start, at)
        guard at < bytes.count, bytes[at] == UInt8(ascii: "=") else {
            return Directive(name: name, value: nil, isWellFormed: endElement() && !name.isEmpty)
        }
        at += 1
        let first = at
        if at < bytes.count, bytes[at] == UInt8(ascii: "\""), let end = endOfQuoted(from: at + 1) {
            at = end + 1
            return Directive(name: name, value: slice(first + 1, end), isWellFormed: endElement() && !name.isEmpty)
        }
        at = FieldSyntax.endOfToken(bytes, from: at)
        let value = slice(first, at)
        return Directive(name: name, value: value, isWellFormed: endElement() && !value.isEmpty && !name.isEmpty)
    }

    /// Returns the position of the closing quote, or nil. After a search without a result, no other search is made.
    /// Otherwise, the total cost of a malicious line would be quadratic.
    private mutating func endOfQuoted(from start: Int) -> Int? {
        guard !isBroken else { return nil }
        var at = start
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "\"") { return at }
            at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        isBroken = true
        return nil
    }

    /// Advances to the next comma outside quotes, or to the end of the line. Returns false if characters other than
    /// blanks precede it.
    private mutating func endElement() -> Bool {
        var isClean = true
        while at < bytes.count, bytes[at] != UInt8(ascii: ",") {
            if bytes[at] == UInt8(ascii: "\""), let end = endOfQuoted(from: at + 1) { at = end }
            isClean = isClean && (bytes[at] == 0x20 || bytes[at] == 0x09)
            at += 1
        }
        return isClean
    }

    private func isSeparator(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: ",") }

    private func slice(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }
}

/// A duration in whole seconds, as in field values. RFC 9111 section 1.2.2.
enum DeltaSeconds {
    /// The maximum. Longer durations are clamped.
    static let largest: Int64 = 1 << 31

    /// - Returns: nil if `bytes` is not a sequence of digits.
    static func read(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard !bytes.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in bytes {
            guard ASCII.isDigit(byte) else { return nil }
            // Ten times the maximum fits 64 bits.
            number = min(number * 10 + Int64(byte & 0xF), largest)
        }
        return number
    }
}
