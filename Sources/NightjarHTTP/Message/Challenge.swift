/// One way in that a server offers in WWW-Authenticate or Proxy-Authenticate. RFC 9110 section 11.6.1.
public struct Challenge: Sendable, Equatable {
    public struct Parameter: Sendable, Equatable {
        /// In lower case.
        public let name: String
        /// Without quotes.
        public let value: String
    }

    /// In lower case: `digest`.
    public let scheme: String
    /// What some schemes have instead of parameters.
    public internal(set) var token68: String?
    public internal(set) var parameters: [Parameter] = []

    /// The first value of a parameter whose name is given in lower case.
    public subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// More than any server offers, fewer than cost anything.
    public static let largestCount = 32
    static let largestParameterCount = 64

    /// The challenges of all fields of that name, in their order.
    ///
    /// Commas part challenges and parameters alike, so a field is understood from its beginning. Where it is not, the
    /// challenges before that place are kept, and what is behind it is not guessed.
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
                // The next challenge, or the end.
                at = before
                return challenge
            }
            if challenge.parameters.count < Challenge.largestParameterCount { challenge.parameters.append(parameter) }
        }
        return stop()
    }

    private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

    /// What follows cannot be told apart.
    private mutating func stop() -> Challenge? {
        at = bytes.count
        return nil
    }

    private mutating func skipBlanks() -> Int {
        let start = at
        while let byte = peek, byte == 0x20 || byte == 0x09 { at += 1 }
        return at - start
    }

    /// Elements of a list may be empty. RFC 9110 section 5.6.1.2.
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

    /// Stays where it is when there is none.
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

    /// A token, or what servers write without the quotes it needs, for instance a URL. Never `=` alone: `abc==` is a
    /// token68.
    private mutating func plainValue() -> String? {
        let start = at
        while let byte = peek, byte > 0x20, byte != 0x7F, byte != UInt8(ascii: ","), byte != UInt8(ascii: "\"") {
            at += 1
        }
        let value = bytes[start..<at]
        guard value.contains(where: { $0 != UInt8(ascii: "=") }) else { return nil }
        return String(decoding: value, as: UTF8.self)
    }

    /// RFC 9110 section 5.6.4.
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

    /// RFC 9110 section 11.2.
    private mutating func token68() -> String? {
        let start = at
        while let byte = peek, ASCII.isLetter(byte) || ASCII.isDigit(byte) || "-._~+/".utf8.contains(byte) { at += 1 }
        guard at > start else { return nil }
        while peek == UInt8(ascii: "=") { at += 1 }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }
}
