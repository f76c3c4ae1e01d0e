/// The links of an answer's Link fields. RFC 8288 section 3.
///
/// Total: any bytes give the links that can be read in them. What breaks the grammar is left out up to the next comma
/// outside of quotes, as section B.2 has it; relations and names of parameters count in any case.
public struct LinkField: Sendable, Equatable {
    /// As written between `<` and `>`: a reference, mostly relative to the URL that answered.
    public let target: String
    /// Of `rel`, the first one, in lower case.
    public let relations: [String]
    /// Of `anchor`: what the link is from, where that is not the answer itself.
    public let anchor: String?

    /// Links that are read. Servers send a handful; a field of the 256 KiB that a head may have holds tens of thousands.
    static let maximumCount = 256

    /// All links, in order.
    public static func parse(_ headers: Headers) -> [LinkField] {
        var links: [LinkField] = []
        for value in headers.values("Link") {
            value.utf8.withContiguousBytes { bytes in
                var reader = Reader(bytes)
                while links.count < maximumCount, let link = reader.next() { links.append(link) }
            }
        }
        return links
    }

    /// The link to the page behind this one. A link with an anchor says something about another document.
    static func next(in links: [LinkField]) -> LinkField? {
        links.first { $0.anchor == nil && $0.relations.contains("next") }
    }

    /// Whether links speak of pages at all, as those of a last page do.
    static func speaksOfPages(_ links: [LinkField]) -> Bool {
        links.contains { link in
            link.anchor == nil && link.relations.contains { ["prev", "previous", "first", "last"].contains($0) }
        }
    }

    private struct Reader {
        private let bytes: UnsafeBufferPointer<UInt8>
        private var at = 0

        init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

        private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

        /// The next link that can be read; nil at the end.
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
                    // Section 3.3: further ones are ignored.
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

        /// Section 3: a token, mostly with `=` and a token or a quoted string. Tokens are read up to what ends them, for
        /// URLs stand there without quotes, too.
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

        /// One that is not closed ends with the field.
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
    /// Its bytes as they lie in memory, or those of a copy.
    fileprivate func withContiguousBytes(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        if withContiguousStorageIfAvailable(body) == nil { Array(self).withUnsafeBufferPointer(body) }
    }
}
