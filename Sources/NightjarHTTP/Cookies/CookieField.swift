/// The Cookie field of a call that brings cookies of its own beside those of the jar. RFC 6265 section 5.4: there is one, and
/// no name is in it twice by us.
public enum CookieField {
    /// - Parameters:
    ///   - kept: what the jar sends; nil: nothing.
    ///   - own: of the call, `name=value`. What the jar has of these names stays behind.
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

    /// What stands before the `=`; nothing where there is none.
    static func name(of cookie: some StringProtocol) -> Substring.UTF8View {
        let text = Substring(cookie).utf8
        return text[..<(text.firstIndex(of: UInt8(ascii: "=")) ?? text.startIndex)]
    }

    static func isName(_ field: UnsafeRawBufferPointer) -> Bool {
        field.count == 6 && ASCII.isCaseless(field, "cookie")
    }

    /// What a value may hold: `cookie-octet` of RFC 6265 section 4.1.1, and the quotation mark and the backslash, which
    /// servers take.
    static func isValueByte(_ byte: UInt8) -> Bool {
        0x21...0x7E ~= byte && byte != UInt8(ascii: ",") && byte != UInt8(ascii: ";")
    }
}
