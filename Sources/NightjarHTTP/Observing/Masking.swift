/// Takes credentials out of what is shown: `***` stands in their place.
enum Masking {
    static let mask = "***"

    /// Whether the value of the field of this name, in a request or a response, is a credential.
    static func isSecret(field name: UnsafeRawBufferPointer) -> Bool {
        CredentialField.isOne(name) || ASCII.isCaseless(name, "set-cookie") || ASCII.isCaseless(name, "set-cookie2")
            || ASCII.isCaseless(name, "authentication-info") || ASCII.isCaseless(name, "proxy-authentication-info")
    }

    /// The value of a field as it may be shown. What says how, and to whom, stays: the scheme of Authorization, the names
    /// of cookies and the attributes that are set with them.
    ///
    /// - Parameter sensitive: names that the caller wants treated as credentials.
    static func value(_ value: String, ofField name: String, sensitive: [String]) -> String {
        if sensitive.contains(where: { ASCII.equalIgnoringCase($0.utf8, name.utf8) }) { return mask }
        let lowercase = String(decoding: name.utf8.map(ASCII.lowercase), as: UTF8.self)
        switch lowercase {
        case "authorization", "proxy-authorization":
            guard let space = value.utf8.firstIndex(of: UInt8(ascii: " ")) else { return mask }
            return value[...space] + mask
        case "cookie":
            return value.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                .map { cookie(Substring($0)) }.joined(separator: ";")
        case "set-cookie":
            let end = value.utf8.firstIndex(of: UInt8(ascii: ";")) ?? value.endIndex
            return cookie(value[..<end]) + value[end...]
        case "location", "content-location", "referer", "refresh": return url(value, sensitive: sensitive)
        default:
            var name = name
            return name.withUTF8 { isSecret(field: UnsafeRawBufferPointer($0)) } ? mask : value
        }
    }

    private static func cookie(_ pair: Substring) -> String {
        guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return mask }
        return pair[...equals] + mask
    }

    /// A URL, or something like one, without user info and with the credentials of query and fragment masked.
    static func url(_ text: String, sensitive: [String] = []) -> String {
        let isItem: (UInt8) -> Bool = { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "&") }
        var result = ""
        var rest = text.utf8[...]
        let place = rest.prefix { !isItem($0) }
        result += withoutUserInfo(Substring(place))
        rest = rest[place.endIndex...]
        while let separator = rest.first {
            let item = rest.dropFirst().prefix { !isItem($0) }
            rest = rest[item.endIndex...]
            result.unicodeScalars.append(Unicode.Scalar(separator))
            result += self.item(Substring(item), sensitive: sensitive)
        }
        return result
    }

    /// Content as it may be shown; `type` is its Content-Type. Of content that is neither a form nor JSON nobody can say
    /// where its credentials are.
    static func content(_ text: String, type: String?) -> String {
        let essence = (type ?? "").utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
        switch String(decoding: essence.map(ASCII.lowercase), as: UTF8.self) {
        case "application/x-www-form-urlencoded": return form(text)
        case let type where type.hasSuffix("/json") || type.hasSuffix("+json"): return json(text)
        default: return text
        }
    }

    /// `application/x-www-form-urlencoded`, or a query.
    static func form(_ text: String) -> String {
        text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { item(Substring($0)) }.joined(separator: "&")
    }

    private static func item(_ text: Substring, sensitive: [String] = []) -> String {
        let name = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        guard name.endIndex < text.endIndex, Redaction.isSecret(name: name, sensitive: sensitive) else {
            return String(text)
        }
        return Substring(name) + "=" + mask
    }

    /// - Parameter text: up to the query.
    private static func withoutUserInfo(_ text: Substring) -> String {
        let slash = UInt8(ascii: "/")
        guard let first = text.utf8.firstIndex(of: slash), text.utf8[first...].starts(with: "//".utf8) else {
            return String(text)
        }
        let start = text.utf8.index(first, offsetBy: 2)
        let authority = text.utf8[start...].prefix { $0 != slash }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return String(text) }
        return text[..<start] + mask + text[at...]
    }

    /// JSON with the values of members masked whose names are those of credentials. Text that is no JSON comes out as it
    /// is, or with a piece masked: what is shown may be cut off anywhere.
    static func json(_ text: String) -> String {
        json(text, where: { Redaction.isSecret(name: $0) }) { _ in "\"\(mask)\"" }
    }

    /// The text with other values of members.
    ///
    /// - Parameters:
    ///   - isMeant: given a name as it is written.
    ///   - replacement: given the value as it is written, what to write for it.
    static func json(
        _ text: String, where isMeant: (Substring.UTF8View) -> Bool, _ replacement: (ArraySlice<UInt8>) -> String
    ) -> String {
        var result: [UInt8] = []
        let bytes = Array(text.utf8)
        result.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            guard bytes[at] == UInt8(ascii: "\"") else {
                result.append(bytes[at])
                at += 1
                continue
            }
            let end = endOfString(bytes, from: at)
            result += bytes[at..<end]
            let name = Substring(decoding: bytes[at..<end].dropFirst().dropLast(), as: UTF8.self).utf8
            at = end
            let colon = skippingBlanks(bytes, from: at)
            guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":"), isMeant(name) else { continue }
            let value = skippingBlanks(bytes, from: colon + 1)
            let valueEnd = endOfValue(bytes, from: value)
            guard valueEnd > value else { continue }
            result += bytes[at..<value]
            result += replacement(bytes[value..<valueEnd]).utf8
            at = valueEnd
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func skippingBlanks(_ bytes: [UInt8], from start: Int) -> Int {
        var at = start
        while at < bytes.count, " \t\r\n".utf8.contains(bytes[at]) { at += 1 }
        return at
    }

    /// Behind the closing quote of the string that begins at `start`.
    private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
        var at = start + 1
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "\""): return at + 1
            case UInt8(ascii: "\\"): at += 2
            default: at += 1
            }
        }
        return bytes.count
    }

    /// Behind the value at `start`; `start` itself where none follows.
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
                // The end of what the value is in: it was a number or a word, or there is none.
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
