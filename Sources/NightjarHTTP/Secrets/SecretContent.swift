/// Recognizes the names of secrets, and chooses the replacements for the secrets that ``SecretContent`` finds.
package protocol SecretReplacing {
    /// Returns true if the value with this name is a secret. The name is decoded text.
    func isSecret(name: [UInt8]) -> Bool
    /// Returns the replacement for a secret. If nil, the secret is kept.
    mutating func replacement(for secret: String) -> String?
    /// True if a secret object or array is replaced as a whole. False if its strings are replaced.
    var replacesWhole: Bool { get }
    /// Returns true if a member of a secret object only describes the secret, such as `expires_in`.
    func describesSecret(name: [UInt8]) -> Bool
}

extension SecretReplacing {
    func describesSecret(name: [UInt8]) -> Bool { false }
}

/// Replaces the secrets in a body. Secrets are found by their names, and tokens also by their form.
///
/// Supported formats are forms, JSON (also as JSON lines and in events), XML, HTML, HTTP messages, and multipart
/// content whose parts have these formats. JSON is recognized without its media type. Truncated or invalid content is
/// processed as far as possible.
package enum SecretContent {
    /// Returns the body with its secrets replaced.
    ///
    /// - Parameter type: the Content-Type. Nil if there is none.
    package static func replacing(
        _ bytes: [UInt8], type: String?, with secrets: inout some SecretReplacing, depth: Int = 0
    ) -> [UInt8] {
        guard depth < maximumDepth else { return bytes }
        let essence = SecretContent.essence(type)
        if essence.hasPrefix("multipart/") || type == nil && bytes.starts(with: "--".utf8) {
            if let result = multipart(bytes, type: type, with: &secrets, depth: depth) { return result }
        }
        if essence == "application/http" || essence == "message/http" {
            return message(bytes, with: &secrets, depth: depth)
        }
        let first = bytes.first { !ASCII.isWhitespace($0) && $0 < 0x80 }
        var result: [UInt8]
        if essence == FormEncoding.contentType || isForm(bytes, essence: essence) {
            result = form(bytes, with: &secrets, depth: depth)
        } else if first == UInt8(ascii: "<") || isMarkup(essence) {
            result = markup(bytes, with: &secrets)
        } else {
            result = json(bytes, with: &secrets, depth: depth)
        }
        if depth == 0 { result = tokens(result, with: &secrets) }
        return result
    }

    /// The maximum nesting of content within content.
    package static let maximumDepth = 8

    package static func essence(_ type: String?) -> String {
        let essence = (type ?? "").utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
        return String(decoding: essence.map(ASCII.lowercase), as: UTF8.self)
    }

    private static func isMarkup(_ essence: String) -> Bool {
        essence.hasSuffix("/xml") || essence.hasSuffix("+xml") || essence == "text/html"
    }

    /// Returns true if text without a specific media type looks like a form: `name=value&name=value` without white
    /// space, double quotes, angle brackets, braces and backslashes.
    private static func isForm(_ bytes: [UInt8], essence: String) -> Bool {
        guard essence.isEmpty || essence == "text/plain" || essence == "application/octet-stream",
            bytes.contains(UInt8(ascii: "=")), bytes.first.map({ $0 != UInt8(ascii: "=") }) ?? false
        else { return false }
        return ASCII.trimmed(bytes).allSatisfy { byte in
            byte > 0x20 && byte != 0x7F && !"\"<>{}\\".utf8.contains(byte)
        }
    }

    // MARK: Forms

    /// Replaces the secrets in an `application/x-www-form-urlencoded` body or a query.
    package static func form(_ bytes: [UInt8], with secrets: inout some SecretReplacing, depth: Int = 0) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for (position, item) in bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).enumerated()
        {
            if position > 0 { result.append(UInt8(ascii: "&")) }
            result += self.item(item, with: &secrets, depth: depth)
        }
        return result
    }

    private static func item(
        _ item: ArraySlice<UInt8>, with secrets: inout some SecretReplacing, depth: Int
    ) -> [UInt8] {
        guard let equals = item.firstIndex(of: UInt8(ascii: "=")), equals + 1 < item.endIndex else {
            return Array(item)
        }
        let value = decoded(item[(equals + 1)...])
        if secrets.isSecret(name: decoded(item[..<equals])) {
            guard let other = secrets.replacement(for: String(decoding: value, as: UTF8.self)) else {
                return Array(item)
            }
            return item[...equals] + Array(other.utf8)
        }
        // The value may contain a document, or a URL with a query.
        guard value.contains(where: { "{?&".utf8.contains($0) }) else { return Array(item) }
        let isText = value.first == UInt8(ascii: "{") || value.first == UInt8(ascii: "[")
        let other =
            isText
            ? replacing(value, type: "application/json", with: &secrets, depth: depth + 1)
            : depth < maximumDepth ? query(value, with: &secrets, depth: depth + 1) : value
        guard other != value else { return Array(item) }
        return item[...equals] + PercentEncoding.component(other)
    }

    /// Replaces the secrets in the items after the `?` of a URL or similar text.
    private static func query(_ bytes: [UInt8], with secrets: inout some SecretReplacing, depth: Int) -> [UInt8] {
        let start = bytes.firstIndex(of: UInt8(ascii: "?")).map { $0 + 1 } ?? 0
        return bytes[..<start] + form(Array(bytes[start...]), with: &secrets, depth: depth)
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        PercentEncoding.decoded(bytes.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 })
    }

    // MARK: Tokens

    /// Replaces tokens that are recognized by their form.
    package static func tokens(_ bytes: [UInt8], with secrets: inout some SecretReplacing) -> [UInt8] {
        func isPart(_ byte: UInt8) -> Bool { SecretShape.isTokenByte(byte) || byte == UInt8(ascii: ".") }
        var result: [UInt8] = []
        var (at, copied) = (0, 0)
        while at < bytes.count {
            guard isPart(bytes[at]) else {
                at += 1
                continue
            }
            var end = at
            while end < bytes.count, isPart(bytes[end]) { end += 1 }
            // Exclude the full stop of a sentence.
            var last = end
            while last > at, bytes[last - 1] == UInt8(ascii: ".") { last -= 1 }
            if SecretShape.isToken(bytes[at..<last]),
                let other = secrets.replacement(for: String(decoding: bytes[at..<last], as: UTF8.self))
            {
                result += bytes[copied..<at]
                result += other.utf8
                copied = last
            }
            at = end
        }
        return copied == 0 ? bytes : result + bytes[copied...]
    }
}

extension PercentEncoding {
    /// Percent-encodes the bytes for a query value.
    fileprivate static func component(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return bytes.flatMap { byte -> [UInt8] in
            let isPlain = SecretShape.isTokenByte(byte) || ".*~".utf8.contains(byte)
            return isPlain ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
}
