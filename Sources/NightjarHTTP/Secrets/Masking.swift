/// Replaces credentials in logs, messages and other output with `***`.
package enum Masking {
    package static let mask = "***"

    /// Returns the value of a field with its secrets masked. For example, the scheme of Authorization and the names of
    /// cookies are kept.
    ///
    /// - Parameter sensitive: additional names of credentials, whose values are masked completely.
    package static func value(_ value: String, ofField name: String, sensitive: [String]) -> String {
        if SecretNames.isNamed(name.utf8, in: sensitive) { return mask }
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
            var (name, value) = (name, value)
            let isSecret = name.withUTF8 { name in
                value.withUTF8 { SecretNames.isSecret(field: UnsafeRawBufferPointer(name), UnsafeRawBufferPointer($0)) }
            }
            return isSecret ? mask : value
        }
    }

    private static func cookie(_ pair: Substring) -> String {
        guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return mask }
        return pair[...equals] + mask
    }

    /// Masks user info in a URL or similar text, and credentials in path parameters, query and fragment.
    package static func url(_ text: String, sensitive: [String] = []) -> String {
        var result = ""
        var rest = text.utf8[...]
        let place = rest.prefix { !isSeparator($0) }
        result += withoutUserInfo(Substring(place))
        rest = rest[place.endIndex...]
        while let separator = rest.first {
            let item = rest.dropFirst().prefix { !isSeparator($0) }
            rest = rest[item.endIndex...]
            result.unicodeScalars.append(Unicode.Scalar(separator))
            result += self.item(Substring(item), sensitive: sensitive)
        }
        return result
    }

    /// Returns true for the bytes that precede an item. Some servers split queries at semicolons, and path parameters
    /// follow a semicolon.
    package static func isSeparator(_ byte: UInt8) -> Bool { "?#&;".utf8.contains(byte) }

    /// Masks credentials in a body.
    ///
    /// - Parameters:
    ///   - type: the Content-Type of the body. Nil if there is none.
    ///   - sensitive: additional names of credentials.
    package static func content(_ text: String, type: String?, sensitive: [String] = []) -> String {
        String(decoding: content(Array(text.utf8), type: type, sensitive: sensitive), as: UTF8.self)
    }

    package static func content(_ bytes: [UInt8], type: String?, sensitive: [String] = []) -> [UInt8] {
        var masks = Masks(sensitive: sensitive)
        return SecretContent.replacing(bytes, type: type, with: &masks)
    }

    /// Masks the values of secret members in JSON. Truncated or invalid JSON is processed as far as possible.
    package static func json(_ text: String) -> String {
        var masks = Masks(sensitive: [])
        return String(decoding: SecretContent.json(Array(text.utf8), with: &masks), as: UTF8.self)
    }

    struct Masks: SecretReplacing {
        let sensitive: [String]
        var replacesWhole: Bool { true }

        func isSecret(name: [UInt8]) -> Bool {
            SecretNames.isSecret(name, in: .item) || SecretNames.isNamed(name, in: sensitive)
        }

        func replacement(for secret: String) -> String? { mask }
    }

    /// Masks the value of a query or fragment item if it is a credential.
    private static func item(_ text: Substring, sensitive: [String]) -> String {
        let name = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        guard name.endIndex < text.endIndex else { return String(text) }
        let value = text.utf8[name.endIndex...].dropFirst()
        let isSecret = SecretNames.isSecret(item: name, sensitive: sensitive) || hasSecret(value, sensitive: sensitive)
        return isSecret ? Substring(name) + "=" + mask : String(text)
    }

    /// Returns true if the value of an item is a token by its form, or a URL or form that contains a credential.
    package static func hasSecret(_ value: Substring.UTF8View, sensitive: [String]) -> Bool {
        if SecretShape.isToken(value) { return true }
        let plain = String(decoding: PercentEncoding.decoded(value), as: UTF8.self)
        let place = Substring(plain.utf8.prefix { !isSeparator($0) })
        if withoutUserInfo(place) != place { return true }
        // The recursion ends, because each level of decoding shortens the text.
        guard plain.utf8.count < value.count, plain.utf8.contains(UInt8(ascii: "=")) else { return false }
        return url("?" + plain, sensitive: sensitive) != "?" + plain
    }

    /// Returns the text with `***` instead of user info.
    ///
    /// - Parameter text: the part of a URL before the query.
    package static func withoutUserInfo(_ text: Substring) -> String {
        let slash = UInt8(ascii: "/")
        guard let first = text.utf8.firstIndex(of: slash), text.utf8[first...].starts(with: "//".utf8) else {
            return String(text)
        }
        let start = text.utf8.index(first, offsetBy: 2)
        let authority = text.utf8[start...].prefix { $0 != slash }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return String(text) }
        return text[..<start] + mask + text[at...]
    }
}
