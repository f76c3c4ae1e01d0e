/// Reads an XML error document: S3's and Azure's `<Error><Code>..</Code><Message>..</Message></Error>`, AWS query APIs,
/// SOAP faults, RFC 7807's `<problem>`, `<error code="..">..</error>`.
///
/// This is a scanner, not an XML parser. It collects up to ``maximumLeaves`` elements without child elements. It
/// expands only character references and the five predefined entities.
struct ErrorMarkup {
    /// An element without child elements.
    struct Leaf: Equatable {
        /// The name in lower case, without a namespace prefix.
        var name: String
        var text: String
        /// The values of the `code`, `msg` and `message` attributes.
        var attributes: [String: String] = [:]
    }

    /// The name of the root element, in the form of ``Leaf/name``. Empty if the document has no element.
    private(set) var root = ""
    private(set) var leaves: [Leaf] = []

    private let bytes: UnsafeRawBufferPointer
    private var at = 0
    /// The element of the most recent start tag. Nil after an end tag or an empty-element tag.
    private var open: Leaf?
    private var text: [UInt8] = []

    /// The maximum number of leaves that are read. A typical error document has about twelve.
    static let maximumLeaves = 64
    /// The maximum length of a leaf's text, in bytes.
    private static let maximumText = 4 * (ErrorBody.maximumText + 1)
    private static let maximumName = 64

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        while at < bytes.count, leaves.count < ErrorMarkup.maximumLeaves, root != "html" {
            if bytes[at] == UInt8(ascii: "<") { readMarkup() } else { append(bytes[at]) }
        }
    }

    private mutating func append(_ byte: UInt8) {
        at += 1
        if open != nil, text.count < ErrorMarkup.maximumText { text.append(byte) }
    }

    private func starts(_ word: StaticString) -> Bool {
        let end = at + word.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        return UnsafeRawBufferPointer(rebasing: bytes[at..<end])
            .elementsEqual(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    private mutating func skip(past word: StaticString) {
        while at < bytes.count, !starts(word) { at += 1 }
        at = min(bytes.count, at + word.utf8CodeUnitCount)
    }

    private mutating func readMarkup() {
        if starts("<!--") { return skip(past: "-->") }
        if starts("<?") { return skip(past: "?>") }
        if starts("<![CDATA[") { return readSection() }
        // A document type declaration, or a declaration in its internal subset.
        if starts("<!") { return skip(past: ">") }
        if starts("</") { return readEnd() }
        readStart()
    }

    /// Reads a CDATA section, which contains neither markup nor entities.
    private mutating func readSection() {
        at += "<![CDATA[".utf8.count
        while at < bytes.count, !starts("]]>") {
            // Escape `&`, because the text of the leaf is decoded later.
            if bytes[at] == UInt8(ascii: "&"), open != nil, text.count < ErrorMarkup.maximumText {
                text += "&amp;".utf8.dropLast()
            }
            append(bytes[at] == UInt8(ascii: "&") ? UInt8(ascii: ";") : bytes[at])
        }
        at = min(bytes.count, at + 3)
    }

    private mutating func readEnd() {
        skip(past: ">")
        if var leaf = open {
            leaf.text = ErrorMarkup.decoded(text)
            leaves.append(leaf)
        }
        open = nil
        text = []
    }

    private mutating func readStart() {
        at += 1
        var leaf = Leaf(name: readName(), text: "")
        text = []
        open = nil
        var isEmpty = false
        while at < bytes.count, bytes[at] != UInt8(ascii: ">") {
            isEmpty = bytes[at] == UInt8(ascii: "/")
            if ASCII.isWhitespace(bytes[at]) || isEmpty {
                at += 1
                continue
            }
            readAttribute(of: &leaf)
        }
        at += 1
        guard !leaf.name.isEmpty else { return }
        if root.isEmpty { root = leaf.name }
        if isEmpty { leaves.append(leaf) } else { open = leaf }
    }

    /// Reads a name up to white space, `=`, `/`, `<` or `>`. Returns the name in lower case, without its prefix.
    private mutating func readName() -> String {
        let start = at
        while at < bytes.count, !ASCII.isWhitespace(bytes[at]), !"=/><".utf8.contains(bytes[at]) { at += 1 }
        let name = bytes[start..<at].prefix(ErrorMarkup.maximumName).map(ASCII.lowercase)
        let colon = name.lastIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? 0
        return String(decoding: name[colon...], as: UTF8.self)
    }

    private mutating func readAttribute(of leaf: inout Leaf) {
        let start = at
        let name = readName()
        while at < bytes.count, ASCII.isWhitespace(bytes[at]) { at += 1 }
        guard at < bytes.count, bytes[at] == UInt8(ascii: "=") else {
            // Skip a byte that cannot begin a name. Otherwise, reading would not advance.
            if at == start { at += 1 }
            return
        }
        at += 1
        while at < bytes.count, ASCII.isWhitespace(bytes[at]) { at += 1 }
        guard at < bytes.count, let quote = [bytes[at]].first(where: { "\"'".utf8.contains($0) }) else { return }
        at += 1
        let begin = at
        while at < bytes.count, bytes[at] != quote { at += 1 }
        if ["code", "msg", "message"].contains(name) {
            leaf.attributes[name] = ErrorMarkup.decoded(Array(bytes[begin..<at].prefix(ErrorMarkup.maximumText)))
        }
        at = min(bytes.count, at + 1)
    }

    // MARK: Text

    /// Removes surrounding white space, and expands character references and the predefined entities. XML 1.0
    /// sections 4.1 and 4.6.
    static func decoded(_ bytes: [UInt8]) -> String {
        let bytes = Array(ASCII.trimmed(bytes))
        guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
        var result: [UInt8] = []
        var at = 0
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "&"),
                let end = bytes[at...].prefix(longestReference).firstIndex(of: UInt8(ascii: ";")),
                let scalar = scalar(String(decoding: bytes[(at + 1)..<end], as: UTF8.self))
            {
                result += String(Character(scalar)).utf8
                at = end + 1
            } else {
                result.append(bytes[at])
                at += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let longestReference = 12

    private static func scalar(_ name: String) -> Unicode.Scalar? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x") || name.hasPrefix("#X"):
            UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where name.hasPrefix("#"): UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }
}

extension ErrorBody {
    /// Reads an XML document. Returns nil for HTML, for feeds, and for documents without a recognized element.
    init?(markup bytes: UnsafeRawBufferPointer) {
        let document = ErrorMarkup(bytes)
        guard !document.root.isEmpty, !["html", "rss", "feed", "rdf"].contains(document.root) else { return nil }
        self.init()
        for leaf in document.leaves { read(leaf, of: document.root) }
        guard self != ErrorBody() else { return nil }
    }

    private mutating func read(_ leaf: ErrorMarkup.Leaf, of root: String) {
        let text = ErrorBody.text(.string(leaf.text))
        switch leaf.name {
        case "code", "errorcode", "error_code", "faultcode": code = code ?? text
        case "message", "msg", "errormessage", "error_message", "faultstring": message = message ?? text
        case "detail", "error_description", "description": detail = detail ?? text
        case "title" where root == "problem": title = title ?? text
        case "type" where root == "problem": type = type ?? text
        // SOAP 1.2.
        case "text" where root == "envelope", "reason": message = message ?? text
        case "error", "err", "exception", "fault":
            let said = text ?? leaf.attributes["msg"] ?? leaf.attributes["message"]
            code = code ?? ErrorBody.text(leaf.attributes["code"].map { .string($0) })
            guard let said = ErrorBody.text(said.map { .string($0) }) else { return }
            if message == nil { message = said } else if fields.count < ErrorBody.maximumFields { add(nil, said) }
        default: break
        }
    }
}
