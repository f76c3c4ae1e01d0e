/// A supported content coding. RFC 9110 section 8.4.1; `br` is RFC 7932, `zstd` RFC 8878.
package enum ContentCoding: Sendable, CaseIterable {
    case gzip
    case deflate
    case brotli
    case zstd

    /// All codings, for the Accept-Encoding field of a request. The order has no meaning (RFC 9110 section 12.5.3).
    package static let acceptEncoding = "gzip, deflate, br, zstd"

    /// The name in a Content-Encoding field.
    package var name: String {
        switch self {
        case .gzip: "gzip"
        case .deflate: "deflate"
        case .brotli: "br"
        case .zstd: "zstd"
        }
    }

    /// Creates a coding from its name, regardless of case. `x-gzip` is an obsolete name for `gzip`. Returns nil for an
    /// unsupported coding.
    package init?(name: some StringProtocol) {
        switch name.lowercased() {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        case "br": self = .brotli
        case "zstd": self = .zstd
        default: return nil
        }
    }

    /// Returns the codings of Content-Encoding field values in the order in which they were applied, without
    /// `identity`.
    ///
    /// - Returns: nil if any of the codings is not supported. The body then cannot be decoded.
    package static func list(from fieldValues: some Sequence<some StringProtocol>) -> [ContentCoding]? {
        var codings: [ContentCoding] = []
        for value in fieldValues {
            for element in value.split(separator: ",") {
                let name = element.trimmed
                // Empty list elements are ignored (RFC 9110 section 5.6.1.2).
                if name.isEmpty || name.lowercased() == "identity" { continue }
                guard let coding = ContentCoding(name: name) else { return nil }
                codings.append(coding)
            }
        }
        return codings
    }
}

extension StringProtocol {
    /// The text without leading and trailing spaces and tabs.
    fileprivate var trimmed: SubSequence {
        let front = drop { $0 == " " || $0 == "\t" }
        guard let last = front.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return front }
        return front[...last]
    }
}
