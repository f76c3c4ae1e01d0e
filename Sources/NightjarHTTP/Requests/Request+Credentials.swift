extension Request {
    /// True if the request contains a cookie, a header field whose name or value suggests a credential, or a query item
    /// whose name does.
    package var carriesCredentials: Bool {
        if headers.firstSecret != nil || !cookies.isEmpty { return true }
        if query.contains(where: { SecretNames.isSecret(item: $0.name[...].utf8) }) { return true }
        let items = target[...].utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()
        return items.split(separator: UInt8(ascii: "&")).contains { item in
            SecretNames.isSecret(item: item.prefix { $0 != UInt8(ascii: "=") })
        }
    }
}
