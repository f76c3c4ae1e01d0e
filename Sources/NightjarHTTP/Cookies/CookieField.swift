/// Combines the jar's cookies and the call's cookies in one Cookie field (RFC 6265 section 5.4).
public enum CookieField {
    /// - Parameters:
    ///   - kept: the jar's cookies, as a field value. Nil if there are none.
    ///   - own: the call's cookies, as `name=value`. They replace the jar's cookies of the same names.
    public static func text(kept: String?, own: [String]) -> String? {
        guard !own.isEmpty else { return kept }
        guard let kept else { return own.joined(separator: "; ") }
        let names = own.map { name(of: $0) }
        var cookies: [Substring] = []
        for part in kept.utf8.split(separator: UInt8(ascii: ";")) {
            let cookie = Substring(part.drop { $0 == UInt8(ascii: " ") })
            let name = name(of: cookie)
            if !names.contains(where: { $0.elementsEqual(name) }) { cookies.append(cookie) }
        }
        cookies += own.map { $0[...] }
        return cookies.joined(separator: "; ")
    }

    /// Returns the bytes before the `=`. Returns no bytes if there is no `=`.
    static func name(of cookie: some StringProtocol) -> Substring.UTF8View {
        let text = Substring(cookie).utf8
        return text[..<(text.firstIndex(of: UInt8(ascii: "=")) ?? text.startIndex)]
    }

    static func isName(_ field: UnsafeRawBufferPointer) -> Bool {
        field.count == 6 && ASCII.isCaseless(field, "cookie")
    }

    /// Returns true for the bytes of a value: `cookie-octet` (RFC 6265 section 4.1.1), and the quotation mark and the
    /// backslash, which servers accept.
    static func isValueByte(_ byte: UInt8) -> Bool {
        0x21...0x7E ~= byte && byte != UInt8(ascii: ",") && byte != UInt8(ascii: ";")
    }
}
