/// Fields that carry credentials. As defaults they are meant for the base URL's origin and go to no other: a path taken
/// from elsewhere that happens to be an absolute URL must not carry them away.
enum CredentialField {
    private static let names: Set<String> = ["authorization", "proxy-authorization", "cookie"]
    private static let parts = ["token", "secret", "apikey", "password", "session", "credential", "signature", "-auth"]

    /// The name of the first field that carries credentials.
    static func first(in headers: Headers) -> String? {
        (0..<headers.count).first { headers.withBytes(at: $0) { name, _ in isOne(name) } }.map(headers.name)
    }

    static func isOne(_ name: UnsafeRawBufferPointer) -> Bool {
        let text = String(decoding: name.map(ASCII.lowercase), as: UTF8.self)
        return names.contains(text) || parts.contains { text.contains($0) } || text.hasSuffix("-key")
    }
}

extension Headers {
    /// Those that carry no credentials.
    public var withoutCredentials: Headers {
        var others = Headers()
        for index in 0..<count {
            withBytes(at: index) { name, value in
                if !CredentialField.isOne(name) { others.append(name: name, value: value) }
            }
        }
        return others
    }
}
