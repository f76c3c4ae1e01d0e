/// A link in a Link field. RFC 8288 section 3.
///
/// Parsing never fails. Invalid syntax is skipped up to the next comma outside quotes (appendix B.2). Relations and
/// parameter names are case-insensitive.
package struct LinkField: Sendable, Equatable {
    /// The reference between `<` and `>`, usually relative to the URL of the response.
    package let target: String
    /// The relations of the first `rel` parameter, in lower case.
    package let relations: [String]
    /// The `anchor` parameter: the context of the link, if it is not the response itself.
    package let anchor: String?

    /// The maximum number of links parsed. Servers send a few links, but a head of 256 KiB could contain tens of
    /// thousands.
    static let maximumCount = 256

    /// Returns the links of all Link fields, in order, up to ``maximumCount``.
    package static func parse(_ headers: Headers) -> [LinkField] {
        var links: [LinkField] = []
        for value in headers.values("Link") {
            value.utf8.withContiguousBytes { bytes in
                var reader = Reader(bytes)
                while links.count < maximumCount, let link = reader.next() { links.append(link) }
            }
        }
        return links
    }

    /// Returns the link to the next page. Links with an anchor are ignored, because they describe another document.
    static func next(in links: [LinkField]) -> LinkField? {
        links.first { $0.anchor == nil && $0.relations.contains("next") }
    }

    /// Returns true if a link without an anchor refers to another page: prev, previous, first or last. The last page of
    /// a list often has such links but no next link.
    static func containsPageLinks(_ links: [LinkField]) -> Bool {
        links.contains { link in
            link.anchor == nil && link.relations.contains { ["prev", "previous", "first", "last"].contains($0) }
        }
    }

    private struct Reader {
        private let bytes: UnsafeBufferPointer<UInt8>
        private var at = 0

        init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

        private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

        /// Reads the next valid link. Returns nil at the end of the field.
        mutating func next() -> LinkField? {
            while at < bytes.count {
                skip { $0 == UInt8(ascii: ",") || ASCII.isWhitespace($0) }
                if let link = link() { return link }
                skipToComma()
            }
            return nil
        }

        private mutating func link() -> LinkField? {
            guard take(UInt8(ascii: "<")) else { return nil }
            let start = at
            skip { $0 != UInt8(ascii: ">") }
            let target = String(decoding: bytes[start..<at], as: UTF8.self)
            guard take(UInt8(ascii: ">")) else { return nil }
            var relations: [String]?
            var anchor: String?
            while true {
                skip(ASCII.isWhitespace)
                guard take(UInt8(ascii: ";")) else { break }
                skip(ASCII.isWhitespace)
                let (name, value) = parameter()
                switch name {
                case "rel":
                    // Ignore further `rel` parameters (RFC 8288 section 3.3).
                    relations =
                        relations
                        ?? value.utf8.split(whereSeparator: ASCII.isWhitespace)
                        .map { String(decoding: $0.map(ASCII.lowercase), as: UTF8.self) }
                case "anchor": anchor = anchor ?? value
                default: break
                }
            }
            skip(ASCII.isWhitespace)
            guard peek == nil || peek == UInt8(ascii: ",") else { return nil }
            return LinkField(target: target, relations: relations ?? [], anchor: anchor)
        }

        /// Parses a parameter: a token, usually with `=` and a token or quoted string. An unquoted value extends to its
        /// delimiter, because servers send unquoted URLs.
        private mutating func parameter() -> (name: String, value: String) {
            let name = token().map(ASCII.lowercase)
            skip(ASCII.isWhitespace)
            guard take(UInt8(ascii: "=")) else { return (String(decoding: name, as: UTF8.self), "") }
            skip(ASCII.isWhitespace)
            let value = peek == UInt8(ascii: "\"") ? quotedString() : token()
            return (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
        }

        private mutating func token() -> [UInt8] {
            let start = at
            skip { !ASCII.isWhitespace($0) && !";,=\"".utf8.contains($0) }
            return Array(bytes[start..<at])
        }

        /// Parses a quoted string. An unterminated string extends to the end of the field.
        private mutating func quotedString() -> [UInt8] {
            var value: [UInt8] = []
            at += 1
            while let byte = peek {
                at += 1
                switch byte {
                case UInt8(ascii: "\""): return value
                case UInt8(ascii: "\\"):
                    value.append(peek ?? byte)
                    if peek != nil { at += 1 }
                default: value.append(byte)
                }
            }
            return value
        }

        private mutating func skipToComma() {
            while let byte = peek, byte != UInt8(ascii: ",") {
                if byte == UInt8(ascii: "\"") { _ = quotedString() } else { at += 1 }
            }
        }

        private mutating func take(_ byte: UInt8) -> Bool {
            guard peek == byte else { return false }
            at += 1
            return true
        }

        private mutating func skip(_ isPart: (UInt8) -> Bool) {
            while let byte = peek, isPart(byte) { at += 1 }
        }
    }
}

extension String.UTF8View {
    /// Calls `body` with the bytes, or with a copy if they are not contiguous.
    fileprivate func withContiguousBytes(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        if withContiguousStorageIfAvailable(body) == nil { Array(self).withUnsafeBufferPointer(body) }
    }
}
