/// A parsed and decoded request target (RFC 9112 section 3.2).
struct Target: Equatable, Sendable {
    /// The decoded segments of the path. Empty for `/` and for `*`. The last segment is empty for `/a/` but not for
    /// `/a`.
    let segments: [String]
    /// The items of the query in order, decoded as `application/x-www-form-urlencoded`.
    var query: [QueryItem]

    struct QueryItem: Equatable, Sendable {
        let name: String
        let value: String
    }

    init(_ text: String) throws(Problem) {
        guard text != "*" else {
            segments = []
            query = []
            return
        }
        let origin = try Target.originForm(text)
        let parts = origin.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].dropFirst()
        var segments: [String] = []
        if !path.isEmpty {
            for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
                segments.append(try Target.decode(segment, of: "request target", plusIsSpace: false))
            }
        }
        self.segments = segments
        query = parts.count == 2 ? try Target.pairs(parts[1], of: "request target") : []
    }

    /// Decodes `application/x-www-form-urlencoded`.
    ///
    /// - Parameter what: the name of the text in error messages.
    static func pairs(_ text: Substring, of what: String) throws(Problem) -> [QueryItem] {
        var items: [QueryItem] = []
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            items.append(
                QueryItem(
                    name: try decode(halves[0], of: what, plusIsSpace: true),
                    value: halves.count == 2 ? try decode(halves[1], of: what, plusIsSpace: true) : ""))
        }
        return items
    }

    /// Percent-encodes all characters that are not unreserved (RFC 3986 section 2.3), for a value in a query.
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// Converts the absolute form to the origin form. A server must accept both forms (RFC 9112 section 3.2.2).
    private static func originForm(_ text: String) throws(Problem) -> Substring {
        if text.hasPrefix("/") { return text[...] }
        guard let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            throw Problem(.badRequest, "the request target is neither a path nor a URL")
        }
        let rest = text.dropFirst(scheme.count)
        guard let slash = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
        return rest[slash] == "/" ? rest[slash...] : "/" + rest[slash...]
    }

    /// - Parameter what: the name of the text in error messages.
    static func decode(_ text: Substring, of what: String, plusIsSpace: Bool) throws(Problem) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
                    throw Problem(
                        .badRequest, "the \(what) contains a '%' without two hexadecimal digits after it")
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace:
                bytes.append(UInt8(ascii: " "))
            default:
                bytes.append(byte)
            }
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw Problem(.badRequest, "the \(what) is not UTF-8 when decoded")
        }
        return decoded
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init(truncatingIfNeeded:))
    }
}
