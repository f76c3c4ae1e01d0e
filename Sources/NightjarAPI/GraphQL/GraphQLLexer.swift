/// Splits a GraphQL document into tokens. GraphQL specification (October 2021) section 2.1.
struct GraphQLLexer {
    enum Token: Equatable {
        /// `!`, `$`, `&`, `(`, `)`, `:`, `=`, `@`, `[`, `]`, `{`, `|` or `}`.
        case punctuator(UInt8)
        /// `...`.
        case spread
        case name(String)
        /// A number, or a string without its delimiters. The client does not interpret literals.
        case literal
        case end
    }

    private let bytes: [UInt8]
    private var at = 0
    /// The offset of the last token.
    private(set) var start = 0

    /// - Throws: `too_large` if the document has more than ``maximumLength`` bytes.
    init(_ text: String) throws(NightjarError) {
        guard text.utf8.count <= GraphQLLexer.maximumLength else {
            throw NightjarError(
                .tooLarge,
                "a GraphQL document must have at most \(GraphQLLexer.maximumLength) bytes, got \(text.utf8.count)")
        }
        bytes = Array(text.utf8)
    }

    /// The maximum length of a document in bytes. Generated documents have at most about a hundred kilobytes.
    static let maximumLength = 1 << 20

    mutating func next() throws(NightjarError) -> Token {
        skipIgnored()
        start = at
        guard at < bytes.count else { return .end }
        let byte = bytes[at]
        switch byte {
        case UInt8(ascii: "."):
            guard bytes[at...].starts(with: "...".utf8) else { throw error("expected \"...\"") }
            at += 3
            return .spread
        case UInt8(ascii: "\""):
            try skipString()
            return .literal
        case UInt8(ascii: "-"),
            _ where ASCII.isDigit(byte):
            try skipNumber()
            return .literal
        case _ where GraphQLLexer.isNameStart(byte):
            while at < bytes.count, GraphQLLexer.isNameStart(bytes[at]) || ASCII.isDigit(bytes[at]) { at += 1 }
            return .name(String(decoding: bytes[start..<at], as: UTF8.self))
        case _ where "!$&():=@[]{|}".utf8.contains(byte):
            at += 1
            return .punctuator(byte)
        default:
            throw error(
                "the character \(quoted(String(decoding: bytes[at...].prefix(4), as: UTF8.self).prefix(1))) is not allowed"
            )
        }
    }

    /// Returns an `invalid_argument` error about the last token, with its position. Lines and columns begin at 1.
    func error(_ reason: String) -> NightjarError {
        let before = bytes[..<min(start, bytes.count)]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let column = before.count - (before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0) + 1
        return NightjarError(
            .invalidArgument, "the GraphQL document is invalid: \(reason) at line \(line) column \(column)")
    }

    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, isNameStart(first) else { return false }
        return text.utf8.allSatisfy { isNameStart($0) || ASCII.isDigit($0) }
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    /// Skips white space, commas, comments and a byte order mark.
    private mutating func skipIgnored() {
        if at == 0, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"), UInt8(ascii: ","):
                at += 1
            case UInt8(ascii: "#"):
                while at < bytes.count, !"\r\n".utf8.contains(bytes[at]) { at += 1 }
            default: return
            }
        }
    }

    private mutating func skipString() throws(NightjarError) {
        if bytes[at...].starts(with: "\"\"\"".utf8) { return try skipBlockString() }
        at += 1
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                at += 1
                return
            case UInt8(ascii: "\r"), UInt8(ascii: "\n"): throw error("a string has no end")
            case UInt8(ascii: "\\"): at += 2
            default: at += 1
            }
        }
        throw error("a string has no end")
    }

    private mutating func skipBlockString() throws(NightjarError) {
        at += 3
        while at < bytes.count {
            if bytes[at...].starts(with: "\\\"\"\"".utf8) {
                at += 4
            } else if bytes[at...].starts(with: "\"\"\"".utf8) {
                at += 3
                return
            } else {
                at += 1
            }
        }
        throw error("a block string has no end")
    }

    private mutating func skipNumber() throws(NightjarError) {
        if bytes[at] == UInt8(ascii: "-") { at += 1 }
        let first = at
        while at < bytes.count, ASCII.isDigit(bytes[at]) || "+-.eE".utf8.contains(bytes[at]) { at += 1 }
        let follows = at < bytes.count && GraphQLLexer.isNameStart(bytes[at])
        guard at > first, ASCII.isDigit(bytes[first]), !follows else { throw error("a number is invalid") }
    }
}
