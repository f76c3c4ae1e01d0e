extension SecretContent {
    /// Replaces the content of secret elements and the values of secret attributes in XML and HTML. An element is
    /// secret if its local name, or the value of its `name`, `key` or `id` attribute, is the name of a secret:
    /// `<entry key="password">`. The `value` attribute of an element that such an attribute names is secret, too.
    static func markup(_ bytes: [UInt8], with secrets: inout some SecretReplacing) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            guard bytes[at] == UInt8(ascii: "<"), let tag = Tag(bytes, at: at) else {
                result.append(bytes[at])
                at += 1
                continue
            }
            result += written(tag, bytes, with: &secrets)
            at = tag.end
            guard tag.isOpening else { continue }
            let end: Int
            if secrets.isSecret(name: Array(tag.localName(bytes))) {
                end = tag.endOfContent(bytes)
            } else if tag.isNamedByAttribute(bytes, secrets) {
                // Replace only the text: a schema may use the name of a secret for an element with child elements.
                end = tag.endOfText(bytes)
            } else {
                continue
            }
            let text = Tag.text(bytes[at..<end])
            if !text.isEmpty, let other = secrets.replacement(for: String(decoding: text, as: UTF8.self)) {
                result += other.utf8
                at = end
            }
        }
        return result
    }

    private static func written(_ tag: Tag, _ bytes: [UInt8], with secrets: inout some SecretReplacing) -> [UInt8] {
        var result: [UInt8] = []
        var copied = tag.start
        let isNamed = tag.isNamedByAttribute(bytes, secrets)
        for attribute in tag.attributes {
            let name = Array(Tag.local(bytes[attribute.name]))
            let isValue = isNamed && ASCII.equalIgnoringCase(name, "value".utf8)
            guard isValue || secrets.isSecret(name: name), !attribute.value.isEmpty,
                let other = secrets.replacement(for: String(decoding: Tag.plain(bytes[attribute.value]), as: UTF8.self))
            else { continue }
            result += bytes[copied..<attribute.value.lowerBound]
            result += other.utf8
            copied = attribute.value.upperBound
        }
        return result + bytes[copied..<tag.end]
    }
}

/// The positions of a start tag and its parts.
private struct Tag {
    struct Attribute {
        let name: Range<Int>
        /// The range without quotes.
        let value: Range<Int>
    }

    let start: Int
    private(set) var end: Int
    /// The name with its namespace prefix.
    private(set) var name: Range<Int>
    private(set) var attributes: [Attribute] = []
    /// True if the tag is complete and not self-closing.
    private(set) var isOpening = false

    /// - Returns: nil if no start tag begins at `start`.
    init?(_ bytes: [UInt8], at start: Int) {
        self.start = start
        var at = start + 1
        guard at < bytes.count, ASCII.isLetter(bytes[at]) || bytes[at] == UInt8(ascii: "_") || bytes[at] >= 0x80 else {
            return nil
        }
        while at < bytes.count, Tag.isName(bytes[at]) { at += 1 }
        name = (start + 1)..<at
        end = at
        while at < bytes.count, bytes[at] != UInt8(ascii: ">") {
            guard Tag.isName(bytes[at]) else {
                at += 1
                continue
            }
            let nameStart = at
            while at < bytes.count, Tag.isName(bytes[at]) { at += 1 }
            let attribute = nameStart..<at
            let equals = SecretContent.skippingBlanks(bytes, from: at)
            guard equals < bytes.count, bytes[equals] == UInt8(ascii: "=") else { continue }
            at = SecretContent.skippingBlanks(bytes, from: equals + 1)
            guard at < bytes.count else { break }
            let quote = bytes[at]
            let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
            if isQuoted { at += 1 }
            let valueStart = at
            while at < bytes.count, isQuoted ? bytes[at] != quote : Tag.isUnquoted(bytes[at]) { at += 1 }
            attributes.append(Attribute(name: attribute, value: valueStart..<at))
            if isQuoted, at < bytes.count { at += 1 }
        }
        isOpening = at < bytes.count && bytes[at - 1] != UInt8(ascii: "/")
        end = min(at + 1, bytes.count)
    }

    static func isName(_ byte: UInt8) -> Bool {
        SecretShape.isTokenByte(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":") || byte >= 0x80
    }

    private static func isUnquoted(_ byte: UInt8) -> Bool { byte != UInt8(ascii: ">") && !ASCII.isWhitespace(byte) }

    /// Returns a name without its namespace prefix.
    static func local(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
    }

    func localName(_ bytes: [UInt8]) -> ArraySlice<UInt8> { Tag.local(bytes[name]) }

    func isNamedByAttribute(_ bytes: [UInt8], _ secrets: some SecretReplacing) -> Bool {
        attributes.contains { attribute in
            let name = Tag.local(bytes[attribute.name])
            return ["name", "key", "id"].contains { ASCII.equalIgnoringCase(name, $0.utf8) }
                && secrets.isSecret(name: Array(bytes[attribute.value]))
        }
    }

    /// Returns the position of the next end tag of this name, or the end of the document.
    func endOfContent(_ bytes: [UInt8]) -> Int {
        let tag = Array("</".utf8) + bytes[name]
        var at = end
        while at + tag.count <= bytes.count {
            if bytes[at] == UInt8(ascii: "<"), bytes[at..<(at + tag.count)].elementsEqual(tag),
                at + tag.count == bytes.count || !Tag.isName(bytes[at + tag.count])
            {
                return at
            }
            at += 1
        }
        return bytes.count
    }

    /// Returns the position of the next tag, or the end of the document.
    func endOfText(_ bytes: [UInt8]) -> Int {
        var at = end
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "<"), at + 1 == bytes.count || bytes[at + 1] != UInt8(ascii: "!") { return at }
            at += 1
        }
        return at
    }

    /// Returns the text of an element without surrounding white space and CDATA markers. Decodes the predefined
    /// entities unless the text begins with a CDATA section.
    static func text(_ content: ArraySlice<UInt8>) -> [UInt8] {
        var text = ASCII.trimmed(content)
        if text.starts(with: "<![CDATA[".utf8) {
            text = text.dropFirst(9)
            return Array(text.suffix(3).elementsEqual("]]>".utf8) ? text.dropLast(3) : text)
        }
        return plain(text)
    }

    /// Decodes the five predefined entities. XML 1.0 section 4.6.
    static func plain(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
        let references: [(String, Character)] = [
            ("amp;", "&"), ("lt;", "<"), ("gt;", ">"), ("quot;", "\""), ("apos;", "'"),
        ]
        var result: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            let reference = byte == UInt8(ascii: "&") ? references.first { rest.starts(with: $0.0.utf8) } : nil
            guard let (name, character) = reference else {
                result.append(byte)
                continue
            }
            result += character.utf8
            rest = rest.dropFirst(name.utf8.count)
        }
        return result
    }
}
