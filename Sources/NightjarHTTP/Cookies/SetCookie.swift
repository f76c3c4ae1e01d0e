/// A parsed Set-Cookie field that has not been validated. RFC 6265bis section 5.6.
///
/// The parser is more lenient than the grammar. Unknown and overlong attributes are ignored. If an attribute repeats,
/// the last one is used, but an invalid Expires or Max-Age is ignored. See ``CookieRefusal`` for the reasons of
/// rejection.
struct SetCookie: Equatable {
    /// The name. Empty for a cookie that has only a value.
    private(set) var name: String
    private(set) var value: String
    /// The lifetime in seconds, 0 to ``Cookie/maximumAge``. Zero deletes the cookie.
    private(set) var maxAge: Int64?
    /// The expiry time in seconds since 1970.
    private(set) var expires: Int64?
    /// The domain in lower case without a leading dot. Nil for a host-only cookie: the attribute is missing or empty.
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
            // An invalid date does not replace the date of an earlier attribute.
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

    /// Parses Max-Age: digits, or a minus sign and digits. Returns 0 to ``Cookie/maximumAge``; the value is clamped.
    /// Section 5.6.2.
    private static func seconds(_ text: Slice<UnsafeRawBufferPointer>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
        guard !isNegative else { return 0 }
        return digits.reduce(0) { min($0 * 10 + Int64($1 & 0xF), Cookie.maximumAge) }
    }

    /// Parses the Domain attribute. Section 5.6.3. Does not validate the name, because an invalid name does not match
    /// the host.
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
