import NIOCore

extension RequestURL {
    /// Returns a copy with these query items. Each new item replaces the first item of the same name, and the other
    /// items of this name are removed. If there is no item of this name, the new item is appended.
    ///
    /// - Throws: `invalid_url` if the target becomes too long.
    package func setting(_ items: [(name: String, value: String)]) throws(NightjarError) -> RequestURL {
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

    /// Returns a copy with these items appended. Removes existing query items of the same names.
    ///
    /// - Throws: `invalid_url` if the target becomes too long.
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

    /// Returns true if the values of query items of this name are masked in logs.
    package func isSecret(name: String) -> Bool { SecretNames.isSecret(item: name[...].utf8, sensitive: sensitive) }

    /// Returns the decoded value of the first query item of this name, or nil if there is none.
    package func queryValue(_ name: String) -> String? {
        queryParts.first { RequestURL.isPart($0, named: name) }.map { part in
            String(decoding: PercentEncoding.decoded(RequestURL.valueOf(part)), as: UTF8.self)
        }
    }

    /// The encoded query items, which are separated by `&`.
    package var queryParts: [Substring] {
        guard let query, !query.isEmpty else { return [] }
        return query.split(separator: "&", omittingEmptySubsequences: false)
    }

    package func withQuery(_ parts: [Substring]) -> RequestURL {
        RequestURL(
            origin: origin, target: parts.isEmpty ? path : path + "?" + parts.joined(separator: "&"),
            userInfo: userInfo, sensitive: sensitive)
    }

    package static func isPart(_ part: Substring, named name: String) -> Bool {
        PercentEncoding.decoded(nameOf(part)).elementsEqual(name.utf8)
    }

    package static func nameOf(_ part: Substring) -> Substring.UTF8View { part.utf8.prefix { $0 != UInt8(ascii: "=") } }

    package static func valueOf(_ part: Substring) -> Substring.UTF8View {
        part.utf8[nameOf(part).endIndex...].dropFirst()
    }

    /// Returns true if the value of a query item is masked in logs and omitted from saved positions.
    package func isSecret(_ part: Substring) -> Bool {
        SecretNames.isSecret(item: RequestURL.nameOf(part), sensitive: sensitive)
    }
}
