/// An authentication challenge in WWW-Authenticate or Proxy-Authenticate. RFC 9110 section 11.6.1.
public struct Challenge: Sendable, Equatable {
    public struct Parameter: Sendable, Equatable {
        /// The name in lower case.
        public let name: String
        /// The value without quotes.
        public let value: String
    }

    /// The scheme in lower case: `digest`.
    public let scheme: String
    /// The token68 value that some schemes use instead of parameters.
    public internal(set) var token68: String?
    public internal(set) var parameters: [Parameter] = []

    /// The value of the first parameter with this name. `name` must be in lower case.
    public subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The maximum number of challenges that are parsed. Further challenges are ignored.
    public static let largestCount = 32
    /// The maximum number of parameters of one challenge. Further parameters are ignored.
    static let largestParameterCount = 64

    /// Parses the challenges of all fields, in order.
    ///
    /// If part of a field is invalid, the challenges before it are kept and the rest of the field is ignored. Parsing
    /// cannot continue there, because commas separate both challenges and parameters.
    public static func parse(_ fields: some Sequence<String>) -> [Challenge] {
        var challenges: [Challenge] = []
        for field in fields {
            var reader = ChallengeReader(bytes: Array(field.utf8))
            while challenges.count < largestCount, let challenge = reader.next() { challenges.append(challenge) }
        }
        return challenges
    }
}

private struct ChallengeReader {
    let bytes: [UInt8]
    private var at = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> Challenge? {
        skipSeparators()
        guard let scheme = token() else { return nil }
        var challenge = Challenge(scheme: scheme)
        let blanks = skipBlanks()
        guard let byte = peek, byte != UInt8(ascii: ",") else { return challenge }
        guard blanks > 0 else { return stop() }
        if let parameter = parameter() {
            challenge.parameters.append(parameter)
        } else if let text = token68() {
            challenge.token68 = text
            return endsElement() ? challenge : stop()
        } else {
            return stop()
        }
        while endsElement() {
            let before = at
            skipSeparators()
            guard let parameter = parameter() else {
                // The next challenge begins here, or the field ends.
                at = before
                return challenge
            }
            if challenge.parameters.count < Challenge.largestParameterCount { challenge.parameters.append(parameter) }
        }
        return stop()
    }

    private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

    /// Ends parsing, because the rest of the field is ambiguous.
    private mutating func stop() -> Challenge? {
        at = bytes.count
        return nil
    }

    private mutating func skipBlanks() -> Int {
        let start = at
        while let byte = peek, byte == 0x20 || byte == 0x09 { at += 1 }
        return at - start
    }

    /// Skips blanks and commas. List elements may be empty. RFC 9110 section 5.6.1.2.
    private mutating func skipSeparators() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: ",") { at += 1 }
    }

    private mutating func endsElement() -> Bool {
        _ = skipBlanks()
        return peek.map { $0 == UInt8(ascii: ",") } ?? true
    }

    private mutating func token() -> String? {
        let start = at
        while let byte = peek, FieldSyntax.isTokenByte(byte) { at += 1 }
        return at == start ? nil : String(decoding: bytes[start..<at].map(ASCII.lowercase), as: UTF8.self)
    }

    /// Reads a parameter. If there is none, returns nil and keeps the position.
    private mutating func parameter() -> Challenge.Parameter? {
        let start = at
        if let name = token() {
            _ = skipBlanks()
            if peek == UInt8(ascii: "=") {
                at += 1
                _ = skipBlanks()
                if let value = peek == UInt8(ascii: "\"") ? quotedString() : plainValue() {
                    return Challenge.Parameter(name: name, value: value)
                }
            }
        }
        at = start
        return nil
    }

    /// Reads a value without quotes. Accepts values that should be quoted, such as URLs. Returns nil if the value is
    /// empty or contains only `=`, because `abc==` is a token68.
    private mutating func plainValue() -> String? {
        let start = at
        while let byte = peek, byte > 0x20, byte != 0x7F, byte != UInt8(ascii: ","), byte != UInt8(ascii: "\"") {
            at += 1
        }
        let value = bytes[start..<at]
        guard value.contains(where: { $0 != UInt8(ascii: "=") }) else { return nil }
        return String(decoding: value, as: UTF8.self)
    }

    /// Parses a quoted string. RFC 9110 section 5.6.4.
    private mutating func quotedString() -> String? {
        at += 1
        var value: [UInt8] = []
        while let byte = peek {
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = peek else { return nil }
                at += 1
                value.append(escaped)
            default: value.append(byte)
            }
        }
        return nil
    }

    /// Reads a token68. RFC 9110 section 11.2.
    private mutating func token68() -> String? {
        let start = at
        while let byte = peek, ASCII.isLetter(byte) || ASCII.isDigit(byte) || "-._~+/".utf8.contains(byte) { at += 1 }
        guard at > start else { return nil }
        while peek == UInt8(ascii: "=") { at += 1 }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }
}
