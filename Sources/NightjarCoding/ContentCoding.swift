/// A content coding that is understood here. RFC 9110 section 8.4.1; `br` is RFC 7932, `zstd` RFC 8878.
public enum ContentCoding: Sendable, CaseIterable {
    case gzip
    case deflate
    case brotli
    case zstd

    /// All of them, for a request's Accept-Encoding; the order says nothing (RFC 9110 section 12.5.3).
    public static let acceptEncoding = "gzip, deflate, br, zstd"

    /// As Content-Encoding names it.
    public var name: String {
        switch self {
        case .gzip: "gzip"
        case .deflate: "deflate"
        case .brotli: "br"
        case .zstd: "zstd"
        }
    }

    /// Names have no case; `x-gzip` is a name of old for `gzip`. Nil for a coding that is not understood.
    public init?(name: some StringProtocol) {
        switch name.lowercased() {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        case "br": self = .brotli
        case "zstd": self = .zstd
        default: return nil
        }
    }

    /// The codings of these Content-Encoding field values in the order in which they were applied, `identity` left out.
    ///
    /// - Returns: nil where one of them is not understood, for then nothing of the body is.
    public static func list(from fieldValues: some Sequence<some StringProtocol>) -> [ContentCoding]? {
        var codings: [ContentCoding] = []
        for value in fieldValues {
            for element in value.split(separator: ",") {
                let name = element.trimmed
                // An empty element means nothing (RFC 9110 section 5.6.1.2).
                if name.isEmpty || name.lowercased() == "identity" { continue }
                guard let coding = ContentCoding(name: name) else { return nil }
                codings.append(coding)
            }
        }
        return codings
    }
}

extension StringProtocol {
    /// Without the spaces and tabs around it.
    fileprivate var trimmed: SubSequence {
        let front = drop { $0 == " " || $0 == "\t" }
        guard let last = front.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return front }
        return front[...last]
    }
}
