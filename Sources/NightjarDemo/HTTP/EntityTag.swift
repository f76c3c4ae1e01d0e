import NIOHTTP1

/// An entity tag, which identifies one representation. RFC 9110 section 8.8.3.
struct EntityTag: Equatable {
    let isWeak: Bool
    /// The tag without its quotes.
    let opaque: String

    /// Creates a strong tag from the bytes of the representation.
    init(of bytes: [UInt8]) {
        isWeak = false
        opaque = EntityTag.fingerprint(bytes)
    }

    init(isWeak: Bool, opaque: String) {
        self.isWeak = isWeak
        self.opaque = opaque
    }

    /// The field value.
    var text: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }

    /// Compares strongly (RFC 9110 section 8.8.3.2), for If-Match and If-Range.
    func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

    /// Compares weakly (RFC 9110 section 8.8.3.2), for If-None-Match.
    func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// Returns a hash of the bytes as 16 hexadecimal digits.
    static func fingerprint(_ bytes: [UInt8]) -> String {
        Hash.sha256(bytes).prefix(8).hexadecimal
    }

    /// The value of an If-Match or If-None-Match field.
    enum Selection: Equatable {
        case any
        case tags([EntityTag])
    }

    /// Parses an If-Match or If-None-Match field. Returns nil if the field is missing. Invalid syntax ends the list.
    static func selection(_ headers: HTTPHeaders, _ name: String) -> Selection? {
        let fields = headers[name]
        guard !fields.isEmpty else { return nil }
        var rest = fields.joined(separator: ",")[...]
        if rest.trimmed == "*" { return .any }
        var tags: [EntityTag] = []
        while true {
            rest = rest.drop { $0 == "," || $0 == " " || $0 == "\t" }
            guard let tag = take(&rest) else { return .tags(tags) }
            tags.append(tag)
        }
    }

    /// Parses a single tag. Nil if the text is invalid.
    init?(_ text: String) {
        var rest = text.trimmed
        guard let tag = EntityTag.take(&rest), rest.isEmpty else { return nil }
        self = tag
    }

    private static func take(_ rest: inout Substring) -> EntityTag? {
        let isWeak = rest.hasPrefix("W/")
        var inner = isWeak ? rest.dropFirst(2) : rest
        guard inner.popFirst() == "\"" else { return nil }
        let opaque = inner.prefix { $0 != "\"" }
        inner = inner.dropFirst(opaque.count)
        guard inner.popFirst() == "\"" else { return nil }
        rest = inner
        return EntityTag(isWeak: isWeak, opaque: String(opaque))
    }
}

extension StringProtocol {
    /// The text without leading and trailing spaces and tabs.
    var trimmed: Substring {
        var text = Substring(self).drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}

extension Sequence<UInt8> {
    /// The bytes in lower-case hexadecimal digits.
    var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
