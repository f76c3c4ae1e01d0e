/// A parsed Set-Cookie field that has not been validated. RFC 6265bis section 5.6.
///
/// Accepts what servers send, beyond the grammar: attributes in any order and case, unknown attributes (ignored), and
/// repeated attributes (the last one is used). See ``CookieRefusal`` for reasons of rejection.
struct SetCookie: Equatable {
    /// The name. Empty for a cookie that consists of a value only.
    private(set) var name: String
    private(set) var value: String
    /// Seconds, at most ``Cookie/maximumAge``. Zero or less deletes the cookie.
    private(set) var maxAge: Int64?
    /// Seconds since 1970.
    private(set) var expires: Int64?
    /// The domain in lower case without a leading dot. Nil if the attribute is missing or empty, which means host-only.
    private(set) var domain: String?
    /// The path, beginning with a slash. Nil if the default path of the URL applies.
    private(set) var path: String?
    /// True if there was a Path attribute.
    private(set) var hasPath = false
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite = Cookie.SameSite.unspecified

    init(parsing bytes: UnsafeRawBufferPointer) throws(CookieRefusal) {
        guard FieldSyntax.endOfValue(bytes, from: 0) == bytes.count else { throw .controlCharacter }
        let pairEnd = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
        let pair = bytes[..<pairEnd]
        let (name, value): (Slice<UnsafeRawBufferPointer>, Slice<UnsafeRawBufferPointer>)
        if let equals = pair.firstIndex(of: UInt8(ascii: "=")) {
            (name, value) = (SetCookie.trimmed(pair[..<equals]), SetCookie.trimmed(pair[(equals + 1)...]))
        } else {
            (name, value) = (pair[..<pair.startIndex], SetCookie.trimmed(pair))
        }
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        guard name.count + value.count <= Cookie.maximumPair else { throw .tooLarge }
        self.name = try SetCookie.text(name)
        self.value = try SetCookie.text(value)

        var at = pairEnd
        while at < bytes.count {
            let rest = bytes[(at + 1)...]
            let end = rest.firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
            try read(attribute: rest[..<end])
            at = end
        }
    }

    private mutating func read(attribute: Slice<UnsafeRawBufferPointer>) throws(CookieRefusal) {
        let equals = attribute.firstIndex(of: UInt8(ascii: "=")) ?? attribute.endIndex
        let name = UnsafeRawBufferPointer(rebasing: SetCookie.trimmed(attribute[..<equals]))
        let value = SetCookie.trimmed(attribute[equals...].dropFirst())
        guard value.count <= Cookie.maximumAttribute else { return }
        if ASCII.isCaseless(name, "expires") {
            // An invalid date does not replace an earlier one.
            if let date = CookieDate.parse(UnsafeRawBufferPointer(rebasing: value)) { expires = date }
        } else if ASCII.isCaseless(name, "max-age") {
            if let seconds = SetCookie.seconds(value) { maxAge = seconds }
        } else if ASCII.isCaseless(name, "domain") {
            domain = try SetCookie.domain(value)
        } else if ASCII.isCaseless(name, "path") {
            hasPath = true
            path = value.first == UInt8(ascii: "/") ? try SetCookie.text(value) : nil
        } else if ASCII.isCaseless(name, "secure") {
            isSecure = true
        } else if ASCII.isCaseless(name, "httponly") {
            isHTTPOnly = true
        } else if ASCII.isCaseless(name, "samesite") {
            sameSite = Cookie.SameSite(attribute: UnsafeRawBufferPointer(rebasing: value))
        }
    }

    /// Parses Max-Age: digits, or a minus sign and digits. Section 5.6.2. Clamped to the maximum lifetime, so that any
    /// number of digits is accepted.
    private static func seconds(_ text: Slice<UnsafeRawBufferPointer>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
        guard !isNegative else { return 0 }
        return digits.reduce(0) { min($0 * 10 + Int64($1 & 0xF), Cookie.maximumAge) }
    }

    /// Parses the Domain attribute. Section 5.6.3. The name is not validated, because the comparison with the host
    /// rejects an invalid one.
    private static func domain(_ text: Slice<UnsafeRawBufferPointer>) throws(CookieRefusal) -> String? {
        let name = text.first == UInt8(ascii: ".") ? text.dropFirst() : text
        guard name.allSatisfy({ $0 < 0x80 }) else { throw .domainMismatch }
        return name.isEmpty ? nil : String(decoding: name.map(ASCII.lowercase), as: UTF8.self)
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) throws(CookieRefusal) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
        return text
    }

    /// Removes spaces and tabs at both ends.
    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var rest = bytes
        while let first = rest.first, isBlank(first) { rest = rest.dropFirst() }
        while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
        return rest
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
