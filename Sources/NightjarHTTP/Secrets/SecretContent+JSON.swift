extension SecretContent {
    /// Replaces the values of secret members. Truncated or invalid JSON is processed as far as possible.
    package static func json(_ bytes: [UInt8], with secrets: inout some SecretReplacing, depth: Int = 0) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            guard bytes[at] == UInt8(ascii: "\"") else {
                result.append(bytes[at])
                at += 1
                continue
            }
            let end = endOfString(bytes, from: at)
            // A JSON string contains no line break, so this quote does not begin a JSON string.
            guard !bytes[at..<end].contains(UInt8(ascii: "\n")) else {
                result.append(bytes[at])
                at += 1
                continue
            }
            let colon = skippingBlanks(bytes, from: end)
            guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else {
                result += nested(bytes[at..<end], with: &secrets, depth: depth)
                at = end
                continue
            }
            let name = plain(bytes[at..<end])
            result += bytes[at..<end]
            at = end
            guard secrets.isSecret(name: name) else { continue }
            let value = skippingBlanks(bytes, from: colon + 1)
            let valueEnd = endOfValue(bytes, from: value)
            guard valueEnd > value else { continue }
            result += bytes[at..<value]
            result += replaced(bytes[value..<valueEnd], with: &secrets, depth: depth)
            at = valueEnd
        }
        return result
    }

    /// Returns the replacement for the value of a secret member, or the value itself if it is not replaced.
    ///
    /// - Parameter value: the value as written in JSON.
    private static func replaced(
        _ value: ArraySlice<UInt8>, with secrets: inout some SecretReplacing, depth: Int
    ) -> [UInt8] {
        let isNested = value.first == UInt8(ascii: "{") || value.first == UInt8(ascii: "[")
        if isNested, !secrets.replacesWhole { return inSecret(Array(value), with: &secrets) }
        let isText = value.first == UInt8(ascii: "\"")
        let isNumber = value.first.map { ASCII.isDigit($0) || $0 == UInt8(ascii: "-") } ?? false
        let text = isText ? plain(value) : Array(value)
        guard !isText || !text.isEmpty, isText || isNumber || secrets.replacesWhole,
            let other = secrets.replacement(for: String(decoding: text, as: UTF8.self))
        else { return Array(value) }
        return [UInt8(ascii: "\"")] + other.utf8 + [UInt8(ascii: "\"")]
    }

    /// Replaces the non-empty strings in a secret object or array, except names and the values of members that only
    /// describe the secret.
    private static func inSecret(_ bytes: [UInt8], with secrets: inout some SecretReplacing) -> [UInt8] {
        var result: [UInt8] = []
        var at = 0
        while at < bytes.count {
            guard bytes[at] == UInt8(ascii: "\"") else {
                result.append(bytes[at])
                at += 1
                continue
            }
            let end = endOfString(bytes, from: at)
            let colon = skippingBlanks(bytes, from: end)
            let text = plain(bytes[at..<end])
            if colon < bytes.count, bytes[colon] == UInt8(ascii: ":") {
                let value = skippingBlanks(bytes, from: colon + 1)
                let next = secrets.describesSecret(name: text) ? endOfValue(bytes, from: value) : value
                result += bytes[at..<next]
                at = next
                continue
            }
            let other = text.isEmpty ? nil : secrets.replacement(for: String(decoding: text, as: UTF8.self))
            result += other.map { [UInt8(ascii: "\"")] + $0.utf8 + [UInt8(ascii: "\"")] } ?? Array(bytes[at..<end])
            at = end
        }
        return result
    }

    /// Replaces the secrets in a string that contains JSON.
    private static func nested(
        _ text: ArraySlice<UInt8>, with secrets: inout some SecretReplacing, depth: Int
    ) -> [UInt8] {
        let start = text.dropFirst().first
        guard start == UInt8(ascii: "{") || start == UInt8(ascii: "["), text.contains(UInt8(ascii: "\\")),
            depth + 1 < maximumDepth
        else { return Array(text) }
        let plain = plain(text)
        let other = json(plain, with: &secrets, depth: depth + 1)
        guard other != plain, let encoded = try? JSONValue.string(String(decoding: other, as: UTF8.self)).encoded()
        else {
            return Array(text)
        }
        return Array(encoded.readableBytesView)
    }

    /// Returns a string without its quotes and with its escapes decoded. A truncated or invalid string is decoded as
    /// far as possible.
    private static func plain(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let inner = text.dropFirst()
        let isClosed = text.count > 1 && text.last == UInt8(ascii: "\"")
        guard text.contains(UInt8(ascii: "\\")) else { return Array(isClosed ? inner.dropLast() : inner) }
        if isClosed, case .string(let plain)? = try? JSONValue(parsing: String(decoding: text, as: UTF8.self)) {
            return Array(plain.utf8)
        }
        return unescaped(isClosed ? inner.dropLast() : inner)
    }

    /// Approximately decodes the escapes of text that a parser would reject. An escape with a code point becomes its
    /// character, surrogates are removed, and any other escape becomes the character after the backslash.
    private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                result.append(byte)
                continue
            }
            let digits = rest.prefix(4).compactMap(ASCII.hexValue)
            if escape == UInt8(ascii: "u"), digits.count == 4 {
                let value = digits.reduce(0) { $0 << 4 | UInt32($1) }
                rest = rest.dropFirst(4)
                if let scalar = Unicode.Scalar(value) { result += Array(String(Character(scalar)).utf8) }
            } else {
                result.append(escape)
            }
        }
        return result
    }

    static func skippingBlanks(_ bytes: [UInt8], from start: Int) -> Int {
        var at = start
        while at < bytes.count, ASCII.isWhitespace(bytes[at]) { at += 1 }
        return at
    }

    /// Returns the position after the closing quote of the string that begins at `start`, or after the line if the
    /// string is not closed.
    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var at = start + 1
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\n"): return at + 1
            case UInt8(ascii: "\""): return at + 1
            case UInt8(ascii: "\\"): at += 2
            default: at += 1
            }
        }
        return bytes.count
    }

    /// Returns the position after the value at `start`, or `start` if there is no value.
    private static func endOfValue(_ bytes: [UInt8], from start: Int) -> Int {
        var at = start
        var depth = 0
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                at = endOfString(bytes, from: at)
                if depth == 0 { return at }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                at += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The enclosing object or array ends here. The value is a number, a literal or missing.
                if depth == 0 { return at }
                depth -= 1
                at += 1
                if depth == 0 { return at }
            case UInt8(ascii: ","), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
                if depth == 0 { return at }
                at += 1
            default: at += 1
            }
        }
        return bytes.count
    }
}
