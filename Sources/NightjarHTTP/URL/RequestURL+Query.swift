import NIOCore

extension RequestURL {
    /// The same with these query items, each in the place of the first of its name or behind the others.
    ///
    /// - Throws: `invalid_url` when the target becomes too long.
    func setting(_ items: [(name: String, value: String)]) throws(NightjarError) -> RequestURL {
        var parts = queryParts
        for (name, value) in items {
            let part = try RequestURL.part(name, value)
            let place = parts.firstIndex { RequestURL.isPart($0, named: name) }
            if let place {
                parts[place] = part
                parts[(place + 1)...].removeAll { RequestURL.isPart($0, named: name) }
            } else {
                parts.append(part)
            }
        }
        let url = withQuery(parts)
        try RequestTarget.checkLength(url.target.utf8.count)
        return url
    }

    /// The same with these query items behind the others, none of which has a name of theirs.
    ///
    /// - Throws: `invalid_url` when the target becomes too long.
    package func replacing(_ items: [(name: String, value: String)]) throws(NightjarError) -> RequestURL {
        var parts = queryParts.filter { part in !items.contains { RequestURL.isPart(part, named: $0.name) } }
        for (name, value) in items { parts.append(try RequestURL.part(name, value)) }
        let url = withQuery(parts)
        try RequestTarget.checkLength(url.target.utf8.count)
        return url
    }

    private static func part(_ name: String, _ value: String) throws(NightjarError) -> Substring {
        try RequestTarget.checkLength(name.utf8.count + value.utf8.count)
        var text = ByteBuffer()
        PercentEncoding.writeComponent(name, into: &text)
        text.writeInteger(UInt8(ascii: "="))
        PercentEncoding.writeComponent(value, into: &text)
        return Substring(String(buffer: text))
    }

    /// Whether the values of query items of this name are kept out of logs.
    package func isSecret(name: String) -> Bool { SecretNames.isSecret(item: name[...].utf8, sensitive: sensitive) }

    /// The value of the first query item of this name, decoded.
    func queryValue(_ name: String) -> String? {
        queryParts.first { RequestURL.isPart($0, named: name) }.map { part in
            String(decoding: PercentEncoding.decoded(RequestURL.valueOf(part)), as: UTF8.self)
        }
    }

    /// Query items as they are written, between the `&`s.
    var queryParts: [Substring] {
        guard let query, !query.isEmpty else { return [] }
        return query.split(separator: "&", omittingEmptySubsequences: false)
    }

    func withQuery(_ parts: [Substring]) -> RequestURL {
        RequestURL(
            origin: origin, target: parts.isEmpty ? path : path + "?" + parts.joined(separator: "&"),
            userInfo: userInfo, sensitive: sensitive)
    }

    static func isPart(_ part: Substring, named name: String) -> Bool {
        PercentEncoding.decoded(nameOf(part)).elementsEqual(name.utf8)
    }

    static func nameOf(_ part: Substring) -> Substring.UTF8View { part.utf8.prefix { $0 != UInt8(ascii: "=") } }

    static func valueOf(_ part: Substring) -> Substring.UTF8View { part.utf8[nameOf(part).endIndex...].dropFirst() }

    /// Whether the value of a query item is kept out of logs, and so out of saved positions.
    func isSecret(_ part: Substring) -> Bool {
        SecretNames.isSecret(item: RequestURL.nameOf(part), sensitive: sensitive)
    }
}
