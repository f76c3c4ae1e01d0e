/// The value of one Set-Cookie field, taken apart and not yet judged. RFC 6265bis section 5.6.
///
/// Reads what servers send, not only what the grammar for servers allows: any order and case of attributes, unknown
/// ones skipped, the last of each name decides. What a judge may refuse is in ``CookieRefusal``.
struct SetCookie: Equatable {
    /// Empty for a cookie that is a value alone.
    private(set) var name: String
    private(set) var value: String
    /// Seconds, at most ``Cookie/maximumAge``; zero and below mean at once.
    private(set) var maxAge: Int64?
    /// Seconds since 1970.
    private(set) var expires: Int64?
    /// In lower case, without the dot that it may have begun with; nil when there is none or an empty one, both of which
    /// mean the host alone.
    private(set) var domain: String?
    /// Begins with a slash; nil when the default path of the URL holds.
    private(set) var path: String?
    /// Whether there was a Path attribute at all.
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
            // A date that is none leaves an earlier one in force.
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

    /// Max-Age, section 5.6.2: digits, or a minus and digits. Counts no further than a cookie may live, so no number of
    /// digits overflows.
    private static func seconds(_ text: Slice<UnsafeRawBufferPointer>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
        guard !isNegative else { return 0 }
        return digits.reduce(0) { min($0 * 10 + Int64($1 & 0xF), Cookie.maximumAge) }
    }

    /// Section 5.6.3. Whether it is a name at all shows when it is compared with that of the host.
    private static func domain(_ text: Slice<UnsafeRawBufferPointer>) throws(CookieRefusal) -> String? {
        let name = text.first == UInt8(ascii: ".") ? text.dropFirst() : text
        guard name.allSatisfy({ $0 < 0x80 }) else { throw .domainMismatch }
        return name.isEmpty ? nil : String(decoding: name.map(ASCII.lowercase), as: UTF8.self)
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) throws(CookieRefusal) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
        return text
    }

    /// Without space and tab at both ends.
    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var rest = bytes
        while let first = rest.first, isBlank(first) { rest = rest.dropFirst() }
        while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
        return rest
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
