extension Request {
    /// Whether it has credentials of its own: a cookie, or a header field or a query item whose name speaks of them.
    package var carriesCredentials: Bool {
        if CredentialField.first(in: headers) != nil || !cookies.isEmpty { return true }
        if query.contains(where: { Redaction.isSecret(name: $0.name[...].utf8) }) { return true }
        let items = target[...].utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()
        return items.split(separator: UInt8(ascii: "&")).contains { item in
            Redaction.isSecret(name: item.prefix { $0 != UInt8(ascii: "=") })
        }
    }
}
