/// Which query items carry credentials, so that a URL can stand in a log.
enum Redaction {
    private static let names: Set<String> = [
        "accesskey", "accesstoken", "apikey", "assertion", "auth", "authorization", "authtoken", "bearer",
        "clientassertion", "clientsecret", "code", "codeverifier", "credential", "credentials", "idtoken", "jwt",
        "key", "pass", "passphrase", "passwd", "password", "pin", "privatekey", "pwd", "refreshtoken",
        "samlresponse", "secret", "session", "sessionid", "sid", "sig", "signature", "ticket", "token",
    ]
    private static let endings = ["token", "secret", "password", "apikey", "signature", "credential", "secretkey"]
    /// Cursors of paginated lists, which are no secrets and which somebody who reads a log wants to see.
    private static let cursors = ["pagetoken", "nexttoken", "continuationtoken", "synctoken"]

    /// Whether the value of the query item of this name, as written in a URL, is kept out of logs. The case, separators
    /// and escapes of the name do not matter: `X-Amz-Signature`, `api_key`, `client%5Fsecret`.
    ///
    /// - Parameter sensitive: further names, as they are before they are encoded.
    static func isSecret(name: Substring.UTF8View, sensitive: [String] = []) -> Bool {
        let plain = letters(PercentEncoding.decoded(name))
        if names.contains(plain) || sensitive.contains(where: { letters(Array($0.utf8)) == plain }) { return true }
        return endings.contains { plain.hasSuffix($0) } && !cursors.contains { plain.hasSuffix($0) }
    }

    private static func letters(_ name: [UInt8]) -> String {
        String(decoding: name.map(ASCII.lowercase).filter { !"-_.[] ".utf8.contains($0) }, as: UTF8.self)
    }
}

extension RequestURL {
    /// The URL without user info, and with `***` for the values of query items that carry credentials.
    public var redacted: String {
        guard let query = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return origin.description + target }
        var text = origin.description + target[...query]
        let items = target.utf8[target.utf8.index(after: query)...]
            .split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        for (position, item) in items.enumerated() {
            if position > 0 { text += "&" }
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            text += Substring(name)
            guard name.endIndex < item.endIndex else { continue }
            text += Redaction.isSecret(name: name, sensitive: sensitive) ? "=***" : Substring(item[name.endIndex...])
        }
        return text
    }
}
