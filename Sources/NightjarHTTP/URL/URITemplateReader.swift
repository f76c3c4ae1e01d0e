import NIOCore

/// Parses the text of a ``URITemplate``. RFC 6570 section 2.
struct URITemplateReader {
    private let bytes: [UInt8]
    private var at = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func parts() throws(NightjarError) -> [URITemplate.Part] {
        var parts: [URITemplate.Part] = []
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "{") {
                parts.append(try expression())
            } else {
                parts.append(.literal(try literal()))
            }
        }
        return parts
    }

    private mutating func literal() throws(NightjarError) -> String {
        let start = at
        while at < bytes.count, bytes[at] != UInt8(ascii: "{") {
            if bytes[at] == UInt8(ascii: "}") { throw failure("a } without a {", at: at) }
            if bytes[at] < 0x20 || bytes[at] == 0x7F { throw failure("a control character", at: at) }
            at += 1
        }
        var encoded = ByteBuffer()
        PercentEncoding.writeReserved(bytes[start..<at], into: &encoded)
        return String(buffer: encoded)
    }

    private mutating func expression() throws(NightjarError) -> URITemplate.Part {
        let start = at
        at += 1
        var kind = URITemplate.Operator.simple
        if at < bytes.count, let other = URITemplate.Operator(bytes[at]) {
            kind = other
            at += 1
        } else if at < bytes.count, "=,!@|".utf8.contains(bytes[at]) {
            throw failure("the operator \(character), which RFC 6570 reserves for extensions", at: at)
        }
        var names = [try name(of: start)]
        while at < bytes.count, bytes[at] == UInt8(ascii: ",") {
            at += 1
            names.append(try name(of: start))
        }
        guard at < bytes.count else { throw failure("a { without a }", at: start) }
        switch bytes[at] {
        case UInt8(ascii: "}"): at += 1
        case UInt8(ascii: ":"), UInt8(ascii: "*"):
            throw failure(
                "the modifier \(character), which is level 4 of RFC 6570; only levels 1 to 3 are supported", at: at)
        default: throw failure("\(character), which is not allowed in a variable name", at: at)
        }
        return .expression(kind, names)
    }

    /// Reads a variable name: letters, digits, underscores and escapes, separated by single dots. RFC 6570 section 2.3.
    private mutating func name(of expression: Int) throws(NightjarError) -> String {
        let start = at
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "%"), bytes[at...].dropFirst().prefix(2).count == 2,
                bytes[(at + 1)...].prefix(2).allSatisfy({ ASCII.hexValue($0) != nil })
            {
                at += 3
                continue
            }
            let isDot = byte == UInt8(ascii: ".") && at > start && bytes[at - 1] != byte
            let isLetter = ASCII.lowercase(byte) &- UInt8(ascii: "a") < 26
            guard isLetter || isDot || ASCII.isDigit(byte) || byte == UInt8(ascii: "_") else { break }
            at += 1
        }
        guard at < bytes.count else { throw failure("a { without a }", at: expression) }
        if at == start {
            guard [UInt8(ascii: "}"), UInt8(ascii: ",")].contains(bytes[at]) else {
                throw failure("\(character), which cannot begin a variable name", at: at)
            }
            throw failure("no variable name before \(character)", at: at)
        }
        if bytes[at - 1] == UInt8(ascii: ".") { throw failure("a dot at the end of a variable name", at: at - 1) }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    /// The next character, for messages.
    private var character: String {
        quoted(String(String(decoding: bytes[at...].prefix(4), as: UTF8.self).unicodeScalars.prefix(1)))
    }

    private func failure(_ what: String, at index: Int) -> NightjarError {
        let position = 1 + bytes[..<index].count { $0 & 0xC0 != 0x80 }
        return NightjarError(.invalidURL, "the URL template has \(what), at character \(position)")
    }
}
